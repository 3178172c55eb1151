/* schema_page.c: the second level of a table's map, as stored bytes.
 *
 * A page is a version byte and then partitions to the end, each as in field 40 of a description.
 * What it is worth is said by the description that names it: its id, its first bound and how many
 * there are. */
#include "table/model/schema.h"

#define PAGE_VERSION 1

void schema_put_partition(struct buf *b, const struct schema_partition *p)
{
    buf_put_varint(b, p->id);
    buf_put_varint(b, p->start.len);
    buf_put_bytes(b, p->start);
    buf_put_varint(b, zigzag(p->created_us));
    buf_put_varint(b, p->bytes);
}

struct schema_partition schema_read_partition(struct reader *r)
{
    struct schema_partition p = {.id = read_varint(r)};
    uint64_t n = read_varint(r);

    if (n > reader_left(r)) {
        r->bad = true;
        return p;
    }
    p.start = read_bytes(r, n);
    p.created_us = unzigzag(read_varint(r));
    p.bytes = read_varint(r);
    return p;
}

bytes schema_page_encode(struct arena *a, const struct schema_page *p)
{
    struct buf b;

    buf_init(&b, a, 1 + 64 * p->count);
    buf_put_u8(&b, PAGE_VERSION);
    for (size_t i = 0; i < p->count; i++)
        schema_put_partition(&b, &p->list[i]);
    return buf_bytes(&b);
}

int schema_page_decode(struct ctx *c, bytes stored, const struct schema_page *p,
                       struct schema_partition **list)
{
    struct reader r = reader_of(arena_copy(&c->arena, stored));
    uint8_t version = read_u8(&r);
    bool fits = true;

    if (!r.bad && version != PAGE_VERSION)
        return fail(c, E_FORMAT,
                    "A stored page of partitions has version %d; this server knows version %d.",
                    version, PAGE_VERSION);
    if (p->count > reader_left(&r)) /* before there is an array of them */
        return fail(c, E_CORRUPT, "A stored page of partitions is truncated.");
    *list = ARENA_ARRAY(&c->arena, struct schema_partition, p->count);
    for (size_t i = 0; i < p->count && fits; i++) {
        (*list)[i] = schema_read_partition(&r);
        fits = !r.bad && (i ? bytes_compare((*list)[i - 1].start, (*list)[i].start) < 0
                            : bytes_equal((*list)[i].start, p->start));
    }
    if (!fits || reader_left(&r))
        return fail(c, E_CORRUPT, "A stored page of partitions is damaged.");
    return E_OK;
}

int schema_page_ids(struct ctx *c, bytes stored, uint64_t **ids, size_t *count)
{
    struct reader r = reader_of(stored);

    *count = 0;
    if (read_u8(&r) != PAGE_VERSION)
        return fail(c, E_FORMAT, "A stored page of partitions is of a version not known here.");
    *ids = ARENA_ARRAY(&c->arena, uint64_t, reader_left(&r) / 4 + 1); /* each takes four bytes */
    while (reader_left(&r) && !r.bad)
        (*ids)[(*count)++] = schema_read_partition(&r).id;
    return r.bad ? fail(c, E_CORRUPT, "A stored page of partitions is damaged.") : E_OK;
}

size_t schema_pages_make(const struct schema_partition *list, size_t count, size_t page_max,
                         uint64_t (*next_id)(void *arg), void *arg, struct schema_page *out)
{
    size_t pages = (count + page_max - 1) / page_max;

    for (size_t i = 0; i < pages; i++) {
        size_t from = count * i / pages, to = count * (i + 1) / pages;

        out[i] = (struct schema_page){next_id(arg), list[from].start, to - from, &list[from]};
    }
    return pages;
}

void schema_paginate(struct arena *a, struct schema *s, size_t page_max,
                     uint64_t (*next_id)(void *arg), void *arg)
{
    struct schema_page *pages =
        ARENA_ARRAY(a, struct schema_page, s->partition_count / page_max + 1);

    s->page_count =
        schema_pages_make(s->partitions, s->partition_count, page_max, next_id, arg, pages);
    s->pages = pages;
    s->partitions = NULL;
    s->d.split_count = 0;
}
