/* Messages beyond the vectors: every operation there and back, the rules that keep clients alive
 * (doc/wire.md, "Messages"), and bodies that protobuf-c takes but nobody may send. */
#include "show.h"
#include "../context.h"

#include "base/crc8.h"
#include "wire/ots.h"
#include "wire/ots_client.h"
#include "wire/plain.h"

static const struct wr_value one = {.type = WR_BIGINT, .integer = 1};
static const struct wr_key_column key_columns[] = {
    {{"pk0", 3}, {.type = WR_BIGINT, .integer = 1}},
    {{"pk1", 3}, {.type = WR_VARCHAR, .bytes = {"x", 1}}},
};
static const struct wr_key key = {key_columns, 2};

static struct wr_cell cell(bytes name, struct wr_value v, int64_t at)
{
    bytes bare = plain_encode_value(&c.arena, &v);
    uint8_t crc = crc8(crc8(0, name.ptr, name.len), bare.ptr, bare.len);

    return (struct wr_cell){
        .name = name, .value = v, .timestamp_ms = at, .crc8 = crc8_u64(crc, (uint64_t)at)};
}

/* ---- operations */

static void test_op_find(void **state)
{
    enum wr_op op = WR_OP_COUNT;

    (void)state;
    for (int i = 0; i < WR_OP_COUNT; i++) {
        assert_int_equal(ots_op_find(bytes_str(ots_client_path((enum wr_op)i)), &op), OTS_ROUTE_OP);
        assert_int_equal(op, i);
        assert_string_equal(ots_client_path(op) + 1, ots_op_name(op));
    }
    assert_int_equal(ots_op_find(BYTES_LIT("/ListTimeseriesTable"), &op), OTS_ROUTE_EMPTY);
    assert_int_equal(ots_op_find(BYTES_LIT("/QueryTimeseriesMeta"), &op), OTS_ROUTE_UNSUPPORTED);
    assert_int_equal(ots_op_find(BYTES_LIT("/getrow"), &op), OTS_ROUTE_UNKNOWN);
    assert_int_equal(ots_op_find(BYTES_LIT("GetRow"), &op), OTS_ROUTE_UNKNOWN);
    assert_int_equal(ots_op_find(BYTES_LIT("/GetRow/"), &op), OTS_ROUTE_UNKNOWN);
    assert_int_equal(ots_op_find(BYTES_LIT("/"), &op), OTS_ROUTE_UNKNOWN);
    assert_int_equal(ots_op_find(BYTES_LIT(""), &op), OTS_ROUTE_UNKNOWN);
}

/* What our client asks is what our server reads. */
static void assert_asks(const struct wr_request *req, const char *shows)
{
    struct wr_request back;

    assert_int_equal(ots_decode(&c, req->op, ots_encode_request(&c, req), &back), 0);
    assert_int_equal(back.op, req->op);
    assert_string_equal(show_request(&c, &back), shows);
}

