/* schema.c: the checks of CreateTable and UpdateTable, and the changes they make. */
#include "table/model/schema.h"

#include "base/invariant.h"
#include "table/model/index_rule.h"
#include "table/model/name.h"
#include "table/model/value.h"

#include <inttypes.h>

/* ---- checks ---- */

/* The name of a type in CreateTable's texts. */
static const char *plain_type_name(enum wr_type type)
{
    const char *name = value_type_name(type);

    return strncmp(name, "VT_", 3) == 0 ? name + 3 : name;
}

static int check_key_schema(struct ctx *c, size_t columns_max, const struct wr_create_table *t)
{
    size_t autos = 0;

    if (t->key_count < 1 || t->key_count > columns_max)
        return fail(c, E_PARAMETER, "The number of primary key columns must be in range: [1, %zu].",
                    columns_max);
    for (size_t i = 0; i < t->key_count; i++) {
        const struct wr_key_schema *k = &t->key[i];

        TRY(name_check_column(c, k->name));
        for (size_t j = 0; j < i; j++)
            if (bytes_equal(t->key[j].name, k->name))
                return fail(c, E_PARAMETER, "Duplicated primary key name: '%.*s'.",
                            BYTES_FMT(k->name));
        if (!value_is_key_type(k->type))
            return fail(c, E_PARAMETER, "%s is an invalid type for the primary key.",
                        plain_type_name(k->type));
        if (!k->auto_increment)
            continue;
        if (k->type != WR_BIGINT)
            return fail(c, E_PARAMETER, "AUTO_INCREMENT primary key must be integer.");
        if (++autos > 1)
            return fail(c, E_PARAMETER, "AUTO_INCREMENT primary key count must <= 1.");
    }
    if (t->key[0].auto_increment)
        return fail(c, E_PARAMETER, "First primary key can't be auto increment, table: %.*s.",
                    BYTES_FMT(t->table));
    return E_OK;
}

static bool key_has_name(const struct wr_key_schema *key, size_t count, bytes name)
{
    for (size_t i = 0; i < count; i++)
        if (bytes_equal(key[i].name, name))
            return true;
    return false;
}

static int check_defined(struct ctx *c, const struct limits *limits,
                         const struct wr_key_schema *key, size_t key_count,
                         const struct wr_defined_column *defined, size_t count)
{
    if (count > (size_t)limits->defined_columns_max)
        return fail(c, E_PARAMETER, "The number of defined columns must be in range: [0, %d].",
                    (int)limits->defined_columns_max);
    for (size_t i = 0; i < count; i++) {
        TRY(name_check_column(c, defined[i].name));
        if (key_has_name(key, key_count, defined[i].name))
            return fail(c, E_PARAMETER,
                        "Duplicated attribute column name with primary key column: '%.*s'.",
                        BYTES_FMT(defined[i].name));
        for (size_t j = 0; j < i; j++)
            if (bytes_equal(defined[j].name, defined[i].name))
                return fail(c, E_PARAMETER, "Duplicated defined column name: '%.*s'.",
                            BYTES_FMT(defined[i].name));
    }
    return E_OK;
}

static int schema_check_options(struct ctx *c, const struct limits *limits,
                                const struct wr_table_options *o)
{
    if (o->given & WR_HAS_TTL) {
        if (o->ttl_s == 0 || o->ttl_s < -1)
            return fail(c, E_PARAMETER, "TimeToLive cannot be 0 or less than -1.");
        if (o->ttl_s != -1 && o->ttl_s < limits->ttl_seconds_min)
            return fail(c, E_PARAMETER,
                        "TimeToLive must be -1 or not less than %" PRId64 " seconds.",
                        limits->ttl_seconds_min);
    }
    if ((o->given & WR_HAS_MAX_VERSIONS) && o->max_versions <= 0)
        return fail(c, E_PARAMETER, "The maximum versions cannot be less than or equal to 0");
    if ((o->given & WR_HAS_DEVIATION) &&
        (o->deviation_s < 0 || o->deviation_s > INT64_MAX / 1000000))
        return fail(c, E_PARAMETER,
                    "The maximum deviation must be in range [0, INT64_MAX/1000000].");
    if ((o->given & WR_HAS_CELL_BYTES) &&
        (o->cell_bytes_max < 0 || o->cell_bytes_max > LIMIT_CELL_MOST))
        return fail(c, E_PARAMETER,
                    "cell_bytes_max must be 0 (the server's limit) or 1 to %" PRId64
                    " bytes; larger values are put and got as streams (PutCell, GetCell).",
                    LIMIT_CELL_MOST);
    return E_OK;
}

