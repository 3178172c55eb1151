/* oracle_table.c: the oracle's tables (doc/data-model.md, "Tables", as far as the model goes). */
#include "oracle_part.h"

struct oracle_table *oracle_find(struct oracle *o, bytes name)
{
    if (o->inside && bytes_equal(o->inside->view.name, name))
        return &o->inside->view;
    for (struct oracle_table *t = o->tables; t; t = t->next)
        if (bytes_equal(t->name, name))
            return t;
    return NULL;
}

static void table_free(struct oracle_table *t)
{
    while (t->indexes)
        oracle_index_remove(t, t->indexes->meta.name);
    while (t->row_count)
        oracle_row_free(t, t->rows[--t->row_count]);
    while (t->issued) {
        struct oracle_issued *i = t->issued;

        t->issued = i->next;
        oracle_value_drop(&i->partition);
        mem_free(i->given);
        mem_free(i);
    }
    mem_free(t->rows);
    arena_release(&t->arena);
    mem_free(t);
}

static struct oracle_table *table_new(const struct wr_create_table *r)
{
    struct oracle_table *t = mem_zalloc(sizeof(*t));

    arena_init(&t->arena, NULL, 0);
    t->name = arena_copy(&t->arena, r->table);
    t->key_count = r->key_count;
    t->auto_column = -1;
    t->transactions = r->local_transactions;
    t->issued = mem_zalloc(sizeof(*t->issued));
    for (size_t i = 0; i < r->key_count; i++) {
        t->key[i] = r->key[i];
        t->key[i].name = arena_copy(&t->arena, r->key[i].name);
        if (r->key[i].auto_increment)
            t->auto_column = (int)i;
    }
    t->options = (struct wr_table_options){.ttl_s = r->options.ttl_s,
                                           .max_versions = r->options.max_versions,
                                           .deviation_s = 86400,
                                           .allow_update = true};
    if (r->options.given & WR_HAS_DEVIATION)
        t->options.deviation_s = r->options.deviation_s;
    if (r->options.given & WR_HAS_ALLOW_UPDATE)
        t->options.allow_update = r->options.allow_update;
    t->defined = ARENA_ARRAY(&t->arena, struct wr_defined_column, r->defined_count + 1);
    t->defined_count = r->defined_count;
    for (size_t i = 0; i < r->defined_count; i++)
        ((struct wr_defined_column *)(uintptr_t)t->defined)[i] = r->defined[i];
    return t;
}

static int check_options(const struct oracle *o, const struct wr_table_options *p)
{
    if ((p->given & WR_HAS_TTL) && p->ttl_s != -1 && p->ttl_s < o->limits.ttl_seconds_min)
        return WR_E_PARAMETER;
    if ((p->given & WR_HAS_MAX_VERSIONS) && p->max_versions <= 0)
        return WR_E_PARAMETER;
    if ((p->given & WR_HAS_DEVIATION) &&
        (p->deviation_s < 0 || p->deviation_s > INT64_MAX / 1000000))
        return WR_E_PARAMETER;
    return WR_OK;
}

static int check_create(struct oracle *o, const struct wr_create_table *r)
{
    if (oracle_check_table_name(r->table) || r->key_count < 1 || r->key_count > ORACLE_KEY_MAX)
        return WR_E_PARAMETER;
    if (!(r->options.given & WR_HAS_TTL) || !(r->options.given & WR_HAS_MAX_VERSIONS))
        return WR_E_PARAMETER;
    if (check_options(o, &r->options))
        return WR_E_PARAMETER;
    for (size_t i = 0; i < r->key_count; i++) {
        enum wr_type type = r->key[i].type;

        if (oracle_check_column_name(r->key[i].name))
            return WR_E_PARAMETER;
        if (type != WR_BIGINT && type != WR_VARCHAR && type != WR_VARBINARY)
            return WR_E_PARAMETER;
        for (size_t k = 0; k < i; k++)
            if (bytes_equal(r->key[i].name, r->key[k].name))
                return WR_E_PARAMETER;
        if (r->key[i].auto_increment && (i == 0 || type != WR_BIGINT))
            return WR_E_PARAMETER;
    }
    return oracle_find_any(o, r->table) ? WR_E_EXIST : WR_OK;
}

/* With its indexes, or not at all. */
static int table_create(struct oracle *o, const struct wr_create_table *r)
{
    int code = check_create(o, r);
    struct oracle_table *t;

    /* Rules come before whether the names are taken. */
    if (code == WR_E_PARAMETER)
        return code;
    t = table_new(r);
    for (size_t i = 0; i < r->index_count; i++) {
        int one = oracle_index_add(o, t, &r->indexes[i], r->scalar_index_keys);

        if (one == WR_E_PARAMETER || !code)
            code = one;
    }
    if (code) {
        table_free(t);
        return code;
    }
    t->spreads = o->parts_values && bytes_starts(r->layout, BYTES_LIT("random"));
    t->next = o->tables;
    o->tables = t;
    return WR_OK;
}

static void describe(const struct oracle_table *t, struct wr_table_description *d)
{
    d->table = t->name;
    d->key = t->key;
    d->key_count = t->key_count;
    d->options = t->options;
    d->status = WR_TABLE_ACTIVE;
}

