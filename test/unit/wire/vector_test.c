/* Every line of test/golden/wire-vectors.txt: what clients send is read right, what they expect is
 * written byte for byte. The last test fails if a line is not used. */
#include "vectors.h"
#include "../context.h"
#include "flat_read.h"

#include "base/crc8.h"
#include "wire/matrix.h"
#include "wire/ots.h"
#include "wire/ots_client.h"
#include "wire/ots_sql.h"
#include "wire/plain.h"
#include "wire/sign.h"
#include "wire/zip.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

static struct vectors vectors;
static bytes get(const char *name)
{
    return vector(&vectors, name);
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

static void assert_text(const char *name, const char *actual, const char *expected)
{
    if (strcmp(actual, expected) == 0)
        return;
    print_error("%s:\n  %s\nexpected\n  %s\n", name, actual, expected);
    _fail(__FILE__, __LINE__);
}

static void assert_ok(const char *name, int code)
{
    if (code == 0)
        return;
    print_error("%s: %s\n", name, c.text);
    _fail(__FILE__, __LINE__);
}

struct expect {
    const char *name;
    const char *shows;
};

/* ---- checksums and values */

static void test_crc8(void **state)
{
    bytes table = get("crc8_table");
    uint8_t data[300];

    (void)state;
    assert_int_equal(crc8(0, "", 0), *bytes_u8(get("crc8_empty")));
    assert_int_equal(crc8(0, "123456789", 9), *bytes_u8(get("crc8_123456789")));
    assert_int_equal(table.len, 256);
    for (int i = 0; i < 256; i++)
        assert_int_equal(crc8_byte(0, (uint8_t)i), bytes_u8(table)[i]);
    for (int i = 0; i < 300; i++)
        data[i] = (uint8_t)(i * 7);
    assert_int_equal(crc8(0, data, 300), *bytes_u8(get("crc8_300")));
}

static void test_values(void **state)
{
    static const struct expect list[] = {
        {"value_int", "i10"},       {"value_double", "d1.5"},  {"value_true", "true"},
        {"value_string", "s'abc'"}, {"value_blob", "x'0102'"}, {"pkval_int", "i5"},
        {"pkval_string", "s'm'"},   {"pkval_inf_min", "MIN"},  {"pkval_inf_max", "MAX"},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(list); i++) {
        struct wr_value v;
        struct buf b;

        buf_init(&b, &c.arena, 0);
        assert_ok(list[i].name, plain_decode_value(&c, get(list[i].name), &v));
        show_value(&b, &v);
        assert_text(list[i].name, show_end(&b), list[i].shows);
        assert_bytes(list[i].name, plain_encode_value(&c.arena, &v), get(list[i].name));
    }
}

/* ---- keys and changes */

static void test_records(void **state)
{
    static const struct {
        const char *name, *shows;
        struct plain_sequence at;
    } list[] = {
        {"stream_put", "pk0=i1 | a=s'new'@1700000000123", {1, 1700000000123456, 0}},
        {"stream_update", "pk0=i1 | a=i5@1700000000123 -b@2000 -c", {1, 1700000000123457, 1}},
        {"stream_delete", "pk0=i1", {1, 1700000000123458, 2}},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(list); i++) {
        bytes in = get(list[i].name);
        struct plain_sequence at;
        struct wr_row row;
        struct buf b;
        uint8_t *p;
        size_t n;

        buf_init(&b, &c.arena, 0);
        assert_ok(list[i].name, plain_decode_record(&c, in, &row, &at));
        assert_int_equal(at.epoch, list[i].at.epoch);
        assert_int_equal(at.timestamp_us, list[i].at.timestamp_us);
        assert_int_equal(at.row_index, list[i].at.row_index);
        show_row(&b, &row);
        assert_text(list[i].name, show_end(&b), list[i].shows);
        n = PLAIN_HEADER_BYTES + plain_record_size(&row);
        p = arena_alloc(&c.arena, n);
        assert_ptr_equal(plain_put_record(plain_put_header(p), &row, &at), p + n);
        assert_bytes(list[i].name, bytes_of(p, n), in);
        for (size_t len = 0; len < in.len; len++) { /* cut short */
            ctx_clear(&c);
            assert_int_equal(plain_decode_record(&c, bytes_of(in.ptr, len), &row, &at),
                             E_PARAMETER);
        }
        ctx_clear(&c);
        assert_int_equal(plain_decode_change(&c, in, WR_PUT, &row), E_PARAMETER);
        ctx_clear(&c);
    }
}

static void test_keys(void **state)
{
    static const struct expect list[] = {
        {"pk_int", "pk0=i1"},
        {"pk_int_neg", "pk0=i-1"},
        {"pk_int_minmax", "a=i-9223372036854775808 b=i9223372036854775807"},
        {"pk_string", "pk0=s'abc'"},
        {"pk_string_empty", "pk0=s''"},
        {"pk_string_utf8", "pk0=s'\xe4\xb8\xad\xe6\x96\x87'"},
        {"pk_blob", "pk0=x'0001feff'"},
        {"pk_three", "gid=i7 uid=s'u1' bin=x'0a0b'"},
        {"pk_inf_min", "pk0=MIN pk1=MIN"},
        {"pk_inf_max", "pk0=MAX pk1=MAX"},
        {"pk_mixed_bound", "pk0=i5 pk1=MIN"},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(list); i++) {
        struct wr_key key;
        struct buf b;

        buf_init(&b, &c.arena, 0);
        assert_ok(list[i].name, plain_decode_key(&c, get(list[i].name), &key));
        show_key(&b, &key);
        assert_text(list[i].name, show_end(&b), list[i].shows);
        assert_bytes(list[i].name, plain_encode_key(&c.arena, &key), get(list[i].name));
    }
}

static bytes encode_change(const struct wr_row *row, enum wr_change_type type)
{
    size_t n = PLAIN_HEADER_BYTES + plain_change_size(row, type);
    uint8_t *p = arena_alloc(&c.arena, n);

    assert_ptr_equal(plain_put_change(plain_put_header(p), row, type), p + n);
    return bytes_of(p, n);
}

/* What the database will keep of a put: the checksum over name, value and timestamp alone. */
static void assert_put_crc(const struct wr_cell *cell)
{
    bytes value = plain_encode_value(&c.arena, &cell->value);
    uint8_t crc = crc8(crc8(0, cell->name.ptr, cell->name.len), value.ptr, value.len);

    if (cell->op != WR_CELL_PUT)
        return;
    if (cell->timestamp_ms != WR_TIMESTAMP_NONE)
        crc = crc8_u64(crc, (uint64_t)cell->timestamp_ms);
    assert_true(cell->crc8_known);
    assert_int_equal(cell->crc8, crc);
}

static const struct change_expect {
    const char *name;
    enum wr_change_type type;
    const char *shows;
} changes[] = {
    {"put_no_columns", WR_PUT, "pk0=i1"},
    {"put_auto_increment", WR_PUT, "gid=i1 seq=AUTO | c=s'v'"},
    {"put_all_types", WR_PUT, "pk0=i1 | i=i123 d=d1.5 t=true f=false s=s'hello' b=x'deadbeef'"},
    {"put_all_types_ts", WR_PUT,
     "pk0=i1 | i=i123@1700000000123 d=d1.5@1700000000123 t=true@1700000000123 "
     "f=false@1700000000123 s=s'hello'@1700000000123 b=x'deadbeef'@1700000000123"},
    {"put_multi_version", WR_PUT, "pk0=s'k' | c=s'v3'@3000 c=s'v2'@2000 c=s'v1'@1000"},
    {"put_empty_values", WR_PUT, "pk0=i1 | s=s'' b=x''"},
    {"update_put", WR_UPDATE, "pk0=i1 | a=i1 b=s'x'@5000"},
    {"update_delete_one_version", WR_UPDATE, "pk0=i1 | -c@1000"},
    {"update_delete_all", WR_UPDATE, "pk0=i1 | -c"},
    {"update_increment", WR_UPDATE, "pk0=i1 | +cnt=i10"},
    {"update_mixed", WR_UPDATE, "pk0=i1 | a=s'new' -b@2000 -c +d=i-3"},
    {"delete_row", WR_DELETE, "pk0=i1"},
};

static void test_changes(void **state)
{
    (void)state;
    for (size_t i = 0; i < PORT_COUNT(changes); i++) {
        const struct change_expect *e = &changes[i];
        struct wr_row row;
        struct buf b;

        buf_init(&b, &c.arena, 0);
        assert_ok(e->name, plain_decode_change(&c, get(e->name), e->type, &row));
        show_row(&b, &row);
        assert_text(e->name, show_end(&b), e->shows);
        for (size_t k = 0; k < row.cell_count; k++)
            assert_put_crc(&row.cells[k]);
        assert_bytes(e->name, encode_change(&row, e->type), get(e->name));
    }
}

/* The vector has an infinite DOUBLE, which the database does not take; without it -0.0 and 1e308
 * must come through. */
static void test_double_edge(void **state)
{
    bytes v = get("put_double_edge");
    struct wr_cell cells[2] = {
        {.name = BYTES_LIT("a"), .value = {.type = WR_DOUBLE, .real = -0.0}},
        {.name = BYTES_LIT("b"), .value = {.type = WR_DOUBLE, .real = 1e308}},
    };
    struct wr_key_column key = {BYTES_LIT("pk0"), {.type = WR_BIGINT, .integer = 1}};
    struct wr_row row = {{&key, 1}, cells, 2}, back;
    bytes bare;

    (void)state;
    assert_int_equal(plain_decode_change(&c, v, WR_PUT, &row), E_PARAMETER);
    assert_text("inf", c.text, "NaN and Infinity are not allowed as a DOUBLE value.");
    ctx_clear(&c);
    cells[0].timestamp_ms = cells[1].timestamp_ms = WR_TIMESTAMP_NONE;
    row = (struct wr_row){{&key, 1}, cells, 2};
    bare = encode_change(&row, WR_PUT);
    /* All but the third cell and the row checksum. */
    assert_memory_equal(bare.ptr, v.ptr, bare.len - 2);
    assert_ok("edge", plain_decode_change(&c, bare, WR_PUT, &back));
    assert_memory_equal(&back.cells[0].value.real, &cells[0].value.real, 8);
    assert_true(back.cells[1].value.real == 1e308);
}

static void test_padding(void **state)
{
    bytes v = get("node_update_mixed"), key_bytes = get("node_pk_inf_min");
    struct wr_row row;
    struct wr_key key;

    (void)state;
    assert_ok("node_pk_inf_min", plain_decode_key(&c, key_bytes, &key));
    assert_bytes("node_pk_inf_min", plain_encode_key(&c.arena, &key), get("pk_inf_min"));
    assert_ok("node_update_mixed", plain_decode_change(&c, v, WR_UPDATE, &row));
    assert_bytes("node_update_mixed", encode_change(&row, WR_UPDATE), get("update_mixed"));
}

static void test_malformed(void **state)
{
    struct wr_row row;

    (void)state;
    assert_int_equal(plain_decode_change(&c, get("malformed_name_length"), WR_PUT, &row),
                     E_PARAMETER);
    assert_text("malformed_name_length", c.text, "data format is invalid.");
}

/* ---- requests */

/* A filter in the smallest request that holds one. */
static bytes with_filter(bytes filter)
{
    struct buf b;
    bytes key = get("pk_int");

    buf_init(&b, &c.arena, 0);
    buf_put_bytes(&b, BYTES_LIT("\x0a\x02t1\x12"));
    buf_put_varint(&b, key.len);
    buf_put_bytes(&b, key);
    buf_put_u8(&b, 7 << 3 | 2);
    buf_put_varint(&b, filter.len);
    buf_put_bytes(&b, filter);
    return buf_bytes(&b);
}

static void test_filters(void **state)
{
    static const struct expect list[] = {
        {"filter_single", "age >= i18 latest"},
        {"filter_single_missing", "name == s'x' drop"},
        {"filter_composite", "AND(a == i1 latest, NOT(b == true latest))"},
        {"filter_go_defaults", "age >= i18"},
        {"filter_regex", "c~'t1:([0-9]+),':5 > i5 drop latest"},
        {"filter_pagination", "page(2,5)"},
        {"filter_or", "OR(a < d2.5, b == x'0102')"},
        {"filter_regex_exist", "c~'t1:([0-9]+),':5 exist i0 drop latest"},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(list); i++) {
        bytes body = with_filter(get(list[i].name));
        struct wr_request req;
        struct buf b;

        buf_init(&b, &c.arena, 0);
        assert_ok(list[i].name, ots_decode(&c, WR_OP_GET_ROW, body, &req));
        show_filter(&b, req.get_row.read.filter);
        assert_text(list[i].name, show_end(&b), list[i].shows);
        assert_bytes(list[i].name, ots_encode_request(&c, &req), body);
    }
}

/* `same`: our client writes the request in just these bytes. The others differ in what does not
 * matter: padding, defaults that are spelled out. */
static const struct request_expect {
    const char *name;
    enum wr_op op;
    bool same;
    const char *shows;
} requests[] = {
    {"req_CreateTable", WR_OP_CREATE_TABLE, true,
     "t1 pk0:5 pk1:10 pk2:5+ (c1:10) (c2:5) (c3:13) read=0 write=0 ttl=-1 versions=2 "
     "deviation=86400 update=1 index ix(c2,pk0;c1)00"},
    {"req_ListTable", WR_OP_LIST_TABLE, true, ""},
    {"req_DescribeTable", WR_OP_DESCRIBE_TABLE, true, "t1"},
    {"req_UpdateTable", WR_OP_UPDATE_TABLE, true,
     "t1 read=1 write=1 ttl=86400 versions=3 deviation=86400"},
    {"req_DeleteTable", WR_OP_DELETE_TABLE, true, "t1"},
    {"req_CreateIndex", WR_OP_CREATE_INDEX, true, "t1 index lx(pk0,c2;c1)11 base"},
    {"req_DropIndex", WR_OP_DROP_INDEX, true, "t1 ix"},
    {"req_ListStream", WR_OP_LIST_STREAM, true, "t1"},
    {"req_DescribeStream", WR_OP_DESCRIBE_STREAM, true, "s1"},
    {"req_GetShardIterator", WR_OP_GET_SHARD_ITERATOR, true, "s1 h1 from=1700000000000000"},
    {"req_GetStreamRecord", WR_OP_GET_STREAM_RECORD, false, "iter1 limit=10"},
    {"req_CreateTunnel_go", WR_OP_CREATE_TUNNEL, false, "t1 base type=1 earliest=0 from=0 to=0"},
    {"req_CreateTunnel_java", WR_OP_CREATE_TUNNEL, false,
     "t1 jstr type=2 earliest=0 from=1562770800000000000 to=1562774400000000000"},
    {"req_CreateTunnel_earliest", WR_OP_CREATE_TUNNEL, false,
     "t1 bs type=3 earliest=1 from=0 to=0"},
    {"req_CreateTunnel_latest", WR_OP_CREATE_TUNNEL, true, "t1 jdef type=2 earliest=0 from=0 to=0"},
    {"req_ListTunnel", WR_OP_LIST_TUNNEL, true, "t1"},
    {"req_DescribeTunnel", WR_OP_DESCRIBE_TUNNEL, true, "t1 bs"},
    {"req_DeleteTunnel", WR_OP_DELETE_TUNNEL, true, "t1 base"},
    {"req_ConnectTunnel", WR_OP_CONNECT_TUNNEL, true, "T-0001 vm 4s"},
    {"req_HeartbeatTunnel", WR_OP_HEARTBEAT_TUNNEL, true,
     "T-0001 vm_c1 BaseData_p0 v2 4 p0_1 v1 1"},
    {"req_ShutdownTunnel", WR_OP_SHUTDOWN_TUNNEL, true, "T-0001 vm_c1"},
    {"req_GetTunnelCheckpoint", WR_OP_GET_TUNNEL_CHECKPOINT, true, "T-0001 vm_c1 BaseData_p0"},
    {"req_TunnelCheckpoint", WR_OP_TUNNEL_CHECKPOINT, true, "T-0001 vm_c1 BaseData_p0 finished 1"},
    {"req_TunnelCheckpoint_changes", WR_OP_TUNNEL_CHECKPOINT, false, "T-0001 vm_c1 p0_1 it:2 1"},
    {"req_ReadTunnel", WR_OP_READ_TUNNEL, false, "T-0001 vm_c1 BaseData_p0 0"},
    {"req_StartLocalTransaction", WR_OP_START_LOCAL_TRANSACTION, true, "t1 pk0=s'p'"},
    {"req_CommitTransaction", WR_OP_COMMIT_TRANSACTION, true, "txn-id"},
    {"req_AbortTransaction", WR_OP_ABORT_TRANSACTION, true, "txn-id"},
    {"req_PutRow", WR_OP_PUT_ROW, true, "t1 put{pk0=i1 | c=s'v'} not-exist return=1"},
    {"req_UpdateRow_cond", WR_OP_UPDATE_ROW, true,
     "t1 update{pk0=i1 | c=s'v2'} exist if[c == s'v' latest]"},
    {"req_DeleteRow", WR_OP_DELETE_ROW, true, "t1 delete{pk0=i1}"},
    {"req_GetRow", WR_OP_GET_ROW, true,
     "t1 {pk0=i1} columns=a,b from=1000 to=2000 versions=2 start='a' end='c' "
     "filter=[age >= i18 latest]"},
    {"req_GetRange", WR_OP_GET_RANGE, true, "t1 [pk0=MIN .. pk0=MAX) limit=10 versions=1"},
    {"req_GetRange_backward", WR_OP_GET_RANGE, true,
     "t1 [pk0=MAX .. pk0=MIN) backward at=1234 txn=txn-id"},
    {"req_BatchWriteRow", WR_OP_BATCH_WRITE_ROW, true,
     "t1: put{pk0=i1 | c=s'v'} update{pk0=i2 | c=s'w' -d} exist delete{pk0=i3}"},
    {"req_BatchGetRow", WR_OP_BATCH_GET_ROW, true, "t1: {pk0=i1} {pk0=i2} columns=c versions=1"},
    {"req_CreateTable_java", WR_OP_CREATE_TABLE, true,
     "t1 pk0:10 pk1:5+ (c1:10) read=0 write=0 ttl=-1 versions=1 deviation=86400 update=1 "
     "stream=1/24h sse=1/1 txn"},
    {"req_GetRange_java", WR_OP_GET_RANGE, true,
     "t1 [pk0=i5 pk1=MIN .. pk0=MAX pk1=MAX) limit=10 columns=a from=1000 to=2000 versions=2 "
     "filter=[a > i3 drop latest]"},
    {"req_BatchWriteRow_atomic", WR_OP_BATCH_WRITE_ROW, false,
     "t1: put{pk0=i1 | c=s'v'} update{pk0=i1 | +n=i1} return=2 of=n atomic"},
    {"req_BulkImport", WR_OP_BULK_IMPORT, true, "t1: put{pk0=i1 | c=s'v'} delete{pk0=i2}"},
    {"req_BulkExport", WR_OP_BULK_EXPORT, true, "t1 [pk0=MIN .. pk0=MAX) columns=c,pk0 matrix"},
    {"req_ComputeSplitPointsBySize", WR_OP_COMPUTE_SPLIT_POINTS, true, "t1 size=2 unit=104857600"},
    {"req_GetRange_node", WR_OP_GET_RANGE, false, "t1 [pk0=MIN .. pk0=MAX) limit=10 versions=1"},
    {"req_UpdateRow_increment", WR_OP_UPDATE_ROW, true,
     "t1 update{pk0=i1 | +cnt=i10} return=2 of=cnt"},
    {"req_GetRow_pagination", WR_OP_GET_ROW, true, "t1 {pk0=i1} versions=1 filter=[page(2,5)]"},
    {"req_CreateTable_stream", WR_OP_CREATE_TABLE, true,
     "t1 pk0:5 read=0 write=0 ttl=-1 versions=1 stream=1/24h"},
    {"req_UpdateTable_node", WR_OP_UPDATE_TABLE, true, "t1 versions=5"},
};

static void test_requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < PORT_COUNT(requests); i++) {
        const struct request_expect *e = &requests[i];
        struct wr_request req, again;
        bytes body;

        assert_ok(e->name, ots_decode(&c, e->op, get(e->name), &req));
        assert_text(e->name, show_request(&c, &req), e->shows);
        body = ots_encode_request(&c, &req);
        if (e->same)
            assert_bytes(e->name, body, get(e->name));
        assert_ok(e->name, ots_decode(&c, e->op, body, &again));
        assert_text(e->name, show_request(&c, &again), e->shows);
    }
}

