/* oracle_index.c: secondary indexes of the oracle (doc/data-model.md, "Indexes"). Nothing
 * keeps them: an index is worked out from its table's rows whenever it is read. */
#include "oracle_part.h"

#define KEY_BYTES_MAX 1024
#define INDEXES_MAX 5

/* ---- columns ---- */

static const struct wr_key_schema *key_of(const struct oracle_table *t, bytes name)
{
    for (size_t i = 0; i < t->key_count; i++)
        if (bytes_equal(t->key[i].name, name))
            return &t->key[i];
    return NULL;
}

static const struct wr_defined_column *defined_of(const struct oracle_table *t, bytes name)
{
    for (size_t i = 0; i < t->defined_count; i++)
        if (bytes_equal(t->defined[i].name, name))
            return &t->defined[i];
    return NULL;
}

static bool lists(const bytes *names, size_t count, bytes name)
{
    for (size_t i = 0; i < count; i++)
        if (bytes_equal(names[i], name))
            return true;
    return false;
}

static bool key_has(const struct wr_index_meta *m, bytes name)
{
    return lists(m->key_columns, m->key_column_count, name);
}

static bool may_stand_in_key(const struct wr_value *v, enum wr_type type)
{
    return v->type == type && (!oracle_value_is_bytes(type) || v->bytes.len <= KEY_BYTES_MAX);
}

/* ---- legality ---- */

int oracle_check_index_options(const struct wr_table_options *o)
{
    return o->max_versions != 1 || (o->ttl_s != -1 && o->allow_update) ? WR_E_PARAMETER : WR_OK;
}

static bool may_lead(const struct oracle_table *t, const struct wr_index_meta *m)
{
    const struct wr_key_schema *key = key_of(t, m->key_columns[0]);

    if (key && key->auto_increment)
        return false;
    return m->type == 0 || bytes_equal(m->key_columns[0], t->key[0].name);
}

static int check_columns(const struct oracle *o, const struct oracle_table *t,
                         const struct wr_index_meta *m, bool scalar)
{
    if (m->key_column_count < 1 || m->key_column_count > (size_t)o->limits.key_columns_max)
        return WR_E_PARAMETER;
    for (size_t i = 0; i < m->key_column_count; i++) {
        const struct wr_defined_column *d = defined_of(t, m->key_columns[i]);

        if ((!d && !key_of(t, m->key_columns[i])) || lists(m->key_columns, i, m->key_columns[i]))
            return WR_E_PARAMETER;
        if (d && !scalar && d->type != WR_BIGINT && d->type != WR_VARCHAR &&
            d->type != WR_VARBINARY)
            return WR_E_PARAMETER;
    }
    for (size_t i = 0; i < m->defined_column_count; i++)
        if (!defined_of(t, m->defined_columns[i]) || key_has(m, m->defined_columns[i]) ||
            lists(m->defined_columns, i, m->defined_columns[i]))
            return WR_E_PARAMETER;
    return may_lead(t, m) ? WR_OK : WR_E_PARAMETER;
}

struct oracle_index *oracle_index_find(struct oracle *o, bytes name)
{
    for (struct oracle_table *t = o->tables; t; t = t->next)
        for (struct oracle_index *x = t->indexes; x; x = x->next)
            if (bytes_equal(x->meta.name, name))
                return x;
    return NULL;
}

bool oracle_is_index(struct oracle *o, bytes name)
{
    return oracle_index_find(o, name) != NULL;
}

static int check_index(struct oracle *o, const struct oracle_table *t,
                       const struct wr_index_meta *m, bool scalar)
{
    if (t->index_count == INDEXES_MAX || oracle_check_index_options(&t->options) ||
        oracle_check_table_name(m->name))
        return WR_E_PARAMETER;
    for (const struct oracle_index *x = t->indexes; x; x = x->next)
        if (bytes_equal(x->meta.name, m->name))
            return WR_E_PARAMETER;
    if (bytes_equal(t->name, m->name) || check_columns(o, t, m, scalar))
        return WR_E_PARAMETER;
    return oracle_find(o, m->name) || oracle_is_index(o, m->name) ? WR_E_EXIST : WR_OK;
}

int oracle_check_indexed(const struct oracle_table *t, const struct wr_row_change *change)
{
    for (size_t i = 0; i < change->row.cell_count; i++) {
        const struct wr_cell *c = &change->row.cells[i];
        const struct wr_defined_column *d = defined_of(t, c->name);

        if (!d || (c->op != WR_CELL_PUT && c->op != WR_CELL_INCREMENT))
            continue;
        for (const struct oracle_index *x = t->indexes; x; x = x->next) {
            bool covers = lists(x->meta.defined_columns, x->meta.defined_column_count, c->name);

            if ((key_has(&x->meta, c->name) && !may_stand_in_key(&c->value, d->type)) ||
                (covers && c->value.type != d->type))
                return WR_E_PARAMETER;
        }
    }
    return WR_OK;
}

int oracle_check_defined(const struct oracle_table *t, const struct wr_row_change *change)
{
    for (size_t i = 0; i < change->row.cell_count; i++) {
        const struct wr_cell *c = &change->row.cells[i];
        const struct wr_defined_column *d = defined_of(t, c->name);

        if (d && c->op == WR_CELL_PUT && c->value.type != d->type)
            return WR_E_PARAMETER;
    }
    return WR_OK;
}