static int check_throughput(struct ctx *c, const struct limits *limits,
                            const struct wr_throughput *t)
{
    if (t->has_read && (t->read < 0 || t->read > limits->reserved_cu_max))
        return fail(c, E_PARAMETER,
                    "The reserved read capacity unit must be in range: [0, %" PRId64 "].",
                    limits->reserved_cu_max);
    if (t->has_write && (t->write < 0 || t->write > limits->reserved_cu_max))
        return fail(c, E_PARAMETER,
                    "The reserved write capacity unit must be in range: [0, %" PRId64 "].",
                    limits->reserved_cu_max);
    return E_OK;
}

static int check_stream(struct ctx *c, const struct limits *limits, const struct wr_stream_spec *s)
{
    if (!s->given || !s->enable)
        return E_OK;
    if (!s->has_expiration)
        return fail(c, E_PARAMETER, "The expiration time of the stream is missing.");
    if (s->expiration_h <= 0 || s->expiration_h > limits->stream_hours_max)
        return fail(c, E_PARAMETER,
                    "The expiration time of the stream must be in range: [1, %" PRId64 "].",
                    limits->stream_hours_max);
    for (size_t i = 0; i < s->column_count; i++)
        TRY(name_check_column(c, s->columns_to_get[i]));
    return E_OK;
}

/* One end of a pre-split range; the outer ends are INF_MIN and INF_MAX. */
static int check_split_value(struct ctx *c, const struct wr_key_schema *first,
                             const struct wr_value *v)
{
    if (v->type != first->type)
        return fail(c, E_PARAMETER, "The value type of partition does not match with primary key.");
    if (v->type == WR_BIGINT && (v->integer == INT64_MIN || v->integer == INT64_MAX))
        return fail(c, E_PARAMETER,
                    "The value of partition range can not be INT64_MIN or INT64_MAX.");
    if (!value_is_bytes(v->type))
        return E_OK;
    if (v->bytes.len == 0)
        return fail(c, E_PARAMETER, "The value of partition range can not be empty %s.",
                    v->type == WR_VARCHAR ? "string" : "binary");
    if (v->bytes.len > 64)
        return fail(c, E_PARAMETER,
                    "The value of partition range exceeds the MaxLength:64 with CurrentLength:%zu.",
                    v->bytes.len);
    return E_OK;
}

/* In the order of the key. */
static bool is_before(const struct wr_key_schema *first, const struct wr_value *a,
                      const struct wr_value *b)
{
    int order = value_compare(a, b);

    return first->descending ? order > 0 : order < 0;
}

static int check_partitions(struct ctx *c, const struct limits *limits,
                            const struct wr_create_table *t)
{
    if (t->partition_count > (size_t)limits->partitions_max)
        return fail(c, E_PARAMETER, "The count of partitions cannot be greater than %" PRId64,
                    limits->partitions_max);
    for (size_t i = 0; i < t->partition_count; i++) {
        const struct wr_partition_range *p = &t->partitions[i];
        bool first = i == 0, last = i + 1 == t->partition_count;

        if (first && p->begin.type != WR_INF_MIN)
            return fail(c, E_PARAMETER, "The first partition must begin with INF_MIN.");
        if (!first)
            TRY(check_split_value(c, &t->key[0], &p->begin));
        if (last && p->end.type != WR_INF_MAX)
            return fail(c, E_PARAMETER, "The last partition must end with INF_MAX.");
        if (!last)
            TRY(check_split_value(c, &t->key[0], &p->end));
        if (!first && value_compare(&p->begin, &t->partitions[i - 1].end) != 0)
            return fail(c, E_PARAMETER, "The partitions must follow one another without a gap.");
        if (!first && !last && !is_before(&t->key[0], &p->begin, &p->end))
            return fail(c, E_PARAMETER, "The partitions must be in %s order.",
                        t->key[0].descending ? "descending" : "ascending");
    }
    return E_OK;
}