/* ---- answers */

static struct wr_value integer(int64_t v)
{
    return (struct wr_value){.type = WR_BIGINT, .integer = v};
}

static struct wr_cell answer_cell(const char *name, int64_t v, int64_t stamp)
{
    struct wr_cell cell = {.name = bytes_str(name), .value = integer(v), .timestamp_ms = stamp};
    bytes value = plain_encode_value(&c.arena, &cell.value);

    cell.crc8 = crc8(crc8(0, cell.name.ptr, cell.name.len), value.ptr, value.len);
    cell.crc8 = crc8_u64(cell.crc8, (uint64_t)stamp);
    return cell;
}

/* The two rows that several vectors hold. */
struct two_rows {
    struct wr_key_column keys[2];
    struct wr_cell cells[4];
    struct wr_row rows[2];
};

static void two_rows(struct two_rows *t)
{
    t->keys[0] = (struct wr_key_column){BYTES_LIT("pk0"), integer(1)};
    t->keys[1] = (struct wr_key_column){BYTES_LIT("pk0"), integer(2)};
    t->cells[0] = answer_cell("a", 10, 1000);
    t->cells[1] = answer_cell("b", 11, 1000);
    t->cells[2] = answer_cell("a", 20, 2000);
    t->cells[3] = answer_cell("b", 21, 2000);
    t->rows[0] = (struct wr_row){{&t->keys[0], 1}, t->cells, 2};
    t->rows[1] = (struct wr_row){{&t->keys[1], 1}, t->cells + 2, 2};
}