/* ---- indexes come and go ---- */

static const bytes *copy_names(struct arena *a, const bytes *names, size_t count)
{
    bytes *out = ARENA_ARRAY(a, bytes, count + 1);

    for (size_t i = 0; i < count; i++)
        out[i] = arena_copy(a, names[i]);
    return out;
}

/* The given columns, and behind them those of the table's key that are not among them. */
static void complete_key(const struct oracle_table *t, struct oracle_index *x)
{
    struct oracle_table *v = &x->view;

    for (size_t i = 0; i < x->meta.key_column_count; i++) {
        const struct wr_defined_column *d = defined_of(t, x->meta.key_columns[i]);

        v->key[v->key_count++] = d ? (struct wr_key_schema){.name = d->name, .type = d->type}
                                   : *key_of(t, x->meta.key_columns[i]);
        v->key[v->key_count - 1].descending ^= x->meta.descending >> i & 1;
    }
    for (size_t i = 0; i < t->key_count; i++)
        if (!key_has(&x->meta, t->key[i].name))
            v->key[v->key_count++] = t->key[i];
    for (size_t i = 0; i < v->key_count; i++)
        v->key[i].auto_increment = false;
}

int oracle_index_add(struct oracle *o, struct oracle_table *t, const struct wr_index_meta *m,
                     bool scalar)
{
    struct oracle_index *x;
    int code = check_index(o, t, m, scalar);

    if (code)
        return code;
    x = mem_zalloc(sizeof(*x));
    x->meta = *m;
    x->meta.name = arena_copy(&t->arena, m->name);
    x->meta.key_columns = copy_names(&t->arena, m->key_columns, m->key_column_count);
    x->meta.defined_columns = copy_names(&t->arena, m->defined_columns, m->defined_column_count);
    x->view.name = x->meta.name;
    x->view.auto_column = -1;
    complete_key(t, x);
    x->base = t;
    x->next = t->indexes;
    t->indexes = x;
    t->index_count++;
    t->alterations++;
    return WR_OK;
}

static void view_clear(struct oracle_table *v)
{
    while (v->row_count)
        oracle_row_free(v, v->rows[--v->row_count]);
}

int oracle_index_remove(struct oracle_table *t, bytes name)
{
    for (struct oracle_index **p = &t->indexes; *p; p = &(*p)->next)
        if (bytes_equal((*p)->meta.name, name)) {
            struct oracle_index *x = *p;

            *p = x->next;
            view_clear(&x->view);
            mem_free(x->view.rows);
            mem_free(x);
            t->index_count--;
            t->alterations++;
            return WR_OK;
        }
    return WR_E_NOT_EXIST;
}

/* ---- entries ---- */

static const struct oracle_cell *cell_of(const struct oracle_row *row, bytes name)
{
    for (size_t i = 0; i < row->count; i++)
        if (bytes_equal(row->cells[i].cell.name, name))
            return &row->cells[i];
    return NULL;
}

struct wr_value oracle_value_in_key(struct wr_value v)
{
    const char *text = v.bytes.ptr;

    if (v.type == WR_DOUBLE || v.type == WR_FLOAT)
        v.real += 0.0;
    if (v.type == WR_DECIMAL && memchr(text, '.', v.bytes.len))
        while (text[v.bytes.len - 1] == '0')
            v.bytes.len--;
    return v;
}

/* False: the row has no entry. */
static bool entry_key(const struct oracle_index *x, const struct oracle_row *row,
                      struct wr_key_column *out)
{
    const struct oracle_table *v = &x->view;

    for (size_t i = 0; i < v->key_count; i++) {
        const struct oracle_cell *cell = cell_of(row, v->key[i].name);
        size_t at = 0;

        out[i].name = v->key[i].name;
        while (at < x->base->key_count && !bytes_equal(x->base->key[at].name, out[i].name))
            at++;
        if (at == x->base->key_count &&
            (!cell || !may_stand_in_key(&cell->cell.value, v->key[i].type)))
            return false;
        out[i].value =
            at < x->base->key_count ? row->key[at].value : oracle_value_in_key(cell->cell.value);
    }
    return true;
}

static void add_entry(struct oracle_index *x, const struct oracle_row *row)
{
    struct wr_key_column key[ORACLE_KEY_MAX];
    struct oracle_row *entry;

    if (!entry_key(x, row, key))
        return;
    entry = oracle_row_new(&x->view, key);
    for (size_t i = 0; i < row->count; i++) {
        const struct oracle_cell *c = &row->cells[i];

        if (lists(x->meta.defined_columns, x->meta.defined_column_count, c->cell.name))
            oracle_cell_put(entry, &c->cell, c->cell.timestamp_ms, c->open, c->open_change);
    }
    oracle_row_store(&x->view, entry);
}

struct oracle_table *oracle_find_any(struct oracle *o, bytes name)
{
    struct oracle_index *x = oracle_index_find(o, name);

    if (!x)
        return oracle_find(o, name);
    view_clear(&x->view);
    x->view.options = x->base->options;
    x->view.ghosts = x->base->ghosts;
    for (size_t i = 0; i < x->base->row_count; i++)
        add_entry(x, x->base->rows[i]);
    return &x->view;
}
