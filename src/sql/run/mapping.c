#include "sql/run/mapping.h"

#include "base/buf.h"
#include "sql/run/annotation.h"

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
    struct reader in;
    bytes payload;
    bool whole = annotation_find(d->annotation, ANNOTATION_MAPPING, &payload);

    *out = (struct mapping){0};
    in = reader_of(payload);
    if (payload.ptr)
        columns_read(r, &in, out);
    return whole && !in.bad
               ? 0
               : run_fail(r, FAULT_MAPPING, RUN_TEXT(d->table),
                          "what is stored of it is damaged; DROP MAPPING TABLE drops it");
}

static bytes mapping_payload(struct run *r, const struct mapping *m)
{
    struct buf b;

    buf_init(&b, r->arena, 256);
    buf_put_varint(&b, m->count);
    for (size_t i = 0; i < m->count; i++) {
        buf_put_counted(&b, m->columns[i].name);
        buf_put_u8(&b, (uint8_t)m->columns[i].type);
    }
    return buf_bytes(&b);
}

int mapping_store(struct run *r, bytes database, const struct wr_table_description *d,
                  const struct mapping *m)
{
    struct wr_request request = {WR_REQUEST(UPDATE_TABLE), .instance = database};
    const struct wr_reply *reply;

    request.update_table = (struct wr_update_table){
        .table = d->table,
        .annotation = annotation_with(r->arena, d->annotation, ANNOTATION_MAPPING,
                                      m->count ? mapping_payload(r, m) : BYTES_NONE),
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
