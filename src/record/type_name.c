#include "record/type_name.h"

#include "base/port.h"

static const struct {
    const char *name;
    enum wr_type type;
    bool key;
} type_names[] = {
    {"integer", WR_BIGINT, true}, {"string", WR_VARCHAR, true},   {"binary", WR_VARBINARY, true},
    {"double", WR_DOUBLE, false}, {"boolean", WR_BOOLEAN, false},
};

const char *type_name(enum wr_type type)
{
    for (size_t i = 0; i < PORT_COUNT(type_names); i++)
        if (type_names[i].type == type)
            return type_names[i].name;
    return "unknown";
}

/* What people write for them. */
static const struct {
    const char *name;
    enum wr_type type;
} type_aliases[] = {
    {"int", WR_BIGINT},      {"str", WR_VARCHAR},  {"text", WR_VARCHAR},
    {"bytes", WR_VARBINARY}, {"float", WR_DOUBLE}, {"bool", WR_BOOLEAN},
};

bool type_parse(bytes name, enum wr_type *out)
{
    for (size_t i = 0; i < PORT_COUNT(type_aliases); i++)
        if (bytes_equal(name, bytes_str(type_aliases[i].name))) {
            *out = type_aliases[i].type;
            return true;
        }
    for (size_t i = 0; i < PORT_COUNT(type_names); i++)
        if (bytes_equal(name, bytes_str(type_names[i].name))) {
            *out = type_names[i].type;
            return true;
        }
    return false;
}

bool type_fits_key(enum wr_type type)
{
    for (size_t i = 0; i < PORT_COUNT(type_names); i++)
        if (type_names[i].type == type)
            return type_names[i].key;
    return false;
}