static void test_requests_without_vector(void **state)
{
    const struct wr_defined_column columns[] = {{BYTES_LIT("a"), WR_DOUBLE},
                                                {BYTES_LIT("b"), WR_BOOLEAN}};
    const bytes tokens[] = {BYTES_LIT("tok"), {NULL, 0}};
    const bytes names[] = {BYTES_LIT("pk0"), BYTES_LIT("c")};
    const struct wr_key keys[] = {key, {key_columns, 1}};
    const struct wr_table_get get = {.table = BYTES_LIT("t1"),
                                     .keys = keys,
                                     .tokens = tokens,
                                     .key_count = 2,
                                     .read = {.columns = names,
                                              .column_count = 2,
                                              .has_specific = true,
                                              .specific_ms = 5,
                                              .start_column = BYTES_LIT("")}};
    const struct wr_partition_range parts[] = {{{.type = WR_INF_MIN}, one},
                                               {one, {.type = WR_INF_MAX}}};
    const struct wr_key_schema schema[] = {{.name = BYTES_LIT("pk0"), .type = WR_BIGINT}};
    const struct wr_request list[] = {
        {.op = WR_OP_LOAD_TABLE, .load_table = {BYTES_LIT("t1")}},
        {.op = WR_OP_UNLOAD_TABLE, .unload_table = {BYTES_LIT("t2")}},
        {.op = WR_OP_ADD_DEFINED_COLUMN, .add_defined_column = {BYTES_LIT("t1"), columns, 2}},
        {.op = WR_OP_DELETE_DEFINED_COLUMN, .delete_defined_column = {BYTES_LIT("t1"), columns, 2}},
        {.op = WR_OP_GET_ROW,
         .get_row = {BYTES_LIT("t1"), key, {0}, BYTES_LIT("tok"), BYTES_LIT("id")}},
        {.op = WR_OP_BATCH_GET_ROW, .batch_get_row = {&get, 1}},
        {.op = WR_OP_GET_RANGE,
         .get_range = {.table = BYTES_LIT("t1"),
                       .start = key,
                       .end = key,
                       .token = BYTES_LIT("tok"),
                       .partial_keys = true}},
        {.op = WR_OP_BULK_EXPORT,
         .bulk_export = {.table = BYTES_LIT("t1"), .start = key, .end = key}},
        {.op = WR_OP_COMPUTE_SPLIT_POINTS,
         .compute_split_points =
             {.table = BYTES_LIT("t1"), .split_size = 3, .has_limit = true, .limit = 7}},
        {.op = WR_OP_COMPUTE_SPLIT_POINTS,
         .compute_split_points = {.table = BYTES_LIT("t1"), .split_size = 3, .estimated = true}},
        {.op = WR_OP_CREATE_TABLE,
         .create_table = {.table = BYTES_LIT("t\0z"),
                          .key = schema,
                          .key_count = 1,
                          .partitions = parts,
                          .partition_count = 2,
                          .options = {.given = WR_HAS_UPDATE_FULL_ROW, .update_full_row = true}}},
        {.op = WR_OP_UPDATE_TABLE,
         .update_table = {.table = BYTES_LIT("t1"),
                          .has_reserved = true,
                          .reserved = {.has_read = true, .read = -5},
                          .stream = {.given = true,
                                     .enable = true,
                                     .has_expiration = true,
                                     .expiration_h = 1,
                                     .columns_to_get = names,
                                     .column_count = 2}}},
        {.op = WR_OP_BATCH_WRITE_ROW,
         .batch_write_row = {.atomic = true, .transaction = BYTES_LIT("")}},
        {.op = WR_OP_CREATE_INDEX,
         .create_index = {.table = BYTES_LIT("t1"),
                          .index = {.name = BYTES_LIT("ix"),
                                    .key_columns = &names[1],
                                    .key_column_count = 1},
                          .scalar_index_keys = true}},
    };
    const char *const shows[] = {
        "t1",
        "t2",
        "t1 a:8 b:1",
        "t1 a:0 b:0",
        "t1 {pk0=i1 pk1=s'x'} token=tok txn=id",
        "t1: {pk0=i1 pk1=s'x'}token=tok {pk0=i1} columns=pk0,c at=5 start=''",
        "t1 [pk0=i1 pk1=s'x' .. pk0=i1 pk1=s'x') token=tok partial",
        "t1 [pk0=i1 pk1=s'x' .. pk0=i1 pk1=s'x')",
        "t1 size=3 unit=104857600 limit=7",
        "t1 size=3 unit=104857600 estimated",
        "t", /* and a NUL, where the text ends but the name does not */
        "t1 read=-5 stream=1/1h/pk0,c",
        " atomic txn=",
        "t1 index ix(c)00 scalar",
    };
    struct wr_request back;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(list); i++)
        if (list[i].op != WR_OP_CREATE_TABLE)
            assert_asks(&list[i], shows[i]);
    assert_int_equal(ots_decode(&c, WR_OP_CREATE_TABLE, ots_encode_request(&c, &list[10]), &back),
                     0);
    assert_true(bytes_equal(back.create_table.table, BYTES_LIT("t\0z")));
    assert_int_equal(back.create_table.partition_count, 2);
    assert_int_equal(back.create_table.partitions[1].end.type, WR_INF_MAX);
    assert_true(back.create_table.options.update_full_row);
}

/* ---- bodies that are no request */

static void refused(enum wr_op op, bytes body, const char *text)
{
    struct wr_request req;

    assert_int_equal(ots_decode(&c, op, body, &req), E_PARAMETER);
    assert_string_equal(c.text, text);
    ctx_clear(&c);
}

/* A GetRow whose one field is replaced, by hand. */
#define PK_ROW                                                                                     \
    "\x12\x20\x75\0\0\0\x01\x03\x04\3\0\0\0pk0\x05\x09\0\0\0\0\1\0\0\0\0\0\0\0\x0a\x38\x09\x51"

