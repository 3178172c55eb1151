/* Grants: which texts are some, what they allow, and what each operation needs. */
#include "server/grant.h"

#include "base/err.h"
#include "wire/ots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "../context.h"

static struct grants grants_of(const char *text)
{
    struct grants g;
    char why[256] = "";

    if (grants_parse(&c.arena, bytes_str(text), &g, why, sizeof(why)))
        fail_msg("'%s': %s", text, why);
    return g;
}

static void test_what_is_allowed(void **state)
{
    static const struct {
        const char *grants, *table;
        bool reads, writes;
    } cases[] = {
        {"rw", "any", true, true},
        {"ro", "any", true, false},
        {"rw:*", "any", true, true},
        {"rw:cards*", "cards", true, true},
        {"rw:cards*", "cards_2", true, true},
        {"rw:cards*", "card", false, false},
        {"rw:cards*", "my_cards", false, false},
        {"rw:cards", "cards", true, true},
        {"rw:cards", "cards_2", false, false},
        {"rw:cards*,orders*", "orders", true, true},
        {"ro:cards*,orders*", "orders", true, false},
        {"ro:logs*,rw:logs_new", "logs_new", true, true},
        {"ro:logs*,rw:logs_new", "logs_old", true, false},
        {"rw:logs_new,ro:logs*", "logs_new", true, true},
        {"ro,rw:cards*", "cards", true, true},
        {"rw:cards*,ro", "cards", true, true}, /* the order does not count */
        {"ro,rw:cards*", "other", true, false},
        {"rw:rw", "rw", true, true}, /* a table may be called so */
        {"rw:rw", "ro", false, false},
        {"rw:rose", "rose", true, true},
        {"ro:a,rose", "rose", true, false},
        {"rw:Cards", "cards", false, false}, /* case counts, as it does for tables */
        {"+", "any", false, false},
        {"+r", "any", true, false},
        {"+w:a*", "abc", false, true},
        {"+wr:a,b", "b", true, true},
        {"+r:a*,+w:ab", "ab", true, true}, /* together */
        {"+ats", "any", false, false},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        struct grants g = grants_of(cases[i].grants);

        if (grants_allow(&g, bytes_str(cases[i].table), GRANT_READ) != cases[i].reads ||
            grants_allow(&g, bytes_str(cases[i].table), GRANT_WRITE) != cases[i].writes)
            fail_msg("'%s' and table '%s'", cases[i].grants, cases[i].table);
    }
    assert_true(grants_allow(&(struct grants){NULL, 0}, BYTES_LIT("x"), GRANT_READ) == false);
}

/* What each word stands for, its text, and which covers which. */
static void test_words(void **state)
{
    static const struct {
        const char *grants, *text;
        unsigned may;
    } words[] = {{"rw", "rw", GRANT_ALL},
                 {"+rwats", "rw", GRANT_ALL},
                 {"ro", "ro", GRANT_READ},
                 {"+w", "+w", GRANT_WRITE},
                 {"+", "+", 0},
                 {"+ta:x*,y", "+at:x*,+at:y", 0}};
    static const struct {
        const char *by, *what;
        bool covers;
    } pairs[] = {{"rw", "rw", true},         {"rw", "+s", true},           {"ro", "+w", false},
                 {"ro,+w", "+rw:a", true},   {"rw:a*", "ro:ab", true},     {"rw:a*", "ro:a*", true},
                 {"rw:a*", "ro", false},     {"rw:a", "ro:a*", false},     {"rw:a", "rw:a", true},
                 {"rw:a,b", "rw:a,b", true}, {"rw:a", "+", true},          {"+", "+", true},
                 {"rw:ab*", "rw:a*", false}, {"+r,+w:a*", "+rw:ab*", true}};

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(words); i++) {
        struct grants g = grants_of(words[i].grants);

        assert_true(bytes_equal(grants_text(&c.arena, &g), bytes_str(words[i].text)));
        assert_true(grants_allow(&g, BYTES_LIT("q"), words[i].may));
        for (unsigned bit = 1; bit <= GRANT_SYSTEM; bit *= 2)
            assert_int_equal(grants_allow(&g, BYTES_LIT("q"), bit), (words[i].may & bit) != 0);
    }
    for (size_t i = 0; i < PORT_COUNT(pairs); i++) {
        struct grants by = grants_of(pairs[i].by), what = grants_of(pairs[i].what);

        if (grants_cover(&by, &what) != pairs[i].covers)
            fail_msg("%s and %s", pairs[i].by, pairs[i].what);
    }
}

