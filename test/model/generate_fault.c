/* generate_fault.c: legal requests made illegal in one place. */
#include "generate_part.h"

#include <math.h>

/* Requests are made in the arena; behind their const pointers nothing is constant. */
#define MUTABLE(type, p) ((type *)(uintptr_t)(p))

static bytes bad_table(struct generator *g, bool *missing)
{
    static const bytes names[] = {{"", 0}, {"3t", 2}, {"T#", 2}, {"-", 1}, {"nosuch", 6}};
    size_t i = gen_below(g, PORT_COUNT(names));

    *missing = i == 4;
    return names[i];
}

static bytes long_bytes(struct generator *g, size_t len)
{
    uint8_t *p = arena_alloc(g->a, len);

    memset(p, 'w', len);
    return bytes_of(p, len);
}

static bytes bad_column(struct generator *g)
{
    switch (gen_below(g, 5)) {
    case 0:
        return bytes_of("", 0);
    case 1:
        return bytes_of("#", 1);
    case 2:
        return bytes_of("#ab", 3);
    case 3:
        return bytes_of("a\xff", 2);
    default:
        return long_bytes(g, 256);
    }
}

static void bad_key(struct generator *g, struct wr_key *key, bool bound)
{
    struct wr_key_column *c = ARENA_ARRAY(g->a, struct wr_key_column, key->count + 2);
    size_t i = gen_below(g, key->count);

    memcpy(c, key->columns, key->count * sizeof(*c));
    switch (gen_below(g, 8)) {
    case 0:
        key->count--;
        break;
    case 1:
        c[key->count] = c[0];
        key->count++;
        break;
    case 2:
        c[i].name = bytes_of("other", 5);
        break;
    case 3:
        c[i].value =
            (struct wr_value){.type = c[i].value.type == WR_BIGINT ? WR_VARCHAR : WR_BIGINT};
        break;
    case 4: {
        struct wr_key_column swap = c[0];

        c[0] = c[key->count - 1];
        c[key->count - 1] = swap;
        break;
    }
    case 5:
        c[i].value.type = bound ? WR_AUTO_INCREMENT : gen_chance(g, 50) ? WR_INF_MIN : WR_INF_MAX;
        break;
    case 6:
        if (c[i].value.type == WR_BIGINT)
            c[i].value = (struct wr_value){.type = WR_DOUBLE, .real = 1.5};
        else if (c[i].value.type == WR_VARCHAR || c[i].value.type == WR_VARBINARY)
            c[i].value.bytes = long_bytes(g, 1025);
        break;
    default:
        c[i].value = (struct wr_value){.type = WR_VARCHAR, .bytes = {"\xff\xfe", 2}};
        break;
    }
    key->columns = c;
}

static void bad_cell(struct generator *g, const struct oracle_table *t, struct wr_row_change *c)
{
    struct wr_cell *cell = &MUTABLE(struct wr_cell, c->row.cells)[gen_below(g, c->row.cell_count)];

    cell->crc8_known = false;
    switch (gen_below(g, 11)) {
    case 0:
        cell->name = bad_column(g);
        return;
    case 1:
        cell->name = t->key[gen_below(g, t->key_count)].name;
        return;
    case 2:
        cell->value =
            (struct wr_value){.type = WR_DOUBLE, .real = gen_chance(g, 50) ? NAN : INFINITY};
        return;
    case 3:
        cell->value = (struct wr_value){.type = WR_VARCHAR, .bytes = {"\xc3", 1}};
        return;
    case 4:
        cell->value.type = gen_chance(g, 50) ? WR_NULL : WR_INF_MIN;
        return;
    case 5:
        cell->timestamp_ms = gen_chance(g, 50) ? -1 : INT64_MAX / 1000;
        return;
    case 6:
        cell->timestamp_ms = g->start_ms - 86400LL * 1000 * 200;
        return;
    case 7:
        cell->op = WR_CELL_DELETE_ONE;
        cell->timestamp_ms = WR_TIMESTAMP_NONE;
        return;
    case 8:
        if (gen_stamped(t))
            return;
        cell->op = WR_CELL_INCREMENT;
        cell->timestamp_ms = WR_TIMESTAMP_NONE;
        cell->value = gen_value(g);
        return;
    case 9:
        cell->op = WR_CELL_INCREMENT;
        cell->timestamp_ms = gen_stamp(g, t, true);
        cell->value = gen_value_of(g, WR_BIGINT);
        return;
    default:
        cell->value =
            (struct wr_value){.type = WR_VARBINARY,
                              .bytes = long_bytes(g, (size_t)g->o->limits.cell_bytes_max < 9000
                                                         ? (size_t)g->o->limits.cell_bytes_max + 1
                                                         : 9)};
        return;
    }
}

