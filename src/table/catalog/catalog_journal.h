/* catalog_journal.h: the journal of catalog changes, for servers that were not told of one.
 *
 * Where several processes share the data, each batch that changes the catalog also stores one
 * journal entry that names what was changed. The process that made the change tells the others
 * (catalog_lease.c), but it may die before it has told them, and a batch whose answer was lost may
 * land long afterwards. So every process lists the journal every few seconds, and reads again what
 * an entry names if its cache is older than the entry (catalog_follow.h). The journal guards
 * nothing: two processes that change two tables do not disturb each other.
 *
 * An entry is removed by whichever process has known it for a minute first. A process that could
 * not list the journal for nearly as long reads the whole catalog again. */
#ifndef TABLE_CATALOG_CATALOG_JOURNAL_H
#define TABLE_CATALOG_CATALOG_JOURNAL_H

#include "table/model/batch_builder.h"

struct wr_db;

/* What a journal entry tells. The texts are views into the stored value. */
struct journal_entry {
    bytes instance; /* empty: shared texts were changed (text.h) */
    bytes name;
    uint32_t id;      /* of the table */
    uint64_t version; /* of its description; 0: the table was dropped */
};

/* Adds the entry to a batch that makes this change; nothing unless engine_is_shared(). */
void journal_add(struct wr_db *db, struct batch_builder *e, const struct journal_entry *entry);

/* The stored form of an entry, in the arena, and back. E_FORMAT: of another version. */
bytes journal_encode(struct arena *a, const struct journal_entry *entry);
int journal_decode(struct ctx *c, bytes stored, struct journal_entry *out);

/* The key of the entry of that number. */
bytes journal_key(struct arena *a, uint64_t number);

#endif
