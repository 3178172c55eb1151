/* mutate.h: changes to an input that keep its form: lengths around a changed field stay right, and
 * so do the checksums of PlainBuffer rows. Without it hardly any input would get past the first
 * check of a decoder. */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* Changes data[0..size) in place, to max bytes at most, and returns its new size. Takes the input
 * for protobuf fields, nested as deep as they parse, with PlainBuffer wherever its header stands.
 * Same seed, same change. */
size_t mutate_parts(uint8_t *data, size_t size, size_t max, unsigned seed);

/* libFuzzer's own blind mutation. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

#endif
