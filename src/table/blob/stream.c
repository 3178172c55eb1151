/* stream.c: what the streams of a database share. */
#include "table/blob/stream.h"

#include "table/catalog/catalog.h"
#include "table/catalog/peers.h"
#include "table/model/key.h"

#include <stdio.h>

#define STREAM_THREADS 2

struct use {
    struct use *next;
    uint64_t id;
};

struct streams {
    struct workers *workers;
    pthread_mutex_t lock; /* of uses */
    struct use *uses;
};

struct streams *streams_start(void)
{
    struct streams *s = mem_zalloc(sizeof(*s));

    s->workers = workers_start("wr-stream", STREAM_THREADS);
    if (!s->workers) {
        mem_free(s);
        return NULL;
    }
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void streams_stop(struct streams *s)
{
    struct use *next;

    if (!s)
        return;
    workers_stop(s->workers);
    for (struct use *u = s->uses; u; u = next) {
        next = u->next;
        mem_free(u);
    }
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

void streams_submit(struct streams *s, struct job *job)
{
    workers_submit(s->workers, job);
}

void streams_use_begin(struct streams *s, uint64_t id)
{
    struct use *u = mem_alloc(sizeof(*u));

    pthread_mutex_lock(&s->lock);
    *u = (struct use){s->uses, id};
    s->uses = u;
    pthread_mutex_unlock(&s->lock);
}

void streams_use_end(struct streams *s, uint64_t id)
{
    struct use **at, *u = NULL;

    pthread_mutex_lock(&s->lock);
    for (at = &s->uses; *at && (*at)->id != id; at = &(*at)->next)
        ;
    if (*at) {
        u = *at;
        *at = u->next;
    }
    pthread_mutex_unlock(&s->lock);
    mem_free(u);
}

bool streams_use(struct streams *s, uint64_t id)
{
    struct use *u;

    pthread_mutex_lock(&s->lock);
    for (u = s->uses; u && u->id != id; u = u->next)
        ;
    pthread_mutex_unlock(&s->lock);
    return u != NULL;
}

/* ---- the streams of other servers ---- */

void readers_answer(struct ctx *c, struct wr_db *db, struct table *t, struct reader *in,
                    struct buf *out)
{
    (void)c;
    (void)t;
    while (reader_left(in) >= 8) {
        uint64_t id = read_u64(in);

        if (streams_use(db->streams, id))
            buf_put_u64(out, id);
    }
}

void stream_readers_query(struct ctx *c, struct table *t, const uint64_t *ids, size_t count,
                          struct stream_readers *out)
{
    struct peers_query query = {.question = PEERS_READERS, .db = t->db, .table = t, .a = &c->arena};
    struct buf more;

    *out = (struct stream_readers){.ids = ARENA_ARRAY(&c->arena, uint64_t, count + 1)};
    if (!count || !db_is_shared(t->db))
        return;
    buf_init(&more, &c->arena, 8 * count);
    for (size_t i = 0; i < count; i++)
        buf_put_u64(&more, ids[i]);
    query.more = buf_bytes(&more);
    peers_query_now(&query);
    out->silent = query.silent || !query.sent;
    for (size_t i = 0; i < query.count; i++) {
        struct reader r = reader_of(query.answers[i]);

        while (reader_left(&r) >= 8 && out->count < count) /* one of them each, or in doubt all */
            out->ids[out->count++] = read_u64(&r);
        out->silent |= reader_left(&r) > 0;
    }
}

bool stream_readers_have(const struct stream_readers *r, uint64_t id)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->ids[i] == id)
            return true;
    return false;
}

int stream_find_row(struct ctx *c, struct wr_db *db, bytes instance, bytes table_name,
                    const struct wr_key *key, bytes column, struct table **table, bytes *cols)
{
    const struct wr_table_description *d;
    struct buf b;
    int code;

    TRY(catalog_find_one(c, db->catalog, instance, table_name, table));
    d = &(*table)->schema.d;
    code = key_check(c, &db->limits, d->key, d->key_count, key, KEY_READ);
    for (size_t i = 0; !code && i < d->key_count; i++)
        if (bytes_equal(d->key[i].name, column))
            code = fail(c, E_PARAMETER, "'%.*s' is a column of the primary key, not a cell.",
                        BYTES_FMT(column));
    buf_init(&b, &c->arena, 64);
    if (!code)
        code = key_put_columns(c, &b, d->key, key->columns, key->count);
    *cols = buf_bytes(&b);
    if (code) {
        table_release(*table);
        *table = NULL;
    }
    return code;
}

int stream_give_text(const struct ctx *c, int code, char *message, size_t size)
{
    if (message && size)
        snprintf(message, size, "%s", c->text ? c->text : err_info(code)->text);
    return code;
}
