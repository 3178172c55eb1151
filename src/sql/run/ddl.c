/* ddl.c: tables made, changed and dropped. */
#include "sql/run/default.h"
#include "sql/run/index.h"
#include "sql/run/table.h"
#include "sql/run/table_option.h"

#include "base/number.h"

#include <stdio.h>
#include <unistd.h>

#define HASH_BUCKETS "16"
#define DEVIATION_S_MAX (INT64_MAX / 1000000) /* _l_ts_ may be any, as in Lindorm */
#define DECIMAL_DIGITS_MAX 38
#define TEXT_LENGTH_MAX (2 << 20)
#define RETRY_EVERY_US 50000 /* while the table that TRUNCATE makes again is not taken yet */

/* ---- types ---- */

static const struct {
    const char *name;
    enum wr_type type;
    bool length; /* one may be given */
} types[] = {
    {"BOOLEAN", WR_BOOLEAN, false},     {"BOOL", WR_BOOLEAN, false},
    {"TINYINT", WR_TINYINT, false},     {"SMALLINT", WR_SMALLINT, false},
    {"INTEGER", WR_INTEGER, false},     {"INT", WR_INTEGER, false},
    {"BIGINT", WR_BIGINT, false},       {"FLOAT", WR_FLOAT, false},
    {"DOUBLE", WR_DOUBLE, false},       {"DECIMAL", WR_DECIMAL, true},
    {"VARCHAR", WR_VARCHAR, true},      {"CHAR", WR_CHAR, true},
    {"BINARY", WR_BINARY, true},        {"VARBINARY", WR_VARBINARY, true},
    {"DATE", WR_DATE, false},           {"TIME", WR_TIME, false},
    {"TIMESTAMP", WR_TIMESTAMP, false}, {"JSON", WR_JSON, false},
    {"NUMERIC", WR_DECIMAL, true},
};

static int decimal_length(struct run *r, const struct type_name *t, uint32_t *length)
{
    uint32_t precision = t->has_length ? t->length : DECIMAL_DIGITS_MAX;

    if (!precision || precision > DECIMAL_DIGITS_MAX || t->scale > precision)
        return run_fail(r, FAULT_TYPE, RUN_TEXT(t->name),
                        "(p, s) but with p from 1 to 38 and s from 0 to p");
    *length = precision << 8 | t->scale;
    return 0;
}

/* `length` is as declared; of VARCHAR and VARBINARY 0: not at all. */
static int type_find(struct run *r, const struct type_name *t, enum wr_type *type, uint32_t *length)
{
    size_t i = 0;

    while (i < PORT_COUNT(types) && !run_is_word(t->name, types[i].name))
        i++;
    if (i == PORT_COUNT(types))
        return run_fail(r, FAULT_TYPE, RUN_TEXT(t->name),
                        ": see doc/sql.md for those that there are");
    if (t->has_length && !types[i].length)
        return run_fail(r, FAULT_TYPE, RUN_TEXT(t->name), " with a length");
    if (t->is_unsigned && types[i].type != WR_BIGINT)
        return run_fail(r, FAULT_TYPE, RUN_TEXT(t->name), " that is UNSIGNED: only BIGINT is");
    *type = t->is_unsigned ? WR_UBIGINT : types[i].type;
    *length = 0;
    if (*type == WR_DECIMAL)
        return decimal_length(r, t, length);
    if (t->has_length && (!t->length || t->length > TEXT_LENGTH_MAX))
        return run_fail(r, FAULT_TYPE, RUN_TEXT(t->name), " of that length: from 1 to 2097152");
    if (*type == WR_CHAR || *type == WR_BINARY)
        *length = t->has_length ? t->length : 1;
    else
        *length = t->length;
    return 0;
}

/* ---- CREATE TABLE ---- */

static const struct column_definition *definition_find(const struct statement *s, bytes name)
{
    for (const struct column_definition *c = s->definitions; c; c = c->next)
        if (bytes_equal(c->name, name))
            return c;
    return NULL;
}

