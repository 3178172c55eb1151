/* catalog_key.h: keys and values of what the database keeps for itself, and what notifications say
 * of it. All of it is in the arena.
 *
 * Stored under table 0 of the system partition:
 *   kind 1, instance, name   a schema (schema.c)
 *   kind 2, table id         a dropped table whose rows are still to be removed: time of the drop
 *   kind 3                   the lease of numbers: none at or above it was ever given out
 *   kind 4                   the next table id
 *   kind 5, table id         how far a table's rekeying has come (rekey.c), or the build of an
 * index whose own table that is (index_build.c) kind 6, slot             the lease of the numbers
 * of a slot (catalog_number.c) kind 6                   what older builds had for that: how many
 * were ever opened kind 8, location id, page id a page of a table with many partitions
 * (catalog_map.c) kind 7, name             a text that all processes share (text.h) kind 9, number
 * what was changed lately, where processes share the data (catalog_journal.h) kind 10 the lease of
 * the database clock, in microseconds (db_clock.h) kind 11, table id, number of a tunnel what a
 * tunnel's clients do (tunnel_record.h) */
#ifndef TABLE_CORE_CATALOG_KEY_H
#define TABLE_CORE_CATALOG_KEY_H

#include "engine/engine.h"

enum catalog_kind {
    CATALOG_TABLE = 1,
    CATALOG_DROPPED = 2,
    CATALOG_LEASE = 3,
    CATALOG_NEXT_ID = 4,
    CATALOG_REKEY = 5,
    CATALOG_SLOT = 6, /* leases of numbers; shared data only */
    CATALOG_TEXT = 7,
    CATALOG_PAGE = 8,    /* partitions of a table that has many (catalog_map.c) */
    CATALOG_JOURNAL = 9, /* what was changed lately (catalog_journal.h); shared data only */
    CATALOG_CLOCK = 10,  /* the database clock's lease */
    CATALOG_TUNNEL = 11, /* channels and clients of a tunnel (tunnel_record.h) */
};

#define CATALOG_DROPPED_PAGED 1 /* in its record: pages name its partitions */
/* In its record, plus the number of shards - 1: it is a stream, whose logs are partitions. */
#define CATALOG_DROPPED_STREAM 0x10

bytes catalog_plain_key(struct arena *a, enum catalog_kind kind);
bytes catalog_table_key(struct arena *a, bytes instance, bytes name);
bytes catalog_dropped_key(struct arena *a, uint32_t location_id);
/* Where the progress of a table's rekeying is noted, or of an index's build (row_walk.h). */
bytes catalog_rekey_key(struct arena *a, uint32_t table_id);
/* Where a text lies that all processes share (text.h). */
bytes catalog_text_key(struct arena *a, bytes name);
/* The key of a page of a table's partitions; and the id of the page of a key, 0 if it is not one.
 */
bytes catalog_page_key(struct arena *a, uint32_t location_id, uint64_t page_id);
uint64_t catalog_page_key_id(bytes key);

/* The state of a tunnel. There is one as long as the table's description names the tunnel. */
bytes catalog_tunnel_key(struct arena *a, uint32_t table_id, uint64_t number);

bytes catalog_number_value(struct arena *a, uint64_t v);
/* The number stored under a plain key; 0: there is none. Blocks. */
int catalog_load_number(struct ctx *c, struct engine *e, enum catalog_kind kind, uint64_t *out);

/* The notification that the table of that name has changed. */
bytes catalog_notification_text(struct arena *a, bytes instance, bytes name);
/* The notification that texts have changed. */
bytes catalog_notification_of_texts(struct arena *a);

/* What a notification tells. */
enum catalog_notice {
    NOTICE_TABLE, /* a table has changed */
    NOTICE_TEXTS,
    NOTICE_QUESTION, /* it wants an answer (peers.h) */
    NOTICE_DAMAGED
};
/* Says what the notification `text` is about. If that is a table, its instance and name are views
 * into the text. */
enum catalog_notice catalog_notice_of(bytes text, bytes *instance, bytes *name);

#endif
