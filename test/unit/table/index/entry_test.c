/* The entry of a row in an index: its key and cells as functions of the row's, what has none, and
 * the edits that lead from one to the other. */
#include "table/index/entry.h"

#include "table/model/index_note.h"
#include "table/model/key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../../context.h"

#define AT 1700000000000

static const struct wr_key_schema keys[] = {
    {.name = BYTES_LIT("pk0"), .type = WR_VARCHAR, .descending = true},
    {.name = BYTES_LIT("pk1"), .type = WR_BIGINT}};
static const struct wr_defined_column defined[] = {
    {BYTES_LIT("d0"), WR_VARCHAR}, {BYTES_LIT("d1"), WR_BIGINT}, {BYTES_LIT("d2"), WR_DOUBLE}};
static const bytes by_columns[] = {BYTES_LIT("d1"), BYTES_LIT("pk1"), BYTES_LIT("d0")};
static const bytes covers[] = {BYTES_LIT("d2")};
static const struct wr_index_meta meta = {.name = BYTES_LIT("ix"),
                                          .key_columns = by_columns,
                                          .key_column_count = 3,
                                          .defined_columns = covers,
                                          .defined_column_count = 1};
static const struct wr_index_meta by_key = {
    .name = BYTES_LIT("by_key"), .key_columns = by_columns + 1, .key_column_count = 1};
static const struct wr_key_column row_key[] = {
    {BYTES_LIT("pk0"), {.type = WR_VARCHAR, .bytes = {"a\0b", 3}}},
    {BYTES_LIT("pk1"), {.type = WR_BIGINT, .integer = -7}}};

static struct schema base_of(void)
{
    struct schema s = {.id = 5};

    s.d.key = s.location.key = keys;
    s.d.key_count = s.location.key_count = 2;
    s.d.defined = defined;
    s.d.defined_count = 3;
    return s;
}

static struct index index_of(const struct schema *base, const struct wr_index_meta *m,
                             uint16_t descending, uint32_t shadow)
{
    struct index x = {.meta = m,
                      .id = 6,
                      .descending = descending,
                      .location = {.id = 6},
                      .include_base_data = true};

    assert_true(index_resolve(&c.arena, &base->d, &x));
    x.location.layout = x.shadow.layout = (struct layout){.buckets = 1, .partition_cols = 1};
    x.shadow.id = shadow;
    return x;
}

static bytes cols_of(const struct schema *base)
{
    struct buf b;

    buf_init(&b, &c.arena, 32);
    assert_int_equal(key_put_columns(&c, &b, base->d.key, row_key, 2), E_OK);
    return buf_bytes(&b);
}

static struct wr_cell text_cell(const char *text, int64_t at)
{
    return (struct wr_cell){.name = BYTES_LIT("d0"),
                            .value = {.type = WR_VARCHAR, .bytes = {text, strlen(text)}},
                            .timestamp_ms = at};
}

static struct wr_cell number_cell(int64_t n, int64_t at)
{
    return (struct wr_cell){
        .name = BYTES_LIT("d1"), .value = {.type = WR_BIGINT, .integer = n}, .timestamp_ms = at};
}

static struct wr_cell real_cell(double real, int64_t at)
{
    return (struct wr_cell){
        .name = BYTES_LIT("d2"), .value = {.type = WR_DOUBLE, .real = real}, .timestamp_ms = at};
}

static struct row row_of(struct wr_cell *cells, size_t count)
{
    return (struct row){
        .there = true, .stamp = 9, .marker_ms = AT + 5, .cells = cells, .cell_count = count};
}

static void check_key(const struct index *x, bytes cols)
{
    struct wr_key_column out[4];
    size_t used;

    assert_int_equal(x->location.key_count, 4);
    assert_int_equal(key_read_columns(&c, cols, x->location.key, 4, out, &used), E_OK);
    assert_int_equal(used, cols.len);
    assert_int_equal(out[0].value.integer, 12);
    assert_int_equal(out[1].value.integer, -7);
    assert_true(bytes_equal(out[2].value.bytes, BYTES_LIT("text")));
    assert_true(bytes_equal(out[3].value.bytes, bytes_of("a\0b", 3)));
}

