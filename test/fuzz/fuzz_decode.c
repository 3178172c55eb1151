/* Targets of the decoders that need no database. Where there is an encoder too, what was accepted
 * is written, read and written again, and both writings must be the same. */
#include "fuzz.h"

#include "base/limit.h"
#include "server/config.h"
#include "server/grant.h"
#include "table/model/filter.h"
#include "table/model/key.h"
#include "table/model/row.h"
#include "table/model/schema.h"
#include "table/model/value.h"
#include "table/stream/stream_name.h"
#include "table/stream/stream_record.h"
#include "table/tunnel/tunnel_name.h"
#include "table/tunnel/tunnel_record.h"
#include "wire/matrix.h"
#include "wire/ots.h"
#include "wire/ots_client.h"
#include "wire/ots_part.h"
#include "wire/plain.h"
#include "wire/zip.h"

#include <sys/mman.h>
#include <unistd.h>

#include <stdio.h>

static bool same(bytes a, bytes b)
{
    return bytes_equal(a, b);
}

/* ---- the wire */

static bytes write_change(struct ctx *c, const struct wr_row *row, enum wr_change_type type)
{
    size_t n = PLAIN_HEADER_BYTES + plain_change_size(row, type);
    uint8_t *p = arena_alloc(&c->arena, n), *end;

    end = plain_put_change(plain_put_header(p), row, type);
    CHECK(end == p + n);
    return bytes_of(p, n);
}

static void change_again(struct ctx *c, const struct wr_row *row, enum wr_change_type type)
{
    bytes first = write_change(c, row, type);
    struct wr_row again;

    if (row->key.count == 0) /* has no key section, which a change must have */
        return;
    CHECK(plain_decode_change(c, first, type, &again) == 0);
    CHECK(same(first, write_change(c, &again, type)));
}

static void rows_again(struct ctx *c, const struct wr_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t n = plain_row_size(&rows[i], PLAIN_KEY_ALL);
        uint8_t *p = arena_alloc(&c->arena, n);

        CHECK(plain_put_row(p, &rows[i], PLAIN_KEY_ALL) == p + n);
    }
}

/* 1: rows. */
void fuzz_plain(bytes in)
{
    const struct wr_row *rows;
    struct wr_row row;
    struct wr_key key;
    struct ctx c;
    size_t count;

    in = fuzz_part(in, 1);
    fuzz_ctx(&c);
    if (fuzz_decoded(&c, plain_decode_key(&c, in, &key)) && key.count) {
        bytes again = plain_encode_key(&c.arena, &key);

        CHECK(bytes_starts(in, again));
    }
    for (int type = WR_PUT; type <= WR_DELETE; type++)
        if (fuzz_decoded(&c, plain_decode_change(&c, in, (enum wr_change_type)type, &row)))
            change_again(&c, &row, (enum wr_change_type)type);
    if (fuzz_decoded(&c, plain_decode_rows(&c, in, &rows, &count)))
        rows_again(&c, rows, count);
    ctx_release(&c);
}

/* 1: a bare value. */
void fuzz_value(bytes in)
{
    struct wr_value v;
    struct ctx c;

    in = fuzz_part(in, 1);
    fuzz_ctx(&c);
    if (fuzz_decoded(&c, plain_decode_value(&c, in, &v)))
        CHECK(same(in, plain_encode_value(&c.arena, &v)));
    ctx_release(&c);
}

/* A block as BulkExport sends it. */
void fuzz_matrix(bytes in)
{
    const struct wr_row *rows;
    struct ctx c;
    size_t count;

    fuzz_ctx(&c);
    fuzz_decoded(&c, matrix_decode(&c, in, &rows, &count));
    ctx_release(&c);
}

/* A zlib body. */
void fuzz_inflate(bytes in)
{
    struct ctx c;
    bytes out, back;

    fuzz_ctx(&c);
    if (fuzz_decoded(&c, zip_inflate(&c, in, in.len, 1 << 16, &out)))
        CHECK(out.len <= 1 << 16);
    if (in.len && in.len <= 1 << 16 && fuzz_decoded(&c, zip_deflate(&c, in, &out))) {
        CHECK(zip_inflate(&c, out, 0, 1 << 16, &back) == 0);
        CHECK(same(in, back));
    }
    ctx_release(&c);
}