static bytes answer(enum wr_op op, struct wr_reply *reply)
{
    struct wr_request req = {.op = op};

    reply->op = op;
    return ots_encode(&c, &req, reply);
}

/* What the server writes must also be what our client reads and, read, writes again. */
static void assert_answer(const char *name, enum wr_op op, struct wr_reply *reply)
{
    struct wr_reply back;

    assert_bytes(name, answer(op, reply), get(name));
    assert_ok(name, ots_decode_reply(&c, op, get(name), &back));
    assert_bytes(name, answer(op, &back), get(name));
}

static void test_rows(void **state)
{
    const struct wr_row *rows;
    struct two_rows t;
    struct buf b;
    uint8_t *p;
    size_t n;

    (void)state;
    two_rows(&t);
    n = PLAIN_HEADER_BYTES + plain_row_size(&t.rows[0], PLAIN_KEY_ALL) +
        plain_row_size(&t.rows[1], PLAIN_KEY_ALL);
    p = arena_alloc(&c.arena, n);
    assert_ptr_equal(plain_put_row(plain_put_row(plain_put_header(p), &t.rows[0], PLAIN_KEY_ALL),
                                   &t.rows[1], PLAIN_KEY_ALL),
                     p + n);
    assert_bytes("rows_two", bytes_of(p, n), get("rows_two"));
    assert_ok("rows_two", plain_decode_rows(&c, get("rows_two"), &rows, &n));
    assert_int_equal(n, 2);
    buf_init(&b, &c.arena, 0);
    show_row(&b, &rows[1]);
    assert_text("rows_two", show_end(&b), "pk0=i2 | a=i20@2000 b=i21@2000");
}

