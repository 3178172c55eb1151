#include "sql/run/mapping.h"

#include "base/buf.h"

#define SECTION_MAPPING 1 /* of an annotation */

/* ---- as stored ---- */

static void columns_read(struct run *r, struct reader *in, struct mapping *out)
{
    uint64_t n = read_varint(in);

    if (n > reader_left(in)) {
        in->bad = true;
        return;
    }
    out->columns = ARENA_ARRAY(r->arena, struct mapping_column, n);
    for (out->count = 0; out->count < n && !in->bad; out->count++) {
        out->columns[out->count].name = read_counted(in);
        out->columns[out->count].type = read_u8(in);
    }
}

int mapping_read(struct run *r, const struct wr_table_description *d, struct mapping *out)
{
    struct reader in = reader_of(d->annotation);

    *out = (struct mapping){0};
    while (reader_left(&in) && !in.bad) {
        uint64_t section = read_varint(&in);
        struct reader payload = reader_of(read_counted(&in));

        if (section == SECTION_MAPPING)
            columns_read(r, &payload, out);
        in.bad |= payload.bad;
    }
    return in.bad ? run_fail(r, FAULT_MAPPING, RUN_TEXT(d->table),
                             "what is stored of it is damaged; DROP MAPPING TABLE drops it")
                  : 0;
}

/* All sections of an annotation but ours; a damaged one has none. */
static void others_put(struct buf *b, bytes annotation)
{
    struct reader in = reader_of(annotation);

    while (reader_left(&in)) {
        uint64_t section = read_varint(&in);
        bytes payload = read_counted(&in);

        if (in.bad)
            return;
        if (section == SECTION_MAPPING)
            continue;
        buf_put_varint(b, section);
        buf_put_counted(b, payload);
    }
}

static void mapping_put(struct run *r, struct buf *b, const struct mapping *m)
{
    struct buf payload;

    buf_init(&payload, r->arena, 256);
    buf_put_varint(&payload, m->count);
    for (size_t i = 0; i < m->count; i++) {
        buf_put_counted(&payload, m->columns[i].name);
        buf_put_u8(&payload, (uint8_t)m->columns[i].type);
    }
    buf_put_varint(b, SECTION_MAPPING);
    buf_put_counted(b, buf_bytes(&payload));
}

int mapping_store(struct run *r, bytes database, const struct wr_table_description *d,
                  const struct mapping *m)
{
    struct wr_request request = {WR_REQUEST(UPDATE_TABLE), .instance = database};
    const struct wr_reply *reply;
    struct buf b;

    buf_init(&b, r->arena, 256);
    others_put(&b, d->annotation);
    if (m->count)
        mapping_put(r, &b, m);
    request.update_table =
        (struct wr_update_table){.table = d->table,
                                 .annotation = arena_copy(r->arena, buf_bytes(&b)),
                                 .annotation_was = arena_copy(r->arena, d->annotation)};
    return run_request(r, &request, &reply);
}

/* ---- as shown ---- */

bytes mapping_type_text(struct arena *a, enum wr_type type, bool key, uint32_t length)
{
    static const char *const names[] = {[WR_BOOLEAN] = "tinyint(1)",
                                        [WR_TINYINT] = "tinyint",
                                        [WR_SMALLINT] = "smallint",
                                        [WR_INTEGER] = "int",
                                        [WR_BIGINT] = "bigint(20)",
                                        [WR_UBIGINT] = "bigint(20) unsigned",
                                        [WR_FLOAT] = "float",
                                        [WR_DOUBLE] = "double",
                                        [WR_DECIMAL] = "decimal",
                                        [WR_VARCHAR] = "mediumtext",
                                        [WR_CHAR] = "char",
                                        [WR_BINARY] = "binary",
                                        [WR_VARBINARY] = "mediumblob",
                                        [WR_DATE] = "date",
                                        [WR_TIME] = "time",
                                        [WR_TIMESTAMP] = "timestamp",
                                        [WR_JSON] = "json"};

    if (key && (type == WR_VARCHAR || type == WR_VARBINARY))
        return type == WR_VARCHAR ? BYTES_LIT("varchar(1024)") : BYTES_LIT("varbinary(1024)");
    if (type == WR_DECIMAL && length)
        return arena_printf(a, "decimal(%u,%u)", length >> 8, length & 0xff);
    if ((type == WR_CHAR || type == WR_BINARY) && length)
        return arena_printf(a, "%s(%u)", names[type], length);
    return bytes_str(names[type]);
}
