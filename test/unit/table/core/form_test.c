/* Programs that were compiled with another widerow.h: their structs are shorter or longer. */
#include "table/core/form.h"

#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#define TEXT(s)                                                                                    \
    {                                                                                              \
        s, sizeof(s) - 1                                                                           \
    }

struct bed {
    struct wr_db *db;
    struct wr_key_column key;
    struct wr_request get;
    char text[256];
};

static int set_up(void **state)
{
    struct bed *b = mem_zalloc(sizeof(*b));
    struct wr_options o = {WR_OPTIONS, .engine = "mem"};
    struct wr_key_schema key = {.name = TEXT("k"), .type = WR_BIGINT};
    struct wr_request create = {WR_REQUEST(CREATE_TABLE), .instance = TEXT("test")};

    create.create_table = (struct wr_create_table){
        .table = TEXT("t"),
        .key = &key,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    assert_int_equal(wr_open(&o, &b->db, b->text, sizeof(b->text)), WR_OK);
    wr_reply_free(wr_exec(b->db, &create));
    b->key = (struct wr_key_column){TEXT("k"), {.type = WR_BIGINT, .integer = 1}};
    WR_REQUEST_INIT(&b->get, GET_ROW);
    b->get.instance = (struct wr_bytes)TEXT("test");
    b->get.get_row = (struct wr_get_row){.table = TEXT("t"),
                                         .key = {&b->key, 1},
                                         .read = {.has_max_versions = true, .max_versions = 1}};
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bed *b = *state;

    wr_close(b->db);
    mem_free(b);
    return 0;
}

static int ask(struct bed *b, const struct wr_request *request)
{
    struct wr_reply *reply = wr_exec(b->db, request);
    int code = reply->code;

    snprintf(b->text, sizeof(b->text), "%s", reply->message);
    wr_reply_free(reply);
    return code;
}

/* As if `transaction`, the last member, had come later: what stands there is not the program's. */
static void a_shorter_request_is_taken(void **state)
{
    struct bed *b = *state;
    struct wr_request r = b->get;

    r.get_row.transaction = (struct wr_bytes)TEXT("not an id");
    assert_int_equal(ask(b, &r), WR_E_PARAMETER); /* as today's program means it */
    assert_string_equal(b->text, "TransactionID is invalid.");
    r.size = offsetof(struct wr_request, get_row.transaction);
    assert_int_equal(ask(b, &r), WR_OK);
    memset((char *)&r + r.size, 0xA5, sizeof(r) - r.size);
    assert_int_equal(ask(b, &r), WR_OK);
    r.size = 0; /* version 0.1.0 had the member */
    r.get_row.token = r.get_row.transaction = (struct wr_bytes){0};
    assert_int_equal(ask(b, &r), WR_OK);
}

/* What a front asks grants for is what the request will be run with. */
static void tables_are_read_as_far_as_the_request_goes(void **state)
{
    struct wr_index_meta index = {.name = TEXT("index")};
    struct wr_request r = {WR_REQUEST(CREATE_TABLE)};
    struct wr_bytes name;

    (void)state;
    r.create_table.table = (struct wr_bytes)TEXT("t");
    r.create_table.indexes = &index;
    r.create_table.index_count = 1;
    assert_true(wr_request_table(&r, 0, &name));
    assert_true(wr_request_table(&r, 1, &name));
    assert_memory_equal(name.ptr, "index", 5);
    r.size = offsetof(struct wr_request, create_table.index_count);
    assert_true(wr_request_table(&r, 0, &name));
    assert_memory_equal(name.ptr, "t", 1);
    assert_false(wr_request_table(&r, 1, &name));
    r.size = offsetof(struct wr_request, create_table.table);
    assert_true(wr_request_table(&r, 0, &name));
    assert_int_equal(name.len, 0);
}

static void a_longer_request_is_taken_while_it_asks_for_nothing_new(void **state)
{
    struct bed *b = *state;
    struct {
        struct wr_request r;
        char more[64];
    } *r = mem_zalloc(sizeof(*r));
    char *raw = (char *)r;

    r->r = b->get;
    memset(raw + WR_SIZE_GET_ROW, 0, sizeof(*r) - WR_SIZE_GET_ROW);
    r->r.size = WR_SIZE_GET_ROW + 24;
    assert_int_equal(ask(b, &r->r), WR_OK);
    raw[WR_SIZE_GET_ROW + 24] = 1; /* behind what it says that it has */
    assert_int_equal(ask(b, &r->r), WR_OK);
    raw[WR_SIZE_GET_ROW + 23] = 1;
    assert_int_equal(ask(b, &r->r), WR_E_PARAMETER);
    assert_non_null(strstr(b->text, "newer widerow.h"));
    mem_free(r);
}

static void what_is_no_size_is_refused(void **state)
{
    static const uint32_t sizes[] = {1, 8, offsetof(struct wr_request, get_row) - 1, 65537,
                                     UINT32_MAX};
    struct bed *b = *state;
    struct wr_request r = b->get;

    for (size_t i = 0; i < PORT_COUNT(sizes); i++) {
        r.size = sizes[i];
        assert_int_equal(ask(b, &r), WR_E_PARAMETER);
        assert_non_null(strstr(b->text, "none that it can have"));
    }
    r = b->get;
    r.reserved[0] = 1;
    assert_int_equal(ask(b, &r), WR_E_PARAMETER);
    assert_non_null(strstr(b->text, "newer widerow.h"));
}

static void options_may_be_shorter_and_longer(void **state)
{
    struct bed *b = *state;
    struct {
        struct wr_options o;
        uint64_t later;
    } p = {.o = {WR_OPTIONS, .engine = "mem", .log_arg = b}};
    struct wr_db *db;

    p.o.size = offsetof(struct wr_options, log);
    p.o.log = (wr_log_fn *)(uintptr_t)1; /* would be called at once */
    assert_int_equal(wr_open(&p.o, &db, b->text, sizeof(b->text)), WR_OK);
    wr_close(db);
    p.o.log = NULL;
    p.o.size = sizeof(p);
    assert_int_equal(wr_open(&p.o, &db, b->text, sizeof(b->text)), WR_OK);
    wr_close(db);
    p.later = 1;
    assert_int_equal(wr_open(&p.o, &db, b->text, sizeof(b->text)), WR_E_PARAMETER);
    assert_null(db);
    assert_non_null(strstr(b->text, "newer widerow.h"));
}

static void cells_and_status_carry_their_sizes(void **state)
{
    struct bed *b = *state;
    struct {
        struct wr_cell_get get;
        uint64_t later;
    } g = {.get = {.size = sizeof(g),
                   .instance = TEXT("test"),
                   .table = TEXT("t"),
                   .key = {&b->key, 1},
                   .column = TEXT("c")}};
    struct {
        struct wr_cell_put put;
        uint64_t later;
    } p = {.put = {.size = sizeof(p),
                   .instance = TEXT("test"),
                   .table = TEXT("t"),
                   .key = {&b->key, 1},
                   .column = TEXT("c"),
                   .timestamp_ms = WR_TIMESTAMP_NONE}};
    struct {
        struct wr_status s;
        uint64_t later;
    } s;
    struct wr_cell_reader *reader;
    struct wr_cell_writer *writer;
    struct wr_cell_info info;
    uint64_t mark = ~0ull;

    assert_int_equal(wr_cell_reader_open(b->db, &g.get, &reader, &info, NULL, 0), WR_E_NOT_EXIST);
    assert_int_equal(wr_cell_writer_open(b->db, &p.put, &writer, NULL, 0), WR_OK);
    wr_cell_writer_free(writer);
    g.later = p.later = 1;
    assert_int_equal(wr_cell_reader_open(b->db, &g.get, &reader, &info, NULL, 0), WR_E_PARAMETER);
    assert_int_equal(wr_cell_writer_open(b->db, &p.put, &writer, NULL, 0), WR_E_PARAMETER);
    g.get.size = 0; /* the first form, which ends before what is new */
    assert_int_equal(wr_cell_reader_open(b->db, &g.get, &reader, &info, NULL, 0), WR_E_NOT_EXIST);

    memset(&s, 0xFF, sizeof(s));
    wr_status(b->db, &s.s, sizeof(s));
    assert_true(s.s.writable);
    assert_int_equal(s.later, 0);
    memset(&s, 0xFF, sizeof(s));
    wr_status(b->db, &s.s, offsetof(struct wr_status, syncs));
    assert_true(s.s.writable);
    assert_memory_equal(&s.s.syncs, &mark, sizeof(mark));
}

/* As of version 0.1.0, on machines of 64 bits. If this fails because a struct has grown: the new
 * member begins where the old struct ended, padding included, and the old size goes to
 * form_first_sizes (or the constant in form.h). Never change a number here. */
static void the_first_sizes_stay(void **state)
{
    static const uint32_t first[] = {[WR_OP_CREATE_TABLE] = 280,
                                     [WR_OP_LIST_TABLE] = 57,
                                     [WR_OP_DESCRIBE_TABLE] = 72,
                                     [WR_OP_UPDATE_TABLE] = 160,
                                     [WR_OP_DELETE_TABLE] = 72,
                                     [WR_OP_LOAD_TABLE] = 72,
                                     [WR_OP_UNLOAD_TABLE] = 72,
                                     [WR_OP_ADD_DEFINED_COLUMN] = 88,
                                     [WR_OP_DELETE_DEFINED_COLUMN] = 88,
                                     [WR_OP_REKEY_TABLE] = 96,
                                     [WR_OP_GET_ROW] = 216,
                                     [WR_OP_PUT_ROW] = 176,
                                     [WR_OP_UPDATE_ROW] = 176,
                                     [WR_OP_DELETE_ROW] = 176,
                                     [WR_OP_BATCH_GET_ROW] = 72,
                                     [WR_OP_BATCH_WRITE_ROW] = 96,
                                     [WR_OP_GET_RANGE] = 264,
                                     [WR_OP_COMPUTE_SPLIT_POINTS] = 104,
                                     [WR_OP_BULK_EXPORT] = 136,
                                     [WR_OP_BULK_IMPORT] = 88,
                                     [WR_OP_DESCRIBE_HEAT] = 88,
                                     [WR_OP_DESCRIBE_SIZES] = 80,
                                     [WR_OP_DESCRIBE_PARTITIONS] = 72,
                                     [WR_OP_CREATE_INDEX] = 144,
                                     [WR_OP_DROP_INDEX] = 88};

    (void)state;
    if (sizeof(void *) != 8)
        return;
    for (size_t i = 0; i < PORT_COUNT(first); i++)
        assert_int_equal(form_first_sizes[i], first[i]);
    assert_int_equal(FORM_OPTIONS_FIRST, 112);
    assert_int_equal(FORM_CELL_PUT_FIRST, 112);
    assert_int_equal(FORM_CELL_GET_FIRST, 72);
    /* Elements of arrays, which never grow. */
    assert_int_equal(sizeof(struct wr_key_column), 40);
    assert_int_equal(sizeof(struct wr_cell), 56);
    assert_int_equal(sizeof(struct wr_row), 32);
    assert_int_equal(sizeof(struct wr_row_change), 120);
    assert_int_equal(sizeof(struct wr_table_get), 136);
    assert_int_equal(sizeof(struct wr_table_write), 32);
    assert_int_equal(sizeof(struct wr_filter), 88);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_shorter_request_is_taken),
        TEST(tables_are_read_as_far_as_the_request_goes),
        TEST(a_longer_request_is_taken_while_it_asks_for_nothing_new),
        TEST(what_is_no_size_is_refused),
        TEST(options_may_be_shorter_and_longer),
        TEST(cells_and_status_carry_their_sizes),
        TEST(the_first_sizes_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