/* The key's columns, from PRIMARY KEY (...) or from the one column that says so. */
static int key_names(struct run *r, const struct statement *s, struct name_list *own,
                     const struct name_list **out)
{
    *out = s->key ? s->key->columns : own;
    for (const struct column_definition *c = s->definitions; c; c = c->next) {
        struct name_item *item;

        if (!c->key)
            continue;
        if ((*out)->count)
            return run_fail(r, FAULT_UNSUPPORTED, "The table has two primary keys");
        item = ARENA_NEW(r->arena, struct name_item);
        item->name = c->name;
        own->first = own->last = item;
        own->count = 1;
    }
    if (!(*out)->count)
        return run_fail(r, FAULT_UNSUPPORTED,
                        "A table needs a key: PRIMARY KEY (column, ...) behind its columns");
    return 0;
}

/* Keeps what the description has no place for. */
static int declare(struct run *r, const struct column_definition *c, enum wr_type type,
                   uint32_t length, struct declared *said)
{
    struct declared_column column;

    if (!length && !c->not_null && !c->default_value && !declared_find(said, c->name))
        return 0;
    RUN_TRY(default_declare(r, c, type, length, &column));
    declared_set(r, said, &column);
    return 0;
}

static int key_make(struct run *r, const struct statement *s, const struct name_list *names,
                    struct wr_create_table *out, struct declared *said)
{
    struct wr_key_schema *key = ARENA_ARRAY(r->arena, struct wr_key_schema, names->count);

    for (const struct name_item *n = names->first; n; n = n->next) {
        const struct column_definition *c = definition_find(s, n->name);
        struct wr_key_schema *k = &key[out->key_count++];

        if (!c)
            return run_fail(r, FAULT_UNKNOWN_COLUMN, RUN_TEXT(n->name),
                            RUN_TEXT(BYTES_LIT("PRIMARY KEY")));
        *k = (struct wr_key_schema){.name = n->name, .descending = n->descending};
        if (c->default_value)
            return run_fail(r, FAULT_DEFAULT, RUN_TEXT(c->name));
        RUN_TRY(type_find(r, &c->type, &k->type, &k->length));
        if (k->type == WR_VARCHAR || k->type == WR_VARBINARY) {
            RUN_TRY(declare(r, c, k->type, k->length, said));
            k->length = 0;
        }
    }
    out->key = key;
    return 0;
}

static bool is_key(const struct wr_create_table *t, bytes name)
{
    for (size_t i = 0; i < t->key_count; i++)
        if (bytes_equal(t->key[i].name, name))
            return true;
    return false;
}

static int columns_make(struct run *r, const struct statement *s, struct wr_create_table *out,
                        struct declared *said)
{
    struct wr_defined_column *defined;
    size_t n = 0;
    uint32_t length;

    for (const struct column_definition *c = s->definitions; c; c = c->next, n++)
        for (const struct column_definition *other = s->definitions; other != c;
             other = other->next)
            if (bytes_equal(c->name, other->name))
                return run_fail(r, FAULT_COLUMN_EXISTS, RUN_TEXT(c->name));
    defined = ARENA_ARRAY(r->arena, struct wr_defined_column, n + 1);
    for (const struct column_definition *c = s->definitions; c; c = c->next) {
        if (is_key(out, c->name))
            continue;
        defined[out->defined_count].name = c->name;
        RUN_TRY(type_find(r, &c->type, &defined[out->defined_count].type, &length));
        RUN_TRY(declare(r, c, defined[out->defined_count++].type, length, said));
    }
    out->defined = defined;
    return 0;
}

static int option_number(struct run *r, const struct option *o, int64_t least, int64_t *out)
{
    if (number_integer(o->value, out) && *out >= least && *out <= INT32_MAX)
        return 0;
    return run_fail(r, FAULT_UNSUPPORTED,
                    arena_printf(r->arena, "%.*s takes a whole number from %lld on, not '%.*s'",
                                 RUN_TEXT(o->name), (long long)least, RUN_TEXT(o->value))
                        .ptr);
}

/* TTL and VERSIONS; the others are declared_options(). */
static int options_read(struct run *r, const struct option_list *list, struct wr_table_options *out)
{
    int64_t v;

    for (const struct option *o = list ? list->first : NULL; o; o = o->next) {
        if (run_is_word(o->name, "TTL")) {
            v = -1; /* '' clears it */
            if (o->value.len)
                RUN_TRY(option_number(r, o, -1, &v));
            out->ttl_s = (int32_t)v;
            out->given |= WR_HAS_TTL;
        } else if (run_is_word(o->name, "VERSIONS")) {
            RUN_TRY(option_number(r, o, 1, &v));
            out->max_versions = (int32_t)v;
            out->given |= WR_HAS_MAX_VERSIONS;
        }
    }
    return 0;
}

