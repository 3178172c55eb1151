#include "parquet/writer.h"

#include "base/port.h"
#include "parquet/format.h"
#include "parquet/thrift.h"

#include <stdlib.h>
#include <zstd.h>

/* A struct that was written apart. */
struct piece {
    size_t at;
    uint32_t len; /* 0: there is none */
};

/* Where a column's pages of a row group stand, and what is told of them. */
struct place {
    uint64_t offset;
    uint64_t packed_bytes, raw_bytes;
    uint32_t dictionary; /* bytes of its page, in front of the others; 0: there is none */
    uint32_t encodings;
    struct piece statistics, columns, offsets;
};

struct written {
    uint64_t piece, number; /* in the order of the rows; as they came */
    uint64_t rows;
    struct place *places; /* by number of the column */
    size_t count;         /* columns that it has */
};

struct parquet {
    FILE *out;
    struct parquet_column *columns; /* by number */
    size_t *order;                  /* numbers as the file has them */
    size_t count;
    uint64_t offset; /* in the file */
    uint64_t rows;
    bytes key_note;
    struct written *groups;
    size_t group_count, group_capacity;
    /* What is told of the pages, until the end of the file, where readers find it together. */
    struct thrift statistics, column_indexes, offset_indexes;
    uint64_t columns_at, offsets_at; /* where the latter two stand in the file then */
};

static int32_t physical_type(enum wr_type type)
{
    switch (type) {
    case WR_BIGINT:
        return PHYSICAL_INT64;
    case WR_DOUBLE:
        return PHYSICAL_DOUBLE;
    case WR_BOOLEAN:
        return PHYSICAL_BOOLEAN;
    default:
        return PHYSICAL_BYTE_ARRAY;
    }
}

static void put_out(struct parquet *p, const void *data, size_t n)
{
    if (n)
        fwrite(data, 1, n, p->out);
    p->offset += n;
}

struct parquet *parquet_open(FILE *out, const struct parquet_column *columns, size_t count,
                             struct wr_bytes key_note)
{
    struct parquet *p = mem_zalloc(sizeof(*p));

    p->out = out;
    p->key_note = key_note;
    for (size_t i = 0; i < count; i++)
        parquet_insert(p, &columns[i], i);
    put_out(p, PARQUET_MAGIC, 4);
    return p;
}

void parquet_insert(struct parquet *p, const struct parquet_column *column, size_t at)
{
    p->columns = mem_realloc(p->columns, sizeof(*p->columns) * (p->count + 1));
    p->order = mem_realloc(p->order, sizeof(*p->order) * (p->count + 1));
    memmove(&p->order[at + 1], &p->order[at], sizeof(*p->order) * (p->count - at));
    p->order[at] = p->count;
    p->columns[p->count++] = *column;
}

/* ---- row groups */

void parquet_widen(const struct parquet *p, struct group *g, size_t count)
{
    while (g->count < count)
        group_add_column(g, p->columns[g->count].type, p->columns[g->count].key);
}

static struct piece piece_of(const struct thrift *t, size_t before)
{
    return (struct piece){before, (uint32_t)(t->len - before)};
}

static void note_pages(struct parquet *p, const struct chunk *k, struct place *place)
{
    size_t statistics = p->statistics.len, columns = p->column_indexes.len;
    size_t offsets = p->offset_indexes.len;

    page_index_put_statistics(&p->statistics, k->type, &k->notes);
    place->statistics = piece_of(&p->statistics, statistics);
    page_index_put_columns(&p->column_indexes, k->type, &k->notes);
    place->columns = piece_of(&p->column_indexes, columns);
    page_index_put_offsets(&p->offset_indexes, &k->notes, place->offset);
    place->offsets = piece_of(&p->offset_indexes, offsets);
}