static int check_indexes(struct ctx *c, const struct limits *limits,
                         const struct wr_create_table *t)
{
    struct wr_table_description d = {.table = t->table,
                                     .key = t->key,
                                     .key_count = t->key_count,
                                     .defined = t->defined,
                                     .defined_count = t->defined_count,
                                     .indexes = t->indexes};

    TRY(index_check_count(c, limits, t->index_count));
    if (t->index_count)
        TRY(index_check_options(c, &t->options));
    for (; d.index_count < t->index_count; d.index_count++)
        TRY(index_check(c, limits, &d, &t->indexes[d.index_count], t->scalar_index_keys));
    return E_OK;
}

static int check_annotation(struct ctx *c, bytes annotation)
{
    if (annotation.len <= WR_ANNOTATION_BYTES_MAX)
        return E_OK;
    return fail(c, E_PARAMETER, "The annotation of a table has %zu bytes, more than %d.",
                annotation.len, WR_ANNOTATION_BYTES_MAX);
}

int schema_check_create(struct ctx *c, const struct limits *limits, size_t key_columns_max,
                        const struct wr_create_table *t)
{
    struct layout layout;

    TRY(name_check_table(c, t->table));
    TRY(check_key_schema(c, key_columns_max, t));
    TRY(check_defined(c, limits, t->key, t->key_count, t->defined, t->defined_count));
    if (!(t->options.given & WR_HAS_TTL))
        return fail(c, E_PARAMETER, "Time-to-live is missing while creating table.");
    if (!(t->options.given & WR_HAS_MAX_VERSIONS))
        return fail(c, E_PARAMETER, "MaxVersions is missing while creating table.");
    TRY(schema_check_options(c, limits, &t->options));
    TRY(check_throughput(c, limits, &t->reserved));
    TRY(check_stream(c, limits, &t->stream));
    TRY(check_partitions(c, limits, t));
    TRY(check_indexes(c, limits, t));
    TRY(check_annotation(c, t->annotation));
    TRY(layout_parse(c, t->layout, t->key, t->key_count, &layout));
    if (layout.buckets * t->partition_count > SCHEMA_FIRST_PARTITIONS_MAX)
        return fail(c, E_PARAMETER,
                    "%zu partitions in each of %u buckets are more than %d: take fewer of either.",
                    t->partition_count, (unsigned)layout.buckets, SCHEMA_FIRST_PARTITIONS_MAX);
    return E_OK;
}

/* ---- making and changing ---- */

static void options_merge(struct wr_table_options *to, const struct wr_table_options *from)
{
    if (from->given & WR_HAS_TTL)
        to->ttl_s = from->ttl_s;
    if (from->given & WR_HAS_MAX_VERSIONS)
        to->max_versions = from->max_versions;
    if (from->given & WR_HAS_DEVIATION)
        to->deviation_s = from->deviation_s;
    if (from->given & WR_HAS_ALLOW_UPDATE)
        to->allow_update = from->allow_update;
    if (from->given & WR_HAS_UPDATE_FULL_ROW)
        to->update_full_row = from->update_full_row;
    if (from->given & WR_HAS_CELL_BYTES) {
        to->cell_bytes_max = from->cell_bytes_max;
        to->given &= ~(uint32_t)WR_HAS_CELL_BYTES;
        to->given |= from->cell_bytes_max ? WR_HAS_CELL_BYTES : 0;
    }
}

/* Streams of tables that were made with them have the table's own time (stream_is_whole()). */
static void stream_switch(struct ctx *c, struct wr_table_description *d,
                          const struct wr_stream_spec *s, int64_t now_us)
{
    if (!s->given)
        return;
    if (s->enable && !d->stream.enable) {
        d->stream_enable_us = now_us;
        d->stream_id =
            arena_printf(&c->arena, "%.*s_%" PRId64, BYTES_FMT(d->table), d->stream_enable_us);
    }
    d->stream = *s;
    if (!s->enable) {
        d->stream = (struct wr_stream_spec){.given = true};
        d->stream_id = BYTES_NONE;
    }
}

