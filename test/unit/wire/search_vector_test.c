/* Every line of test/golden/search-vectors.txt: what clients send and what they expect is read, and
 * written again byte for byte. Where a client spells out what another one leaves out, the line says
 * whose form is ours. And no cut and no wrong bit makes of a line what cannot be written again. */
#include "vectors.h"
#include "../context.h"

#include "wire/ots.h"
#include "wire/ots_client.h"
#include "wire/plain.h"

#include <math.h>

static struct vectors vectors;

/* Lines that are written in another form: as this line, or (NULL) as none. */
static const struct {
    const char *name, *as;
} others[] = {
    /* A weight of 1 is left out. */
    {"q_match_w", "q_match"},
    {"q_match_phrase_w", "q_match_phrase"},
    {"q_term_string_w", "q_term_string"},
    {"q_terms_w", "q_terms"},
    {"q_prefix_w", "q_prefix"},
    {"q_wildcard_w", "q_wildcard"},
    {"q_bool_w", "q_bool"},
    {"q_nested_w", "q_nested"},
    {"q_suffix_w", NULL},
    {"q_nested_inner", NULL},
    {"q_nested_inner_java", NULL},
    {"q_nested_inner_node", NULL},
    {"q_fs_fvf", NULL},
    {"q_fs_decay_num", NULL},
    {"q_dis_max", NULL},
    /* An end that is open is neither in nor out. */
    {"q_range_py_from_only", "q_range_from_only"},
    /* Whether rows are counted is said in the newer of two fields; nobody needs routing values. */
    {"search_query_py", "search_query_java"},
    {"req_search_py", NULL},
    {"req_search_java", NULL},
    {"req_search_py_min", NULL},
    {"req_search_node", NULL},
    /* Flags of fields as Java sends them; whether a field is searched is said of all but groups. */
    {"req_create_py", NULL},
    {"req_describe_node", "req_describe"},
    /* Highlights and hits among children are not in the structs. */
    {"resp_search_hit", NULL},
    {"resp_search_inner", NULL},
};

/* A message in which a line can stand alone. */
struct frame {
    bytes body;
    enum wr_op op;
    bool reply;
};

static bytes get(const char *name)
{
    return vector(&vectors, name);
}

static void put(struct buf *b, unsigned field, bytes v)
{
    buf_put_varint(b, field << 3 | 2);
    buf_put_counted(b, v);
}

static void put_number(struct buf *b, unsigned field, uint64_t v)
{
    buf_put_varint(b, field << 3);
    buf_put_varint(b, v);
}

/* A Search whose query has this field alone. */
static struct frame search_with(unsigned field, bytes v)
{
    struct buf query, b;

    buf_init(&query, &c.arena, 0);
    if (field < 13)
        put(&query, field, v);
    put_number(&query, 13, UINT64_MAX);
    buf_init(&b, &c.arena, 0);
    put(&b, 1, BYTES_LIT("t"));
    put(&b, 2, BYTES_LIT("i"));
    put(&b, 4, field ? buf_bytes(&query) : v);
    return (struct frame){buf_bytes(&b), WR_OP_SEARCH, false};
}

/* The parts of a message without their envelope: a Sort and the like stand whole in a field. */
static struct frame result_with(unsigned field, bytes v)
{
    struct buf b;

    buf_init(&b, &c.arena, 0);
    put_number(&b, 1, 0);
    put_number(&b, 3, 1);
    put(&b, field, v);
    return (struct frame){buf_bytes(&b), WR_OP_SEARCH, true};
}

/* A field with this parameter of its analyzer. */
static struct frame field_with(const char *analyzer, bytes v)
{
    struct buf field, b;

    buf_init(&field, &c.arena, 0);
    put(&field, 1, BYTES_LIT("f"));
    put_number(&field, 2, WR_FIELD_TEXT);
    put(&field, 4, bytes_str(analyzer));
    put_number(&field, 5, 1);
    put(&field, 10, v);
    buf_init(&b, &c.arena, 0);
    put(&b, 1, BYTES_LIT("t"));
    put(&b, 2, BYTES_LIT("i"));
    put(&b, 6, buf_bytes(&field));
    return (struct frame){buf_bytes(&b), WR_OP_UPDATE_SEARCH_INDEX, false};
}

