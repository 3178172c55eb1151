/* EXPLAIN of tables that lie in several partitions. */
#include "bed.h"

/* A table (k, n) whose partitions begin at 10, 20 and 30; `descending`: at 30, 20 and 10. */
static void make(struct bed *b, bytes name, bool descending)
{
    static const int64_t bounds[] = {10, 20, 30};
    struct wr_key_schema key[] = {{.name = BYTES_LIT("k"), .type = WR_BIGINT},
                                  {.name = BYTES_LIT("n"), .type = WR_BIGINT}};
    struct wr_partition_range ranges[PORT_COUNT(bounds) + 1];
    struct wr_request request = {WR_REQUEST(CREATE_TABLE), .instance = BYTES_LIT("inst")};
    struct wr_reply *reply;
    struct wr_value at = {.type = WR_INF_MIN};

    key[0].descending = descending;
    for (size_t i = 0; i <= PORT_COUNT(bounds); i++) {
        ranges[i].begin = at;
        at = (struct wr_value){.type = WR_INF_MAX};
        if (i < PORT_COUNT(bounds))
            at = (struct wr_value){.type = WR_BIGINT, .integer = bounds[descending ? 2 - i : i]};
        ranges[i].end = at;
    }
    request.create_table = (struct wr_create_table){
        .table = name,
        .key = key,
        .key_count = 2,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1},
        .partitions = ranges,
        .partition_count = PORT_COUNT(ranges)};
    reply = wr_exec(b->db, &request);
    if (reply->code)
        print_error("%s\n", reply->message);
    assert_int_equal(reply->code, 0);
    wr_reply_free(reply);
}

/* The column PARTITIONS of the first line. */
static void expect_partitions(struct bed *b, const char *select, const char *expected)
{
    const char *at;
    struct arena a;

    arena_init(&a, NULL, 0);
    at = strchr(answer(b, &a, arena_printf(&a, "explain %s", select).ptr, NULL, 0), '|');
    for (int i = 0; i < 4 && at; i++)
        at = strchr(at + 1, ',');
    if (!at || strncmp(at + 1, expected, strlen(expected)) != 0 || at[1 + strlen(expected)] != ',')
        fail_msg("%s: %s instead of %s", select, at, expected);
    arena_release(&a);
}

static void test_partitions(void **state)
{
    /* The condition, and how many it reaches in a table whose key goes up, and in one where it goes
     * down: bounds belong to the partition behind them. */
    static const char *const cases[][3] = {
        {"where k = 5 and n = 1", "1", "1"},
        {"where k = 10 and n = 1", "1", "1"},
        {"where k = 10", "1", "1"},
        {"where k > 10", "3", "3"},
        {"where k >= 10", "3", "4"},
        {"where k >= 10 and k < 30", "2", "3"},
        {"where k >= 10 and k <= 30", "3", "3"},
        {"where k < 10", "1", "1"},
        {"where k <= 10", "2", "1"},
        {"where k in (1, 5, 15, 25)", "3", "3"},
        {"where k > 5 and k < 3", "0", "0"},
        {"", "4", "4"},
        {"order by k desc, n desc", "4", "4"},
        {"where n = 1", "4", "4"},
    };
    struct bed *b = *state;

    make(b, BYTES_LIT("up"), false);
    make(b, BYTES_LIT("down"), true);
    expect(
        b, "explain select n from up where k = 30",
        "TABLE,ACCESS,BOUNDS,WALKS,PARTITIONS,ROWS,READ_CU,REFUSED|up,key range,k = 30,1,1,0,1,no");
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        char sql[200];

        snprintf(sql, sizeof(sql), "select n from up %s", cases[i][0]);
        expect_partitions(b, sql, cases[i][1]);
        snprintf(sql, sizeof(sql), "select n from down %s", cases[i][0]);
        expect_partitions(b, sql, cases[i][2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_partitions, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
