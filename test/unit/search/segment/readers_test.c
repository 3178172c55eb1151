/* Dictionaries and orders of stored segments, block by block: as of the same segment in memory. */
#include "base/rng.h"
#include "search/segment/builder.h"
#include "search/segment/order_reader.h"
#include "search/segment/term_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../../context.h"
#include "../stored_view.h"

enum { DOCUMENTS = 10000, F_NAME = 0, F_NUMBER, F_TEXT, FIELDS };

static const struct wr_field_schema fields[FIELDS] = {
    {.name = BYTES_LIT("k"), .type = WR_FIELD_KEYWORD, .index = true},
    {.name = BYTES_LIT("n"), .type = WR_FIELD_LONG, .index = true},
    {.name = BYTES_LIT("t"), .type = WR_FIELD_TEXT, .index = true},
};

static const struct wr_search_schema description = {.fields = fields, .field_count = FIELDS};
static struct search_schema *schema;
static struct part_cache *cache;
static struct view *whole, *stored;
static const struct segment *in_memory, *by_blocks;

static struct wr_value text_of(bytes text)
{
    return (struct wr_value){.type = WR_VARCHAR, .bytes = text};
}

/* Names are even numbers, so that some are between them; of 4 documents, 2 share one. */
static struct segment *sample(void)
{
    struct document *documents = ARENA_ARRAY(&c.arena, struct document, DOCUMENTS);

    for (int i = 0; i < DOCUMENTS; i++) {
        struct wr_cell *cells = ARENA_ARRAY(&c.arena, struct wr_cell, FIELDS);
        struct wr_row row = {.cells = cells, .cell_count = FIELDS};

        cells[0] = (struct wr_cell){
            .name = fields[F_NAME].name,
            .value = text_of(arena_printf(&c.arena, "n%05d", (i % 2 ? i : i * 7 % DOCUMENTS) * 2))};
        cells[1] =
            (struct wr_cell){.name = fields[F_NUMBER].name,
                             .value = {.type = WR_BIGINT, .integer = i * 7919 % DOCUMENTS / 3}};
        cells[2] = (struct wr_cell){
            .name = fields[F_TEXT].name,
            .value = text_of(arena_printf(&c.arena, "all w%d of w%d", i % 3000, i % 1700))};
        documents[i].key = arena_printf(&c.arena, "key%05d", i);
        document_fill(&c, schema, &row, &documents[i]);
    }
    return segment_build(schema, documents, DOCUMENTS);
}

static int make(void **state)
{
    struct view *none = view_empty();
    struct segment *s;

    (void)state;
    setup(NULL);
    assert_int_equal(search_schema_make(&c, &description, &schema), 0);
    cache = part_cache_new(1 << 20);
    s = sample();
    whole = view_with(none, NULL, 0, s);
    view_release(none);
    segment_release(s);
    stored = stored_view(view_ref(whole), schema, cache);
    in_memory = whole->segments[0].segment;
    by_blocks = stored->segments[0].segment;
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    stored_fails_in = 0;
    view_release(stored);
    view_release(whole);
    part_cache_free(cache);
    return teardown(NULL);
}

/* What the reader says of a text. */
struct said {
    uint32_t at, behind, docs;
    uint64_t post_at;
    bool is;
};

static struct said ask(const struct segment *s, size_t field, bytes text)
{
    struct term_reader r;
    struct said said = {0};

    assert_int_equal(term_reader_begin(&r, &c, s, field), 0);
    assert_int_equal(term_reader_find(&r, text, &said.at, &said.is), 0);
    assert_int_equal(term_reader_behind(&r, text, &said.behind), 0);
    assert_true(said.at <= r.count && said.behind <= r.count && said.behind >= said.at);
    if (said.at < r.count) {
        assert_int_equal(term_reader_posts(&r, said.at, said.at + 1), 0);
        said.docs = term_reader_docs(&r, said.at);
        said.post_at = term_reader_post_at(&r, said.at);
    }
    term_reader_end(&r);
    return said;
}

static void check(size_t field, bytes text)
{
    struct said a = ask(in_memory, field, text), b = ask(by_blocks, field, text);

    assert_int_equal(a.at, b.at);
    assert_int_equal(a.behind, b.behind);
    assert_int_equal(a.is, b.is);
    assert_int_equal(a.docs, b.docs);
    assert_int_equal(a.post_at, b.post_at);
}