/* 1: the body of an answer, 2: the operation it answers. An Error message is tried too. */
void fuzz_reply(bytes in)
{
    struct wr_request req = {.op = (enum wr_op)(fuzz_number(in, 2) % WR_OP_COUNT)};
    struct wr_reply reply, again;
    bytes code, message, first;
    struct ctx c;

    in = fuzz_part(in, 1);
    fuzz_ctx(&c);
    if (fuzz_decoded(&c, ots_decode_error(&c, in, &code, &message)))
        ots_error_of(code, message);
    if (fuzz_decoded(&c, ots_decode_reply(&c, req.op, in, &reply))) {
        first = ots_encode(&c, &req, &reply);
        /* Cells that came without a timestamp cannot be answered again. */
        if (fuzz_decoded(&c, ots_decode_reply(&c, req.op, first, &again)))
            CHECK(same(first, ots_encode(&c, &req, &again)));
    }
    ctx_release(&c);
}

/* ---- filters */

/* Matches the filter against each row, with the cells as a read would give them. */
static void filter_rows(struct ctx *c, const struct filter *f, bytes plain)
{
    const struct wr_row *rows;
    size_t count;

    if (!fuzz_decoded(c, plain_decode_rows(c, plain, &rows, &count)))
        return;
    for (size_t i = 0; i < count; i++) {
        struct wr_cell *cells = arena_alloc(&c->arena, sizeof(*cells) * (rows[i].cell_count + 1));
        size_t n = rows[i].cell_count;

        if (n)
            memcpy(cells, rows[i].cells, sizeof(*cells) * n);
        n = cells_sort(cells, n);
        filter_match(c, f, &rows[i].key, cells, n);
        CHECK(filter_page(f, cells, n) <= n);
        CHECK(c->code == 0 || (c->code == E_PARAMETER && filter_has_regex(f)));
        ctx_clear(c);
    }
}

static bytes filter_write(struct ctx *c, const struct wr_filter *f)
{
    struct buf b;

    buf_init(&b, &c->arena, 64);
    ots_put_filter(&b, 1, f);
    return buf_bytes(&b);
}

/* 1: a filter, 2: rows. */
void fuzz_filter(bytes in)
{
    const struct wr_filter *tree, *again;
    struct filter *f;
    struct limits limits;
    struct ctx c;
    bytes first;

    limits_init(&limits, false);
    fuzz_ctx(&c);
    if (fuzz_decoded(&c, ots_read_filter(&c, fuzz_part(in, 1), &tree)) && tree) {
        first = filter_write(&c, tree);
        CHECK(ots_read_filter(&c, fuzz_part(first, 1), &again) == 0);
        CHECK(same(first, filter_write(&c, again)));
        for (int use = FILTER_READ; use <= FILTER_CONDITION; use++)
            if (fuzz_decoded(&c, filter_compile(&c, &limits, tree, (enum filter_use)use, &f)))
                filter_rows(&c, f, fuzz_part(in, 2));
    }
    ctx_release(&c);
}

/* ---- what is stored */

/* 1: types of the columns, a byte each with the high bit for DESC. 2: bytes. Bytes of one schema
 * sort as their keys do, so two keys are read. */
static bool key_load(struct ctx *c, const struct wr_key_schema *schema, size_t count, bytes in,
                     struct wr_key_column *columns, bytes *stored)
{
    struct buf b;
    size_t used;

    if (!fuzz_decoded(c, key_read_columns(c, in, schema, count, columns, &used)))
        return false;
    CHECK(used <= in.len);
    *stored = bytes_of(in.ptr, used);
    buf_init(&b, &c->arena, 64);
    CHECK(key_put_columns(c, &b, schema, columns, count) == 0);
    CHECK(same(*stored, buf_bytes(&b)));
    return true;
}

static int sign(int n)
{
    return (n > 0) - (n < 0);
}

/* 1: types of the columns, a byte each, its high bit says descending. 2, 3: two keys' bytes. */
void fuzz_key(bytes in)
{
    struct wr_key_schema schema[WR_KEY_COLUMNS_MAX] = {0};
    struct wr_key_column a[WR_KEY_COLUMNS_MAX], b[WR_KEY_COLUMNS_MAX];
    bytes types = fuzz_part(in, 1), stored_a, stored_b;
    size_t count = types.len < WR_KEY_COLUMNS_MAX ? types.len : WR_KEY_COLUMNS_MAX;
    struct ctx c;

    for (size_t i = 0; i < count; i++) {
        schema[i].name = BYTES_LIT("k");
        schema[i].type = (enum wr_type)(bytes_u8(types)[i] & 0x7f);
        schema[i].descending = bytes_u8(types)[i] >> 7;
        schema[i].length = schema[i].type == WR_CHAR || schema[i].type == WR_BINARY ? 4 : 0;
        if (!value_is_key_type(schema[i].type))
            return;
    }
    fuzz_ctx(&c);
    if (key_load(&c, schema, count, fuzz_part(in, 2), a, &stored_a) &&
        key_load(&c, schema, count, fuzz_part(in, 3), b, &stored_b)) {
        struct wr_key left = {a, count}, right = {b, count};

        CHECK(sign(bytes_compare(stored_a, stored_b)) == sign(key_compare(schema, &left, &right)));
    }
    ctx_release(&c);
}

