/* fuzz.h: what the fuzz targets share.
 *
 * A target reads one input and must come back: no crash, no leak, no undefined behaviour, memory
 * within the cap, and what was accepted holds together (CHECK). Inputs of most targets are made of
 * numbered parts, written as protobuf fields, so that one mutator serves them all. */
#ifndef FUZZ_H
#define FUZZ_H

#include "base/buf.h"
#include "base/ctx.h"
#include "widerow.h"

/* Memory that one request or one decoder may take. libFuzzer's -malloc_limit_mb stands above it,
 * so a size that somebody believed shows as well. */
#define FUZZ_MEMORY_MAX (16 << 20)

/* Ends the program with a message; libFuzzer then keeps the input. */
#define CHECK(holds)                                                                               \
    do {                                                                                           \
        if (!(holds))                                                                              \
            fuzz_broken(__FILE__, __LINE__, #holds);                                               \
    } while (0)

PORT_NORETURN void fuzz_broken(const char *file, int line, const char *what);

/* A context with the cap above. The clock stands still. */
void fuzz_ctx(struct ctx *c);

/* After a decoder: its code is the one recorded, there is a text, and the cap was kept. True if it
 * succeeded. Forgets the failure. */
bool fuzz_decoded(struct ctx *c, int code);

/* The first part of that number: bytes, or a number. Empty (ptr is never NULL) and 0 if it is not
 * there. */
bytes fuzz_part(bytes in, unsigned number);
uint64_t fuzz_number(bytes in, unsigned number);

/* One function a row of target.def. */
#define TARGET(name, form) void fuzz_##name(bytes in);
#include "target.def"

#endif
