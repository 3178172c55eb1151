#include "advisor/bucket.h"

#include "base/number.h"
#include "table/model/layout.h"

struct bucket_layout {
    struct ctx *c;
    struct location place;
    struct wr_key_schema key[BUCKET_COLUMNS_MAX + 1]; /* the partition key, and what is behind it */
    struct wr_key_column columns[BUCKET_COLUMNS_MAX + 1];
    size_t count; /* of the partition key */
};

struct bucket_layout *bucket_layout_new(struct ctx *c, const char *layout,
                                        const enum wr_type *types, size_t count)
{
    struct bucket_layout *l = ARENA_NEW(&c->arena, struct bucket_layout);

    if (count > BUCKET_COLUMNS_MAX)
        return NULL;
    *l = (struct bucket_layout){.c = c, .count = count};
    for (size_t i = 0; i < count; i++)
        l->key[i].type = types[i];
    l->key[count].type = WR_BIGINT;
    l->place = (struct location){.key = l->key, .key_count = count + 1};
    if (layout_parse(c, bytes_str(layout), l->key, count + 1, &l->place.layout) ||
        l->place.layout.form == LAYOUT_PLAIN)
        return NULL;
    l->place.layout.partition_cols = (uint8_t)count;
    return l;
}

static struct wr_value value_of(enum wr_type type, bytes text)
{
    struct wr_value v = {.type = type};

    if (type == WR_VARCHAR)
        v.bytes = text;
    else if (!number_integer(text, &v.integer))
        v.integer = 0; /* absent */
    return v;
}

unsigned bucket_of(struct bucket_layout *l, const bytes *texts, int64_t rest)
{
    struct arena_mark mark = arena_mark(&l->c->arena);
    struct buf key;
    unsigned bucket;

    for (size_t i = 0; i < l->count; i++)
        l->columns[i].value = value_of(l->key[i].type, texts[i]);
    l->columns[l->count].value = (struct wr_value){.type = WR_BIGINT, .integer = rest};
    buf_init(&key, &l->c->arena, 256);
    bucket = key_put_columns(l->c, &key, l->key, l->columns, l->count + 1)
                 ? 0
                 : layout_bucket(&l->place, buf_bytes(&key));
    arena_rewind(&l->c->arena, &mark);
    return bucket;
}
