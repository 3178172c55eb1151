/* mapping_ddl.c: CREATE TABLE, ALTER TABLE and DROP MAPPING TABLE. */
#include "sql/run/mapping.h"
#include "sql/run/table.h"

/* ---- types ---- */

static const struct {
    const char *name;
    enum wr_type type;
    bool key, length; /* it may be a key column's; it may have a length, which says nothing */
} types[] = {{"BIGINT", WR_BIGINT, true, true},       {"DOUBLE", WR_DOUBLE, false, false},
             {"BOOL", WR_BOOLEAN, false, false},      {"BOOLEAN", WR_BOOLEAN, false, false},
             {"VARCHAR", WR_VARCHAR, true, true},     {"MEDIUMTEXT", WR_VARCHAR, false, false},
             {"VARBINARY", WR_VARBINARY, true, true}, {"MEDIUMBLOB", WR_VARBINARY, false, false}};

static int type_find(struct run *r, const struct type_name *t, bool key, enum wr_type *out)
{
    for (size_t i = 0; i < PORT_COUNT(types); i++) {
        if (!run_is_word(t->name, types[i].name) || t->is_unsigned ||
            (t->has_length && !types[i].length))
            continue;
        *out = types[i].type;
        return types[i].key || !key ? 0
                                    : run_fail(r, FAULT_TYPE, RUN_TEXT(t->name),
                                               " for primary key columns, only BIGINT, "
                                               "VARCHAR(1024) and VARBINARY(1024)");
    }
    return run_fail(r, FAULT_TYPE, RUN_TEXT(t->name),
                    " in SQLQuery, only BIGINT, DOUBLE, BOOL, VARCHAR, MEDIUMTEXT, VARBINARY and "
                    "MEDIUMBLOB");
}

/* ---- CREATE TABLE ---- */

static int options_check(struct run *r, const struct option_list *list)
{
    for (const struct option *o = list ? list->first : NULL; o; o = o->next) {
        if (run_is_word(o->name, "ENGINE") && !run_is_word(o->value, "tablestore"))
            return run_fail(r, FAULT_UNSUPPORTED,
                            "ENGINE is 'tablestore' here: search indexes are not served");
        if (!run_is_word(o->name, "ENGINE") && !run_is_word(o->name, "ENGINE_ATTRIBUTE"))
            return run_fail(r, FAULT_UNSUPPORTED,
                            "A mapping takes ENGINE='tablestore' and ENGINE_ATTRIBUTE alone");
    }
    return 0;
}

/* The column's place in the table's key, or SIZE_MAX. */
static size_t key_place(const struct wr_table_description *d, bytes name)
{
    for (size_t i = 0; i < d->key_count; i++)
        if (run_is_name(true, d->key[i].name, name))
            return i;
    return SIZE_MAX;
}

/* What the table calls a column, if it knows it. */
static bytes stored_name(const struct wr_table_description *d, bytes name)
{
    size_t place = key_place(d, name);

    if (place != SIZE_MAX)
        return d->key[place].name;
    for (size_t i = 0; i < d->defined_count; i++)
        if (run_is_name(true, d->defined[i].name, name))
            return d->defined[i].name;
    return name;
}

/* One more column; m->columns has room for it. */
static int column_map(struct run *r, const struct wr_table_description *d,
                      const struct column_definition *c, struct mapping *m)
{
    struct mapping_column *out = &m->columns[m->count];
    size_t place = key_place(d, c->name);

    for (size_t i = 0; i < m->count; i++)
        if (run_is_name(true, m->columns[i].name, c->name))
            return run_fail(r, FAULT_TWICE, RUN_TEXT(c->name));
    if (c->default_value)
        return run_fail(r, FAULT_UNSUPPORTED, "DEFAULT is not for columns of a mapping");
    RUN_TRY(type_find(r, &c->type, place != SIZE_MAX, &out->type));
    if (place != SIZE_MAX && d->key[place].type != out->type)
        return run_fail(r, FAULT_MAPPING, RUN_TEXT(d->table),
                        arena_printf(r->arena, "its primary key column '%.*s' has another type",
                                     RUN_TEXT(d->key[place].name))
                            .ptr);
    out->name = stored_name(d, c->name);
    m->count++;
    return 0;
}

static int key_fail(struct run *r, const struct wr_table_description *d)
{
    return run_fail(r, FAULT_MAPPING, RUN_TEXT(d->table),
                    "PRIMARY KEY must name all of its primary key columns, in their order");
}