void schema_stream_keep(struct schema *s, uint32_t location_id, bool beside)
{
    size_t shards = s->partition_count;

    s->stream.location = location_id;
    s->stream_beside |= beside;
    s->stream.shards = (uint16_t)(shards < 1                   ? 1
                                  : shards > SCHEMA_SHARDS_MAX ? SCHEMA_SHARDS_MAX
                                                               : shards);
}

struct schema *schema_from_create(struct ctx *c, uint32_t id, bytes instance,
                                  const struct wr_create_table *t)
{
    struct schema *s = ARENA_NEW(&c->arena, struct schema);
    struct wr_table_description *d = &s->d;
    int64_t now_us = clock_wall_us(c->clock);
    struct wr_value *splits;

    s->id = id;
    s->location = (struct location){.id = id, .key = t->key, .key_count = t->key_count};
    layout_parse(c, t->layout, t->key, t->key_count, &s->location.layout);
    s->version = 1;
    s->instance = instance;
    d->table = t->table;
    d->key = t->key;
    d->key_count = t->key_count;
    d->defined = t->defined;
    d->defined_count = t->defined_count;
    d->annotation = t->annotation;
    d->options = (struct wr_table_options){
        .given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS | WR_HAS_DEVIATION | WR_HAS_ALLOW_UPDATE |
                 WR_HAS_UPDATE_FULL_ROW,
        .ttl_s = -1,
        .max_versions = 1,
        .deviation_s = 86400,
        .allow_update = true,
    };
    options_merge(&d->options, &t->options);
    d->reserved = (struct wr_throughput){true, true, t->reserved.read, t->reserved.write};
    d->last_increase_s = now_us / 1000000;
    d->status = WR_TABLE_ACTIVE;
    d->stream = (struct wr_stream_spec){.given = true};
    stream_switch(c, d, &t->stream, now_us);
    d->sse = t->sse;
    d->indexes = t->indexes;
    d->index_count = t->index_count;
    d->split_count = t->partition_count ? t->partition_count - 1 : 0;
    splits = ARENA_ARRAY(&c->arena, struct wr_value, d->split_count);
    for (size_t i = 0; i < d->split_count; i++)
        splits[i] = t->partitions[i].end;
    d->splits = splits;
    d->creation_us = now_us;
    schema_partitions_init(c, s); /* the splits were checked */
    d->local_transactions = t->local_transactions;
    return s;
}

static struct schema *schema_next(struct ctx *c, const struct schema *old)
{
    struct schema *s = ARENA_NEW(&c->arena, struct schema);

    *s = *old;
    s->version++;
    return s;
}

static int update_throughput(struct ctx *c, const struct limits *limits, struct schema *s,
                             const struct wr_throughput *t)
{
    struct wr_table_description *d = &s->d;
    int64_t now_us = clock_wall_us(c->clock);
    struct wr_throughput was = d->reserved;

    if (!t->has_read && !t->has_write)
        return fail(c, E_PARAMETER, "Neither read nor write capacity unit is specified.");
    TRY(check_throughput(c, limits, t));
    if (s->throughput_us && now_us - s->throughput_us < limits->throughput_change_s_min * 1000000)
        return fail_code(c, E_THROUGHPUT_TOO_OFTEN);
    if (t->has_read)
        d->reserved.read = t->read;
    if (t->has_write)
        d->reserved.write = t->write;
    if (d->reserved.read > was.read || d->reserved.write > was.write)
        d->last_increase_s = now_us / 1000000;
    if (d->reserved.read < was.read || d->reserved.write < was.write)
        d->last_decrease_s = now_us / 1000000;
    s->throughput_us = now_us;
    return E_OK;
}

