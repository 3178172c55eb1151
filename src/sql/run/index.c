#include "sql/run/index.h"

#include "base/buf.h"
#include "sql/run/table.h"
#include "sql/run/texts.h"

#include <unistd.h>

#define LOOK_EVERY_US 50000 /* while SYNC waits for an index to be built */

/* ---- definitions ---- */

static bytes *names_copy(struct run *r, const struct name_list *l, size_t *count)
{
    bytes *out = ARENA_ARRAY(r->arena, bytes, l ? l->count + 1 : 1);

    for (const struct name_item *n = l ? l->first : NULL; n; n = n->next)
        out[(*count)++] = n->name;
    return out;
}

/* table_column_column, for an index without a name. */
static bytes name_make(struct run *r, bytes table, const struct wr_index_meta *ix)
{
    struct buf b;

    buf_init(&b, r->arena, 64);
    buf_put_bytes(&b, table);
    for (size_t i = 0; i < ix->key_column_count; i++) {
        buf_put_u8(&b, '_');
        buf_put_bytes(&b, ix->key_columns[i]);
    }
    return buf_bytes(&b);
}

static int check_served(struct run *r, const struct index_definition *i)
{
    if (i->kind.ptr && !run_is_word(i->kind, "KV"))
        return run_fail(r, FAULT_UNSUPPORTED,
                        "Indexes are USING KV; search and columnar ones are not served");
    return 0;
}

static bool index_has(const struct wr_index_meta *ix, bytes name)
{
    for (size_t i = 0; i < ix->key_column_count; i++)
        if (bytes_equal(ix->key_columns[i], name))
            return true;
    return false;
}

/* WITH (INDEX_COVERED_TYPE = 'COVERED_ALL_COLUMNS_IN_SCHEMA'). */
static int include_all(struct run *r, const struct index_definition *i,
                       const struct wr_defined_column *columns, size_t count,
                       struct wr_index_meta *out)
{
    const struct option *o = i->options ? i->options->first : NULL;
    bytes *names;

    while (o && !run_is_word(o->name, "INDEX_COVERED_TYPE"))
        o = o->next;
    if (!o)
        return 0;
    if (i->include || !run_is_word(o->value, "COVERED_ALL_COLUMNS_IN_SCHEMA"))
        return run_fail(
            r, FAULT_UNSUPPORTED,
            "INDEX_COVERED_TYPE is COVERED_ALL_COLUMNS_IN_SCHEMA here, without INCLUDE");
    names = ARENA_ARRAY(r->arena, bytes, count + 1);
    for (size_t c = 0; c < count; c++)
        if (!index_has(out, columns[c].name))
            names[out->defined_column_count++] = columns[c].name;
    out->defined_columns = names;
    return 0;
}

int index_hashed(struct run *r, const struct key_definition *key, size_t *count)
{
    const struct name_item *column = key->columns->first;

    *count = 0;
    if (!key->hashed)
        return 0;
    if (!run_is_word(key->hash, "hash8") && !run_is_word(key->hash, "hash32") &&
        !run_is_word(key->hash, "hash64"))
        return run_fail(r, FAULT_UNSUPPORTED, "A key begins with hash8, hash32 or hash64");
    for (const struct name_item *n = key->hashed->first; n; n = n->next) {
        if (!column || !bytes_equal(n->name, column->name))
            return run_fail(r, FAULT_UNSUPPORTED,
                            "The hashed columns are the first ones of the key, in its order: "
                            "(hash32(a), a, b)");
        column = column->next;
    }
    *count = key->hashed->count;
    return 0;
}

/* A key column of the table that is said to ascend does so in the index, too, however the table has
 * it. */
static bool is_reversed(const struct index_of *of, const struct name_item *n)
{
    for (size_t i = 0; i < of->key_count; i++)
        if (bytes_equal(of->key[i].name, n->name))
            return of->key[i].descending != n->descending;
    return n->descending;
}

static int order_make(struct run *r, const struct index_definition *i, const struct index_of *of,
                      struct wr_index_meta *out)
{
    size_t at = 0, hashed;

    RUN_TRY(index_hashed(r, i->key, &hashed));
    if (i->key->columns->count > WR_KEY_COLUMNS_MAX)
        return run_fail(r, FAULT_UNSUPPORTED, "An index has more key columns than a key can have");
    out->hashed = (uint8_t)hashed;
    for (const struct name_item *n = i->key->columns->first; n; n = n->next, at++)
        out->descending = (uint16_t)(out->descending | is_reversed(of, n) << at);
    return 0;
}

