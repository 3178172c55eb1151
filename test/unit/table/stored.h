/* stored.h: what is stored, whatever clients may see of it. Included behind cmocka. */
#ifndef UNIT_TABLE_STORED_H
#define UNIT_TABLE_STORED_H

#include "table/core/db.h"
#include "table/model/key.h"
#include "table/sync/wait.h"

/* From `start` up to `end`, in c's memory. */
static inline struct page stored_range(struct ctx *c, struct wr_db *db, bytes start, bytes end)
{
    struct key_range range = {start, end};
    struct page page = {0};
    struct scan scan = {.view = VIEW_LATEST,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = 100000,
                        .bytes_max = (size_t)1 << 30,
                        .pages = &page};

    assert_int_equal(wait_scan(c, db->engine, &scan), 0);
    assert_false(page.more);
    return page;
}

/* Keys of one kind in bucket 0 of what has that id. */
static inline size_t stored_count(struct wr_db *db, uint32_t id, enum key_kind kind)
{
    struct ctx c;
    size_t count;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    count = stored_range(&c, db, key_prefix(&c.arena, id, 0, kind),
                         key_prefix(&c.arena, id, 0, kind + 1))
                .count;
    ctx_release(&c);
    return count;
}

#endif