/* LAYOUT = 'hash:16', of layouts as `widerow create --layout` has them; ptr NULL: not given. */
static bytes layout_option(const struct option_list *list)
{
    for (const struct option *o = list ? list->first : NULL; o; o = o->next)
        if (run_is_word(o->name, "LAYOUT"))
            return o->value;
    return BYTES_NONE;
}

/* TRANSACTIONS = 'true'; `otherwise`: it is not given. */
static bool transactions_option(const struct option_list *list, bool otherwise)
{
    for (const struct option *o = list ? list->first : NULL; o; o = o->next)
        if (run_is_word(o->name, "TRANSACTIONS"))
            otherwise = run_is_word(o->value, "true");
    return otherwise;
}

/* Lindorm puts a hash of some key columns in front of the key, so that neighbours spread. Here a
 * layout does that: all of its sizes mean as many buckets, over which ranges are merged. */
static int layout_of_hash(struct run *r, const struct key_definition *key, bytes *out)
{
    size_t count;

    RUN_TRY(index_hashed(r, key, &count));
    *out = count == 1 ? BYTES_LIT("hash:" HASH_BUCKETS)
                      : arena_printf(r->arena, "splice:%zu+hash:" HASH_BUCKETS, count);
    return 0;
}

static int layout_make(struct run *r, const struct statement *s, struct wr_create_table *out)
{
    out->layout = layout_option(s->options);
    if (!s->key || !s->key->hashed)
        return 0;
    if (out->layout.ptr)
        return run_fail(r, FAULT_UNSUPPORTED, "A hashed key has a layout: leave LAYOUT out");
    return layout_of_hash(r, s->key, &out->layout);
}

static int indexes_make(struct run *r, const struct statement *s, struct wr_create_table *out)
{
    struct wr_index_meta *indexes;
    size_t n = 0;

    for (const struct index_definition *i = s->indexes; i; i = i->next)
        n++;
    indexes = ARENA_ARRAY(r->arena, struct wr_index_meta, n + 1);
    for (const struct index_definition *i = s->indexes; i; i = i->next)
        RUN_TRY(index_make(r, i,
                           &(struct index_of){out->table, out->key, out->key_count, out->defined,
                                              out->defined_count},
                           &indexes[out->index_count++]));
    out->indexes = indexes;
    out->scalar_index_keys = true;
    return 0;
}

static int create(struct run *r, const struct statement *s, struct wr_request *request)
{
    const struct wr_reply *reply = NULL;

    if (!run_request(r, request, &reply))
        return 0;
    if (!reply || reply->code != WR_E_EXIST)
        return -1;
    r->out->fault.number = 0;
    return s->if_exists ? 0 : run_fail(r, FAULT_TABLE_EXISTS, RUN_TEXT(s->table.table));
}

/* The same columns, options and key layout; indexes have names of their own and stay behind. */
int run_create_table_like(struct run *r, const struct statement *s)
{
    struct wr_request request = {WR_REQUEST(CREATE_TABLE)};
    const struct wr_table_description *d;
    struct sql_table *like;

    RUN_TRY(table_database(r, &s->table, &request.instance));
    RUN_TRY(table_find(r, &s->like, &like));
    d = like->description;
    request.create_table = (struct wr_create_table){.table = s->table.table,
                                                    .key = d->key,
                                                    .key_count = d->key_count,
                                                    .defined = d->defined,
                                                    .defined_count = d->defined_count,
                                                    .options = d->options,
                                                    .local_transactions = d->local_transactions,
                                                    .scalar_index_keys = true,
                                                    .layout = d->layout,
                                                    .annotation = d->annotation};
    return create(r, s, &request);
}