static void test_range_answers(void **state)
{
    struct wr_key_column next = {BYTES_LIT("pk0"), integer(3)};
    struct wr_reply reply = {.message = ""};
    struct two_rows t;

    (void)state;
    two_rows(&t);
    reply.range.consumed.read = 1;
    assert_answer("resp_GetRange_end", WR_OP_GET_RANGE, &reply);
    reply.range.rows = t.rows;
    reply.range.row_count = 2;
    reply.range.next = (struct wr_key){&next, 1};
    assert_answer("resp_GetRange_more", WR_OP_GET_RANGE, &reply);
}

static void test_row_answers(void **state)
{
    struct wr_key_column key[] = {
        {BYTES_LIT("gid"), integer(1)},
        {BYTES_LIT("seq"), integer(1700000000000000)},
    };
    struct wr_reply reply = {.message = "", .row = {.consumed = {.read = 1}}};

    (void)state;
    assert_answer("resp_GetRow_missing", WR_OP_GET_ROW, &reply);
    reply.row.consumed = (struct wr_capacity){.write = 1};
    assert_answer("resp_PutRow", WR_OP_PUT_ROW, &reply);
    reply.row.row.key = (struct wr_key){key, 2};
    assert_answer("resp_PutRow_RT_PK", WR_OP_PUT_ROW, &reply);
}

