#include "table/admin/heat_place.h"

#include "table/model/key.h"
#include "table/model/value.h"

/* One column as it stands, or as a text that goes on no further. */
static bool heat_place_read_column(struct ctx *c, const struct wr_key_schema *schema, bytes in,
                                   struct wr_key_column *out, size_t *used)
{
    uint8_t flip = schema->descending ? 0xFF : 0;
    struct buf b;

    if (key_read_columns(c, in, schema, 1, out, used) == E_OK)
        return true;
    ctx_clear(c);
    if (schema->type != WR_VARCHAR && schema->type != WR_VARBINARY)
        return false;
    if (in.len && bytes_u8(in)[in.len - 1] == flip) /* the first half of an escaped zero */
        in.len--;
    buf_init(&b, &c->arena, in.len + 2);
    buf_put_bytes(&b, in);
    buf_put_u8(&b, flip);
    buf_put_u8(&b, flip ^ 0x01);
    if (key_read_columns(c, buf_bytes(&b), schema, 1, out, used) != E_OK) {
        ctx_clear(c);
        return false;
    }
    while (schema->type == WR_VARCHAR && !bytes_is_utf8(out->value.bytes))
        out->value.bytes.len--;
    *used = in.len;
    return true;
}

void heat_place_read(struct ctx *c, const struct schema *s, bytes key, size_t columns,
                     struct wr_heat_place *out)
{
    struct wr_key_column *read = ARENA_ARRAY(&c->arena, struct wr_key_column, columns);
    bytes rest = key.len ? bytes_skip(key, 1) : key;
    size_t n = 0, used;

    out->bucket = key.len ? *bytes_u8(key) : 0;
    while (n < columns && rest.len &&
           heat_place_read_column(c, &s->d.key[n], rest, &read[n], &used)) {
        read[n].name = arena_copy(&c->arena, s->d.key[n].name);
        rest = bytes_skip(rest, used);
        n++;
    }
    out->key = (struct wr_key){read, n};
}