/* PRIMARY KEY (...), or the one column that says so, must be the table's key. */
static int key_check(struct run *r, const struct statement *s, const struct wr_table_description *d)
{
    size_t n = 0;

    if (s->key && s->key->hashed)
        return key_fail(r, d);
    for (const struct name_item *i = s->key ? s->key->columns->first : NULL; i; i = i->next)
        if (key_place(d, i->name) != n++)
            return key_fail(r, d);
    for (const struct column_definition *c = s->definitions; c; c = c->next)
        if (c->key && key_place(d, c->name) != n++)
            return key_fail(r, d);
    return n == d->key_count ? 0 : key_fail(r, d);
}

static int keys_mapped(struct run *r, const struct wr_table_description *d, const struct mapping *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->count; i++)
        n += key_place(d, m->columns[i].name) != SIZE_MAX;
    return n == d->key_count ? 0 : key_fail(r, d);
}

int run_create_mapping(struct run *r, const struct statement *s)
{
    struct mapping m;
    struct sql_table *t;
    size_t n = 0;

    RUN_TRY(table_find(r, &s->table, &t));
    RUN_TRY(mapping_read(r, t->description, &m));
    if (m.count)
        return s->if_exists ? 0 : run_fail(r, FAULT_TABLE_EXISTS, RUN_TEXT(t->name));
    if (s->indexes)
        return run_fail(r, FAULT_UNSUPPORTED, "Indexes are created by CreateIndex, not in SQL");
    RUN_TRY(options_check(r, s->options));
    RUN_TRY(key_check(r, s, t->description));
    for (const struct column_definition *c = s->definitions; c; c = c->next)
        n++;
    m.columns = ARENA_ARRAY(r->arena, struct mapping_column, n);
    for (const struct column_definition *c = s->definitions; c; c = c->next)
        RUN_TRY(column_map(r, t->description, c, &m));
    RUN_TRY(keys_mapped(r, t->description, &m));
    return mapping_store(r, t->database, t->description, &m);
}

/* ---- DROP MAPPING TABLE, ALTER TABLE ---- */

int run_drop_mapping(struct run *r, const struct statement *s)
{
    const struct mapping none = {.count = 0};
    struct sql_table *t;

    if (!table_find_bare(r, &s->table, &t))
        return t->description->annotation.len ? mapping_store(r, t->database, t->description, &none)
                                              : 0; /* it was made by itself, and will be again */
    if (s->if_exists)
        run_forgive(r, FAULT_UNKNOWN_TABLE);
    return r->out->fault.number ? -1 : 0;
}

static int alter_add(struct run *r, const struct statement *s, const struct wr_table_description *d,
                     struct mapping *m)
{
    struct mapping more = {.count = m->count};
    size_t n = m->count;

    for (const struct column_definition *c = s->definitions; c; c = c->next)
        n++;
    more.columns = ARENA_ARRAY(r->arena, struct mapping_column, n);
    memcpy(more.columns, m->columns, m->count * sizeof(*m->columns));
    for (const struct column_definition *c = s->definitions; c; c = c->next)
        RUN_TRY(column_map(r, d, c, &more));
    *m = more;
    return 0;
}

static int alter_drop(struct run *r, const struct statement *s,
                      const struct wr_table_description *d, struct mapping *m)
{
    size_t i = 0;

    if (key_place(d, s->name) != SIZE_MAX)
        return run_fail(r, FAULT_MAPPING, RUN_TEXT(d->table),
                        "primary key columns stay in every mapping");
    while (i < m->count && !run_is_name(true, m->columns[i].name, s->name))
        i++;
    if (i == m->count)
        return run_fail(r, FAULT_UNKNOWN_COLUMN, RUN_TEXT(s->name), RUN_TEXT(d->table));
    m->count--;
    memmove(m->columns + i, m->columns + i + 1, (m->count - i) * sizeof(*m->columns));
    return 0;
}

int run_alter_mapping(struct run *r, const struct statement *s)
{
    struct mapping m;
    struct sql_table *t;

    if (s->alter != ALTER_ADD_COLUMN && s->alter != ALTER_DROP_COLUMN)
        return run_fail(r, FAULT_UNSUPPORTED, "A mapping is altered by ADD and DROP COLUMN alone");
    RUN_TRY(table_find(r, &s->table, &t));
    RUN_TRY(mapping_read(r, t->description, &m));
    if (!m.count)
        return run_fail(r, FAULT_NO_MAPPING, RUN_TEXT(t->name));
    RUN_TRY(s->alter == ALTER_ADD_COLUMN ? alter_add(r, s, t->description, &m)
                                         : alter_drop(r, s, t->description, &m));
    return mapping_store(r, t->database, t->description, &m);
}