static void put_chunk(struct parquet *p, struct chunk *k, struct place *place)
{
    *place = (struct place){.offset = p->offset,
                            .packed_bytes = k->pages.len,
                            .raw_bytes = k->raw_bytes,
                            .dictionary = (uint32_t)k->dictionary,
                            .encodings = k->encodings};
    note_pages(p, k, place);
    put_out(p, k->pages.data, k->pages.len);
}

void parquet_add(struct parquet *p, struct group *g, uint64_t piece)
{
    struct written *w;

    if (g->rows == 0)
        return;
    if (p->group_count == p->group_capacity) {
        p->group_capacity = p->group_capacity ? p->group_capacity * 2 : 64;
        p->groups = mem_realloc(p->groups, sizeof(*p->groups) * p->group_capacity);
    }
    w = &p->groups[p->group_count];
    *w = (struct written){
        .piece = piece, .number = p->group_count++, .rows = g->rows, .count = g->count};
    w->places = mem_alloc(sizeof(*w->places) * g->count);
    for (size_t i = 0; i < g->count; i++)
        put_chunk(p, &g->chunks[i], &w->places[i]);
    p->rows += g->rows;
    group_clear(g);
}

/* Pages without values for the columns that came after a row group was made. */
static void put_late_columns(struct parquet *p)
{
    ZSTD_CCtx *zstd = ZSTD_createCCtx();

    for (size_t i = 0; i < p->group_count; i++) {
        struct written *w = &p->groups[i];

        if (w->count < p->count)
            w->places = mem_realloc(w->places, sizeof(*w->places) * p->count);
        for (; w->count < p->count; w->count++) {
            struct chunk k = {.type = p->columns[w->count].type};

            chunk_put_absent(&k, (uint32_t)w->rows);
            chunk_pack(&k, zstd);
            put_chunk(p, &k, &w->places[w->count]);
            chunk_release(&k);
        }
    }
    ZSTD_freeCCtx(zstd);
}

/* ---- the footer */

static void put_schema(struct parquet *p, struct thrift *t)
{
    thrift_list(t, 2, THRIFT_STRUCT, p->count + 1);
    thrift_begin(t, 0);
    thrift_binary(t, 4, BYTES_LIT("row"));
    thrift_i32(t, 5, (int32_t)p->count);
    thrift_end(t);
    for (size_t i = 0; i < p->count; i++) {
        const struct parquet_column *column = &p->columns[p->order[i]];

        thrift_begin(t, 0);
        thrift_i32(t, 1, physical_type(column->type));
        thrift_i32(t, 3, column->key ? REPETITION_REQUIRED : REPETITION_OPTIONAL);
        thrift_binary(t, 4, column->name);
        if (column->type == WR_VARCHAR) {
            thrift_i32(t, 6, CONVERTED_UTF8);
            thrift_begin(t, 10);
            thrift_begin(t, 1); /* a string */
            thrift_end(t);
            thrift_end(t);
        }
        thrift_end(t);
    }
}

static void put_encodings(struct thrift *t, uint32_t encodings)
{
    thrift_list(t, 2, THRIFT_I32, (size_t)__builtin_popcount(encodings));
    for (int32_t i = 0; i < 32; i++)
        if (encodings >> i & 1)
            thrift_element_i32(t, i);
}

static void put_place(const struct parquet *p, struct thrift *t,
                      const struct parquet_column *column, const struct place *place, uint64_t rows)
{
    const struct piece *statistics = &place->statistics;

    thrift_begin(t, 0);
    thrift_i64(t, 2, (int64_t)place->offset);
    thrift_begin(t, 3);
    thrift_i32(t, 1, physical_type(column->type));
    put_encodings(t, place->encodings);
    thrift_list(t, 3, THRIFT_BINARY, 1);
    thrift_element_binary(t, column->name);
    thrift_i32(t, 4, CODEC_ZSTD);
    thrift_i64(t, 5, (int64_t)rows);
    thrift_i64(t, 6, (int64_t)place->raw_bytes);
    thrift_i64(t, 7, (int64_t)place->packed_bytes);
    thrift_i64(t, 9, (int64_t)(place->offset + place->dictionary));
    if (place->dictionary)
        thrift_i64(t, 11, (int64_t)place->offset);
    thrift_struct(t, 12, bytes_of(p->statistics.data + statistics->at, statistics->len));
    thrift_end(t);
    thrift_i64(t, 4, (int64_t)(p->offsets_at + place->offsets.at));
    thrift_i32(t, 5, (int32_t)place->offsets.len);
    if (place->columns.len) {
        thrift_i64(t, 6, (int64_t)(p->columns_at + place->columns.at));
        thrift_i32(t, 7, (int32_t)place->columns.len);
    }
    thrift_end(t);
}