static bytes row_write(struct ctx *c, const struct row *row)
{
    struct buf b;

    buf_init(&b, &c->arena, 64);
    row_encode(&b, row);
    return buf_bytes(&b);
}

/* A head value. */
void fuzz_row(bytes in)
{
    struct row row, again;
    struct ctx c;
    bytes first;

    fuzz_ctx(&c);
    if (fuzz_decoded(&c, row_decode(&c, in, &row))) {
        first = row_write(&c, &row);
        CHECK(row_decode(&c, first, &again) == 0);
        CHECK(same(first, row_write(&c, &again)));
    }
    ctx_release(&c);
}

/* The value at a cell's key, or the end of the key. */
void fuzz_cell(bytes in)
{
    struct wr_cell cell = {0}, again = {0};
    struct buf first, second;
    int64_t stamp;
    uint64_t id;
    struct ctx c;
    bytes name;

    fuzz_ctx(&c);
    if (fuzz_decoded(&c, cell_read_key(&c, in, &id, &name, &stamp))) {
        buf_init(&first, &c.arena, 64);
        cell_put_key(&first, id, name, stamp);
        CHECK(same(in, buf_bytes(&first)));
    }
    if (fuzz_decoded(&c, cell_decode(&c, in, &cell))) {
        buf_init(&first, &c.arena, 64);
        buf_init(&second, &c.arena, 64);
        cell_encode(&first, &cell);
        CHECK(cell_decode(&c, buf_bytes(&first), &again) == 0);
        cell_encode(&second, &again);
        CHECK(same(buf_bytes(&first), buf_bytes(&second)));
    }
    ctx_release(&c);
}

static bytes schema_write(struct ctx *c, const struct schema *s)
{
    struct buf b;

    buf_init(&b, &c->arena, 256);
    schema_encode(&b, s);
    return buf_bytes(&b);
}

/* A table's description. */
void fuzz_schema(bytes in)
{
    struct wr_table_description description;
    struct schema schema, again;
    struct ctx c;
    bytes first;

    fuzz_ctx(&c);
    if (fuzz_decoded(&c, schema_decode(&c, in, &schema))) {
        first = schema_write(&c, &schema);
        CHECK(schema_decode(&c, first, &again) == 0);
        CHECK(same(first, schema_write(&c, &again)));
        schema_describe(&c.arena, &schema, &description);
    }
    ctx_release(&c);
}

/* ---- streams */

static bytes record_write(struct ctx *c, const struct wr_stream_record *r)
{
    const struct plain_sequence at = {r->epoch, r->timestamp_us, r->row_index};
    size_t n = PLAIN_HEADER_BYTES + plain_record_size(&r->row);
    uint8_t *p = arena_alloc(&c->arena, n);

    CHECK(plain_put_record(plain_put_header(p), &r->row, &at) == p + n);
    return bytes_of(p, n);
}

/* The value of a change record. What it tells goes out to clients, who read the same. */
void fuzz_record(bytes in)
{
    const struct wr_key_schema key = {.name = BYTES_LIT("k"), .type = WR_BIGINT};
    struct wr_stream_record record, again;
    struct plain_sequence at;
    struct ctx c;
    bytes first;

    fuzz_ctx(&c);
    if (fuzz_decoded(&c, stream_record_decode(&c, stream_record_key(&c.arena, 7, 1, 5), in, &key, 1,
                                              &record))) {
        CHECK(record.row.key.count == 1 && record.timestamp_us == 5);
        for (size_t i = 0; i < record.large_count; i++)
            CHECK(record.large[i].at < record.row.cell_count + record.original_count);
        first = record_write(&c, &record);
        again = record;
        /* The checksum of a damaged cell goes out as it is stored, and is refused there. */
        if (fuzz_decoded(&c, plain_decode_record(&c, first, &again.row, &at)))
            CHECK(same(first, record_write(&c, &again)));
    }
    ctx_release(&c);
}