static void bad_change(struct generator *g, const struct oracle_table *t, struct wr_row_change *c)
{
    size_t kind = gen_below(g, 10);

    if (kind < 4 && c->row.cell_count) {
        bad_cell(g, t, c);
        return;
    }
    switch (kind) {
    case 4:
        c->row.cell_count = 0;
        return;
    case 5:
        c->return_type = gen_chance(g, 50) ? WR_RETURN_AFTER_MODIFY : WR_RETURN_KEY;
        c->return_columns = ARENA_ARRAY(g->a, bytes, 1);
        MUTABLE(bytes, c->return_columns)[0] = gen_column(g);
        c->return_column_count = 1;
        return;
    case 6:
        c->condition.column = gen_bad_filter(g, t, true);
        return;
    case 7:
        c->condition.existence = WR_EXPECT_EXIST;
        return;
    default:
        bad_key(g, &c->row.key, false);
        return;
    }
}

static void bad_read(struct generator *g, const struct oracle_table *t, struct wr_read_options *r)
{
    switch (gen_below(g, 7)) {
    case 0:
        r->has_max_versions = r->has_specific = r->has_start = r->has_end = false;
        return;
    case 1:
        r->has_start = true;
        r->has_end = false;
        return;
    case 2:
        r->has_start = r->has_end = r->has_specific = true;
        return;
    case 3:
        r->has_max_versions = true;
        r->max_versions = -(int32_t)gen_below(g, 2);
        return;
    case 4: {
        size_t n = (size_t)g->o->limits.columns_to_get_max + gen_below(g, 2);
        bytes *names = ARENA_ARRAY(g->a, bytes, n);

        for (size_t i = 0; i < n; i++)
            names[i] = gen_column(g);
        r->columns = names;
        r->column_count = n;
        return;
    }
    case 5: {
        bytes *names = ARENA_ARRAY(g->a, bytes, 2);

        names[0] = gen_column(g);
        names[1] = bad_column(g);
        r->columns = names;
        r->column_count = 2;
        return;
    }
    default:
        r->filter = gen_bad_filter(g, t, false);
        return;
    }
}

static void bad_range(struct generator *g, const struct oracle_table *t, struct wr_get_range *r)
{
    switch (gen_below(g, 6)) {
    case 0:
        r->end = r->start;
        return;
    case 1:
        r->backward = !r->backward;
        return;
    case 2:
        r->has_limit = true;
        r->limit = -(int32_t)gen_below(g, 2);
        return;
    case 3:
        bad_key(g, gen_chance(g, 50) ? &r->start : &r->end, true);
        return;
    default:
        bad_read(g, t, &r->read);
        return;
    }
}

static void bad_batch_write(struct generator *g, const struct oracle_table *t,
                            struct wr_batch_write_row *b)
{
    struct wr_table_write *w = MUTABLE(struct wr_table_write, b->tables);
    bool missing;