/* Columns of the base's key and of the row, each in either direction. */
static void keys_and_cells_are_the_rows(void **state)
{
    struct schema base = base_of();
    struct wr_cell cells[] = {text_cell("text", AT - 3), number_cell(12, AT + 1),
                              number_cell(11, AT), real_cell(.5, AT - 9)};
    struct row row = row_of(cells, 4), back;
    struct buf b;

    (void)state;
    for (uint16_t descending = 0; descending < 8; descending++) {
        struct index x = index_of(&base, &meta, descending, 0);
        struct index_entry entry = entry_of(&c.arena, &base, &x, cols_of(&base), &row);

        assert_true(entry.there && entry.row.there);
        check_key(&x, entry.cols);
        assert_int_equal(entry.row.stamp, 9);
        assert_int_equal(entry.row.marker_ms, AT - 3);
        buf_init(&b, &c.arena, 64);
        row_encode(&b, &entry.row);
        assert_int_equal(row_decode(&c, buf_bytes(&b), &back), E_OK);
        assert_int_equal(back.cell_count, 1);
        assert_true(bytes_equal(back.cells[0].name, BYTES_LIT("d2")));
        assert_int_equal(back.cells[0].timestamp_ms, AT - 9);
        assert_true(back.cells[0].value.real == .5);
    }
}

static bool has_entry(struct wr_cell *cells, size_t count)
{
    struct schema base = base_of();
    struct index x = index_of(&base, &meta, 0, 0);
    struct row row = row_of(cells, count);

    return entry_of(&c.arena, &base, &x, cols_of(&base), &row).there;
}

static void what_has_none(void **state)
{
    struct wr_cell cells[] = {text_cell("text", AT), number_cell(12, AT), real_cell(1, AT)};
    char *text = arena_alloc(&c.arena, INDEX_KEY_VALUE_BYTES_MAX + 1);
    struct schema base = base_of();
    struct index x = index_of(&base, &meta, 0, 0);
    struct row none = {.there = false};

    (void)state;
    assert_true(has_entry(cells, 3));
    assert_true(has_entry(cells, 2)); /* nothing to cover */
    assert_false(has_entry(cells, 1));
    assert_false(has_entry(cells + 1, 2));
    assert_false(has_entry(NULL, 0));
    cells[1].value = (struct wr_value){.type = WR_DOUBLE, .real = 12};
    assert_false(has_entry(cells, 3));
    cells[1] = number_cell(12, AT);
    memset(text, 'x', INDEX_KEY_VALUE_BYTES_MAX + 1);
    cells[0].value.bytes = bytes_of(text, INDEX_KEY_VALUE_BYTES_MAX);
    assert_true(has_entry(cells, 3));
    cells[0].value.bytes.len++;
    assert_false(has_entry(cells, 3));
    cells[0] = text_cell("text", AT);
    cells[0].apart = true;
    assert_false(has_entry(cells, 3));
    assert_false(entry_of(&c.arena, &base, &x, cols_of(&base), &none).there);
}

/* By key columns alone: whatever the row has, and as long as the row. */
static void every_row_has_one_by_key(void **state)
{
    struct schema base = base_of();
    struct index x = index_of(&base, &by_key, 0, 0);
    struct row row = row_of(NULL, 0);
    struct index_entry entry = entry_of(&c.arena, &base, &x, cols_of(&base), &row);

    (void)state;
    assert_true(entry.there);
    assert_int_equal(entry.row.marker_ms, row.marker_ms);
    assert_int_equal(entry.row.cell_count, 0);
    assert_int_equal(x.column_count, 0);
    assert_non_null(x.columns); /* NULL means all to an observer */
}

