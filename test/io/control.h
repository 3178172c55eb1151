/* control.h: the page that a test and the server's preload.c share: what is to fail, and what
 * happened. The test makes it, a file that IO_CONTROL names; the library maps it.
 *
 * Only calls on files below `dir` count and fail. The plan is written before `armed` is set. */
#ifndef IO_CONTROL_H
#define IO_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* CALL(name) */
#define IO_CALL_MAP(CALL)                                                                          \
    CALL(write)                                                                                    \
    CALL(pwrite)                                                                                   \
    CALL(writev)                                                                                   \
    CALL(fsync)                                                                                    \
    CALL(fdatasync)                                                                                \
    CALL(sync_file_range)                                                                          \
    CALL(open)                                                                                     \
    CALL(rename)                                                                                   \
    CALL(ftruncate)                                                                                \
    CALL(fallocate)                                                                                \
    CALL(read)                                                                                     \
    CALL(pread)                                                                                    \
    CALL(unlink)                                                                                   \
    CALL(mkdir)

enum io_call {
#define IO_CALL_NAME(name) IO_##name,
    IO_CALL_MAP(IO_CALL_NAME)
#undef IO_CALL_NAME
        IO_CALLS
};

/* An `error` beside those of errno.h: half of what was asked for is done. */
#define IO_SHORT (-1)

/* What a failed sync does to what was written since the last good one. A kernel may throw it away
 * and report success the next time. */
enum io_lose {
    IO_KEEP,     /* nothing */
    IO_LOSE,     /* it reads as zeros from now on */
    IO_LOSE_LATE /* it is read from memory for now; the test zeroes it when the server is dead */
};

#define IO_LOST_MAX 64
#define IO_PATH_MAX 200

struct io_lost {
    char path[IO_PATH_MAX];
    int64_t from, to;
};

struct io_control {
    char dir[IO_PATH_MAX];
    enum io_call call;
    int error;
    int nth; /* from 1, counted from arming on */
    enum io_lose lose;
    atomic_bool sticky; /* and all after it, until this is cleared */
    atomic_bool armed;
    atomic_bool full; /* writing and making files gives ENOSPC, and no space is left */

    atomic_int counts[IO_CALLS]; /* since the arming */
    atomic_int fired;            /* how often a call was made to fail */
    atomic_llong fired_us;       /* the first time, CLOCK_MONOTONIC; 0: not yet */
    char fired_path[IO_PATH_MAX];
    atomic_llong reopened_us; /* the first opening of CURRENT after that */
    struct io_lost lost[IO_LOST_MAX];
    atomic_int lost_count; /* may be larger than IO_LOST_MAX */
};

#endif