static void test_batch_answer(void **state)
{
    struct wr_row_result rows[] = {
        {.message = "", .consumed = {.write = 1}},
        {.code = WR_E_CONDITION, .message = "Condition check failed."},
    };
    struct wr_table_result table = {BYTES_LIT("t1"), rows, 2};
    struct wr_reply reply = {.message = "", .batch = {&table, 1}};

    (void)state;
    assert_answer("resp_BatchWriteRow_partial", WR_OP_BATCH_WRITE_ROW, &reply);
}

static void test_table_answers(void **state)
{
    const bytes names[] = {BYTES_LIT("t1"), BYTES_LIT("t2")};
    struct wr_key_schema key = {.name = BYTES_LIT("pk0"), .type = WR_BIGINT};
    struct wr_reply list = {.message = "", .table_list = {names, 2}};
    struct wr_reply reply = {
        .message = "",
        .description = {.table = BYTES_LIT("t1"),
                        .key = &key,
                        .key_count = 1,
                        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS,
                                    .ttl_s = -1,
                                    .max_versions = 1,
                                    .deviation_s = 86400,
                                    .allow_update = true},
                        .last_increase_s = 1700000000,
                        .status = WR_TABLE_ACTIVE},
    };

    (void)state;
    assert_answer("resp_ListTable", WR_OP_LIST_TABLE, &list);
    assert_answer("resp_DescribeTable", WR_OP_DESCRIBE_TABLE, &reply);
}

static void test_split_answer(void **state)
{
    struct wr_key_schema schema = {.name = BYTES_LIT("pk0"), .type = WR_VARCHAR};
    struct wr_key_column columns[] = {
        {BYTES_LIT("pk0"), {.type = WR_VARCHAR, .bytes = BYTES_LIT("m")}},
        {BYTES_LIT("pk1"), {.type = WR_INF_MIN}},
    };
    struct wr_key point = {columns, 2};
    struct wr_reply reply = {.message = "",
                             .splits = {.consumed = {.read = 1},
                                        .schema = &schema,
                                        .schema_count = 1,
                                        .points = &point,
                                        .point_count = 1}};

    (void)state;
    assert_answer("resp_ComputeSplitPointsBySize", WR_OP_COMPUTE_SPLIT_POINTS, &reply);
}

static void test_error(void **state)
{
    bytes code, message;

    (void)state;
    assert_bytes("resp_Error",
                 ots_encode_error(&c, "OTSObjectNotExist", "Requested table does not exist."),
                 get("resp_Error"));
    assert_ok("resp_Error", ots_decode_error(&c, get("resp_Error"), &code, &message));
    assert_int_equal(ots_error_of(code, message), WR_E_NOT_EXIST);
    assert_bytes("resp_Error", message, BYTES_LIT("Requested table does not exist."));
}