static void test_refused(void **state)
{
    static const char parse[] = "Parse PBMessage from RawString failed.";
    static const char filter[] = "Deserialize filter failed.";

    (void)state;
    refused(WR_OP_GET_ROW, BYTES_LIT("\xff\xff"), parse);
    refused(WR_OP_GET_ROW, BYTES_LIT(""), parse);
    refused(WR_OP_GET_ROW, BYTES_LIT("\x0a\x02t1"), parse);
    refused(WR_OP_GET_ROW, BYTES_LIT("\x0a\x02t1\x12\x00"),
            "Input encoded PK broken, length is shorter than expect.");
    refused(WR_OP_GET_ROW, BYTES_LIT("\x0a\x02t1" PK_ROW "\x3a\x02\x08\x01"), filter);
    refused(WR_OP_GET_ROW, BYTES_LIT("\x0a\x02t1" PK_ROW "\x3a\x04\x08\x09\x12\x00"), filter);
    refused(WR_OP_GET_ROW, BYTES_LIT("\x0a\x02t1" PK_ROW "\x3a\x06\x08\x02\x12\x02\x08\x09"),
            filter);
    /* Conditions and enums that no value of the structs stands for. */
    refused(WR_OP_PUT_ROW, BYTES_LIT("\x0a\x02t1" PK_ROW), parse);
    refused(WR_OP_PUT_ROW, BYTES_LIT("\x0a\x02t1" PK_ROW "\x1a\x02\x08\x03"), parse);
    refused(WR_OP_PUT_ROW, BYTES_LIT("\x0a\x02t1" PK_ROW "\x1a\x02\x08\x7f"), parse);
    refused(WR_OP_BATCH_WRITE_ROW, BYTES_LIT("\x0a\x2a\x0a\x02t1\x12\x24\x08\x01" PK_ROW),
            parse); /* no condition */
    refused(WR_OP_BATCH_WRITE_ROW,
            BYTES_LIT("\x0a\x2e\x0a\x02t1\x12\x28\x08\x04" PK_ROW "\x1a\x02\x08\x00"), parse);
    refused(WR_OP_CREATE_TABLE,
            BYTES_LIT("\x0a\x0d\x0a\x02t1\x12\x07\x0a\x03pk0\x10\x04\x12\x02\x0a\x00"), parse);
    refused(WR_OP_ADD_DEFINED_COLUMN, BYTES_LIT("\x0a\x02t1\x12\x05\x0a\x01c\x10\x05"), parse);
}

/* Our own field, which no SDK sends. */
static void test_keeps_number(void **state)
{
    struct wr_key_column column = {BYTES_LIT("pk0"), {.type = WR_BIGINT, .integer = 1}};
    struct wr_row_change changes[2] = {{.type = WR_PUT, .row = {{&column, 1}, NULL, 0}},
                                       {.type = WR_PUT, .row = {{&column, 1}, NULL, 0}}};
    struct wr_table_write table = {BYTES_LIT("t1"), changes, 2};
    struct wr_request req = {.op = WR_OP_BATCH_WRITE_ROW,
                             .batch_write_row = {.tables = &table, .table_count = 1}};
    struct wr_request back;

    (void)state;
    changes[1].keeps_number = true;
    assert_int_equal(ots_decode(&c, req.op, ots_encode_request(&c, &req), &back), 0);
    assert_false(back.batch_write_row.tables[0].changes[0].keeps_number);
    assert_true(back.batch_write_row.tables[0].changes[1].keeps_number);
}

/* The same without the fault, to be sure that it was the fault. */
static void test_taken(void **state)
{
    struct wr_request req;

    (void)state;
    assert_int_equal(
        ots_decode(&c, WR_OP_PUT_ROW, BYTES_LIT("\x0a\x02t1" PK_ROW "\x1a\x02\x08\x02"), &req), 0);
    assert_int_equal(req.put_row.condition.existence, WR_EXPECT_NOT_EXIST);
    assert_int_equal(
        ots_decode(&c, WR_OP_BATCH_WRITE_ROW,
                   BYTES_LIT("\x0a\x2e\x0a\x02t1\x12\x28\x08\x01" PK_ROW "\x1a\x02\x08\x00"), &req),
        0);
    /* Unknown fields are skipped, unknown optional enums count as not given. */
    assert_int_equal(
        ots_decode(&c, WR_OP_PUT_ROW,
                   BYTES_LIT("\x0a\x02t1" PK_ROW "\x1a\x02\x08\x00\x22\x02\x08\x09\xa2\x06\x01z"),
                   &req),
        0);
    assert_int_equal(req.put_row.return_type, WR_RETURN_NONE);
    assert_int_equal(ots_decode(&c, WR_OP_LIST_TABLE, BYTES_LIT("\x0a\x01z"), &req), 0);
}

/* ---- answers */

static struct wr_reply *read_back(const struct wr_request *req, struct wr_reply *reply)
{
    struct wr_reply *back = ARENA_NEW(&c.arena, struct wr_reply);
    bytes body;

    reply->op = req->op;
    reply->message = "";
    body = ots_encode(&c, req, reply);
    assert_non_null(body.ptr);
    assert_int_equal(ots_decode_reply(&c, req->op, body, back), 0);
    assert_int_equal(back->code, 0);
    return back;
}

static void test_empty_answers(void **state)
{
    static const enum wr_op ops[] = {
        WR_OP_CREATE_TABLE, WR_OP_DELETE_TABLE,       WR_OP_LOAD_TABLE,
        WR_OP_UNLOAD_TABLE, WR_OP_ADD_DEFINED_COLUMN, WR_OP_DELETE_DEFINED_COLUMN,
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(ops); i++) {
        struct wr_request req = {.op = ops[i]};
        struct wr_reply reply = {.op = ops[i], .message = ""};

        assert_int_equal(ots_encode(&c, &req, &reply).len, 0);
        read_back(&req, &reply);
    }
}

