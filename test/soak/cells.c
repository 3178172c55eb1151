#include "cells.h"

#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

#define WIDE_CELLS_MIN 100
#define WIDE_CELLS_MAX 900
#define BLOB_BYTES_MAX 150000
#define BLOB_LARGE_BYTES_MAX 1900000 /* now and then */
#define TEXT_BYTES_MAX 300

const struct table_info tables[TABLES] = {
    [TABLE_SMALL] = {"small", 320, 8, 3, 24},
    [TABLE_WIDE] = {"wide", 10, 1, GROUPS_MAX, WIDE_CELLS_MAX + 16},
    [TABLE_BLOB] = {"blob", 12, 2, 3, 16},
};

struct wr_value cells_integer(int64_t n)
{
    return (struct wr_value){.type = WR_BIGINT, .integer = n};
}

static bytes random_text(struct arena *a, struct rng *rng, size_t n)
{
    char *text = arena_alloc(a, n + 8);

    for (size_t i = 0; i < n; i += 8) {
        uint64_t r = rng_next(rng);

        for (size_t j = i; j < i + 8; j++, r >>= 8)
            text[j] = (char)('a' + (r & 15));
    }
    return bytes_of(text, n);
}

static void put(struct wr_cell *out, bytes name, struct wr_value value)
{
    *out = (struct wr_cell){.name = name, .value = value, .timestamp_ms = WR_TIMESTAMP_NONE};
}

/* Of a wide row every group but the first has hundreds of cells, as many for each write. */
static int wide_cells(int group, int64_t bucket, int64_t id)
{
    struct rng rng;

    if (group == 0)
        return 3;
    rng_init(&rng, (uint64_t)bucket << 24 ^ (uint64_t)id << 8 ^ (uint64_t)group);
    return WIDE_CELLS_MIN + (int)rng_below(&rng, WIDE_CELLS_MAX - WIDE_CELLS_MIN + 1);
}

static int wide_group(struct arena *a, int group, int count, struct rng *rng, struct wr_cell *out)
{
    for (int i = 0; i < count; i++) {
        bytes name = arena_printf(a, "g%dc%04d", group, i);

        if (i % 16 == 3)
            put(&out[i], name,
                (struct wr_value){.type = WR_VARCHAR,
                                  .bytes = random_text(a, rng, rng_below(rng, 90))});
        else
            put(&out[i], name, cells_integer((int64_t)rng_next(rng)));
    }
    return count;
}

static int blob_group(struct arena *a, int group, struct rng *rng, struct wr_cell *out)
{
    size_t max = rng_below(rng, 12) == 0 ? BLOB_LARGE_BYTES_MAX : BLOB_BYTES_MAX;
    size_t n = group == 0 ? rng_below(rng, 200) : rng_below(rng, max);

    put(&out[0], arena_printf(a, "g%dblob", group),
        (struct wr_value){.type = WR_VARBINARY, .bytes = random_text(a, rng, n)});
    return 1;
}

static int small_group(struct arena *a, int group, struct rng *rng, struct wr_cell *out)
{
    put(&out[0], arena_printf(a, "g%dbool", group),
        (struct wr_value){.type = WR_BOOLEAN, .boolean = rng_below(rng, 2)});
    put(&out[1], arena_printf(a, "g%dint", group), cells_integer((int64_t)rng_next(rng)));
    put(&out[2], arena_printf(a, "g%draw", group),
        (struct wr_value){.type = WR_VARBINARY, .bytes = random_text(a, rng, rng_below(rng, 60))});
    put(&out[3], arena_printf(a, "g%dreal", group),
        (struct wr_value){.type = WR_DOUBLE, .real = (double)(int64_t)rng_next(rng) / 1024});
    put(&out[4], arena_printf(a, "g%dtext", group),
        (struct wr_value){.type = WR_VARCHAR,
                          .bytes = random_text(a, rng, rng_below(rng, TEXT_BYTES_MAX))});
    return 5;
}