/* Options change; what they hide goes for good, since the generator never asks for it back. */
static int update(struct oracle *o, const struct wr_update_table *u, struct wr_reply *expected)
{
    struct oracle_table *t;
    int code = oracle_check_table_name(u->table);

    if (code || !u->has_options || !u->options.given || check_options(o, &u->options))
        return WR_E_PARAMETER;
    t = oracle_find(o, u->table);
    if (!t)
        return WR_E_NOT_EXIST;
    if (t->index_count &&
        oracle_check_index_options(&(struct wr_table_options){
            .ttl_s = u->options.given & WR_HAS_TTL ? u->options.ttl_s : t->options.ttl_s,
            .max_versions = u->options.given & WR_HAS_MAX_VERSIONS ? u->options.max_versions
                                                                   : t->options.max_versions,
            .allow_update = u->options.given & WR_HAS_ALLOW_UPDATE ? u->options.allow_update
                                                                   : t->options.allow_update}))
        return WR_E_PARAMETER;
    t->alterations++;
    if (u->options.given & WR_HAS_TTL)
        t->options.ttl_s = u->options.ttl_s;
    if (u->options.given & WR_HAS_MAX_VERSIONS)
        t->options.max_versions = u->options.max_versions;
    if (u->options.given & WR_HAS_DEVIATION)
        t->options.deviation_s = u->options.deviation_s;
    if (u->options.given & WR_HAS_ALLOW_UPDATE)
        t->options.allow_update = u->options.allow_update;
    for (size_t i = t->row_count; i-- > 0;)
        if (!oracle_row_trim(t, t->rows[i], o->now_ms)) {
            oracle_row_remove(t, t->rows[i]->key);
            t->ghosts = true;
        }
    describe(t, &expected->description);
    return WR_OK;
}

static int drop(struct oracle *o, bytes name)
{
    if (oracle_check_table_name(name))
        return WR_E_PARAMETER;
    for (struct oracle_table **p = &o->tables; *p; p = &(*p)->next)
        if (bytes_equal((*p)->name, name)) {
            struct oracle_table *t = *p;

            *p = t->next;
            oracle_txns_end(o, t);
            table_free(t);
            return WR_OK;
        }
    return WR_E_NOT_EXIST;
}

static void insert_name(bytes *names, size_t i, bytes name)
{
    for (; i > 0 && bytes_compare(names[i - 1], name) > 0; i--)
        names[i] = names[i - 1];
    names[i] = name;
}

static void list(struct oracle *o, struct arena *a, struct wr_table_list *out)
{
    bytes *names;
    size_t n = 0;

    for (struct oracle_table *t = o->tables; t; t = t->next)
        n += 1 + t->index_count;
    names = ARENA_ARRAY(a, bytes, n + 1);
    n = 0;
    for (struct oracle_table *t = o->tables; t; t = t->next) {
        insert_name(names, n++, t->name);
        for (struct oracle_index *x = t->indexes; x; x = x->next)
            insert_name(names, n++, x->meta.name);
    }
    *out = (struct wr_table_list){names, n};
}

/* Whether the table itself has the name comes before all rules; who else has it, behind them. */
static int create_index(struct oracle *o, const struct wr_create_index *r)
{
    struct oracle_table *t = oracle_find(o, r->table);

    if (!t)
        return WR_E_NOT_EXIST;
    if (bytes_equal(r->index.name, t->name))
        return WR_E_EXIST;
    for (const struct oracle_index *x = t->indexes; x; x = x->next)
        if (bytes_equal(r->index.name, x->meta.name))
            return WR_E_EXIST;
    return oracle_index_add(o, t, &r->index, r->scalar_index_keys);
}

void oracle_table_op(struct oracle *o, const struct wr_request *req, struct arena *a,
                     struct wr_reply *expected)
{
    struct oracle_table *t;

    switch (req->op) {
    case WR_OP_CREATE_TABLE:
        expected->code = table_create(o, &req->create_table);
        return;
    case WR_OP_DELETE_TABLE:
        expected->code = drop(o, req->delete_table.table);
        return;
    case WR_OP_UPDATE_TABLE:
        expected->code = update(o, &req->update_table, expected);
        return;
    case WR_OP_CREATE_INDEX:
        expected->code = create_index(o, &req->create_index);
        return;
    case WR_OP_DROP_INDEX:
        t = oracle_find(o, req->drop_index.table);
        expected->code = t ? oracle_index_remove(t, req->drop_index.index) : WR_E_NOT_EXIST;
        return;
    case WR_OP_DESCRIBE_TABLE:
        t = oracle_find_any(o, req->describe_table.table);
        expected->code = oracle_check_table_name(req->describe_table.table);
        if (!expected->code)
            expected->code = t ? WR_OK : WR_E_NOT_EXIST;
        if (!expected->code)
            describe(t, &expected->description);
        return;
    default:
        list(o, a, &expected->table_list);
        return;
    }
}

struct oracle *oracle_new(const struct limits *limits, bytes instance)
{
    struct oracle *o = mem_zalloc(sizeof(*o));

    o->limits = *limits;
    o->instance = instance;
    return o;
}

void oracle_free(struct oracle *o)
{
    oracle_txns_end(o, NULL);
    mem_free(o->orphans);
    while (o->tables) {
        struct oracle_table *t = o->tables;

        o->tables = t->next;
        table_free(t);
    }
    mem_free(o);
}
