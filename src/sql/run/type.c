#include "sql/run/type.h"

#define TEXT_BYTES_MAX (2 << 20) /* of a text without a length */

static const struct {
    const char *name, *mysql;
    int digits;
    bool exact, text, with_length;
} types[] = {
    [WR_BOOLEAN] = {"BOOLEAN", "tinyint", 3, true, false, false},
    [WR_TINYINT] = {"TINYINT", "tinyint", 3, true, false, false},
    [WR_SMALLINT] = {"SMALLINT", "smallint", 5, true, false, false},
    [WR_INTEGER] = {"INTEGER", "int", 10, true, false, false},
    [WR_BIGINT] = {"BIGINT", "bigint", 19, true, false, false},
    [WR_UBIGINT] = {"BIGINT UNSIGNED", "bigint", 20, true, false, false},
    [WR_FLOAT] = {"FLOAT", "float", 12, false, false, false},
    [WR_DOUBLE] = {"DOUBLE", "double", 22, false, false, false},
    [WR_DECIMAL] = {"DECIMAL", "decimal", 38, true, false, false},
    [WR_VARCHAR] = {"VARCHAR", "varchar", 0, false, true, true},
    [WR_CHAR] = {"CHAR", "char", 0, false, true, true},
    [WR_BINARY] = {"BINARY", "binary", 0, false, false, true},
    [WR_VARBINARY] = {"VARBINARY", "varbinary", 0, false, false, true},
    [WR_DATE] = {"DATE", "date", 0, false, false, false},
    [WR_TIME] = {"TIME", "time", 0, false, false, false},
    [WR_TIMESTAMP] = {"TIMESTAMP", "timestamp", 0, false, false, false},
    [WR_JSON] = {"JSON", "json", 0, false, false, false},
};

bytes type_text(struct arena *a, const struct table_column *c)
{
    if (c->type == WR_DECIMAL && c->length)
        return arena_printf(a, "DECIMAL(%u,%u)", c->length >> 8, c->length & 0xff);
    if (types[c->type].with_length && c->length)
        return arena_printf(a, "%s(%u)", types[c->type].name, c->length);
    return bytes_str(types[c->type].name);
}

const char *type_mysql_name(enum wr_type type)
{
    return types[type].mysql;
}

bytes type_mysql_text(struct arena *a, const struct table_column *c)
{
    struct type_size size = type_size(c);

    switch (c->type) {
    case WR_BOOLEAN:
        return BYTES_LIT("tinyint(1)");
    case WR_UBIGINT:
        return BYTES_LIT("bigint unsigned");
    case WR_TIME:
    case WR_TIMESTAMP:
        return arena_printf(a, "%s(3)", types[c->type].mysql);
    case WR_DECIMAL:
        return arena_printf(a, "decimal(%d,%d)", size.digits, size.fraction);
    default:
        if (size.text)
            return arena_printf(a, "%s(%lld)", types[c->type].mysql, (long long)size.text);
        return bytes_str(types[c->type].mysql);
    }
}

bool type_is_text(enum wr_type type)
{
    return types[type].text;
}

struct type_size type_size(const struct table_column *c)
{
    struct type_size out = {.digits = types[c->type].digits, .exact = types[c->type].exact};

    if (c->type == WR_DECIMAL && c->length) {
        out.digits = (int)(c->length >> 8);
        out.fraction = (int)(c->length & 0xff);
    }
    if (types[c->type].text || types[c->type].with_length)
        out.text = c->length ? c->length : TEXT_BYTES_MAX;
    return out;
}