/* The text of an iterator, as a client gives it back. */
void fuzz_iterator(bytes in)
{
    struct stream_place place;
    struct ctx c;

    fuzz_ctx(&c);
    if (fuzz_decoded(&c, stream_place_read(&c, in, &place)))
        CHECK(same(in, stream_iterator(&c.arena, place.stream, place.shard, place.number)));
    ctx_release(&c);
}

/* ---- tunnels */

/* The state of a tunnel: what was read is written as something that reads the same. */
void fuzz_tunnel(bytes in)
{
    struct tunnel_state t, again;
    struct ctx c;
    bytes first;

    fuzz_ctx(&c);
    if (fuzz_decoded(&c, tunnel_record_decode(&c, in, &t))) {
        first = tunnel_record_encode(&c.arena, &t);
        CHECK(tunnel_record_decode(&c, first, &again) == 0);
        CHECK(same(first, tunnel_record_encode(&c.arena, &again)));
        tunnel_connect(&again, BYTES_LIT("w"), 1, 0);
        for (size_t i = 0; i < again.client_count; i++)
            if (tunnel_heartbeat(&again, again.clients[i].number, NULL, 0, 0) == TUNNEL_OK)
                CHECK(again.client_count);
    }
    ctx_release(&c);
}

/* A token of a tunnel, as a client gives it back. */
void fuzz_token(bytes in)
{
    struct tunnel_place place, again;
    struct ctx c;

    fuzz_ctx(&c);
    if (fuzz_decoded(&c, tunnel_token_read(&c, in, &place))) {
        CHECK(tunnel_token_read(&c, tunnel_token(&c.arena, &place), &again) == 0);
        CHECK(again.count == place.count && again.stream == place.stream &&
              same(again.at, place.at));
        CHECK(place.finished || !place.stream || same(in, tunnel_token(&c.arena, &place)));
    }
    ctx_release(&c);
}

/* ---- the operator's texts */

/* Words between NULs as an array that ends with NULL; `first` leads. */
static int words_split(struct arena *a, bytes text, const char *first, char **out, int max)
{
    char *p = arena_alloc(a, text.len + 1);
    int n = 0;

    if (first)
        out[n++] = (char *)(uintptr_t)first;
    if (text.len)
        memcpy(p, text.ptr, text.len);
    p[text.len] = 0;
    for (char *end = p + text.len; p < end && n < max; p += strlen(p) + 1)
        out[n++] = p;
    out[n] = NULL;
    return n;
}

/* 1: widerow.conf, 2: flags, 3: environment; words of these end with NUL. */
void fuzz_config(bytes in)
{
    char *argv[66], *envp[66], name[64], message[1024] = "";
    bytes text = fuzz_part(in, 1);
    int fd = memfd_create("widerow.conf", 0), argc, code;
    struct config config;
    struct arena a;

    CHECK(fd >= 0 && write(fd, text.ptr ? text.ptr : "", text.len) == (ssize_t)text.len);
    snprintf(name, sizeof(name), "WIDEROW_CONFIG=/proc/self/fd/%d", fd);
    arena_init(&a, NULL, 0);
    argc = words_split(&a, fuzz_part(in, 2), "widerowd", argv, 64);
    words_split(&a, fuzz_part(in, 3), name, envp, 64);
    code = config_load(&config, argc, argv, envp, message, sizeof(message));
    CHECK(code == 0 || (code == E_PARAMETER && message[0]));
    CHECK(!strchr(message, '\n'));
    config_release(&config);
    arena_release(&a);
    close(fd);
}

/* 1: the grants of an access key, 2: a table. */
void fuzz_grant(bytes in)
{
    char why[256] = "";
    struct grants grants;
    struct arena a;
    int code;

    arena_init(&a, NULL, 0);
    code = grants_parse(&a, fuzz_part(in, 1), &grants, why, sizeof(why));
    CHECK(code == 0 || (code == E_PARAMETER && why[0]));
    if (code == 0) {
        /* As a text and back they allow the same, and cover themselves. */
        struct grants back;
        bytes text = grants_text(&a, &grants), table = fuzz_part(in, 2);

        CHECK(grants_parse(&a, text, &back, why, sizeof(why)) == 0);
        for (unsigned bit = 1; bit <= GRANT_SYSTEM; bit *= 2)
            CHECK(grants_allow(&grants, table, bit) == grants_allow(&back, table, bit));
        CHECK(grants_cover(&grants, &back) && grants_cover(&back, &grants));
    }
    arena_release(&a);
}
