/* merge.h: the records of a table's rows, or of those of several tables of a series, in the order
 * of their logical keys, whatever buckets they lie in.
 *
 * Each bucket of each table is a stream, read page by page; the row that comes next is the least of
 * all streams' (backward, the greatest). A merge belongs to one request and is used by one thread
 * at a time. */
#ifndef TABLE_ROW_MERGE_H
#define TABLE_ROW_MERGE_H

#include "engine/engine.h"
#include "table/model/table.h"
#include "table/model/layout.h"

struct bucket_stream {
    const struct table *table;
    struct key_range range; /* what is left behind the page */
    struct page page;
    size_t at; /* the next item of the page */
    bool ended;
};

struct merge {
    struct ctx *c; /* keys and values live in its arena */
    /* NULL, or with one stream where they live instead: only until the next page is read, so that
     * the request does not hold all that the walk has passed. */
    struct ctx *page_c;
    const struct table *const *tables; /* in one key space, if there are several */
    size_t table_count;
    enum engine_view view;
    struct snapshot
        *snapshot; /* all streams are read at it; NULL: each scan is a moment of its own */
    bool backward;
    void (*done)(struct merge *m);

    struct bucket_stream *streams;
    size_t stream_count;
    uint16_t *heap; /* streams that have a row, the one whose row comes next in front */
    size_t heap_count;
    uint16_t *dry; /* streams that must be read on before anybody knows what comes next */
    size_t dry_count;

    bool scanning;
    struct scan scan;
};

/* Between two bounds of logical keys, each INF columns and values; backward `start` is the upper
 * end. The start counts, the end does not. Fills in all but c, tables, table_count, view, snapshot,
 * backward and done, which the caller has set. Of equal keys, that of the first table comes first.
 */
void merge_start(struct merge *m, const struct wr_key *start, const struct wr_key *end);

/* The row that comes next: *out points to its stored key and value until merge_pop() (the bytes
 * live on in the arena, if it is the request's), NULL: there is none. `rows` and `ahead` (bytes)
 * say how much more the caller will take at most, and bound what is read ahead. E_LATER: done() is
 * called, and then merge_peek() again answers. */
int merge_peek(struct merge *m, size_t rows, size_t ahead, const struct kv **out);
void merge_pop(struct merge *m);

/* The table of that row; the first one, if there is none. */
const struct table *merge_table(const struct merge *m);

#endif
