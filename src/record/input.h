/* input.h: the bytes of a file that may be compressed: gzip and zstd are told by their first bytes,
 * several pieces one behind the other are one file. One thread. */
#ifndef RECORD_INPUT_H
#define RECORD_INPUT_H

#include "base/bytes.h"

#include <sys/types.h>

struct input;

/* The file becomes the input's, but for standard input, which stays open. Reads the first bytes:
 * NULL, and errno tells, if they cannot be read. */
struct input *input_of(int fd);
/* The same of what a function gives: up to n bytes, 0: the end, -1: it cannot, and has put why into
 * `why`, which the reads that follow tell by input_fault(), the first one too: it is not NULL then.
 */
typedef ssize_t input_read_fn(void *arg, void *buf, size_t n, char *why, size_t why_size);
struct input *input_from(input_read_fn *fn, void *arg);
void input_close(struct input *in); /* NULL is allowed */

/* Up to n bytes as they are behind the compression. 0: the end. -1: errno tells, and
 * input_fault(); after EINTR the same call goes on. */
ssize_t input_read(struct input *in, void *buf, size_t n);

/* What is wrong with compressed bytes, or with the function; NULL: nothing, it is errno that tells.
 */
const char *input_fault(const struct input *in);

bool input_is_compressed(const struct input *in);

/* How long a read waits for more of the file; -1, as at first: for ever. Then it fails, and
 * input_is_idle() until the next one. It has taken nothing: the same read can be tried again. */
void input_set_patience(struct input *in, int ms);
bool input_is_idle(const struct input *in);

#endif