/* Workers wait for one code alone, and a change of a table is not sent twice. */
static void test_tunnel_codes(void **state)
{
    static const int later[] = {WR_E_BUSY,     WR_E_UNAVAILABLE,  WR_E_PARTITION,
                                WR_E_CONFLICT, WR_E_NO_SPACE,     WR_E_NOT_READY,
                                WR_E_CAPACITY, WR_E_HOT_PARTITION};
    struct wr_request req = {.op = WR_OP_HEARTBEAT_TUNNEL};
    struct wr_reply reply = {.code = WR_E_BUSY, .message = "busy"};
    bytes code, message;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(later); i++) {
        assert_int_equal(ots_answer_code(WR_OP_READ_TUNNEL, later[i]), WR_E_TUNNEL_UNAVAILABLE);
        assert_int_equal(ots_answer_code(WR_OP_GET_RANGE, later[i]), later[i]);
    }
    assert_int_equal(ots_answer_code(WR_OP_TUNNEL_CHECKPOINT, WR_E_UNSURE),
                     WR_E_TUNNEL_UNAVAILABLE);
    assert_int_equal(ots_answer_code(WR_OP_CREATE_TUNNEL, WR_E_UNSURE), WR_E_UNSURE);
    assert_int_equal(ots_answer_code(WR_OP_LIST_TUNNEL, WR_E_NOT_EXIST), WR_E_PARAMETER);
    assert_int_equal(ots_answer_code(WR_OP_LIST_TUNNEL, WR_E_PERMISSION), WR_E_TUNNEL_PERMISSION);
    assert_int_equal(ots_answer_code(WR_OP_CONNECT_TUNNEL, WR_E_TUNNEL_GONE), WR_E_TUNNEL_GONE);
    assert_int_equal(ots_decode_error(&c, ots_encode(&c, &req, &reply), &code, &message), 0);
    assert_true(bytes_equal(code, BYTES_LIT("OTSTunnelServerUnavailable")));
    assert_true(bytes_equal(message, BYTES_LIT("busy")));
}

static void test_error_answer(void **state)
{
    static const enum wr_op reads[] = {WR_OP_GET_ROW, WR_OP_BATCH_GET_ROW, WR_OP_GET_RANGE};
    struct wr_request req = {.op = WR_OP_PUT_ROW};
    struct wr_reply reply = {.code = WR_E_NOT_EXIST, .message = "gone"};
    bytes code, message;

    (void)state;
    assert_int_equal(ots_decode_error(&c, ots_encode(&c, &req, &reply), &code, &message), 0);
    assert_int_equal(ots_answer_code(req.op, WR_E_NOT_EXIST), WR_E_NOT_EXIST);
    assert_true(bytes_equal(code, BYTES_LIT("OTSObjectNotExist")));
    assert_int_equal(ots_error_of(code, message), WR_E_NOT_EXIST);
    assert_true(bytes_equal(message, BYTES_LIT("gone")));
    assert_int_equal(ots_error_of(BYTES_LIT("OTSNoSuchCode"), message), WR_E_INTERNAL);
    assert_int_equal(ots_error_of(BYTES_LIT("OTSParameterInvalid"), message), WR_E_PARAMETER);
    assert_int_equal(ots_error_of(BYTES_LIT("OTSQuotaExhausted"), message), WR_E_QUOTA);
    assert_int_equal(
        ots_error_of(BYTES_LIT("OTSQuotaExhausted"), BYTES_LIT("Too frequent table operations.")),
        WR_E_TOO_FREQUENT);
    for (size_t i = 0; i < PORT_COUNT(reads); i++) {
        req.op = reads[i];
        assert_int_equal(ots_answer_code(req.op, WR_E_NOT_EXIST), WR_E_PARAMETER);
        assert_int_equal(ots_answer_code(req.op, WR_E_INVALID_PK), WR_E_INVALID_PK);
        assert_int_equal(ots_decode_error(&c, ots_encode(&c, &req, &reply), &code, &message), 0);
        assert_true(bytes_equal(code, BYTES_LIT("OTSParameterInvalid")));
        assert_non_null(
            strstr(arena_printf(&c.arena, "%.*s", BYTES_FMT(message)).ptr, "table not exist"));
        assert_int_equal(ots_error_of(code, message), WR_E_NOT_EXIST);
    }
    assert_int_equal(ots_decode_error(&c, BYTES_LIT("<html>"), &code, &message), E_PARAMETER);
}

