/* record.h: the file that the preloaded library writes: what a server did to the files of its data
 * folder, in the order in which it happened. Each event is a header and, after it, its bytes. */
#ifndef CRASH_RECORD_H
#define CRASH_RECORD_H

#include <stdint.h>

enum record_type {
    RECORD_OPEN = 1,   /* bytes: the path; offset: RECORD_CREATED, RECORD_EMPTIED */
    RECORD_WRITE,      /* bytes: the data */
    RECORD_TRUNCATE,   /* offset: the size */
    RECORD_SYNC_BEGIN, /* what was written before it is durable ... */
    RECORD_SYNC_END,   /* ... after this; offset: 1 if it failed */
    RECORD_RENAME,     /* bytes: both paths with their closing NULs */
    RECORD_UNLINK,     /* bytes: the path */
};

#define RECORD_CREATED 1
#define RECORD_EMPTIED 2
#define RECORD_MAGIC 0x57525243u

struct record_header {
    uint32_t magic;
    uint32_t type;
    uint64_t handle; /* of an open file or folder; never used twice */
    uint64_t offset;
    uint64_t size; /* of the bytes that follow */
};

#endif