static void test_matrix(void **state)
{
    const bytes keys[] = {BYTES_LIT("pk0"), BYTES_LIT("pk1")};
    const bytes columns[] = {BYTES_LIT("a"), BYTES_LIT("b"), BYTES_LIT("c")};
    struct wr_key_column key[][2] = {
        {{keys[0], integer(1)}, {keys[1], {.type = WR_VARCHAR, .bytes = BYTES_LIT("x")}}},
        {{keys[0], integer(2)}, {keys[1], {.type = WR_VARCHAR, .bytes = BYTES_LIT("yz")}}},
    };
    struct wr_cell cells[][2] = {
        {{.name = columns[0], .value = integer(10)},
         {.name = columns[1], .value = {.type = WR_BOOLEAN, .boolean = true}}},
        {{.name = columns[1], .value = {.type = WR_DOUBLE, .real = 1.5}},
         {.name = columns[2], .value = {.type = WR_VARBINARY, .bytes = BYTES_LIT("\xde\xad")}}},
    };
    struct wr_row rows[] = {{{key[0], 2}, cells[0], 2}, {{key[1], 2}, cells[1], 2}};
    struct matrix_fields fields = {keys, 2, true, columns, 3};
    const struct wr_row *back;
    struct buf b;
    size_t n;

    (void)state;
    assert_bytes("matrix_two_rows", matrix_encode(&c, &fields, rows, 2), get("matrix_two_rows"));
    assert_ok("matrix_two_rows", matrix_decode(&c, get("matrix_two_rows"), &back, &n));
    assert_int_equal(n, 2);
    buf_init(&b, &c.arena, 0);
    show_row(&b, &back[0]);
    show_f(&b, " / ");
    show_row(&b, &back[1]);
    assert_text("matrix_two_rows", show_end(&b),
                "pk0=i1 pk1=s'x' | a=i10 b=true / pk0=i2 pk1=s'yz' | b=d1.5 c=x'dead'");

    fields = (struct matrix_fields){keys, 1, true, columns, 1};
    assert_bytes("matrix_empty", matrix_encode(&c, &fields, NULL, 0), get("matrix_empty"));
    assert_ok("matrix_empty", matrix_decode(&c, get("matrix_empty"), &back, &n));
    assert_int_equal(n, 0);
}

/* Of a column with several versions the newest one, of cells without a field none. */
static void test_matrix_versions(void **state)
{
    const bytes keys[] = {BYTES_LIT("pk0")};
    const bytes columns[] = {BYTES_LIT("a"), BYTES_LIT("c"), BYTES_LIT("d"), BYTES_LIT("e")};
    struct wr_key_column key[] = {{keys[0], integer(1)}};
    struct wr_cell cells[] = {
        {.name = columns[0], .value = integer(1)},     {.name = columns[0], .value = integer(2)},
        {.name = BYTES_LIT("b"), .value = integer(3)}, {.name = columns[1], .value = integer(4)},
        {.name = columns[1], .value = integer(5)},     {.name = columns[1], .value = integer(6)},
        {.name = columns[3], .value = integer(7)},     {.name = columns[3], .value = integer(8)},
    };
    struct wr_row row = {{key, 1}, cells, sizeof(cells) / sizeof(cells[0])};
    struct matrix_fields fields = {keys, 1, true, columns, 4};
    const struct wr_row *back;
    struct buf b;
    size_t n;

    (void)state;
    assert_ok("matrix", matrix_decode(&c, matrix_encode(&c, &fields, &row, 1), &back, &n));
    assert_int_equal(n, 1);
    buf_init(&b, &c.arena, 0);
    show_row(&b, &back[0]);
    assert_text("matrix", show_end(&b), "pk0=i1 | a=i1 c=i4 e=i7");
}

/* ---- compression */

static void test_deflate(void **state)
{
    bytes raw = get("deflate_request_raw"), body = get("deflate_request_body"), out;
    char md5[SIGN_MD5_TEXT + 1];

    (void)state;
    assert_ok("inflate", zip_inflate(&c, body, 4, 1 << 20, &out));
    assert_bytes("inflate", out, raw);
    assert_ok("deflate", zip_deflate(&c, raw, &out));
    assert_bytes("deflate", out, body);
    sign_md5(body, md5);
    assert_bytes("md5", bytes_str(md5), get("deflate_request_contentmd5"));
}

/* ---- signatures */

/* Takes the header lines of a string to sign apart again: everything up to `end`. */
static size_t split_headers(bytes text, struct sign_header *out)
{
    const char *p = text.ptr, *end = p + text.len;
    size_t n = 0;

    while (p < end) {
        const char *colon = memchr(p, ':', (size_t)(end - p));
        const char *line = memchr(p, '\n', (size_t)(end - p));

        out[n].name = bytes_of(p, (size_t)(colon - p));
        out[n++].value = bytes_of(colon + 1, (size_t)(line - colon - 1));
        p = line + 1;
    }
    return n;
}

/* The other way round, so that sorting has something to do. */
static void reverse(struct sign_header *h, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        struct sign_header t = h[i];

        h[i] = h[n - 1 - i];
        h[n - 1 - i] = t;
    }
}

