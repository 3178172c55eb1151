#include "table/model/index.h"

#include "base/invariant.h"
#include "table/model/name.h"
#include "table/model/value.h"

const struct index *index_find(const struct index *indexes, size_t count, bytes name)
{
    for (size_t i = 0; i < count; i++)
        if (bytes_equal(indexes[i].meta->name, name))
            return &indexes[i];
    return NULL;
}

static bool index_lists(const bytes *names, size_t count, bytes name)
{
    for (size_t i = 0; i < count; i++)
        if (bytes_equal(names[i], name))
            return true;
    return false;
}

bool index_uses(const struct wr_index_meta *meta, bytes column)
{
    return index_lists(meta->key_columns, meta->key_column_count, column) ||
           index_lists(meta->defined_columns, meta->defined_column_count, column);
}

/* ---- resolving ---- */

/* The column of the base that has the name. */
static bool index_column_of(const struct wr_table_description *d, bytes name,
                            struct index_column *out)
{
    for (size_t i = 0; i < d->key_count; i++)
        if (bytes_equal(d->key[i].name, name)) {
            *out = (struct index_column){true, i};
            return true;
        }
    for (size_t i = 0; i < d->defined_count; i++)
        if (bytes_equal(d->defined[i].name, name)) {
            *out = (struct index_column){false, i};
            return true;
        }
    return false;
}

static struct wr_key_schema index_key_column(const struct wr_table_description *d,
                                             struct index_column from)
{
    struct wr_key_schema k;

    if (!from.is_key)
        return (struct wr_key_schema){.name = d->defined[from.at].name,
                                      .type = d->defined[from.at].type};
    k = d->key[from.at];
    k.auto_increment = false;
    return k;
}

/* `key` and `from` have room for all columns given and all of the base's key. Gives how many there
 * are; 0: they do not fit. */
static size_t index_complete(const struct wr_table_description *d, const struct index *index,
                             struct wr_key_schema *key, struct index_column *from)
{
    const struct wr_index_meta *meta = index->meta;
    size_t n = meta->key_column_count;

    for (size_t i = 0; i < n; i++) {
        if (index_lists(meta->key_columns, i, meta->key_columns[i]) ||
            !index_column_of(d, meta->key_columns[i], &from[i]))
            return 0;
        key[i] = index_key_column(d, from[i]);
        key[i].descending ^= index->descending >> i & 1;
        if (!value_is_key_type(key[i].type))
            return 0;
    }
    for (size_t i = 0; i < d->key_count; i++) {
        if (index_lists(meta->key_columns, meta->key_column_count, d->key[i].name))
            continue;
        from[n] = (struct index_column){true, i};
        key[n] = index_key_column(d, from[n]);
        n++;
    }
    return n <= WR_KEY_COLUMNS_MAX ? n : 0;
}

static size_t index_unique(bytes *names, size_t count)
{
    size_t kept = 0;

    names_sort(names, count);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || !bytes_equal(names[i], names[i - 1]))
            names[kept++] = names[i];
    return kept;
}

static bool index_resolve_columns(struct arena *a, const struct wr_table_description *d,
                                  struct index *index)
{
    const struct wr_index_meta *meta = index->meta;
    bytes *covered = ARENA_ARRAY(a, bytes, meta->defined_column_count);
    bytes *columns = ARENA_ARRAY(a, bytes, meta->defined_column_count + meta->key_column_count);
    struct index_column from;
    size_t n = 0;

    for (size_t i = 0; i < meta->defined_column_count; i++) {
        if (!index_column_of(d, meta->defined_columns[i], &from) || from.is_key)
            return false;
        covered[i] = columns[n++] = meta->defined_columns[i];
    }
    for (size_t i = 0; i < meta->key_column_count; i++)
        if (!index->from[i].is_key)
            columns[n++] = meta->key_columns[i];
    index->covered = covered;
    index->covered_count = index_unique(covered, meta->defined_column_count);
    index->columns = columns;
    index->column_count = index_unique(columns, n);
    return index->covered_count == meta->defined_column_count;
}

bool index_resolve(struct arena *a, const struct wr_table_description *base, struct index *index)
{
    size_t room = index->meta->key_column_count + base->key_count;
    struct wr_key_schema *key = ARENA_ARRAY(a, struct wr_key_schema, room);
    struct index_column *from = ARENA_ARRAY(a, struct index_column, room);
    size_t n = index_complete(base, index, key, from);

    if (!n)
        return false;
    index->from = from;
    index->location.key = index->shadow.key = key;
    index->location.key_count = index->shadow.key_count = n;
    return index_resolve_columns(a, base, index);
}

/* ---- stored ---- */

#define INDEX_WITH_BASE_DATA 1 /* in its flags */

static void index_put_location(struct buf *b, const struct location *p)
{
    buf_put_varint(b, p->id);
    if (p->id)
        buf_put_counted(b, layout_format(b->arena, &p->layout, p->key));
}

static bytes index_read_location(struct reader *r, struct location *p)
{
    uint64_t id = read_varint(r);

    r->bad |= id > UINT32_MAX;
    p->id = (uint32_t)id;
    return id ? read_counted(r) : BYTES_NONE;
}

void index_encode(struct buf *b, const struct index *index)
{
    invariant(index->id && index->location.id);
    buf_put_counted(b, index->meta->name);
    buf_put_varint(b, index->id);
    buf_put_u8(b, (uint8_t)index->phase);
    buf_put_u8(b, index->include_base_data ? INDEX_WITH_BASE_DATA : 0);
    buf_put_varint(b, index->descending);
    index_put_location(b, &index->location);
    index_put_location(b, &index->shadow);
}

static enum index_phase index_read_phase(struct reader *r)
{
    uint8_t phase = read_u8(r);

    r->bad |= phase < INDEX_FULL || phase > INDEX_COMING;
    return phase;
}

static uint32_t index_read_id(struct reader *r)
{
    uint64_t id = read_varint(r);

    r->bad |= !id || id > UINT32_MAX;
    return (uint32_t)id;
}

void index_decode(struct reader *r, struct index *index, bytes *name, bytes layouts[2])
{
    *name = read_counted(r);
    index->id = index_read_id(r);
    index->phase = index_read_phase(r);
    index->include_base_data = read_u8(r) & INDEX_WITH_BASE_DATA;
    index->descending = (uint16_t)read_varint(r);
    layouts[0] = index_read_location(r, &index->location);
    layouts[1] = index_read_location(r, &index->shadow);
    r->bad |= !index->location.id;
}

void index_base_encode(struct buf *b, const struct index_base *base)
{
    buf_put_counted(b, base->table);
    buf_put_varint(b, base->id);
    buf_put_u8(b, (uint8_t)base->phase);
}

struct index_base index_base_decode(struct reader *r)
{
    struct index_base base = {.table = read_counted(r)};

    r->bad |= !base.table.len;
    base.id = index_read_id(r);
    base.phase = index_read_phase(r);
    return base;
}