static void test_terms(void **state)
{
    struct term_reader r;

    (void)state;
    assert_int_equal(term_reader_begin(&r, &c, by_blocks, F_NAME), 0);
    assert_false(r.whole);
    assert_true(r.count > TERM_BLOCK * 4);
    term_reader_end(&r);
    check(F_NAME, BYTES_LIT(""));
    check(F_NAME, BYTES_LIT("n"));
    check(F_NAME, BYTES_LIT("o"));
    check(F_NAME, BYTES_LIT("n01"));
    for (int i = -1; i < DOCUMENTS * 2 + 2; i += 3)
        check(F_NAME, arena_printf(&c.arena, "n%05d", i));
    for (int i = 0; i < 3100; i += 7) {
        check(F_TEXT, arena_printf(&c.arena, "w%d", i));
        check(F_TEXT, arena_printf(&c.arena, "w%d", i % 100));
    }
}

/* Also the first and the last of each block. */
static void test_each_term(void **state)
{
    struct term_reader r;

    (void)state;
    assert_int_equal(term_reader_begin(&r, &c, in_memory, F_NAME), 0);
    for (uint32_t i = 0; i < r.count; i++) {
        bool has;
        struct term_place place;

        assert_int_equal(
            term_place_find(&c, by_blocks, F_NAME, term_reader_text(&r, i), &has, &place), 0);
        assert_true(has);
        assert_int_equal(place.number, i);
        assert_int_equal(place.docs, term_reader_docs(&r, i));
        assert_int_equal(place.post_at, term_reader_post_at(&r, i));
    }
    term_reader_end(&r);
}

static void test_positions(void **state)
{
    const struct segment_column *col = &in_memory->columns[F_TEXT];

    (void)state;
    for (uint32_t i = 0; i < col->term_count; i++) {
        struct term_positions a, b;

        assert_int_equal(term_positions_find(&c, in_memory, F_TEXT, i, &a), 0);
        assert_int_equal(term_positions_find(&c, by_blocks, F_TEXT, i, &b), 0);
        assert_int_equal(a.from, b.from);
        assert_int_equal(a.to, b.to);
        assert_int_equal(a.skip_at, b.skip_at);
        assert_int_equal(a.from, col->position_at[i]);
    }
}

static void test_order(void **state)
{
    struct order_reader a, b;

    (void)state;
    order_reader_begin(&a, &c, in_memory, F_NUMBER);
    order_reader_begin(&b, &c, by_blocks, F_NUMBER);
    assert_int_equal(a.count, DOCUMENTS);
    assert_int_equal(b.count, DOCUMENTS);
    for (uint32_t i = 0; i < DOCUMENTS; i++) {
        uint32_t at = i % 2 ? i : DOCUMENTS - 1 - i;

        assert_int_equal(order_reader_value(&a, at), order_reader_value(&b, at));
        assert_int_equal(order_reader_doc(&a, at), order_reader_doc(&b, at));
    }
    for (int64_t low = -1; low < DOCUMENTS / 3 + 2; low++)
        assert_int_equal(order_reader_find(&a, low), order_reader_find(&b, low));
    assert_int_equal(b.rc, 0);
    order_reader_end(&a);
    order_reader_end(&b);
}

/* A term takes a block, not the dictionary. */
static void test_little_is_read(void **state)
{
    uint64_t before = stored_bytes;
    struct term_place place;
    struct order_reader r;
    bool has;

    (void)state;
    assert_int_equal(term_place_find(&c, by_blocks, F_NAME, BYTES_LIT("n05000"), &has, &place), 0);
    assert_true(has);
    assert_true(stored_bytes - before < TERM_BLOCK * 32);
    before = stored_bytes;
    order_reader_begin(&r, &c, by_blocks, F_NUMBER);
    assert_int_equal(order_reader_value(&r, DOCUMENTS - 1), DOCUMENTS / 3);
    order_reader_end(&r);
    assert_true(stored_bytes - before < DOCUMENTS * 4);
}

/* Whatever read fails, it is said, and nothing stays held. */
static void test_failures(void **state)
{
    (void)state;
    for (int i = 1;; i++) {
        struct term_place place;
        bool has;
        int rc;

        stored_fails_in = i;
        rc = term_place_find(&c, by_blocks, F_TEXT, arena_printf(&c.arena, "w%d", i * 37 % 3000),
                             &has, &place);
        if (!rc)
            break;
        assert_int_equal(rc, E_CORRUPT);
        assert_false(has);
    }
    for (int docs = 0; docs < 2; docs++) {
        struct order_reader r;

        stored_fails_in = 1;
        order_reader_begin(&r, &c, by_blocks, F_NUMBER);
        if (docs)
            assert_int_equal(order_reader_doc(&r, 5), 0);
        else
            (void)order_reader_find(&r, 100);
        assert_int_equal(r.rc, E_CORRUPT);
        order_reader_end(&r);
    }
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, make, unmake)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_terms), CASE(test_each_term),      CASE(test_positions),
        CASE(test_order), CASE(test_little_is_read), CASE(test_failures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
