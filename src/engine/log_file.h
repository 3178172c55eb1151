/* log_file.h: the outer form of RocksDB's logs, which its MANIFEST has too: blocks of 32 KiB with
 * records that begin with a checksum (4 bytes), a length (2) and a type (1). A record does not
 * cross a block, so what is longer is several of them; less than a header at the end of a block is
 * padding.
 *
 * RocksDB looks at length and type before it looks at the checksum, and takes some that are damaged
 * for the end of the file, without a word. So opening a database looks at them as well (manifest.h,
 * logs.h). Checksums are left to RocksDB.
 *
 * Not thread-safe. */
#ifndef ENGINE_LOG_FILE_H
#define ENGINE_LOG_FILE_H

#include "base/bytes.h"

#define LOG_BLOCK_BYTES 32768

/* The types a log of ours has: a whole record, or a part of one. RocksDB knows others, which its
 * settings for recycled and compressed logs bring and which we do not use. */
enum log_part { LOG_WHOLE = 1, LOG_FIRST = 2, LOG_MIDDLE = 3, LOG_LAST = 4 };

struct log_file {
    int fd;
    uint64_t size; /* of the file */
    uint64_t end;  /* where the last record ended that was read */
    uint64_t block;
    uint8_t bytes[LOG_BLOCK_BYTES]; /* of the block that begins there */
};

struct log_record {
    enum log_part part;
    bytes payload; /* valid until the next is read */
};

/* False: the system does not let us read it. Else f is to be closed. */
bool log_file_open(struct log_file *f, const char *path);

/* The next record. False: nothing more that has the form of one; f->end says how far the file is
 * whole. */
bool log_file_next(struct log_file *f, struct log_record *r);

/* The next entry, which is one record or several parts: its first bytes, at most `size`, into head
 * and their number into *have. False: none that is there whole. */
bool log_file_entry(struct log_file *f, uint8_t *head, size_t size, size_t *have);

void log_file_close(struct log_file *f);

/* Appends an entry to a log that nobody has open, and makes it durable. Returns 0 or errno. */
int log_file_append(const char *path, bytes entry);

#endif