/* A table with all there is. */
static void test_description(void **state)
{
    const struct wr_key_schema schema[] = {
        {.name = BYTES_LIT("pk0"), .type = WR_VARCHAR},
        {.name = BYTES_LIT("pk1"), .type = WR_BIGINT, .auto_increment = true}};
    const struct wr_defined_column defined[] = {{BYTES_LIT("d"), WR_VARBINARY}};
    const bytes names[] = {BYTES_LIT("d")};
    const struct wr_index_meta index = {.name = BYTES_LIT("ix"),
                                        .key_columns = names,
                                        .key_column_count = 1,
                                        .update_mode = 1,
                                        .type = 1,
                                        .sync_phase = 2};
    const struct wr_value split = {.type = WR_VARCHAR, .bytes = BYTES_LIT("m")};
    struct wr_request req = {.op = WR_OP_DESCRIBE_TABLE};
    struct wr_reply reply = {.description = {
                                 .table = BYTES_LIT("t1"),
                                 .key = schema,
                                 .key_count = 2,
                                 .defined = defined,
                                 .defined_count = 1,
                                 .options = {31, 86400, 3, 5, true, true},
                                 .reserved = {.read = 7, .write = 8},
                                 .last_increase_s = 11,
                                 .last_decrease_s = 12,
                                 .status = WR_TABLE_LOADING,
                                 .stream = {.given = true,
                                            .enable = true,
                                            .expiration_h = 24,
                                            .columns_to_get = names,
                                            .column_count = 1},
                                 .stream_id = BYTES_LIT("s1"),
                                 .stream_enable_us = 13,
                                 .sse = {.given = true,
                                         .enable = true,
                                         .key_type = 2,
                                         .key_id = BYTES_LIT("k"),
                                         .role_arn = BYTES_LIT("")},
                                 .indexes = &index,
                                 .index_count = 1,
                                 .splits = &split,
                                 .split_count = 1,
                                 .creation_us = 14,
                             }};
    struct wr_table_description *d = &read_back(&req, &reply)->description;

    (void)state;
    assert_true(bytes_equal(d->table, BYTES_LIT("t1")));
    assert_true(d->key_count == 2 && d->key[1].auto_increment && d->key[0].type == WR_VARCHAR);
    assert_true(d->defined_count == 1 && d->defined[0].type == WR_VARBINARY);
    assert_int_equal(d->options.given, 31);
    assert_true(d->options.ttl_s == 86400 && d->options.deviation_s == 5);
    assert_true(d->reserved.has_read && d->reserved.read == 7 && d->reserved.write == 8);
    assert_true(d->last_increase_s == 11 && d->last_decrease_s == 12);
    assert_int_equal(d->status, WR_TABLE_LOADING);
    assert_true(d->stream.enable && d->stream.expiration_h == 24 && d->stream.column_count == 1);
    assert_true(bytes_equal(d->stream_id, BYTES_LIT("s1")) && d->stream_enable_us == 13);
    assert_true(d->sse.enable && d->sse.key_type == 2 && d->sse.role_arn.ptr);
    assert_true(d->index_count == 1 && d->indexes[0].sync_phase == 2 && d->indexes[0].type == 1);
    assert_true(d->split_count == 1 && bytes_equal(d->splits[0].bytes, BYTES_LIT("m")));
    assert_int_equal(d->creation_us, 14);

    /* A key of the service has no name, not even an empty one. */
    reply.description.sse.key_type = 1;
    d = &read_back(&req, &reply)->description;
    assert_true(d->sse.enable && d->sse.key_type == 1 && !d->sse.key_id.ptr &&
                !d->sse.role_arn.ptr);

    /* UpdateTable tells the resulting settings; the stream even if it is off. */
    req.op = WR_OP_UPDATE_TABLE;
    reply.description.stream.enable = false;
    d = &read_back(&req, &reply)->description;
    assert_true(d->options.max_versions == 3 && d->reserved.write == 8);
    assert_true(d->stream.given && !d->stream.enable && d->stream_id.len == 0);
}

static const char *row_text(const struct wr_row *row)
{
    struct buf b;

    buf_init(&b, &c.arena, 64);
    show_row(&b, row);
    return show_end(&b);
}

static void test_row_answers(void **state)
{
    struct wr_cell cells[] = {cell(BYTES_LIT("a"), one, 5), cell(BYTES_LIT("b"), one, 6)};
    struct wr_request req = {.op = WR_OP_GET_ROW};
    struct wr_reply reply = {.row = {.consumed = {3, 4, 0, 0}, .row = {key, cells, 2}}}, *back;

    (void)state;
    back = read_back(&req, &reply);
    assert_string_equal(row_text(&back->row.row), "pk0=i1 pk1=s'x' | a=i1@5 b=i1@6");
    assert_true(back->row.consumed.read == 3 && back->row.consumed.write == 4);
    assert_null(back->row.next_token.ptr);
    reply.row.next_token = BYTES_LIT("go on");
    assert_true(bytes_equal(read_back(&req, &reply)->row.next_token, BYTES_LIT("go on")));
    req.op = WR_OP_UPDATE_ROW;
    back = read_back(&req, &reply);
    assert_string_equal(row_text(&back->row.row), "pk0=i1 pk1=s'x' | a=i1@5 b=i1@6");
}