int run_create_table(struct run *r, const struct statement *s)
{
    struct wr_request request = {WR_REQUEST(CREATE_TABLE)};
    struct wr_create_table *t = &request.create_table;
    struct name_list own = {0};
    const struct name_list *names = &own;
    struct declared said = {0};
    struct statement kept;

    *t = (struct wr_create_table){
        .table = s->table.table,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS | WR_HAS_DEVIATION,
                    .ttl_s = -1,
                    .max_versions = 1,
                    .deviation_s = DEVIATION_S_MAX}};
    RUN_TRY(table_database(r, &s->table, &request.instance));
    table_options_pass(r, s, &kept);
    s = &kept;
    RUN_TRY(key_names(r, s, &own, &names));
    RUN_TRY(key_make(r, s, names, t, &said));
    RUN_TRY(columns_make(r, s, t, &said));
    RUN_TRY(options_read(r, s->options, &t->options));
    RUN_TRY(declared_options(r, s->options, &said));
    t->annotation = declared_annotation(r, BYTES_LIT(""), &said);
    t->local_transactions = transactions_option(s->options, false);
    RUN_TRY(layout_make(r, s, t));
    RUN_TRY(indexes_make(r, s, t));
    return create(r, s, &request);
}

int run_drop_table(struct run *r, const struct statement *s)
{
    struct wr_request request = {WR_REQUEST(DELETE_TABLE), .delete_table = {s->table.table}};
    const struct wr_reply *reply = NULL;

    RUN_TRY(table_database(r, &s->table, &request.instance));
    if (!run_request(r, &request, &reply))
        return 0;
    if (!reply || reply->code != WR_E_NOT_EXIST)
        return -1;
    r->out->fault.number = 0;
    return s->if_exists ? 0
                        : run_fail(r, FAULT_UNKNOWN_TABLE, RUN_TEXT(request.instance),
                                   RUN_TEXT(s->table.table));
}

/* ---- TRUNCATE ---- */

/* What CREATE TABLE takes of a description. */
static void create_again(struct run *r, const struct wr_table_description *d,
                         struct wr_request *out)
{
    struct wr_index_meta *indexes = ARENA_ARRAY(r->arena, struct wr_index_meta, d->index_count + 1);

    for (size_t i = 0; i < d->index_count; i++) {
        indexes[i] = d->indexes[i];
        indexes[i].sync_phase = 0;
        indexes[i].partial = false;
    }
    *out = (struct wr_request){WR_REQUEST(CREATE_TABLE)};
    out->create_table = (struct wr_create_table){.table = d->table,
                                                 .key = d->key,
                                                 .key_count = d->key_count,
                                                 .defined = d->defined,
                                                 .defined_count = d->defined_count,
                                                 .options = d->options,
                                                 .reserved = d->reserved,
                                                 .sse = d->sse,
                                                 .indexes = indexes,
                                                 .index_count = d->index_count,
                                                 .local_transactions = d->local_transactions,
                                                 .scalar_index_keys = true,
                                                 .layout = d->layout,
                                                 .annotation = d->annotation};
}

/* Tables may be made so many times a second, and this one was dropped already: it is asked for as
 * long as the statement has time. */
static int create_patiently(struct run *r, struct wr_request *request, const struct sql_table *t)
{
    const struct wr_reply *reply;

    for (;;) {
        reply = NULL;
        if (!run_request(r, request, &reply))
            return 0;
        if (!reply || !(reply->code == WR_E_TOO_FREQUENT || reply->code == WR_E_NOT_READY ||
                        reply->code == WR_E_BUSY))
            break;
        r->out->fault.number = 0;
        RUN_TRY(run_interrupted(r));
        usleep(RETRY_EVERY_US);
    }
    r->out->fault.number = 0;
    return run_fail(r, FAULT_UNSUPPORTED,
                    arena_printf(r->arena,
                                 "The rows are gone and so is the table, which could not be made "
                                 "again (%s): make it with %.*s",
                                 reply ? reply->message : "no answer",
                                 RUN_TEXT(show_create_text(r, t)))
                        .ptr);
}

/* The table is dropped and made again with all that it was. */
int run_truncate(struct run *r, const struct statement *s)
{
    struct wr_request drop = {WR_REQUEST(DELETE_TABLE), .delete_table = {s->table.table}}, again;
    const struct wr_table_description *d;
    const struct wr_reply *reply;
    struct sql_table *t;

    RUN_TRY(table_find(r, &s->table, &t));
    d = t->description;
    if (d->stream.enable)
        return run_fail(r, FAULT_UNSUPPORTED,
                        "The table has a stream, whose records would go, too: switch it off first");
    drop.instance = t->database;
    create_again(r, d, &again);
    again.instance = t->database;
    RUN_TRY(run_allowed(r, &again));
    RUN_TRY(run_request(r, &drop, &reply));
    return create_patiently(r, &again, t);
}