    if (!b->table_count)
        return;
    switch (gen_below(g, 8)) {
    case 0:
        b->table_count = 0;
        return;
    case 1:
        w[0].change_count = 0;
        return;
    case 2:
        w[b->table_count] = w[0]; /* there is room for one more */
        b->table_count++;
        return;
    case 3:
        w[b->table_count - 1].table = bad_table(g, &missing);
        return;
    case 4: {
        size_t n = (size_t)g->o->limits.batch_write_rows_max + gen_below(g, 2);
        struct wr_row_change *c = ARENA_ARRAY(g->a, struct wr_row_change, n);

        for (size_t i = 0; i < n; i++) {
            c[i] = w[0].changes[0];
            c[i].row.cell_count = c[i].type == WR_UPDATE ? 1 : 0;
        }
        w[0].changes = c;
        w[0].change_count = n;
        return;
    }
    default: {
        struct oracle_table *first = oracle_find(g->o, w[0].table);

        (void)t;
        bad_change(g, first,
                   &MUTABLE(struct wr_row_change, w[0].changes)[gen_below(g, w[0].change_count)]);
        return;
    }
    }
}

static void bad_batch_get(struct generator *g, struct wr_batch_get_row *b)
{
    struct wr_table_get *w = MUTABLE(struct wr_table_get, b->tables);
    bool missing;

    if (!b->table_count)
        return;
    switch (gen_below(g, 7)) {
    case 0:
        b->table_count = 0;
        return;
    case 1:
        w[b->table_count - 1].table = bad_table(g, &missing);
        return;
    case 5: /* the array has room for one more */
        w[b->table_count++] = w[0];
        return;
    case 6:
        w[b->table_count - 1].key_count = 0;
        return;
    case 2: {
        size_t n = (size_t)g->o->limits.batch_get_rows_max + gen_below(g, 2);
        struct wr_key *keys = ARENA_ARRAY(g->a, struct wr_key, n);

        for (size_t i = 0; i < n; i++)
            keys[i] = w[0].keys[0];
        w[0].keys = keys;
        w[0].key_count = n;
        return;
    }
    case 3:
        bad_read(g, oracle_find_any(g->o, w[0].table), &w[0].read);
        return;
    default:
        bad_key(g, &MUTABLE(struct wr_key, w[0].keys)[gen_below(g, w[0].key_count)], false);
        return;
    }
}

void gen_fault(struct generator *g, const struct oracle_table *t, struct wr_request *req)
{
    bool missing;

    switch (req->op) {
    case WR_OP_PUT_ROW:
    case WR_OP_UPDATE_ROW:
    case WR_OP_DELETE_ROW:
        if (gen_chance(g, 10))
            req->put_row.table = bad_table(g, &missing);
        else
            bad_change(g, t, &req->put_row);
        return;
    case WR_OP_GET_ROW:
        if (gen_chance(g, 15))
            req->get_row.table = bad_table(g, &missing);
        else if (gen_chance(g, 50))
            bad_key(g, &req->get_row.key, false);
        else
            bad_read(g, t, &req->get_row.read);
        return;
    case WR_OP_GET_RANGE:
        if (gen_chance(g, 10))
            req->get_range.table = bad_table(g, &missing);
        else
            bad_range(g, t, &req->get_range);
        return;
    case WR_OP_BULK_EXPORT:
        if (gen_chance(g, 20))
            req->bulk_export.table = bad_table(g, &missing);
        else
            bad_key(g, gen_chance(g, 50) ? &req->bulk_export.start : &req->bulk_export.end, true);
        return;
    case WR_OP_BULK_IMPORT:
        if (gen_chance(g, 30) || !req->bulk_import.table.change_count)
            req->bulk_import.table.table = bad_table(g, &missing);
        else
            bad_key(g, &MUTABLE(struct wr_row_change, req->bulk_import.table.changes)[0].row.key,
                    false);
        return;
    case WR_OP_BATCH_WRITE_ROW:
        bad_batch_write(g, t, &req->batch_write_row);
        return;
    case WR_OP_BATCH_GET_ROW:
        bad_batch_get(g, &req->batch_get_row);
        return;
    default:
        return;
    }
}