static void test_signature(void **state)
{
    bytes text = get("sig_v2_string_to_sign"), head = BYTES_LIT("/ListTable\nPOST\n\n");
    struct sign_header headers[16];
    char out[SIGN_SHA1_TEXT + 1], md5[SIGN_MD5_TEXT + 1];
    struct sign_key key;
    size_t n;

    (void)state;
    sign_md5(BYTES_LIT(""), md5);
    assert_bytes("sig_empty_md5", bytes_str(md5), get("sig_empty_md5"));
    sign_key_init(&key, get("sig_secret"));
    sign_text(&key, text, out);
    assert_bytes("sig_v2", bytes_str(out), get("sig_v2_signature"));
    assert_true(bytes_starts(text, head));
    n = split_headers(bytes_skip(text, head.len), headers);
    assert_int_equal(n, 5);
    reverse(headers, n);
    headers[n++] = (struct sign_header){BYTES_LIT("X-Ots-Signature"), BYTES_LIT("no")};
    headers[n++] = (struct sign_header){BYTES_LIT("content-length"), BYTES_LIT("0")};
    assert_true(sign_request(&key, BYTES_LIT("/ListTable"), headers, n, out));
    assert_bytes("sig_v2", bytes_str(out), get("sig_v2_signature"));
}

static void test_response_signature(void **state)
{
    bytes text = get("sig_response_string_to_sign");
    struct sign_header headers[16];
    char out[SIGN_SHA1_TEXT + 1], md5[SIGN_MD5_TEXT + 1];
    struct sign_key key;
    size_t n;

    (void)state;
    sign_key_init(&key, get("sig_secret"));
    n = split_headers(bytes_of(text.ptr, text.len - strlen("/ListTable")), headers);
    reverse(headers, n);
    assert_true(sign_response(&key, BYTES_LIT("/ListTable"), headers, n, out));
    assert_bytes("sig_response", bytes_str(out), get("sig_response_signature"));
    sign_md5(get("resp_ListTable"), md5);
    assert_bytes("md5", bytes_str(md5), headers[n - 1].value);

    text = get("sig_response2_string_to_sign");
    sign_key_init(&key, BYTES_LIT("sk"));
    n = split_headers(bytes_of(text.ptr, text.len - strlen("/action")), headers);
    assert_true(sign_response(&key, BYTES_LIT("/action"), headers, n, out));
    assert_bytes("sig_response2", bytes_str(out), get("sig_response2_signature"));
}

/* The key after the region step is not seen from outside; the last two steps lead from it to the
 * signing key, here by another HMAC. */
static void assert_region_key(bytes region_key, bytes signing_key)
{
    const char *steps[] = {"ots", "aliyun_v4_request"};
    uint8_t key[48], text[64];
    unsigned n = 32;

    assert_int_equal(region_key.len, SIGN_SHA256_TEXT);
    assert_int_equal(EVP_DecodeBlock(key, region_key.ptr, (int)region_key.len), 33);
    for (size_t i = 0; i < PORT_COUNT(steps); i++)
        HMAC(EVP_sha256(), key, 32, (const uint8_t *)steps[i], strlen(steps[i]), key, &n);
    EVP_EncodeBlock(text, key, 32);
    assert_bytes("sig_v4_region_key", bytes_of(text, SIGN_SHA256_TEXT), signing_key);
}

static void test_signature_v4(void **state)
{
    bytes text = get("sig_v4_string_to_sign"), head = BYTES_LIT("/ListTable\nPOST\n\n");
    struct sign_header headers[16];
    char out[SIGN_SHA256_TEXT + 1];
    struct sign_v4_key key;
    size_t n;

    (void)state;
    assert_region_key(get("sig_v4_region_key"), get("sig_v4_signing_key"));
    sign_v4_key_init(&key, get("sig_secret"), BYTES_LIT("20240102"), BYTES_LIT("cn-hangzhou"));
    assert_bytes("sig_v4_signing_key", bytes_str(key.text), get("sig_v4_signing_key"));
    n = split_headers(bytes_of(bytes_u8(text) + head.len, text.len - head.len - 3), headers);
    assert_int_equal(n, 7);
    reverse(headers, n);
    headers[n++] = (struct sign_header){BYTES_LIT("x-ots-signaturev4"), BYTES_LIT("no")};
    assert_true(sign_request_v4(&key, BYTES_LIT("/ListTable"), headers, n, out));
    assert_bytes("sig_v4", bytes_str(out), get("sig_v4_signature"));
}

/* ---- SQLQuery */

static void test_sql_requests(void **state)
{
    struct ots_sql_query q;

    (void)state;
    assert_ok("req_SQLQuery", ots_sql_decode(&c, get("req_SQLQuery"), &q));
    assert_true(bytes_equal(q.sql, BYTES_LIT("select * from t1")));
    assert_int_equal(q.payload, OTS_SQL_FLAT);
    assert_false(q.moments);
    assert_ok("req_SQLQuery_java", ots_sql_decode(&c, get("req_SQLQuery_java"), &q));
    assert_true(bytes_equal(q.sql, BYTES_LIT("select * from t1")));
    assert_true(q.moments);
    assert_int_equal(ots_sql_decode(&c, BYTES_LIT("\x10\2"), &q), E_PARAMETER); /* no query */
    assert_int_equal(ots_sql_decode(&c, BYTES_LIT("\x0a\1x\x10\3"), &q), E_PARAMETER);
    assert_ok("by itself", ots_sql_decode(&c, BYTES_LIT("\x0a\1x"), &q));
    assert_int_equal(q.payload, OTS_SQL_PLAIN);
}

#define V_NULL                                                                                     \
    {                                                                                              \
        .type = WR_NULL                                                                            \
    }
#define V_LONG(v)                                                                                  \
    {                                                                                              \
        .type = WR_BIGINT, .integer = (v)                                                          \
    }
#define V_TEXT(v)                                                                                  \
    {                                                                                              \
        .type = WR_VARCHAR, .bytes = BYTES_LIT(v)                                                  \
    }