/* A batch whose messages are of all sizes, so that lengths of one, two and three bytes are met. */
static void test_batches(void **state)
{
    enum { ROWS = 60 };
    struct wr_row_result *rows = ARENA_ARRAY(&c.arena, struct wr_row_result, ROWS);
    struct wr_table_result tables[] = {{BYTES_LIT("t1"), rows, ROWS}, {BYTES_LIT("t1"), rows, 1}};
    struct wr_request req = {.op = WR_OP_BATCH_GET_ROW};
    struct wr_reply reply = {.batch = {tables, 2}}, *back;
    struct wr_value big = {.type = WR_VARBINARY};

    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        struct wr_cell *x = ARENA_NEW(&c.arena, struct wr_cell);

        big.bytes = bytes_of(arena_zalloc(&c.arena, i * i * 8 + 1), i * i * 8);
        *x = cell(BYTES_LIT("c"), big, (int64_t)i);
        rows[i] = (struct wr_row_result){.message = "", .consumed = {(int)i, 0, 0, 0}};
        if (i % 3 == 1)
            rows[i] = (struct wr_row_result){.code = WR_E_INVALID_PK, .message = "no such key"};
        else if (i % 3 == 2)
            rows[i].row = (struct wr_row){key, x, 1};
    }
    for (int op = 0; op < 2; op++) {
        req.op = op ? WR_OP_BATCH_WRITE_ROW : WR_OP_BATCH_GET_ROW;
        back = read_back(&req, &reply);
        assert_int_equal(back->batch.table_count, 2);
        assert_int_equal(back->batch.tables[0].row_count, ROWS);
        for (size_t i = 0; i < ROWS; i++) {
            const struct wr_row_result *r = &back->batch.tables[0].rows[i];

            assert_int_equal(r->code, rows[i].code);
            assert_string_equal(r->message, rows[i].message);
            assert_int_equal(r->consumed.read, rows[i].consumed.read);
            assert_int_equal(r->row.cell_count, rows[i].row.cell_count);
            if (r->row.cell_count)
                assert_int_equal(r->row.cells[0].value.bytes.len, i * i * 8);
        }
    }
}

static void test_bulk_import_answer(void **state)
{
    struct wr_row_result rows[] = {
        {.message = "", .consumed = {0, 0, 0, 77}},
        {.code = WR_E_NOT_EXIST, .message = "Requested table does not exist."},
    };
    struct wr_table_result table = {BYTES_LIT("t1"), rows, 2};
    struct wr_request req = {.op = WR_OP_BULK_IMPORT,
                             .bulk_import = {.table = {.table = BYTES_LIT("t1")}}};
    struct wr_reply reply = {.batch = {&table, 1}}, *back = read_back(&req, &reply);

    (void)state;
    assert_int_equal(back->batch.tables[0].rows[0].consumed.write_size, 77);
    assert_int_equal(back->batch.tables[0].rows[1].code, WR_E_NOT_EXIST);
    reply.batch.table_count = 0;
    assert_true(bytes_equal(read_back(&req, &reply)->batch.tables[0].table, BYTES_LIT("t1")));
}

static void test_range_with_partial_keys(void **state)
{
    const bytes names[] = {BYTES_LIT("c"), BYTES_LIT("pk1")};
    struct wr_cell x = cell(BYTES_LIT("c"), one, 5);
    struct wr_row rows[] = {{key, &x, 1}, {key, NULL, 0}};
    struct wr_request req = {.op = WR_OP_GET_RANGE};
    struct wr_reply reply = {.range = {.rows = rows, .row_count = 2, .next = key}}, *back;

    (void)state;
    req.get_range.partial_keys = true;
    back = read_back(&req, &reply);
    assert_string_equal(row_text(&back->range.rows[0]), "pk0=i1 pk1=s'x' | c=i1@5");
    req.get_range.read.columns = names;
    req.get_range.read.column_count = 2;
    back = read_back(&req, &reply);
    assert_int_equal(back->range.row_count, 2);
    assert_string_equal(row_text(&back->range.rows[0]), "pk1=s'x' | c=i1@5");
    assert_string_equal(row_text(&back->range.rows[1]), "pk1=s'x'");
    assert_int_equal(back->range.next.count, 2);
    req.get_range.read.column_count = 1;
    assert_string_equal(row_text(&read_back(&req, &reply)->range.rows[0]), " | c=i1@5");
}

/* What a client gets of these rows if the door is given them one by one. */
static const struct wr_range_result *stream_back(struct wr_request *req, const struct wr_row *rows,
                                                 size_t count)
{
    struct wr_reply reply = {.op = WR_OP_GET_RANGE, .range = {.next = key}}, *back;

    req->get_range.on_row = NULL;
    ots_stream_rows(&c, req);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(req->get_range.on_row(req->get_range.on_row_arg, &rows[i]), WR_OK);
    back = ARENA_NEW(&c.arena, struct wr_reply);
    assert_int_equal(ots_decode_reply(&c, req->op, ots_encode(&c, req, &reply), back), 0);
    assert_int_equal(back->range.next.count, 2);
    assert_int_equal(back->range.row_count, count);
    return &back->range;
}