static void put_group(struct parquet *p, struct thrift *t, const struct written *w)
{
    uint64_t raw_bytes = 0;

    thrift_begin(t, 0);
    thrift_list(t, 1, THRIFT_STRUCT, p->count);
    for (size_t i = 0; i < p->count; i++) {
        put_place(p, t, &p->columns[p->order[i]], &w->places[p->order[i]], w->rows);
        raw_bytes += w->places[i].raw_bytes;
    }
    thrift_i64(t, 2, (int64_t)raw_bytes);
    thrift_i64(t, 3, (int64_t)w->rows);
    thrift_end(t);
}

static int by_order(const void *left, const void *right)
{
    const struct written *a = left, *b = right;

    if (a->piece != b->piece)
        return a->piece < b->piece ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static void put_key_note(struct parquet *p, struct thrift *t)
{
    thrift_list(t, 5, THRIFT_STRUCT, 1);
    thrift_begin(t, 0);
    thrift_binary(t, 1, BYTES_LIT("widerow.key"));
    thrift_binary(t, 2, p->key_note);
    thrift_end(t);
}

/* All values are in the order of their types, which is what bounds are told by. */
static void put_column_orders(struct parquet *p, struct thrift *t)
{
    thrift_list(t, 7, THRIFT_STRUCT, p->count);
    for (size_t i = 0; i < p->count; i++) {
        thrift_begin(t, 0);
        thrift_begin(t, 1);
        thrift_end(t);
        thrift_end(t);
    }
}

static void put_page_indexes(struct parquet *p)
{
    p->columns_at = p->offset;
    put_out(p, p->column_indexes.data, p->column_indexes.len);
    p->offsets_at = p->offset;
    put_out(p, p->offset_indexes.data, p->offset_indexes.len);
}

static void put_footer(struct parquet *p)
{
    struct thrift t = {0};
    uint32_t len;

    if (p->group_count)
        qsort(p->groups, p->group_count, sizeof(*p->groups), by_order);
    thrift_begin(&t, 0);
    thrift_i32(&t, 1, 1);
    put_schema(p, &t);
    thrift_i64(&t, 3, (int64_t)p->rows);
    thrift_list(&t, 4, THRIFT_STRUCT, p->group_count);
    for (size_t i = 0; i < p->group_count; i++)
        put_group(p, &t, &p->groups[i]);
    put_key_note(p, &t);
    thrift_binary(&t, 6, BYTES_LIT("widerow"));
    put_column_orders(p, &t);
    thrift_end(&t);
    len = (uint32_t)t.len;
    thrift_put_u32(&t, len);
    thrift_put(&t, PARQUET_MAGIC, 4);
    put_out(p, t.data, t.len);
    thrift_release(&t);
}

void parquet_close(struct parquet *p, bool whole)
{
    if (whole) {
        put_late_columns(p);
        put_page_indexes(p);
        put_footer(p);
    }
    for (size_t i = 0; i < p->group_count; i++)
        mem_free(p->groups[i].places);
    thrift_release(&p->statistics);
    thrift_release(&p->column_indexes);
    thrift_release(&p->offset_indexes);
    mem_free(p->groups);
    mem_free(p->columns);
    mem_free(p->order);
    mem_free(p);
}
