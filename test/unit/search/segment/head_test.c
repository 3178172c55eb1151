/* A segment as it is stored: its image and its head. */
#include "search/segment/head.h"

#include "search/segment/builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../../../golden/golden.h"
#include "../../context.h"

static const struct wr_field_schema fields[] = {
    {.name = BYTES_LIT("n"), .type = WR_FIELD_LONG, .index = true},
    {.name = BYTES_LIT("k"), .type = WR_FIELD_KEYWORD, .index = true},
    {.name = BYTES_LIT("t"), .type = WR_FIELD_TEXT, .index = true},
};

static struct search_schema *schema;

static struct wr_value text_of(const char *s)
{
    return (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_str(s)};
}

/* Three documents; the second lacks the number, the third the keyword. */
static struct segment *sample(void)
{
    static const struct wr_search_schema d = {.fields = fields, .field_count = 3};
    struct document documents[3];

    assert_int_equal(search_schema_make(&c, &d, &schema), 0);
    for (int i = 0; i < 3; i++) {
        struct wr_cell *cells = ARENA_ARRAY(&c.arena, struct wr_cell, 3);
        struct wr_row row = {.cells = cells};

        if (i != 1)
            cells[row.cell_count++] =
                (struct wr_cell){.name = BYTES_LIT("n"),
                                 .value = {.type = WR_BIGINT, .integer = 10 - i},
                                 .timestamp_ms = 1000};
        if (i != 2)
            cells[row.cell_count++] = (struct wr_cell){
                .name = BYTES_LIT("k"), .value = text_of(i ? "b" : "a"), .timestamp_ms = 1000};
        cells[row.cell_count++] = (struct wr_cell){.name = BYTES_LIT("t"),
                                                   .value = text_of(i ? "one two one" : "two"),
                                                   .timestamp_ms = 1000};
        documents[i].key = arena_printf(&c.arena, "key%d", i);
        document_fill(&c, schema, &row, &documents[i]);
    }
    return segment_build(schema, documents, 3);
}

static void test_golden(void **state)
{
    struct segment *s = sample();
    struct golden cases[] = {
        {"image", "three documents, a number, a keyword and a text", bytes_of(s->image, s->len)},
        {"head", NULL, segment_head_make(&c.arena, s)},
    };

    (void)state;
    golden_check("segment.hex", "Segments of search indexes.", cases, PORT_COUNT(cases));
    segment_release(s);
}

static void test_read(void **state)
{
    struct segment *s = sample();
    struct segment_head head;

    (void)state;
    assert_true(segment_head_read(segment_head_make(&c.arena, s), &head));
    assert_int_equal(head.len, s->len);
    assert_int_equal(head.documents, 3);
    assert_int_equal(head.fields, 3);
    assert_true(bytes_equal(head.first, BYTES_LIT("key0")));
    assert_true(bytes_equal(head.last, BYTES_LIT("key2")));
    segment_release(s);
}

static void read_damaged(bytes damaged, void *arg)
{
    struct segment_head head;

    (void)arg;
    (void)segment_head_read(damaged, &head); /* true or false, but no read past the end */
}

static void test_damaged(void **state)
{
    struct segment *s = sample();

    (void)state;
    golden_damage(segment_head_make(&c.arena, s), 2000, read_damaged, NULL);
    segment_release(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_golden), TEST(test_read), TEST(test_damaged)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
