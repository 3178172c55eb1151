#include "table/model/key_text.h"

#include "base/ctx.h"

#define VALUE_BYTES_MAX 64 /* shown of each value */

static bytes hex_text(struct arena *a, bytes value)
{
    bytes text = BYTES_LIT("0x");

    for (size_t i = 0; i < value.len; i++)
        text = arena_printf(a, "%.*s%02x", BYTES_FMT(text), bytes_u8(value)[i]);
    return text;
}

static bytes key_text_value_text(struct arena *a, const struct wr_value *v)
{
    bytes shown = v->bytes;
    const char *more = "";

    if (v->type == WR_BIGINT)
        return arena_printf(a, "%lld", (long long)v->integer);
    if (v->type != WR_VARCHAR && v->type != WR_VARBINARY)
        return BYTES_LIT("?");
    if (shown.len > VALUE_BYTES_MAX) {
        shown.len = VALUE_BYTES_MAX;
        more = "...";
    }
    if (v->type == WR_VARCHAR)
        return arena_printf(a, "'%.*s'%s", BYTES_FMT(shown), more);
    return arena_printf(a, "%.*s%s", BYTES_FMT(hex_text(a, shown)), more);
}

bytes key_text(struct arena *a, const struct wr_key *key)
{
    bytes text = BYTES_LIT("(");

    for (size_t i = 0; i < key->count; i++)
        text = arena_printf(a, "%.*s%s%.*s=%.*s", BYTES_FMT(text), i ? ", " : "",
                            BYTES_FMT(key->columns[i].name),
                            BYTES_FMT(key_text_value_text(a, &key->columns[i].value)));
    return arena_printf(a, "%.*s)", BYTES_FMT(text));
}