/* A row matrix has no timestamps, by which it is known here. */
static void test_range_as_matrix(void **state)
{
    const bytes names[] = {BYTES_LIT("z"), BYTES_LIT("pk1"), BYTES_LIT("a"), BYTES_LIT("z"),
                           BYTES_LIT("none")};
    struct wr_cell cells[] = {cell(BYTES_LIT("a"), one, 5), cell(BYTES_LIT("z"), one, 5)};
    struct wr_row rows[] = {{key, cells, 2}, {key, cells + 1, 1}, {key, NULL, 0}};
    struct wr_request req = {.op = WR_OP_GET_RANGE,
                             .get_range = {.start = key,
                                           .end = key,
                                           .matrix = true,
                                           .read = {.columns = names,
                                                    .column_count = 5,
                                                    .has_max_versions = true,
                                                    .max_versions = 1}}};
    const struct wr_range_result *r = stream_back(&req, rows, 3);

    (void)state;
    assert_string_equal(row_text(&r->rows[0]), "pk0=i1 pk1=s'x' | a=i1 z=i1");
    assert_string_equal(row_text(&r->rows[1]), "pk0=i1 pk1=s'x' | z=i1");
    assert_string_equal(row_text(&r->rows[2]), "pk0=i1 pk1=s'x'");
    stream_back(&req, rows, 0);
    req.get_range.partial_keys = true;
    assert_string_equal(row_text(&stream_back(&req, rows, 1)->rows[0]), "pk1=s'x' | a=i1 z=i1");
    req.get_range.read.column_count = 1;
    assert_string_equal(row_text(&stream_back(&req, rows, 1)->rows[0]), " | z=i1");
    req.get_range.partial_keys = false;

    req.get_range.matrix = false;
    assert_string_equal(row_text(&stream_back(&req, rows, 1)->rows[0]),
                        "pk0=i1 pk1=s'x' | a=i1@5 z=i1@5");
    req.get_range.matrix = true;
    req.get_range.read.max_versions = 2; /* which a matrix cannot hold */
    assert_string_equal(row_text(&stream_back(&req, rows, 1)->rows[0]),
                        "pk0=i1 pk1=s'x' | a=i1@5 z=i1@5");
    req.get_range.read.max_versions = 1;
    req.get_range.read.has_max_versions = false;
    assert_string_equal(row_text(&stream_back(&req, rows, 1)->rows[0]),
                        "pk0=i1 pk1=s'x' | a=i1@5 z=i1@5");
    req.get_range.read.has_max_versions = true;
    req.get_range.read.column_count = 0; /* all columns: nobody knows which */
    assert_string_equal(row_text(&stream_back(&req, rows, 1)->rows[0]),
                        "pk0=i1 pk1=s'x' | a=i1@5 z=i1@5");
}

/* Of whatever columns the rows have, also those that come late; and when that is written anew too
 * often for its size, as a plain buffer. */
static void test_range_as_open_matrix(void **state)
{
    enum { MANY = 3000 };
    static char text[100];
    struct wr_value long_text = {.type = WR_VARBINARY, .bytes = {text, sizeof(text)}};
    struct wr_cell cells[] = {cell(BYTES_LIT("a"), one, 5), cell(BYTES_LIT("m"), long_text, 5),
                              cell(BYTES_LIT("z"), one, 5)};
    struct wr_row rows[] = {{key, NULL, 0}, {key, cells + 2, 1}, {key, cells, 1}, {key, cells, 3}};
    struct wr_row *many = ARENA_ARRAY(&c.arena, struct wr_row, MANY);
    struct wr_request req = {.op = WR_OP_GET_RANGE,
                             .get_range = {.start = key,
                                           .end = key,
                                           .matrix = true,
                                           .partial_keys = true,
                                           .read = {.has_max_versions = true, .max_versions = 1}}};
    const struct wr_range_result *r = stream_back(&req, rows, 4);

    (void)state;
    assert_string_equal(row_text(&r->rows[0]), "pk0=i1 pk1=s'x'");
    assert_string_equal(row_text(&r->rows[1]), "pk0=i1 pk1=s'x' | z=i1");
    assert_string_equal(row_text(&r->rows[2]), "pk0=i1 pk1=s'x' | a=i1");
    assert_int_equal(r->rows[3].cell_count, 3);
    assert_int_equal(r->rows[3].cells[1].value.bytes.len, sizeof(text));
    assert_int_equal(stream_back(&req, rows, 0)->row_count, 0);
    assert_string_equal(row_text(&stream_back(&req, rows, 1)->rows[0]), "pk0=i1 pk1=s'x'");

    for (size_t i = 0; i < MANY; i++)
        many[i] = (struct wr_row){key, cells + 1, 1};
    many[MANY - 2] = (struct wr_row){key, cells, 1};
    many[MANY - 1] = (struct wr_row){key, cells, 3};
    r = stream_back(&req, many, MANY);
    for (size_t i = 0; i < MANY - 2; i++)
        assert_int_equal(r->rows[i].cells[0].value.bytes.len, sizeof(text));
    assert_string_equal(row_text(&r->rows[MANY - 2]), "pk0=i1 pk1=s'x' | a=i1@5");
    assert_int_equal(r->rows[MANY - 1].cell_count, 3);
    req.get_range.read.max_versions = 2; /* which a matrix cannot hold */
    assert_string_equal(row_text(&stream_back(&req, rows + 2, 1)->rows[0]),
                        "pk0=i1 pk1=s'x' | a=i1@5");
}

