#include "content.h"

#include "base/rng.h"

#define TEXT_BYTES_MAX 300
#define LONG_TEXT_BYTES_MAX 6000 /* now and then, so that a row spans blocks of the log */

static bytes text_of(struct arena *arena, struct rng *rng)
{
    size_t max = rng_below(rng, 40) == 0 ? LONG_TEXT_BYTES_MAX : TEXT_BYTES_MAX;
    size_t n = rng_below(rng, max + 1);
    char *text = arena_alloc(arena, n + 1);

    for (size_t i = 0; i < n; i += 8) {
        uint64_t r = rng_next(rng);

        for (size_t j = i; j < i + 8 && j < n; j++, r >>= 8)
            text[j] = (char)('a' + (r & 15));
    }
    return bytes_of(text, n);
}

static struct wr_cell cell_of(bytes name, struct wr_value value)
{
    return (struct wr_cell){.name = name, .value = value, .timestamp_ms = WR_TIMESTAMP_NONE};
}

void content_group(struct arena *arena, char group, uint64_t tag, int64_t owner, int64_t id,
                   struct wr_cell cells[CONTENT_GROUP_CELLS])
{
    struct wr_value text = {.type = WR_VARCHAR}, number = {.type = WR_BIGINT};
    struct wr_value mark = {.type = WR_BIGINT, .integer = (int64_t)tag};
    struct rng rng;

    rng_init(&rng, tag ^ (uint64_t)owner << 56 ^ (uint64_t)id << 40 ^ (uint64_t)group << 32);
    text.bytes = text_of(arena, &rng);
    number.integer = (int64_t)rng_next(&rng);
    cells[0] = cell_of(arena_printf(arena, "%c0", group), text);
    cells[1] = cell_of(arena_printf(arena, "%c1", group), number);
    cells[2] = cell_of(arena_printf(arena, "%ct", group), mark);
}

static bool value_equal(const struct wr_value *x, const struct wr_value *y)
{
    if (x->type != y->type)
        return false;
    return x->type == WR_VARCHAR ? bytes_equal(x->bytes, y->bytes) : x->integer == y->integer;
}

static const struct wr_cell *find(const struct wr_row *row, bytes name)
{
    for (size_t i = 0; i < row->cell_count; i++)
        if (bytes_equal(row->cells[i].name, name))
            return &row->cells[i];
    return NULL;
}

/* The number of the row's cells that belong to the group; -1: torn. */
static int group_read(struct arena *arena, const struct wr_row *row, char group, int64_t owner,
                      int64_t id, uint64_t *tag, const char **why)
{
    struct wr_cell expected[CONTENT_GROUP_CELLS];
    const struct wr_cell *mark = find(row, arena_printf(arena, "%ct", group));

    *tag = mark && mark->value.type == WR_BIGINT ? (uint64_t)mark->value.integer : 0;
    content_group(arena, group, *tag, owner, id, expected);
    for (int i = 0; i < CONTENT_GROUP_CELLS; i++) {
        const struct wr_cell *cell = find(row, expected[i].name);

        if (!*tag && !cell)
            continue;
        if (!cell || !*tag || !value_equal(&cell->value, &expected[i].value)) {
            *why = arena_printf(arena, "column %.*s does not fit tag %llu",
                                BYTES_FMT(expected[i].name), (unsigned long long)*tag)
                       .ptr;
            return -1;
        }
    }
    return *tag ? CONTENT_GROUP_CELLS : 0;
}

bool content_read(struct arena *arena, const struct wr_row *row, int64_t owner, int64_t id,
                  struct state *out, const char **why)
{
    const struct wr_cell *n = find(row, BYTES_LIT("n"));
    int a, b;

    *out = (struct state){0};
    a = group_read(arena, row, 'a', owner, id, &out->a, why);
    b = a < 0 ? -1 : group_read(arena, row, 'b', owner, id, &out->b, why);
    if (b < 0)
        return false;
    if (n) {
        out->has_n = n->value.type == WR_BIGINT;
        out->n = n->value.integer;
    }
    if ((size_t)(a + b + out->has_n) == row->cell_count)
        return true;
    *why = "there are columns that nobody wrote";
    return false;
}

const char *content_show(struct arena *arena, const struct state *s)
{
    if (!state_present(s))
        return "no row";
    return arena_printf(arena, "a=%llx b=%llx n=%lld", (unsigned long long)s->a,
                        (unsigned long long)s->b, s->has_n ? (long long)s->n : -1LL)
        .ptr;
}