/* What is read of our buffer is what is read of the vector's, whose bytes lie in another order. */
static void assert_flat(const char *name, const struct flat_rows *rows)
{
    size_t max = flat_size_max(rows);
    uint8_t *p = arena_alloc(&c.arena, max);
    size_t n = flat_put(p, rows);

    assert_true(n <= max);
    assert_text(name, flat_text(&c.arena, bytes_of(p, n), rows->column_count),
                flat_text(&c.arena, get(name), rows->column_count));
}

static void test_sql_rows(void **state)
{
    static const struct flat_column columns[] = {{BYTES_LIT("id"), WR_BIGINT},
                                                 {BYTES_LIT("score"), WR_DOUBLE},
                                                 {BYTES_LIT("flag"), WR_BOOLEAN},
                                                 {BYTES_LIT("name"), WR_VARCHAR},
                                                 {BYTES_LIT("bin"), WR_VARBINARY}};
    static const struct wr_value first[] = {V_LONG(1),
                                            {.type = WR_DOUBLE, .real = 1.5},
                                            {.type = WR_BOOLEAN, .boolean = true},
                                            V_TEXT("a"),
                                            {.type = WR_VARBINARY, .bytes = BYTES_LIT("\1\2")}};
    static const struct wr_value second[] = {
        V_LONG(2), V_NULL, {.type = WR_BOOLEAN}, V_NULL, V_NULL};
    static const struct wr_value *const two[] = {first, second};
    static const struct flat_column id_name[] = {{BYTES_LIT("id"), WR_BIGINT},
                                                 {BYTES_LIT("name"), WR_VARCHAR}};
    static const struct flat_column ts[] = {{BYTES_LIT("ts"), WR_TIMESTAMP}};
    static const struct wr_value moment[] = {{.type = WR_TIMESTAMP, .integer = 1700000000123456}};
    static const struct wr_value *const one[] = {moment};

    (void)state;
    assert_flat("sqlfb_two_rows", &(struct flat_rows){columns, 5, two, 2});
    assert_flat("sqlfb_no_rows", &(struct flat_rows){id_name, 2, NULL, 0});
    assert_flat("sqlfb_datetime", &(struct flat_rows){ts, 1, one, 1});
}

/* Rows of every length, so that nothing depends on how the one before was aligned. */
static void test_sql_alignment(void **state)
{
    static const struct flat_column columns[] = {{BYTES_LIT("t"), WR_VARCHAR},
                                                 {BYTES_LIT("i"), WR_BIGINT},
                                                 {BYTES_LIT("b"), WR_BOOLEAN},
                                                 {BYTES_LIT("x"), WR_VARBINARY}};
    struct wr_value values[40][4];
    const struct wr_value *rows[40];

    (void)state;
    for (size_t n = 0; n <= 40; n++) {
        struct flat_rows list = {columns, 4, rows, n};
        uint8_t *p;
        struct flat_read f;
        size_t columns_at, size;

        for (size_t i = 0; i < n; i++) {
            bytes text = bytes_of("0123456789012345678901234567890123456789", i);

            values[i][0] = (struct wr_value){.type = WR_VARCHAR, .bytes = text};
            values[i][1] = (struct wr_value){.type = WR_BIGINT, .integer = (int64_t)i - 3};
            values[i][2] = (struct wr_value){.type = WR_BOOLEAN, .boolean = i % 3 == 0};
            values[i][3] = (struct wr_value){.type = WR_VARBINARY, .bytes = text};
            rows[i] = values[i];
        }
        size = flat_size_max(&list);
        p = arena_alloc(&c.arena, size);
        f.all = bytes_of(p, flat_put(p, &list));
        assert_true(f.all.len <= size);
        columns_at = flat_columns(&f) + 4;
        for (size_t i = 0; i < n; i++) {
            assert_string_equal(
                flat_value(&f, &c.arena, flat_target(&f, columns_at), i),
                arena_printf(&c.arena, "'%.*s'", BYTES_FMT(values[i][0].bytes)).ptr);
            assert_string_equal(flat_value(&f, &c.arena, flat_target(&f, columns_at + 4), i),
                                arena_printf(&c.arena, "%d", (int)i - 3).ptr);
            assert_string_equal(flat_value(&f, &c.arena, flat_target(&f, columns_at + 8), i),
                                i % 3 ? "false" : "true");
            assert_string_equal(flat_value(&f, &c.arena, flat_target(&f, columns_at + 12), i),
                                arena_printf(&c.arena, "x%zu", i).ptr);
        }
    }
}

/* ---- the file as a whole */

static void test_every_vector_is_covered(void **state)
{
    size_t missing = 0;

    (void)state;
    for (size_t i = 0; i < vectors.count; i++) {
        if (vectors.list[i].used)
            continue;
        print_error("not covered: %.*s\n", BYTES_FMT(vectors.list[i].name));
        missing++;
    }
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_crc8),
        TEST(test_values),
        TEST(test_keys),
        TEST(test_records),
        TEST(test_changes),
        TEST(test_double_edge),
        TEST(test_padding),
        TEST(test_malformed),
        TEST(test_filters),
        TEST(test_requests),
        TEST(test_rows),
        TEST(test_range_answers),
        TEST(test_row_answers),
        TEST(test_batch_answer),
        TEST(test_table_answers),
        TEST(test_split_answer),
        TEST(test_error),
        TEST(test_matrix),
        TEST(test_matrix_versions),
        TEST(test_deflate),
        TEST(test_signature),
        TEST(test_response_signature),
        TEST(test_signature_v4),
        TEST(test_sql_requests),
        TEST(test_sql_rows),
        TEST(test_sql_alignment),
        TEST(test_every_vector_is_covered), /* last: it counts what the others used */
    };
    int failed;

    vectors_load(&vectors, "wire-vectors.txt");
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&vectors.arena);
    return failed;
}
