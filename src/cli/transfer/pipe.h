/* pipe.h: bytes handed to another thread, in their order: what is done with them goes on beside the
 * thread they come from. */
#ifndef CLI_TRANSFER_PIPE_H
#define CLI_TRANSFER_PIPE_H

#include "base/port.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pipe;

/* On the pipe's thread. False: it cannot go on; nothing is given to it any more. */
typedef bool pipe_fn(void *arg, const uint8_t *data, size_t size);

/* NULL: the system gives no thread. */
struct pipe *pipe_start(pipe_fn *take, void *arg);

/* Copies the bytes; waits while much is on its way. False: `take` has failed. */
bool pipe_put(struct pipe *b, const uint8_t *data, size_t size);

/* Waits until all was taken, and frees. False: `take` has failed. */
bool pipe_end(struct pipe *b);

#endif