static int update_options(struct ctx *c, const struct limits *limits, struct schema *s,
                          const struct wr_table_options *o)
{
    struct wr_table_description *d = &s->d;

    TRY(schema_check_options(c, limits, o));
    if (o->given & WR_HAS_UPDATE_FULL_ROW)
        return fail(c, E_PARAMETER,
                    "UpdateTable must not contain updateFullRow, which is fixed when the table is "
                    "created. Leave it out.");
    options_merge(&d->options, o);
    if (d->index_count == 0)
        return E_OK;
    return index_check_options(c, &d->options);
}

static int annotate(struct ctx *c, struct wr_table_description *d, const struct wr_update_table *u)
{
    if (!u->annotation.ptr)
        return E_OK;
    if (u->annotation_was.ptr && !bytes_equal(u->annotation_was, d->annotation))
        return fail(c, E_CONFLICT, "The annotation of the table is another one by now.");
    TRY(check_annotation(c, u->annotation));
    d->annotation = u->annotation;
    return E_OK;
}

int schema_update(struct ctx *c, const struct limits *limits, const struct schema *old,
                  const struct wr_update_table *u, struct schema **out)
{
    struct schema *s = schema_next(c, old);

    if (!u->has_reserved && !u->has_options && !u->stream.given && !u->annotation.ptr)
        return fail(
            c, E_PARAMETER,
            "At least one of reserved throughput, table options and stream must be specified.");
    if (u->has_options)
        TRY(update_options(c, limits, s, &u->options));
    TRY(check_stream(c, limits, &u->stream));
    if (u->has_reserved)
        TRY(update_throughput(c, limits, s, &u->reserved));
    stream_switch(c, &s->d, &u->stream, clock_wall_us(c->clock));
    TRY(annotate(c, &s->d, u));
    *out = s;
    return E_OK;
}

int schema_add_defined(struct ctx *c, const struct limits *limits, const struct schema *old,
                       const struct wr_defined_columns *columns, struct schema **out)
{
    struct schema *s = schema_next(c, old);
    size_t n = old->d.defined_count + columns->count;
    struct wr_defined_column *all;

    if (columns->count == 0)
        return fail(c, E_PARAMETER, "No defined column is specified.");
    if (columns->count > (size_t)limits->defined_columns_max)
        n = columns->count; /* refused below, with that text */
    all = ARENA_ARRAY(&c->arena, struct wr_defined_column, n);
    if (n > columns->count && old->d.defined_count)
        memcpy(all, old->d.defined, old->d.defined_count * sizeof(*all));
    memcpy(all + (n - columns->count), columns->columns, columns->count * sizeof(*all));
    TRY(check_defined(c, limits, old->d.key, old->d.key_count, all, n));
    s->d.defined = all;
    s->d.defined_count = n;
    *out = s;
    return E_OK;
}

int schema_delete_defined(struct ctx *c, const struct schema *old,
                          const struct wr_defined_columns *columns, struct schema **out)
{
    struct schema *s = schema_next(c, old);
    struct wr_defined_column *left =
        ARENA_ARRAY(&c->arena, struct wr_defined_column, old->d.defined_count);
    size_t n = 0, gone = 0;

    if (columns->count == 0)
        return fail(c, E_PARAMETER, "No defined column is specified.");
    for (size_t i = 0; i < old->d.defined_count; i++) {
        bool drop = false;

        for (size_t j = 0; j < columns->count; j++)
            drop |= bytes_equal(columns->columns[j].name, old->d.defined[i].name);
        if (!drop) {
            left[n++] = old->d.defined[i];
            continue;
        }
        gone++;
        for (size_t j = 0; j < old->d.index_count; j++)
            if (index_uses(&old->d.indexes[j], old->d.defined[i].name))
                return fail(c, E_PARAMETER, "Defined column '%.*s' is used by index '%.*s'.",
                            BYTES_FMT(old->d.defined[i].name), BYTES_FMT(old->d.indexes[j].name));
    }
    if (gone != columns->count)
        return fail(c, E_PARAMETER,
                    "A column that is to be deleted is not a defined column of the table.");
    s->d.defined = left;
    s->d.defined_count = n;
    *out = s;
    return E_OK;
}

