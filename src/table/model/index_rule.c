#include "table/model/index_rule.h"

#include "table/model/name.h"
#include "table/model/value.h"

#include <inttypes.h>

int index_check_count(struct ctx *c, const struct limits *limits, size_t count)
{
    if (count > (size_t)limits->indexes_max)
        return fail(c, E_PARAMETER, "Number of index per table exceeds the quota:%" PRId64 ".",
                    limits->indexes_max);
    return E_OK;
}

int index_check_options(struct ctx *c, const struct wr_table_options *o)
{
    bool may_update = !(o->given & WR_HAS_ALLOW_UPDATE) || o->allow_update;

    if (o->max_versions != 1)
        return fail(c, E_PARAMETER, "A table with secondary indexes must have MaxVersions 1.");
    if (o->ttl_s != -1 && may_update && !o->update_full_row)
        return fail(c, E_PARAMETER,
                    "A table with secondary indexes can have a TTL only while allow_update is "
                    "false, or with update_full_row.");
    return E_OK;
}

static const struct wr_key_schema *key_column(const struct wr_table_description *d, bytes name)
{
    for (size_t i = 0; i < d->key_count; i++)
        if (bytes_equal(d->key[i].name, name))
            return &d->key[i];
    return NULL;
}

static const struct wr_defined_column *defined_column(const struct wr_table_description *d,
                                                      bytes name)
{
    for (size_t i = 0; i < d->defined_count; i++)
        if (bytes_equal(d->defined[i].name, name))
            return &d->defined[i];
    return NULL;
}

static bool repeats(const bytes *names, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (bytes_equal(names[i], names[at]))
            return true;
    return false;
}

/* What Tablestore's clients know as types of keys, or what SQL does. */
static bool may_be_key(enum wr_type type, bool scalar)
{
    return scalar ? value_is_key_type(type)
                  : type == WR_BIGINT || type == WR_VARCHAR || type == WR_VARBINARY;
}

/* The name of a type in CreateTable's texts. */
static const char *index_type_name(enum wr_type type)
{
    const char *name = value_type_name(type);

    return strncmp(name, "VT_", 3) == 0 ? name + 3 : name;
}

static int check_index_key(struct ctx *c, const struct wr_table_description *d,
                           const struct wr_index_meta *ix, size_t at, bool scalar)
{
    bytes name = ix->key_columns[at];
    const struct wr_key_schema *key = key_column(d, name);
    const struct wr_defined_column *defined = defined_column(d, name);

    if (!key && !defined)
        return fail(c, E_PARAMETER,
                    "Index column '%.*s' is neither a primary key nor a defined column.",
                    BYTES_FMT(name));
    if (repeats(ix->key_columns, at))
        return fail(c, E_PARAMETER, "Duplicated primary key name: '%.*s' in index.",
                    BYTES_FMT(name));
    if (defined && !may_be_key(defined->type, scalar))
        return fail(c, E_PARAMETER, "%s is an invalid type for the primary key.",
                    index_type_name(defined->type));
    if (at == 0 && key && key->auto_increment)
        return fail(c, E_PARAMETER, "First primary key can't be auto increment, table: %.*s.",
                    BYTES_FMT(ix->name));
    return E_OK;
}

static int check_index_attribute(struct ctx *c, const struct wr_table_description *d,
                                 const struct wr_index_meta *ix, size_t at)
{
    bytes name = ix->defined_columns[at];

    if (!defined_column(d, name))
        return fail(c, E_PARAMETER, "Index column '%.*s' is not a defined column.",
                    BYTES_FMT(name));
    if (repeats(ix->defined_columns, at))
        return fail(c, E_PARAMETER, "Duplicated defined column name: '%.*s' in index.",
                    BYTES_FMT(name));
    for (size_t i = 0; i < ix->key_column_count; i++)
        if (bytes_equal(ix->key_columns[i], name))
            return fail(c, E_PARAMETER,
                        "Index column '%.*s' is a key column of the index and cannot be an "
                        "attribute column of it, too.",
                        BYTES_FMT(name));
    return E_OK;
}

/* Global indexes are asynchronous by name and local ones synchronous; both are written with the
 * row. */
static int check_index_type(struct ctx *c, const struct wr_table_description *d,
                            const struct wr_index_meta *ix)
{
    if (ix->type == 0)
        return ix->update_mode == 0
                   ? E_OK
                   : fail(c, E_PARAMETER, "A global index must have IUM_ASYNC_INDEX.");
    if (ix->update_mode != 1)
        return fail(c, E_PARAMETER, "A local index must have IUM_SYNC_INDEX.");
    if (!bytes_equal(ix->key_columns[0], d->key[0].name))
        return fail(c, E_PARAMETER,
                    "The first primary key column of a local index must be the first one of its "
                    "table: '%.*s'.",
                    BYTES_FMT(d->key[0].name));
    return E_OK;
}

/* Programs whose structs are no zeros where they know no member are told. */
static int check_index_order(struct ctx *c, const struct wr_index_meta *ix)
{
    if (ix->descending >> ix->key_column_count)
        return fail(c, E_PARAMETER,
                    "Index '%.*s' has %zu key columns, and more of them are said to descend.",
                    BYTES_FMT(ix->name), ix->key_column_count);
    if (ix->hashed > ix->key_column_count)
        return fail(c, E_PARAMETER,
                    "Index '%.*s' has %zu key columns, and %d of them are to be hashed.",
                    BYTES_FMT(ix->name), ix->key_column_count, ix->hashed);
    return E_OK;
}

static int check_index_name(struct ctx *c, const struct wr_table_description *d, bytes name)
{
    TRY(name_check_table(c, name));
    if (bytes_equal(name, d->table))
        return fail(c, E_PARAMETER, "Index '%.*s' has the name of its table.", BYTES_FMT(name));
    for (size_t i = 0; i < d->index_count; i++)
        if (bytes_equal(name, d->indexes[i].name))
            return fail(c, E_PARAMETER, "Duplicated index name: '%.*s'.", BYTES_FMT(name));
    return E_OK;
}

int index_check(struct ctx *c, const struct limits *limits, const struct wr_table_description *base,
                const struct wr_index_meta *meta, bool scalar)
{
    TRY(check_index_name(c, base, meta->name));
    if (meta->key_column_count < 1 || meta->key_column_count > (size_t)limits->key_columns_max)
        return fail(c, E_PARAMETER,
                    "The number of primary key columns must be in range: [1, %d] in index.",
                    (int)limits->key_columns_max);
    if (meta->defined_column_count > (size_t)limits->defined_columns_max)
        return fail(c, E_PARAMETER,
                    "The number of attribute columns must be in range: [0, %d] in index.",
                    (int)limits->defined_columns_max);
    for (size_t i = 0; i < meta->key_column_count; i++)
        TRY(check_index_key(c, base, meta, i, scalar));
    for (size_t i = 0; i < meta->defined_column_count; i++)
        TRY(check_index_attribute(c, base, meta, i));
    TRY(check_index_order(c, meta));
    return check_index_type(c, base, meta);
}