static void edits_are_the_difference(void **state)
{
    struct schema base = base_of();
    struct index x = index_of(&base, &meta, 0, 8);
    struct wr_cell cells[] = {text_cell("text", AT), number_cell(12, AT), real_cell(1, AT)};
    struct row row = row_of(cells, 3);
    struct index_entry none = {.there = false}, first, other;
    struct batch_builder e = {.arena = &c.arena};

    (void)state;
    first = entry_of(&c.arena, &base, &x, cols_of(&base), &row);
    assert_false(entry_change(&e, &x, &none, &none));
    assert_false(entry_change(&e, &x, &first, &first));
    row.stamp++; /* of a change that does not concern it */
    other = entry_of(&c.arena, &base, &x, cols_of(&base), &row);
    assert_false(entry_change(&e, &x, &first, &other));
    assert_int_equal(e.count, 0);
    x.include_base_data = false; /* the row may be from before the index */
    assert_true(entry_change(&e, &x, &first, &first));
    e.count = 0;
    x.include_base_data = true;
    cells[2].value.real = 2;
    cells[2].timestamp_ms++;
    first = entry_of(&c.arena, &base, &x, cols_of(&base), &row);
    first.row.cells =
        memcpy(arena_alloc(&c.arena, sizeof(cells[0])), first.row.cells, sizeof(cells[0]));
    cells[2].value.real = 3;
    other = entry_of(&c.arena, &base, &x, cols_of(&base), &row);
    assert_true(entry_change(&e, &x, &first, &other)); /* in place, and in the shadow copy */
    assert_int_equal(e.count, 2);
    assert_int_equal(e.items[0].type, EDIT_PUT);
    assert_int_equal(load_u32_be(bytes_u8(e.items[0].key)), 6);
    assert_int_equal(load_u32_be(bytes_u8(e.items[1].key)), 8);
    assert_true(bytes_equal(e.items[0].value, e.items[1].value));
    cells[1].value.integer = 13;
    first = entry_of(&c.arena, &base, &x, cols_of(&base), &row);
    assert_true(entry_change(&e, &x, &other, &first)); /* another key */
    assert_int_equal(e.count, 6);
    assert_int_equal(e.items[2].type, EDIT_DELETE);
    assert_int_equal(e.items[4].type, EDIT_PUT);
    assert_false(bytes_equal(e.items[2].key, e.items[4].key));
    assert_true(entry_change(&e, &x, &first, &none));
    assert_int_equal(e.count, 8);
    assert_true(bytes_equal(e.items[6].key, e.items[4].key));
}

/* One a change, of the row and the entry that it had; what says the same leaves none. */
static void a_mark_names_the_row_and_what_it_had(void **state)
{
    struct schema base = base_of();
    struct index x = index_of(&base, &meta, 2, 0);
    struct wr_cell cells[] = {text_cell("text", AT), number_cell(12, AT)};
    struct row row = row_of(cells, 2);
    bytes cols = cols_of(&base), of_entry;
    struct index_entry none = {.there = false}, first, other;
    struct batch_builder e = {.arena = &c.arena};
    struct entry_mark mark;

    (void)state;
    first = entry_of(&c.arena, &base, &x, cols, &row);
    cells[1].value.integer = 13;
    other = entry_of(&c.arena, &base, &x, cols, &row);
    entry_mark(&e, &x, cols, &none, &none);
    entry_mark(&e, &x, cols, &first, &first);
    assert_int_equal(e.count, 0);
    entry_mark(&e, &x, cols, &first, &other);
    entry_mark(&e, &x, cols, &none, &other);
    entry_mark(&e, &x, cols, &other, &none);
    assert_int_equal(e.count, 3);
    for (size_t i = 0; i < 3; i++) {
        bytes had = i == 0 ? first.cols : i == 2 ? other.cols : BYTES_NONE;

        assert_int_equal(e.items[i].type, EDIT_PUT);
        mark = entry_mark_read(&c.arena, &base, &x, e.items[i].key);
        assert_true(bytes_equal(mark.cols, cols));
        assert_true(bytes_equal(mark.entry_cols, had));
    }
    of_entry = index_note_mark(&c.arena, 6, first.cols, BYTES_NONE).key;
    ((uint8_t *)of_entry.ptr)[KEY_PREFIX_BYTES] = 1; /* as older builds left them */
    mark = entry_mark_read(&c.arena, &base, &x, of_entry);
    assert_true(bytes_equal(mark.cols, cols));
    assert_true(bytes_equal(mark.entry_cols, first.cols));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keys_and_cells_are_the_rows),
        TEST(what_has_none),
        TEST(every_row_has_one_by_key),
        TEST(edits_are_the_difference),
        TEST(a_mark_names_the_row_and_what_it_had),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