bytes schema_lock_key(struct arena *a, const struct schema *s, bytes cols)
{
    struct buf b;

    buf_init(&b, a, KEY_PREFIX_BYTES + cols.len);
    key_put_prefix(&b, s->id, 0, KIND_RECORD);
    buf_put_bytes(&b, cols);
    return buf_bytes(&b);
}

/* ---- describing ---- */

static const bytes *copy_names(struct arena *a, const bytes *names, size_t count)
{
    bytes *copy = ARENA_ARRAY(a, bytes, count);

    for (size_t i = 0; i < count; i++)
        copy[i] = arena_copy(a, names[i]);
    return copy;
}

const struct wr_key_schema *schema_keys_copy(struct arena *a, const struct schema *s)
{
    struct wr_key_schema *keys = ARENA_ARRAY(a, struct wr_key_schema, s->d.key_count);

    for (size_t i = 0; i < s->d.key_count; i++) {
        keys[i] = s->d.key[i];
        keys[i].name = arena_copy(a, keys[i].name);
    }
    return keys;
}

void schema_describe(struct arena *a, const struct schema *s, struct wr_table_description *out)
{
    const struct wr_table_description *d = &s->d;
    struct wr_defined_column *defined = ARENA_ARRAY(a, struct wr_defined_column, d->defined_count);
    struct wr_index_meta *indexes = ARENA_ARRAY(a, struct wr_index_meta, d->index_count);
    struct wr_value *splits = ARENA_ARRAY(a, struct wr_value, d->split_count);

    *out = *d;
    out->table = arena_copy(a, d->table);
    out->layout = layout_format(a, &s->location.layout, d->key);
    for (size_t i = 0; i < d->defined_count; i++) {
        defined[i] = d->defined[i];
        defined[i].name = arena_copy(a, d->defined[i].name);
    }
    for (size_t i = 0; i < d->index_count; i++) {
        indexes[i] = d->indexes[i];
        indexes[i].name = arena_copy(a, d->indexes[i].name);
        indexes[i].key_columns =
            copy_names(a, d->indexes[i].key_columns, d->indexes[i].key_column_count);
        indexes[i].defined_columns =
            copy_names(a, d->indexes[i].defined_columns, d->indexes[i].defined_column_count);
    }
    for (size_t i = 0; i < d->split_count; i++)
        splits[i] = value_copy(a, &d->splits[i]);
    out->key = schema_keys_copy(a, s);
    out->defined = defined;
    out->indexes = indexes;
    out->splits = splits;
    out->stream_id = arena_copy(a, d->stream_id);
    out->stream.columns_to_get = copy_names(a, d->stream.columns_to_get, d->stream.column_count);
    out->sse.key_id = arena_copy(a, d->sse.key_id);
    out->sse.role_arn = arena_copy(a, d->sse.role_arn);
    out->annotation = arena_copy(a, d->annotation);
}

void schema_rekey(struct schema *s, enum rekey_phase next)
{
    static const unsigned may_follow[] = {
        [REKEY_NONE] = 1u << REKEY_COPYING,
        [REKEY_COPYING] = 1u << REKEY_SWITCHED | 1u << REKEY_CANCELLING,
        [REKEY_SWITCHED] = 1u << REKEY_NONE,
        [REKEY_CANCELLING] = 1u << REKEY_NONE,
    };

    invariant(s->rekey <= REKEY_CANCELLING && may_follow[s->rekey] & 1u << next);
    invariant((s->shadow.id == 0) == (next == REKEY_NONE));
    s->rekey = next;
}

bool schema_is_whole(const struct schema *s)
{
    const struct schema_repartition *change = &s->repartition;

    return s->id && s->location.id && s->version && s->instance.len && s->d.table.len &&
           s->d.key_count >= 1 && s->d.key_count <= WR_KEY_COLUMNS_MAX &&
           (s->shadow.id != 0) == (s->rekey != REKEY_NONE) && s->partition_count &&
           (s->page_count ? s->pages != NULL : s->partitions != NULL) &&
           (!change->made_count ||
            (change->count && change->first + change->count <= s->partition_count));
}