/* ---- ALTER TABLE ---- */

/* Says it in the table's annotation, if the table still is as it was seen. */
static int said_store(struct run *r, const struct sql_table *t, const struct declared *said,
                      struct wr_update_table *out)
{
    out->table = t->name;
    out->annotation = declared_annotation(r, t->description->annotation, said);
    out->annotation_was = arena_copy(r->arena, t->description->annotation);
    return bytes_equal(out->annotation, out->annotation_was);
}

/* What is said of the columns comes first: of one that is not there it counts for nothing. */
static int alter_add(struct run *r, const struct statement *s, const struct sql_table *t)
{
    struct wr_request add = {WR_REQUEST(ADD_DEFINED_COLUMN), .instance = t->database};
    struct wr_request say = {WR_REQUEST(UPDATE_TABLE), .instance = t->database};
    struct wr_create_table made = {.key_count = 0};
    struct declared said = t->declared;
    const struct wr_reply *reply;

    for (const struct column_definition *c = s->definitions; c; c = c->next)
        if (table_column(t, c->name) != SIZE_MAX)
            return run_fail(r, FAULT_COLUMN_EXISTS, RUN_TEXT(c->name));
    RUN_TRY(columns_make(r, s, &made, &said));
    if (!said_store(r, t, &said, &say.update_table))
        RUN_TRY(run_request(r, &say, &reply));
    add.add_defined_column =
        (struct wr_defined_columns){s->table.table, made.defined, made.defined_count};
    return run_request(r, &add, &reply);
}

static int alter_drop(struct run *r, const struct statement *s, const struct sql_table *t)
{
    struct wr_request request = {WR_REQUEST(DELETE_DEFINED_COLUMN), .instance = t->database};
    struct wr_defined_column *column = ARENA_NEW(r->arena, struct wr_defined_column);
    size_t place = table_column(t, s->name);
    const struct wr_reply *reply;

    if (place == SIZE_MAX)
        return s->if_exists ? 0
                            : run_fail(r, FAULT_NO_COLUMN, RUN_TEXT(s->name), RUN_TEXT(t->name));
    column->name = s->name;
    request.delete_defined_column = (struct wr_defined_columns){s->table.table, column, 1};
    return run_request(r, &request, &reply);
}

static int alter_set(struct run *r, const struct statement *s, const struct sql_table *t)
{
    struct wr_request request = {WR_REQUEST(UPDATE_TABLE), .instance = t->database};
    struct wr_update_table *update = &request.update_table;
    struct declared said = t->declared;
    const struct wr_reply *reply;

    if (layout_option(s->options).ptr)
        return run_fail(r, FAULT_UNSUPPORTED,
                        "The layout of a table that is there is changed by `widerow rekey`");
    RUN_TRY(declared_options(r, s->options, &said));
    if (transactions_option(s->options, t->description->local_transactions) !=
        t->description->local_transactions)
        return run_fail(r, FAULT_UNSUPPORTED,
                        "Whether a table has transactions is said when it is made: make another "
                        "one WITH (TRANSACTIONS = ...), and copy the rows");
    RUN_TRY(options_read(r, s->options, &update->options));
    update->has_options = update->options.given;
    if (said_store(r, t, &said, update))
        update->annotation = update->annotation_was = BYTES_NONE;
    return update->has_options || update->annotation.ptr ? run_request(r, &request, &reply) : 0;
}

int run_alter_table(struct run *r, const struct statement *s)
{
    struct sql_table *t;

    RUN_TRY(table_find(r, &s->table, &t));
    switch (s->alter) {
    case ALTER_ADD_COLUMN:
        return alter_add(r, s, t);
    case ALTER_DROP_COLUMN:
        return alter_drop(r, s, t);
    case ALTER_SET:
        return alter_set(r, s, t);
    default:
        return 0; /* COMPACT, FLUSH: the database does that by itself */
    }
}