static bool begins(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static enum wr_op op_of(const char *name)
{
    static const struct {
        const char *word;
        enum wr_op op;
    } ops[] = {
        {"create", WR_OP_CREATE_SEARCH_INDEX},     {"update", WR_OP_UPDATE_SEARCH_INDEX},
        {"delete", WR_OP_DELETE_SEARCH_INDEX},     {"list", WR_OP_LIST_SEARCH_INDEX},
        {"describe", WR_OP_DESCRIBE_SEARCH_INDEX}, {"search", WR_OP_SEARCH},
        {"splits", WR_OP_COMPUTE_SPLITS},          {"pscan", WR_OP_PARALLEL_SCAN},
    };

    for (size_t i = 0; i < PORT_COUNT(ops); i++)
        if (begins(name, ops[i].word))
            return ops[i].op;
    print_error("no operation for %s\n", name);
    _fail(__FILE__, __LINE__);
    return WR_OP_COUNT;
}

static struct frame frame_of(const char *name, bytes v)
{
    static const struct {
        const char *prefix;
        unsigned field;
    } parts[] = {{"q_", 4}, {"sort_", 6}, {"agg_", 10}, {"gb_", 11}, {"highlight", 12}};

    if (begins(name, "req_"))
        return (struct frame){v, op_of(name + 4), false};
    if (begins(name, "resp_"))
        return (struct frame){v, op_of(name + 5), true};
    if (begins(name, "aggres_") || begins(name, "gbres_"))
        return result_with(begins(name, "aggres_") ? 7 : 8, v);
    if (begins(name, "analyzer_"))
        return field_with(name + strlen("analyzer_"), v);
    if (begins(name, "search_query_"))
        return search_with(0, v);
    for (size_t i = 0; i < PORT_COUNT(parts); i++)
        if (begins(name, parts[i].prefix))
            return search_with(parts[i].field, v);
    print_error("what is %s?\n", name);
    _fail(__FILE__, __LINE__);
    return (struct frame){0};
}

/* Reads a message and writes what was read; 0, or why it was not read. */
static int again(const struct frame *f, bytes *out)
{
    struct wr_request req = {.op = f->op};
    struct wr_reply reply;

    if (f->reply) {
        TRY(ots_decode_reply(&c, f->op, f->body, &reply));
        *out = ots_encode(&c, &req, &reply);
    } else {
        TRY(ots_decode(&c, f->op, f->body, &req));
        *out = ots_encode_request(&c, &req);
    }
    return 0;
}

static void assert_bytes(const char *name, bytes actual, bytes expected)
{
    if (bytes_equal(actual, expected))
        return;
    print_error("%s: %zu bytes, expected %zu:\n", name, actual.len, expected.len);
    for (size_t i = 0; i < actual.len; i++)
        print_error("%02x", bytes_u8(actual)[i]);
    print_error("\n");
    for (size_t i = 0; i < expected.len; i++)
        print_error("%02x", bytes_u8(expected)[i]);
    print_error("\n");
    _fail(__FILE__, __LINE__);
}

static const char *name_of(size_t i)
{
    return arena_printf(&c.arena, "%.*s", BYTES_FMT(vectors.list[i].name)).ptr;
}

static bytes form_of(const char *name, bytes data)
{
    for (size_t i = 0; i < PORT_COUNT(others); i++)
        if (strcmp(others[i].name, name) == 0)
            return others[i].as ? get(others[i].as) : BYTES_NONE;
    return data;
}

static void check_value(const char *name, bytes data)
{
    struct wr_value v;

    assert_int_equal(plain_decode_value(&c, data, &v), 0);
    assert_bytes(name, plain_encode_value(&c.arena, &v), data);
}

static void test_every_vector(void **state)
{
    (void)state;
    assert_int_equal(vectors.count, 133);
    for (size_t i = 0; i < vectors.count; i++) {
        const char *name = name_of(i);
        bytes form = form_of(name, vectors.list[i].data), out, twice;
        struct frame f;

        if (begins(name, "var_")) {
            check_value(name, vectors.list[i].data);
            continue;
        }
        f = frame_of(name, vectors.list[i].data);
        if (again(&f, &out)) {
            print_error("%s: %s\n", name, c.text);
            _fail(__FILE__, __LINE__);
        }
        if (form.ptr)
            assert_bytes(name, out, frame_of(name, form).body);
        f.body = out;
        assert_int_equal(again(&f, &twice), 0);
        assert_bytes(name, twice, out);
    }
}

/* ---- what is no message */

/* The message is read from memory of just its size, so that a sanitizer sees who goes past it. */
static void check_damaged(enum wr_op op, bool reply, bytes body)
{
    uint8_t *exact = malloc(body.len + !body.len);
    struct frame f = {bytes_of(exact, body.len), op, reply};
    bytes out, twice;
    int code;

    if (body.len)
        memcpy(exact, body.ptr, body.len);
    code = again(&f, &out);
    if (code) {
        assert_true(code == E_PARAMETER || code == E_MEMORY);
        assert_true(c.text && *c.text);
    } else {
        f.body = out;
        assert_int_equal(again(&f, &twice), 0);
        assert_bytes("damaged", twice, out);
    }
    free(exact);
    ctx_release(&c);
    ctx_init(&c, &clock_now, NULL, NULL, 0);
}

static void test_cuts_and_bits(void **state)
{
    struct ctx own;

    (void)state;
    ctx_init(&own, &clock_now, NULL, NULL, 0);
    for (size_t i = 0; i < vectors.count; i++) {
        bytes data = vectors.list[i].data;
        const char *name = name_of(i);
        struct frame f;
        uint8_t *body;
        size_t n;

        if (begins(name, "var_"))
            continue;
        f = frame_of(name, data);
        n = f.body.len;
        body = malloc(n + 1);
        memcpy(body, f.body.ptr ? f.body.ptr : "", n);
        for (size_t len = 0; len < n; len++)
            check_damaged(f.op, f.reply, bytes_of(body, len));
        for (size_t bit = 0; bit < 8 * n; bit++) {
            body[bit / 8] ^= (uint8_t)(1 << bit % 8);
            check_damaged(f.op, f.reply, bytes_of(body, n));
            body[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        free(body);
    }
    ctx_release(&own);
}

static void assert_refused(const struct frame *f, const char *text)
{
    struct wr_request req;

    assert_int_equal(ots_decode(&c, f->op, f->body, &req), E_PARAMETER);
    if (!strstr(c.text, text)) {
        print_error("'%s' is not in: %s\n", text, c.text);
        _fail(__FILE__, __LINE__);
    }
    ctx_clear(&c);
}

/* A query in so many constant scores. */
static struct frame nested(int depth)
{
    bytes at = get("q_exists");

    for (int i = 1; i < depth; i++) {
        struct buf inner, b;

        buf_init(&inner, &c.arena, 0);
        put(&inner, 1, at);
        buf_init(&b, &c.arena, 0);
        put_number(&b, 1, WR_SEARCH_CONST_SCORE);
        put(&b, 2, buf_bytes(&inner));
        at = buf_bytes(&b);
    }
    return search_with(4, at);
}

static void test_depth(void **state)
{
    struct frame f = nested(20);
    struct wr_request req;

    (void)state;
    assert_int_equal(ots_decode(&c, WR_OP_SEARCH, f.body, &req), 0);
    f = nested(21);
    assert_refused(&f, "deeper than 20 levels");
    f = nested(5000);
    assert_refused(&f, "deeper than 20 levels");
}

static void test_number(void **state)
{
    struct frame f;
    struct buf b;

    (void)state;
    buf_init(&b, &c.arena, 0);
    for (int i = 0; i < 70000; i++)
        put(&b, 1, BYTES_LIT("\x0a\x00"));
    f = search_with(6, buf_bytes(&b));
    assert_refused(&f, "more than 65536");
}

static void test_refusals(void **state)
{
    static const struct {
        unsigned field;
        bytes v;
        const char *text;
    } list[] = {
        {4, BYTES_LIT("\x08\x15\x12\x00"), "Type of query 21 is not known"},
        {4, BYTES_LIT("\x12\x00"), "[query] type must be set"},
        {4, BYTES_LIT("\x08\x03\x12\x05\x0a\x01k\x12"), "Parse PBMessage"},
        {4, BYTES_LIT("\x08\x03\x12\x03\x0a\x01k"), "[term query] term must be set"},
        {4, BYTES_LIT("\x08\x10\x12\x00"), "[exists query] field_name must be set"},
        {4, BYTES_LIT("\x08\x07\x12\x00"), "[const score query] filter must be set"},
        {4, BYTES_LIT("\x08\x03\x12\x06\x0a\x01k\x12\x01\x09"), "A value in a search is"},
        {4, BYTES_LIT("\x08\x01\x12\x08\x0a\x01t\x12\x01x\x20\x03"), "Operator 3 is not known"},
        {4, BYTES_LIT("\x08\x01\x12\x0b\x0a\x01t\x12\x01x\x2d\x00\x00\x80\x7f"), "Parse PBMessage"},
        {6, BYTES_LIT("\x0a\x00"), "[sorter] one of"},
        {6, BYTES_LIT("\x0a\x04\x1a\x02\x08\x02"), "Order 2 is not known"},
        {10,
         BYTES_LIT("\x0a\x03\x0a\x01"
                   "a"),
         "[Type of aggregation] type must be set"},
        {10,
         BYTES_LIT("\x0a\x05\x0a\x01"
                   "a\x10\x01"),
         "[aggregation] field_name must be set"},
        {11, BYTES_LIT("\x0a\x05\x0a\x01g\x10\x09"), "Type of group_by 9 is not known"},
        {12, BYTES_LIT("\x0a\x00"), "[highlight] field_name must be set"},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(list); i++) {
        struct frame f = search_with(list[i].field, list[i].v);

        assert_refused(&f, list[i].text);
    }
}

/* ---- what is filled in */

static void decode(enum wr_op op, const char *name, struct wr_request *req)
{
    assert_int_equal(ots_decode(&c, op, get(name), req), 0);
}

static void test_search_defaults(void **state)
{
    struct wr_request req;

    (void)state;
    decode(WR_OP_SEARCH, "req_search_py_min", &req);
    assert_int_equal(req.search.columns, WR_SEARCH_COLUMNS_NONE);
    assert_int_equal(req.search.track_total, -1);
    assert_false(req.search.has_limit || req.search.has_offset || req.search.sort.given);
    assert_true(req.search.query->weight == 1);
    decode(WR_OP_SEARCH, "req_search_py", &req);
    assert_int_equal(req.search.columns, WR_SEARCH_COLUMNS_NAMED);
    assert_int_equal(req.search.name_count, 2);
    assert_int_equal(req.search.track_total, INT32_MAX);
    assert_int_equal(req.search.timeout_ms, 5000);
    decode(WR_OP_SEARCH, "req_search_node", &req);
    assert_int_equal(req.search.columns, WR_SEARCH_COLUMNS_ALL);
    assert_true(req.search.has_offset);
    decode(WR_OP_LIST_SEARCH_INDEX, "req_list_all", &req);
    assert_null(req.list_search_index.table.ptr);
    decode(WR_OP_DESCRIBE_SEARCH_INDEX, "req_describe_node", &req);
    assert_false(req.describe_search_index.no_sync_stat);
}

static void test_schema_defaults(void **state)
{
    const struct wr_search_schema *schema;
    struct wr_request req;

    (void)state;
    decode(WR_OP_CREATE_SEARCH_INDEX, "req_create_py", &req);
    schema = &req.create_search_index.schema;
    assert_int_equal(schema->field_count, 4);
    assert_true(schema->fields[0].index && schema->fields[0].store_given);
    assert_int_equal(schema->fields[1].analyzer_options.max_chars, 5);
    assert_int_equal(schema->fields[2].vector.dimension, 4);
    assert_true(schema->fields[2].index && !schema->fields[2].store_given);
    assert_true(schema->fields[3].index);
    assert_int_equal(schema->fields[3].child_count, 1);
    assert_false(schema->index_sort.given);
    assert_int_equal(schema->routing_field_count, 1);
    assert_int_equal(req.create_search_index.ttl_s, -1);
}

static void test_scores_and_orders(void **state)
{
    struct frame f = search_with(6, BYTES_LIT("\x0a\x02\x1a\x00")); /* ScoreSort alone */
    struct wr_reply reply;
    struct wr_request req;

    (void)state;
    assert_int_equal(ots_decode(&c, WR_OP_SEARCH, f.body, &req), 0);
    assert_int_equal(req.search.sort.sorters[0].order, WR_ORDER_DESC);
    assert_false(req.search.sort.sorters[0].order_given);
    assert_int_equal(ots_decode_reply(&c, WR_OP_SEARCH, get("resp_search_nan"), &reply), 0);
    assert_int_equal(reply.search.total, 2);
    assert_int_equal(reply.search.count, 2);
    assert_true(isnan(reply.search.scores[1]));
    assert_int_equal(ots_decode_reply(&c, WR_OP_SEARCH, get("resp_search_hit"), &reply), 0);
    assert_true(reply.search.scores[0] == 1.25);
    assert_int_equal(reply.search.next_token.len, 4);
}

/* Aggregations of a group are told in reverse, and understood. */
static void test_order_of_aggregations(void **state)
{
    struct wr_aggregation_result two[] = {
        {.name = BYTES_LIT("a"), .type = WR_AGG_COUNT, .count = 1},
        {.name = BYTES_LIT("b"), .type = WR_AGG_COUNT, .count = 2},
    };
    struct wr_group group = {
        .count = 3, .key = BYTES_LIT("k"), .aggregations = two, .aggregation_count = 2};
    struct wr_group_by_result groups = {
        .name = BYTES_LIT("g"), .type = WR_GROUP_FIELD, .groups = &group, .count = 1};
    struct wr_reply reply = {.op = WR_OP_SEARCH,
                             .message = "",
                             .search = {.aggregations = two,
                                        .aggregation_count = 2,
                                        .group_bys = &groups,
                                        .group_by_count = 1}},
                    back;
    struct wr_request req = {.op = WR_OP_SEARCH};
    bytes body = ots_encode(&c, &req, &reply), a, b;

    (void)state;
    a = BYTES_LIT("\x0a\x09\x0a\x01"
                  "a\x10\x05\x1a\x02\x08\x01");
    b = BYTES_LIT("\x0a\x09\x0a\x01"
                  "b\x10\x05\x1a\x02\x08\x02");
    assert_memory_equal(bytes_u8(body) + 6, a.ptr, a.len);
    assert_memory_equal(bytes_u8(body) + 6 + a.len, b.ptr, b.len);
    assert_memory_equal(bytes_u8(body) + body.len - a.len, a.ptr, a.len);
    assert_memory_equal(bytes_u8(body) + body.len - a.len - b.len, b.ptr, b.len);
    assert_int_equal(ots_decode_reply(&c, WR_OP_SEARCH, body, &back), 0);
    assert_int_equal(back.search.group_bys[0].groups[0].aggregations[0].count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_vector),    TEST(test_cuts_and_bits),     TEST(test_depth),
        TEST(test_number),          TEST(test_refusals),          TEST(test_search_defaults),
        TEST(test_schema_defaults), TEST(test_scores_and_orders), TEST(test_order_of_aggregations),
    };
    int failed;

    vectors_load(&vectors, "search-vectors.txt");
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&vectors.arena);
    return failed;
}