/* Writing rows is neither reading them nor making tables. */
static void test_writes_that_tell(void **state)
{
    struct wr_filter filter = {0};
    struct grants w = grants_of("+w"), rw = grants_of("+rw");
    struct wr_request r = {.op = WR_OP_UPDATE_ROW, .update_row.table = BYTES_LIT("t")};
    struct wr_row_change change = {.condition.column = &filter};
    struct wr_table_write write = {BYTES_LIT("t"), &change, 1};

    (void)state;
    assert_int_equal(grants_check(&c, &w, &r), E_OK);
    r.update_row.condition.existence = WR_EXPECT_EXIST;
    assert_int_equal(grants_check(&c, &w, &r), E_OK);
    r.update_row.condition.column = &filter;
    assert_int_equal(grants_check(&c, &w, &r), E_PERMISSION);
    assert_int_equal(grants_check(&c, &rw, &r), E_OK);
    r.update_row.condition.column = NULL;
    r.update_row.return_type = WR_RETURN_AFTER_MODIFY;
    assert_int_equal(grants_check(&c, &w, &r), E_PERMISSION);
    r = (struct wr_request){.op = WR_OP_BATCH_WRITE_ROW, .batch_write_row = {&write, 1}};
    assert_int_equal(grants_check(&c, &w, &r), E_PERMISSION);
    assert_int_equal(grants_check(&c, &rw, &r), E_OK);
    r = (struct wr_request){.op = WR_OP_DELETE_TABLE, .delete_table = {BYTES_LIT("t")}};
    assert_int_equal(grants_check(&c, &rw, &r), E_PERMISSION);
    rw = grants_of("+a");
    assert_int_equal(grants_check(&c, &rw, &r), E_PERMISSION);
    rw = grants_of("+at");
    assert_int_equal(grants_check(&c, &rw, &r), E_OK);
    ctx_clear(&c);
}

static void test_texts_that_are_none(void **state)
{
    static const char *const texts[] = {
        "",        "r",       "RW",     "wo",      "rw:",    "ro:",    "rw,",     ",rw",
        "rw:a,,b", "cards",   "cards*", "rw:*a",   "rw:a*b", "rw:a**", "rw:a:",   "rw:1a",
        "rw:a-b",  "rwx",     "+x",     "+rw:",    "+r+w",   "rw *",   "rw:a, b", "rw:é",
        "ro;rw",   "rw:a,b:", "none",   "rw:a.b*", "ro:,rw",
    };
    char why[256];
    struct grants g;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(texts); i++) {
        why[0] = 0;
        if (grants_parse(&c.arena, bytes_str(texts[i]), &g, why, sizeof(why)) != E_PARAMETER)
            fail_msg("'%s' is taken", texts[i]);
        assert_non_null(strstr(why, "is no grant"));
    }
}

/* Every operation on table t, with keys that may do nothing, read, and write. All single-table
 * requests have the name at the same place, which the compiler checks below. */
static int check(enum wr_op op, const char *grants)
{
    struct wr_table_get get = {.table = BYTES_LIT("t")};
    struct wr_table_write write = {.table = BYTES_LIT("t")};
    struct wr_request r = {.op = op};
    struct grants g = grants_of(grants);

    if (op == WR_OP_BATCH_GET_ROW)
        r.batch_get_row = (struct wr_batch_get_row){.tables = &get, .table_count = 1};
    else if (op == WR_OP_BATCH_WRITE_ROW)
        r.batch_write_row = (struct wr_batch_write_row){.tables = &write, .table_count = 1};
    else if (op == WR_OP_BULK_IMPORT)
        r.bulk_import.table = write;
    else if (op == WR_OP_PUT_ROW || op == WR_OP_UPDATE_ROW || op == WR_OP_DELETE_ROW)
        r.put_row.table = BYTES_LIT("t");
    else if (op == WR_OP_CREATE_INDEX)
        r.create_index =
            (struct wr_create_index){.table = BYTES_LIT("t"), .index.name = BYTES_LIT("t")};
    else if (op == WR_OP_DROP_INDEX)
        r.drop_index = (struct wr_drop_index){BYTES_LIT("t"), BYTES_LIT("t")};
    else if (op != WR_OP_LIST_TABLE)
        r.describe_table.table = BYTES_LIT("t");
    ctx_clear(&c);
    return grants_check(&c, &g, &r);
}