static int check_types(struct run *r, const struct index_of *of, const struct wr_index_meta *out)
{
    for (size_t c = 0; c < of->column_count; c++)
        if (of->columns[c].type == WR_JSON && index_has(out, of->columns[c].name))
            return run_fail(
                r, FAULT_UNSUPPORTED,
                arena_printf(r->arena,
                             "Column '%.*s' of index '%.*s' is JSON, which no key can have: keep "
                             "what rows are found by in a column of another type",
                             RUN_TEXT(of->columns[c].name), RUN_TEXT(out->name))
                    .ptr);
    return 0;
}

int index_make(struct run *r, const struct index_definition *i, const struct index_of *of,
               struct wr_index_meta *out)
{
    RUN_TRY(check_served(r, i));
    *out = (struct wr_index_meta){.name = i->name};
    out->key_columns = names_copy(r, i->key->columns, &out->key_column_count);
    out->defined_columns = names_copy(r, i->include, &out->defined_column_count);
    if (!out->name.ptr)
        out->name = name_make(r, of->table, out);
    RUN_TRY(check_types(r, of, out));
    RUN_TRY(order_make(r, i, of, out));
    return include_all(r, i, of->columns, of->column_count, out);
}

bool index_descends(const struct wr_table_description *d, const struct wr_index_meta *ix, size_t i)
{
    bool descends = ix->descending >> i & 1;

    for (size_t k = 0; k < d->key_count; k++)
        if (bytes_equal(d->key[k].name, ix->key_columns[i]))
            return d->key[k].descending != descends;
    return descends;
}

/* ---- CREATE, DROP, ALTER ---- */

static const struct wr_index_meta *index_of(const struct sql_table *t, bytes name)
{
    for (size_t i = 0; i < t->description->index_count; i++)
        if (bytes_equal(t->description->indexes[i].name, name))
            return &t->description->indexes[i];
    return NULL;
}

/* The statement's time ends the waiting, not the build. */
static int await_build(struct run *r, const struct statement *s, bytes index)
{
    for (;;) {
        const struct wr_index_meta *ix;
        struct sql_table *t;

        RUN_TRY(table_find(r, &s->table, &t));
        ix = index_of(t, index);
        if (!ix || ix->sync_phase != 1)
            return 0;
        if (clock_mono_ms(r->session->conf.clock) > r->deadline_ms)
            return run_fail(r, FAULT_TIME, "the index is still being built: SHOW INDEX tells");
        RUN_TRY(run_interrupted(r));
        usleep(LOOK_EVERY_US);
    }
}

/* Statements write single columns, so a row may expire by parts, which no entry could follow. */
static int check_lasting(struct run *r, const struct sql_table *t)
{
    const struct wr_table_options *o = &t->description->options;
    bool may_update = !(o->given & WR_HAS_ALLOW_UPDATE) || o->allow_update;

    if (o->ttl_s == -1 || !may_update || o->update_full_row)
        return 0;
    return run_fail(r, FAULT_UNSUPPORTED,
                    "A table has a TTL or indexes, not both: ALTER TABLE … SET TTL = '' takes the "
                    "TTL away");
}

int run_create_index(struct run *r, const struct statement *s)
{
    struct wr_request request = {WR_REQUEST(CREATE_INDEX)};
    struct wr_create_index *create = &request.create_index;
    const struct wr_reply *reply = NULL;
    struct sql_table *t;

    RUN_TRY(table_find(r, &s->table, &t));
    RUN_TRY(check_lasting(r, t));
    *create = (struct wr_create_index){
        .table = t->name, .include_base_data = true, .scalar_index_keys = true};
    RUN_TRY(index_make(r, s->indexes,
                       &(struct index_of){t->name, t->description->key, t->description->key_count,
                                          t->description->defined, t->description->defined_count},
                       &create->index));
    if (index_of(t, create->index.name))
        return s->if_exists ? 0 : run_fail(r, FAULT_INDEX_EXISTS, RUN_TEXT(create->index.name));
    request.instance = t->database;
    if (run_request(r, &request, &reply)) {
        if (reply && reply->code == WR_E_EXIST) {
            r->out->fault.number = 0;
            run_fail(r, FAULT_INDEX_EXISTS, RUN_TEXT(create->index.name));
        }
        return -1;
    }
    return s->indexes->synchronous ? await_build(r, s, create->index.name) : 0;
}