int cells_of_group(struct arena *a, enum table table, int group, int64_t bucket, int64_t id,
                   uint64_t tag, struct wr_cell *out)
{
    struct rng rng;
    int n;

    rng_init(&rng, tag * 0x9E3779B97F4A7C15ull ^ (uint64_t)bucket << 40 ^ (uint64_t)id << 8 ^
                       (uint64_t)group);
    if (table == TABLE_SMALL)
        n = small_group(a, group, &rng, out);
    else if (table == TABLE_WIDE)
        n = wide_group(a, group, wide_cells(group, bucket, id), &rng, out);
    else
        n = blob_group(a, group, &rng, out);
    put(&out[n], arena_printf(a, "g%dtag", group), cells_integer((int64_t)tag));
    return n + 1;
}

static int by_name(const void *x, const void *y)
{
    const struct wr_cell *a = x, *b = y;

    return bytes_compare(a->name, b->name);
}

struct wr_cell *cells_of_row(struct arena *a, enum table table, int64_t bucket, int64_t id,
                             const struct state *s, size_t *count)
{
    size_t groups = (size_t)tables[table].groups;
    struct wr_cell *cells =
        ARENA_ARRAY(a, struct wr_cell, groups * (size_t)tables[table].cells_max + 1);
    size_t n = 0;

    for (int g = 0; g < tables[table].groups; g++)
        if (s->tags[g])
            n += (size_t)cells_of_group(a, table, g, bucket, id, s->tags[g], &cells[n]);
    if (s->has_n)
        put(&cells[n++], BYTES_LIT("n"), cells_integer(s->n));
    qsort(cells, n, sizeof(*cells), by_name);
    *count = n;
    return cells;
}

static bool value_equal(const struct wr_value *x, const struct wr_value *y)
{
    if (x->type != y->type)
        return false;
    switch (x->type) {
    case WR_VARCHAR:
    case WR_VARBINARY:
        return bytes_equal(x->bytes, y->bytes);
    case WR_BOOLEAN:
        return x->boolean == y->boolean;
    case WR_DOUBLE:
        return x->real == y->real;
    default:
        return x->integer == y->integer;
    }
}

/* The tags that the row's cells name, and its counter. */
static void read_tags(enum table table, const struct wr_row *row, struct state *out)
{
    *out = (struct state){0};
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct wr_cell *c = &row->cells[i];

        if (c->value.type != WR_BIGINT)
            continue;
        if (bytes_equal(c->name, BYTES_LIT("n"))) {
            out->has_n = true;
            out->n = c->value.integer;
        }
        if (c->name.len == 5 && *bytes_u8(c->name) == 'g' &&
            memcmp(bytes_u8(c->name) + 2, "tag", 3) == 0) {
            int g = bytes_u8(c->name)[1] - '0';

            if (g >= 0 && g < tables[table].groups)
                out->tags[g] = (uint64_t)c->value.integer;
        }
    }
}

bool state_read(struct arena *a, enum table table, const struct wr_row *row, struct state *out,
                const char **why)
{
    int64_t bucket = row->key.columns[0].value.integer, id = row->key.columns[1].value.integer;
    struct wr_cell *expected;
    size_t n;

    read_tags(table, row, out);
    expected = cells_of_row(a, table, bucket, id, out, &n);
    for (size_t i = 0; i < n && i < row->cell_count; i++)
        if (!bytes_equal(expected[i].name, row->cells[i].name) ||
            !value_equal(&expected[i].value, &row->cells[i].value)) {
            *why = arena_printf(a, "column %.*s does not fit the tags %s",
                                BYTES_FMT(row->cells[i].name), cells_show(a, out))
                       .ptr;
            return false;
        }
    if (n == row->cell_count)
        return true;
    *why = arena_printf(a, "%zu cells, but %zu for the tags %s", row->cell_count, n,
                        cells_show(a, out))
               .ptr;
    return false;
}

const char *cells_show(struct arena *a, const struct state *s)
{
    bytes text = arena_printf(a, "%s", "");

    if (!state_present(s))
        return "no row";
    for (int g = 0; g < GROUPS_MAX; g++)
        if (s->tags[g])
            text = arena_printf(a, "%.*sg%d=%llx ", BYTES_FMT(text), g,
                                (unsigned long long)s->tags[g]);
    return s->has_n ? arena_printf(a, "%.*sn=%lld", BYTES_FMT(text), (long long)s->n).ptr
                    : text.ptr;
}
