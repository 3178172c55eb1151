/* catalog_table.c: a table from its stored description, and the edits that store one. */
#include "table/catalog/catalog_own.h"

#include "base/invariant.h"
#include "table/catalog/catalog_journal.h"
#include "table/model/batch_builder.h"
#include "table/stats/sampler.h"

/* An index's table counts its reads by itself; what is written to it counts the base table. */
static void open_samplers(struct table *t)
{
    const struct schema *s = &t->schema;
    struct sampler *to = t->db->sampler;

    t->sampler =
        sampler_open(to, s->base.table.len ? s->location.id : 0, s->location.layout.buckets);
    if (!to)
        return;
    if (s->index_count)
        t->index_samplers = ARENA_ARRAY(&t->ctx.arena, struct sampler_table *, s->index_count);
    for (size_t i = 0; i < s->index_count; i++) {
        const struct location *p = &s->indexes[i].location;

        t->index_samplers[i] = sampler_open(to, p->id, p->layout.buckets);
    }
}

int catalog_table_new(struct ctx *c, struct catalog *cat, bytes stored,
                      const struct map_source *from, struct table **out)
{
    struct table *t = mem_zalloc(sizeof(*t));
    struct wr_db *db = cat->db;
    int code;

    t->db = db;
    ctx_init(&t->ctx, &db->clock, &db->log, NULL, 0);
    atomic_init(&t->refs, 1);
    if (schema_decode(&t->ctx, stored, &t->schema)) {
        code = fail(c, t->ctx.code, "%s", t->ctx.text);
        table_release(t);
        return code;
    }
    t->stored = arena_copy(&t->ctx.arena, stored);
    code = catalog_map_init(c, cat, from, &t->schema, &t->partitions);
    if (code) {
        table_release(t);
        return code;
    }
    t->traffic = traffic_new();
    if (!engine_one_key_space(db->engine))
        traffic_reroute(t->traffic, &t->partitions);
    atomic_init(&t->has_out_of_line, t->schema.has_out_of_line);
    open_samplers(t);
    if (db->observe)
        db->observe(db, t);
    catalog_live_add(cat, t);
    *out = t;
    return E_OK;
}

/* Pages that `s` names no more. Both are sorted by start. */
static void remove_gone(struct batch_builder *e, const struct schema *old, const struct schema *s)
{
    size_t j = 0, count = schema_is_paged(s) ? s->page_count : 0;

    for (size_t i = 0; i < old->page_count; i++) {
        const struct schema_page *p = &old->pages[i];

        while (j < count && bytes_compare(s->pages[j].start, p->start) < 0)
            j++;
        if (j == count || s->pages[j].id != p->id)
            batch_add(e, EDIT_DELETE, catalog_page_key(e->arena, old->location.id, p->id),
                      BYTES_NONE);
    }
}

int catalog_store(struct ctx *c, struct catalog *cat, const struct table *old,
                  const struct schema *schema, struct batch_builder *e, struct table **next)
{
    struct schema s = *schema;
    size_t page_max = catalog_page_max(&cat->db->limits, s.partition_count);
    struct map_source from = {.old = old, .made = &s};
    struct buf stored;

    if (!s.page_count && s.partition_location == s.location.id && s.partition_count > page_max)
        schema_paginate(&c->arena, &s, page_max, catalog_page_id, cat);
    for (size_t i = 0; schema_is_paged(&s) && i < s.page_count; i++)
        if (s.pages[i].list)
            batch_add(e, EDIT_PUT, catalog_page_key(e->arena, s.location.id, s.pages[i].id),
                      schema_page_encode(e->arena, &s.pages[i]));
    if (old) {
        s.has_out_of_line |= atomic_load(&old->has_out_of_line);
        remove_gone(e, &old->schema, &s);
    }
    invariant(schema_is_whole(&s));
    buf_init(&stored, e->arena, 1024);
    schema_encode(&stored, &s);
    batch_add(e, EDIT_PUT, catalog_table_key(e->arena, s.instance, s.d.table), buf_bytes(&stored));
    journal_add(cat->db, e, &(struct journal_entry){s.instance, s.d.table, s.id, s.version});
    return catalog_table_new(c, cat, buf_bytes(&stored), &from, next);
}

bool catalog_guards(const struct catalog *cat, const struct table *old)
{
    return db_is_shared(cat->db) || (old && old->schema.page_count);
}