int run_drop_index(struct run *r, const struct statement *s)
{
    struct wr_request request = {WR_REQUEST(DROP_INDEX)};
    const struct wr_reply *reply;
    struct sql_table *t;

    RUN_TRY(table_find(r, &s->table, &t));
    if (!index_of(t, s->name))
        return s->if_exists ? 0 : run_fail(r, FAULT_NO_INDEX, RUN_TEXT(s->name), RUN_TEXT(t->name));
    request.instance = t->database;
    request.drop_index = (struct wr_drop_index){t->name, s->name};
    return run_request(r, &request, &reply);
}

/* An index is kept with each write of its table, so it is active as soon as it is built. */
int run_alter_index(struct run *r, const struct statement *s)
{
    struct sql_table *t;

    RUN_TRY(table_find(r, &s->table, &t));
    if (!index_of(t, s->name))
        return s->if_exists ? 0 : run_fail(r, FAULT_NO_INDEX, RUN_TEXT(s->name), RUN_TEXT(t->name));
    if (run_is_word(s->pattern, "ACTIVE"))
        return 0;
    return run_fail(r, FAULT_UNSUPPORTED,
                    "An index is kept with each write and is ACTIVE once it is built: DROP INDEX "
                    "and CREATE INDEX build it anew, the hint _l_ignore_index_ passes it over");
}

/* ---- SHOW INDEX ---- */

static bytes names_join(struct run *r, const bytes *names, size_t count)
{
    struct buf b;

    buf_init(&b, r->arena, 64);
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_put_u8(&b, ',');
        buf_put_bytes(&b, names[i]);
    }
    return b.len ? buf_bytes(&b) : BYTES_LIT("");
}

/* As CREATE INDEX takes it. */
static bytes key_text(struct run *r, const struct wr_table_description *d,
                      const struct wr_index_meta *ix)
{
    struct buf b;

    buf_init(&b, r->arena, 64);
    if (ix->hashed)
        buf_put_bytes(&b, arena_printf(r->arena, "hash32(%.*s),",
                                       RUN_TEXT(names_join(r, ix->key_columns, ix->hashed))));
    for (size_t i = 0; i < ix->key_column_count; i++) {
        buf_put_bytes(&b, i ? BYTES_LIT(",") : BYTES_LIT(""));
        buf_put_bytes(&b, ix->key_columns[i]);
        buf_put_bytes(&b, index_descends(d, ix, i) ? BYTES_LIT(" DESC") : BYTES_LIT(""));
    }
    return buf_bytes(&b);
}

int run_show_index(struct run *r, const struct statement *s)
{
    struct sql_table *t;

    RUN_TRY(table_find(r, &s->table, &t));
    RUN_TRY(
        texts_columns(r, (const char *[]){"TABLE_SCHEMA", "DATA_TABLE", "INDEX_NAME", "INDEX_STATE",
                                          "INDEX_PROGRESS", "INDEX_TYPE", "INDEX_COVERED",
                                          "INDEX_COLUMN", "INDEX_TTL", "INDEX_DESCRIPTION", NULL}));
    for (size_t i = 0; i < t->description->index_count; i++) {
        const struct wr_index_meta *ix = &t->description->indexes[i];
        size_t beside = ix->defined_column_count;
        bytes texts[] = {
            t->database,
            t->name,
            ix->name,
            bytes_str(ix->sync_phase == 1 ? "BUILDING" : "ACTIVE"),
            bytes_str(ix->sync_phase == 1 ? "EXECUTING" : "DONE"),
            BYTES_LIT("SECONDARY"),
            bytes_str(beside ? "TRUE" : "FALSE"),
            key_text(r, t->description, ix),
            arena_printf(r->arena, "%d", t->description->options.ttl_s),
            beside ? arena_printf(r->arena, "INCLUDE (%.*s)",
                                  RUN_TEXT(names_join(r, ix->defined_columns, beside)))
                   : BYTES_LIT(""),
        };

        RUN_TRY(texts_row(r, texts, PORT_COUNT(texts)));
    }
    return 0;
}