/* Rows that do not fit into what the request may take fail it, and nothing is written past it. */
static void test_matrix_that_is_too_large(void **state)
{
    char text[4096] = {0};
    const bytes name = BYTES_LIT("a");
    struct wr_cell big =
        cell(name, (struct wr_value){.type = WR_VARBINARY, .bytes = {text, sizeof(text)}}, 5);
    struct wr_row row = {key, &big, 1};
    struct wr_request req = {.op = WR_OP_GET_RANGE,
                             .get_range = {.start = key,
                                           .matrix = true,
                                           .read = {.columns = &name,
                                                    .column_count = 1,
                                                    .has_max_versions = true,
                                                    .max_versions = 1}}};
    int code = WR_OK;

    (void)state;
    ots_stream_rows(&c, &req);
    c.arena.cap = c.arena.used + (64 << 10);
    for (int i = 0; i < 64 && !code; i++)
        code = req.get_range.on_row(req.get_range.on_row_arg, &row);
    c.arena.cap = 0;
    assert_int_equal(code, WR_E_MEMORY);
}

static void test_bulk_export(void **state)
{
    const struct wr_key_schema schema[] = {{.name = BYTES_LIT("pk0"), .type = WR_BIGINT},
                                           {.name = BYTES_LIT("pk1"), .type = WR_VARCHAR}};
    const bytes names[] = {BYTES_LIT("z"), BYTES_LIT("pk1"), BYTES_LIT("a"), BYTES_LIT("z")};
    struct wr_cell cells[] = {cell(BYTES_LIT("a"), one, 9), cell(BYTES_LIT("a"), one, 5),
                              cell(BYTES_LIT("m"), one, 5), cell(BYTES_LIT("z"), one, 5)};
    struct wr_row rows[] = {{key, cells, 4}, {key, cells + 2, 1}};
    struct wr_request req = {.op = WR_OP_BULK_EXPORT,
                             .bulk_export = {.columns = names, .column_count = 4, .matrix = true}};
    struct wr_reply reply = {.range = {.consumed = {0, 0, 99, 0},
                                       .rows = rows,
                                       .row_count = 2,
                                       .next = key,
                                       .key = schema,
                                       .key_count = 2}};
    struct wr_reply *back = read_back(&req, &reply);

    (void)state;
    assert_int_equal(back->range.consumed.read_size, 99);
    assert_int_equal(back->range.next.count, 2);
    /* Key columns first and only those asked for, then the others by name, each once. */
    assert_string_equal(row_text(&back->range.rows[0]), "pk1=s'x' | a=i1 z=i1");
    assert_string_equal(row_text(&back->range.rows[1]), "pk1=s'x'");
    reply.range.row_count = 0;
    assert_int_equal(read_back(&req, &reply)->range.row_count, 0);
    req.bulk_export.matrix = false;
    assert_int_equal(read_back(&req, &reply)->range.row_count, 0);
    reply.range.row_count = 2;
    assert_string_equal(row_text(&read_back(&req, &reply)->range.rows[1]),
                        "pk0=i1 pk1=s'x' | m=i1@5");
}

/* A reply can be read by clients only as long as it is whole. */
static void test_answers_that_are_none(void **state)
{
    struct wr_reply reply;

    (void)state;
    for (int op = 0; op < WR_OP_COUNT; op++) {
        int code = ots_decode_reply(&c, (enum wr_op)op, BYTES_LIT("\xff"), &reply);

        assert_int_equal(code, E_PARAMETER);
        ctx_clear(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_op_find),
        TEST(test_requests_without_vector),
        TEST(test_refused),
        TEST(test_taken),
        TEST(test_keeps_number),
        TEST(test_empty_answers),
        TEST(test_tunnel_codes),
        TEST(test_error_answer),
        TEST(test_description),
        TEST(test_row_answers),
        TEST(test_batches),
        TEST(test_bulk_import_answer),
        TEST(test_range_with_partial_keys),
        TEST(test_range_as_open_matrix),
        TEST(test_range_as_matrix),
        TEST(test_matrix_that_is_too_large),
        TEST(test_bulk_export),
        TEST(test_answers_that_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
