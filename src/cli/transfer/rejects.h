/* rejects.h: the file of records that an import did not load, JSON Lines:
 *
 *   {"line":7,"reason":"column n: 'x' is no integer","record":"7,x"}
 *
 * The record stands there as it is written in the input, without its line end, so that it can be
 * mended and loaded; what is no UTF-8 is {"base64":"..."}. */
#ifndef CLI_TRANSFER_REJECTS_H
#define CLI_TRANSFER_REJECTS_H

#include "base/ctx.h"

struct rejects {
    const char *path; /* NULL: nobody wants them */
    int fd;
};

/* Is `path` the file that is open as input_fd? */
bool rejects_is_input(int input_fd, const char *path);

/* Makes the file, which may not be the input (open as input_fd), empty; or, if `goes_on`, leaves
 * what an earlier run has written. Neither happens before the first record if nothing is to be
 * written. */
int rejects_open(struct ctx *c, struct rejects *r, const char *path, int input_fd, bool goes_on);
void rejects_close(struct rejects *r);

/* Appends one, in one call, so that a reader sees no half line. False: errno tells. One thread at a
 * time. */
bool rejects_put(struct rejects *r, uint64_t line, const char *reason, bytes raw);

#endif