static void test_every_operation(void **state)
{
    _Static_assert(offsetof(struct wr_request, describe_table.table) ==
                           offsetof(struct wr_request, get_range.table) &&
                       offsetof(struct wr_request, describe_table.table) ==
                           offsetof(struct wr_request, create_table.table) &&
                       offsetof(struct wr_request, describe_table.table) ==
                           offsetof(struct wr_request, add_defined_column.table),
                   "the test fills one member for all");
    (void)state;
    for (int op = 0; op < WR_OP_COUNT; op++) {
        bool reads = op == WR_OP_GET_ROW || op == WR_OP_BATCH_GET_ROW || op == WR_OP_GET_RANGE ||
                     op == WR_OP_COMPUTE_SPLIT_POINTS || op == WR_OP_BULK_EXPORT ||
                     op == WR_OP_DESCRIBE_TABLE || op == WR_OP_DESCRIBE_HEAT ||
                     op == WR_OP_DESCRIBE_SIZES || op == WR_OP_DESCRIBE_PARTITIONS ||
                     op == WR_OP_DESCRIBE_STREAM || op == WR_OP_GET_SHARD_ITERATOR ||
                     op == WR_OP_GET_STREAM_RECORD || op == WR_OP_LIST_STREAM ||
                     (op >= WR_OP_LIST_TUNNEL && op <= WR_OP_READ_TUNNEL) ||
                     (op >= WR_OP_LIST_SEARCH_INDEX && op <= WR_OP_PARALLEL_SCAN) ||
                     op == WR_OP_DESCRIBE_SERIES;
        bool lists = op == WR_OP_LIST_TABLE || op == WR_OP_COMMIT_TRANSACTION ||
                     op == WR_OP_ABORT_TRANSACTION; /* they name no table */
        char says[128];

        assert_int_equal(check((enum wr_op)op, "rw:t"), E_OK);
        assert_int_equal(check((enum wr_op)op, "ro:t"), reads || lists ? E_OK : E_PERMISSION);
        assert_int_equal(check((enum wr_op)op, "rw:u"), lists ? E_OK : E_PERMISSION);
        snprintf(says, sizeof(says), "The access key has no permission for %s on table 't'.",
                 ots_op_name((enum wr_op)op));
        if (!lists)
            assert_string_equal(c.text, says);
    }
}

static void test_all_tables_of_a_batch(void **state)
{
    struct wr_table_get get[] = {{.table = BYTES_LIT("a")}, {.table = BYTES_LIT("b")}};
    struct wr_table_write write[] = {{.table = BYTES_LIT("a")}, {.table = BYTES_LIT("b")}};
    struct wr_index_meta index = {.name = BYTES_LIT("b")};
    struct wr_request r = {.op = WR_OP_BATCH_GET_ROW,
                           .batch_get_row = {.tables = get, .table_count = 2}};
    struct grants one = grants_of("rw:a"), both = grants_of("rw:a,b"),
                  mixed = grants_of("rw:a,ro:b");

    (void)state;
    assert_int_equal(grants_check(&c, &mixed, &r), E_OK);
    assert_int_equal(grants_check(&c, &one, &r), E_PERMISSION);
    assert_non_null(strstr(c.text, "BatchGetRow on table 'b'"));
    ctx_clear(&c);
    r = (struct wr_request){.op = WR_OP_BATCH_WRITE_ROW,
                            .batch_write_row = {.tables = write, .table_count = 2}};
    assert_int_equal(grants_check(&c, &both, &r), E_OK);
    assert_int_equal(grants_check(&c, &mixed, &r), E_PERMISSION);
    ctx_clear(&c);
    r = (struct wr_request){
        .op = WR_OP_CREATE_TABLE,
        .create_table = {.table = BYTES_LIT("a"), .indexes = &index, .index_count = 1}};
    assert_int_equal(grants_check(&c, &both, &r), E_OK);
    assert_int_equal(grants_check(&c, &mixed, &r), E_PERMISSION);
}

static void test_names_that_no_table_has(void **state)
{
    struct grants g = grants_of("rw:a");
    struct wr_request r = {.op = WR_OP_DELETE_TABLE,
                           .delete_table = {.table = BYTES_LIT("a\n\xFF")}};

    (void)state;
    assert_int_equal(grants_check(&c, &g, &r), E_PERMISSION);
    assert_string_equal(c.text, "The access key has no permission for DeleteTable on table ''.");
    ctx_clear(&c);
    r.delete_table.table = BYTES_NONE;
    assert_int_equal(grants_check(&c, &g, &r), E_PERMISSION);
}

static void test_lists(void **state)
{
    struct wr_bytes tables[] = {BYTES_LIT("a"), BYTES_LIT("b"), BYTES_LIT("b2"), BYTES_LIT("c")};
    struct wr_table_list all = {tables, PORT_COUNT(tables)}, seen;
    struct grants g = grants_of("ro:b*,rw:c"), everything = grants_all();

    (void)state;
    seen = grants_visible(&c, &g, &all);
    assert_int_equal(seen.count, 3);
    assert_true(bytes_equal(seen.tables[0], tables[1]));
    assert_true(bytes_equal(seen.tables[2], tables[3]));
    assert_int_equal(grants_visible(&c, &everything, &all).count, 4);
    assert_int_equal(grants_visible(&c, &g, &(struct wr_table_list){NULL, 0}).count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_allowed),
        TEST(test_texts_that_are_none),
        TEST(test_every_operation),
        TEST(test_all_tables_of_a_batch),
        TEST(test_names_that_no_table_has),
        TEST(test_lists),
        TEST(test_words),
        TEST(test_writes_that_tell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
