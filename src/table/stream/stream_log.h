/* stream_log.h: the log of a shard, on an engine whose partitions are stored apart (decision 42).
 *
 * A chain of segments, each a partition of its own whose id is made of the stream's location, the
 * shard and its place in the chain. A segment holds records, as stream_record.h has them, in the
 * order of their numbers, and one tail, which every batch guards and replaces: so batches come one
 * after the other, however many processes append. The tail lists the records that were taken
 * into the log and may still stand where they came from, by what names them (struct record_id).
 * doc/format.md has every byte.
 *
 * Everything blocks. Errors besides the engine's: E_GUARD, somebody else has appended; E_BUSY, the
 * chain moves faster than it can be followed, or too many records are listed; E_PARTITION, the
 * stream is no more; E_CORRUPT, E_FORMAT. */
#ifndef TABLE_STREAM_STREAM_LOG_H
#define TABLE_STREAM_STREAM_LOG_H

#include "engine/engine.h"

#define STREAM_SEGMENT_BYTES (4u << 20)
#define STREAM_TAKEN_MAX 4096

/* XXH3-128 of the key that a record had where it came from. */
struct record_id {
    uint64_t high, low;
};

struct stream_tail {
    bool ended;     /* the next segment goes on; this tail stays as it is */
    uint64_t bytes; /* of keys and values of the records */
    uint64_t last;  /* the last number that was given in the log; 0: none */
    struct record_id *taken;
    size_t taken_count;
};

/* A shard's log. Its owner sets the first three, and may set `segment` to one that was the last a
 * while ago. */
struct stream_log {
    struct engine *engine;
    uint32_t location;
    uint16_t shard;
    uint32_t segment; /* the last one */

    struct stream_tail tail; /* its; in the arena of the context that it was read with */
    bytes stored;            /* the same as it is stored */
};

struct stream_entry {
    struct record_id id;
    bytes value; /* of the record (stream_record.h) */
};

struct record_id record_id_of(bytes key);
static inline bool record_id_equal(struct record_id a, struct record_id b)
{
    return a.high == b.high && a.low == b.low;
}

/* Reads the newest tail as it is durable. A log that was never used is made, and a segment that
 * is full is ended. */
int stream_log_open(struct ctx *c, struct stream_log *log);

/* Appends the entries in their order, lists them in the tail, and takes `gone` off the list;
 * durable on return, when log->tail is what it has become. E_GUARD: open it again. */
int stream_log_append(struct ctx *c, struct stream_log *log, const struct stream_entry *entries,
                      size_t count, const struct record_id *gone, size_t gone_count);

/* Is it listed? */
bool stream_tail_lists(const struct stream_tail *tail, struct record_id id);

/* A page of the records from that number on. */
int stream_log_read(struct ctx *c, struct stream_log *log, uint64_t from, size_t items_max,
                    size_t bytes_max, struct page *page);

/* Drops the segments all of whose records are below that number, but not the last. */
int stream_log_trim(struct ctx *c, struct stream_log *log, uint64_t oldest);

/* Drops all of it for ever: nothing can be appended any more. May be called again. */
int stream_log_drop(struct ctx *c, struct stream_log *log);
/* That of all shards of a stream (db->drop_stream). */
struct wr_db;
int stream_log_drop_all(struct ctx *c, struct wr_db *db, uint32_t location, uint16_t shards);

#endif
