#include "cli/transfer/row_order.h"

#include "base/buf.h"

#include <stdlib.h>

#define PLACES 8 /* of the table, to which batches go by turns */

/* A row, and how its key begins as a number, which tells most of them apart. */
struct item {
    uint64_t lead;
    struct import_row *row;
    size_t key_count;
};

static uint64_t lead_of(const struct wr_value *v)
{
    uint8_t first[8] = {0};

    if (v->type == WR_BIGINT)
        return (uint64_t)v->integer ^ UINT64_C(1) << 63;
    if (v->bytes.len)
        memcpy(first, v->bytes.ptr, v->bytes.len < 8 ? v->bytes.len : 8);
    return __builtin_bswap64(load_u64(first));
}

static int compare_values(const struct wr_value *a, const struct wr_value *b)
{
    if (a->type == WR_BIGINT)
        return (a->integer > b->integer) - (a->integer < b->integer);
    return bytes_compare(a->bytes, b->bytes);
}

static int compare_keys(const struct item *a, const struct item *b)
{
    int order = (a->lead > b->lead) - (a->lead < b->lead);

    for (size_t i = 0; i < a->key_count && !order; i++)
        order = compare_values(&a->row->values[i], &b->row->values[i]);
    return order;
}

static int compare_items(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    int order = compare_keys(a, b);

    return order ? order : (a->row->line > b->row->line) - (a->row->line < b->row->line);
}

/* Where each place begins: rows of one key are in one, since they are to be sent as they came. */
static void cut(const struct item *items, size_t count, size_t starts[PLACES + 1])
{
    for (size_t place = 0; place <= PLACES; place++) {
        size_t at = count * place / PLACES, before = place ? starts[place - 1] : 0;

        at = at > before ? at : before;
        while (at && at < count && compare_keys(&items[at - 1], &items[at]) == 0)
            at++;
        starts[place] = at;
    }
}

/* The places' first batches, then their second ones, and so on. */
static void deal(const struct item *items, size_t count, size_t batch, struct import_row **out)
{
    size_t starts[PLACES + 1];

    cut(items, count, starts);
    for (size_t from = 0, dealt = 0; dealt < count; from += batch)
        for (size_t place = 0; place < PLACES; place++)
            for (size_t i = starts[place] + from;
                 i < starts[place] + from + batch && i < starts[place + 1]; i++)
                out[dealt++] = items[i].row;
}

void row_order_arrange(struct import_row **rows, size_t count, size_t key_count, size_t batch)
{
    struct item *items = mem_alloc(sizeof(*items) * (count + 1));

    for (size_t i = 0; i < count; i++)
        items[i] = (struct item){lead_of(&rows[i]->values[0]), rows[i], key_count};
    qsort(items, count, sizeof(*items), compare_items);
    deal(items, count, batch, rows);
    mem_free(items);
}
