/* parse.c: requests on tables. Those on rows are in parse_row.c, filters in parse_filter.c. */
#include "parse.h"

#include <inttypes.h>
#include <stdlib.h>

#define LIST_MAX 2048

bool parse_list(struct cursor *p, bytes **out, size_t *count)
{
    bytes *names = ARENA_ARRAY(&p->s->c.arena, bytes, LIST_MAX);
    size_t n = 0;

    if (!take(p, "("))
        return false;
    while (!take(p, ")")) {
        bytes name = parse_name(p);
        int64_t times = 1;
        bool numbered = take(p, "[");

        if (numbered) {
            times = parse_number(p);
            expect(p, "]");
        }
        for (int64_t i = 0; i < times && n < LIST_MAX; i++)
            names[n++] =
                numbered ? arena_printf(&p->s->c.arena, "%.*s%" PRId64, BYTES_FMT(name), i) : name;
    }
    *out = names;
    *count = n;
    return true;
}

static void need_list(struct cursor *p, const bytes **out, size_t *count)
{
    bytes *names;

    if (!parse_list(p, &names, count))
        script_die(p->s, "a list (a b c) was expected");
    *out = names;
}

static bool parse_bool(struct cursor *p)
{
    if (take(p, "true"))
        return true;
    expect(p, "false");
    return false;
}

enum wr_type parse_type(struct cursor *p)
{
    static const struct {
        const char *name;
        enum wr_type type;
    } types[] = {{"integer", WR_BIGINT},      {"string", WR_VARCHAR},  {"binary", WR_VARBINARY},
                 {"double", WR_DOUBLE},       {"boolean", WR_BOOLEAN}, {"tinyint", WR_TINYINT},
                 {"smallint", WR_SMALLINT},   {"int", WR_INTEGER},     {"ubigint", WR_UBIGINT},
                 {"float", WR_FLOAT},         {"decimal", WR_DECIMAL}, {"char", WR_CHAR},
                 {"fixed", WR_BINARY},        {"date", WR_DATE},       {"time", WR_TIME},
                 {"timestamp", WR_TIMESTAMP}, {"json", WR_JSON}};

    for (size_t i = 0; i < PORT_COUNT(types); i++)
        if (take(p, types[i].name))
            return types[i].type;
    script_die(p->s, "no type '%.*s'", BYTES_FMT(p->at->text));
}

/* (pk:integer sk:integer:auto d:decimal:desc:length=2570) */
static void parse_key_schema(struct cursor *p, const struct wr_key_schema **out, size_t *count)
{
    struct wr_key_schema *key = ARENA_ARRAY(&p->s->c.arena, struct wr_key_schema, 16);
    size_t n = 0;

    expect(p, "(");
    while (!take(p, ")")) {
        struct wr_key_schema *k = &key[n++];

        if (n == 16)
            script_die(p->s, "a key of more than 16 columns");
        k->name = parse_name(p);
        expect(p, ":");
        k->type = parse_type(p);
        while (take(p, ":")) {
            if (take(p, "auto")) {
                k->auto_increment = true;
            } else if (take(p, "desc")) {
                k->descending = true;
            } else {
                expect(p, "length");
                expect(p, "=");
                k->length = (uint32_t)parse_number(p);
            }
        }
    }
    *out = key;
    *count = n;
}

/* (a:integer b[32]:string) or, to delete them, (a b) */
static void parse_defined(struct cursor *p, const struct wr_defined_column **out, size_t *count)
{
    struct wr_defined_column *defined = ARENA_ARRAY(&p->s->c.arena, struct wr_defined_column, 256);
    size_t n = 0;

    expect(p, "(");
    while (!take(p, ")")) {
        bytes name = parse_name(p);
        int64_t times = 1;
        bool numbered = take(p, "[");
        enum wr_type type = WR_VARCHAR;

        if (numbered) {
            times = parse_number(p);
            expect(p, "]");
        }
        if (take(p, ":"))
            type = parse_type(p);
        for (int64_t i = 0; i < times && n < 256; i++)
            defined[n++] = (struct wr_defined_column){
                numbered ? arena_printf(&p->s->c.arena, "%.*s%" PRId64, BYTES_FMT(name), i) : name,
                type};
    }
    *out = defined;
    *count = n;
}

/* splits=(10 20): min..10, 10..20, 20..max. ranges=(min 10 20 max): the ends as they stand. */
static void parse_partitions(struct cursor *p, bool splits, const struct wr_partition_range **out,
                             size_t *count)
{
    struct wr_value *values = ARENA_ARRAY(&p->s->c.arena, struct wr_value, 256);
    struct wr_partition_range *ranges = ARENA_ARRAY(&p->s->c.arena, struct wr_partition_range, 128);
    size_t n = 0, made = 0;

    expect(p, "(");
    if (splits)
        values[n++].type = WR_INF_MIN;
    while (!take(p, ")")) {
        values[n++] = parse_value(p);
        if (splits) {
            values[n] = values[n - 1];
            n++;
        }
    }
    if (splits)
        values[n++].type = WR_INF_MAX;
    for (size_t i = 0; i + 1 < n; i += 2)
        ranges[made++] = (struct wr_partition_range){values[i], values[i + 1]};
    *out = ranges;
    *count = made;
}

/* down=(columns): these of the key sort the other way round. */
static void parse_index_descending(struct cursor *p, struct wr_index_meta *ix)
{
    const bytes *names;
    size_t count;

    need_list(p, &names, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < ix->key_column_count; k++)
            if (bytes_equal(names[i], ix->key_columns[k]))
                ix->descending = (uint16_t)(ix->descending | 1u << k);
}

/* (name (key columns) (attribute columns) [local] [down=(columns)] [hash=N]) */
static void parse_index_meta(struct cursor *p, struct wr_index_meta *ix)
{
    expect(p, "(");
    ix->name = parse_name(p);
    need_list(p, &ix->key_columns, &ix->key_column_count);
    need_list(p, &ix->defined_columns, &ix->defined_column_count);
    if (take(p, "local"))
        ix->type = ix->update_mode = 1;
    if (take_option(p, "down"))
        parse_index_descending(p, ix);
    if (take_option(p, "hash"))
        ix->hashed = (uint8_t)parse_number(p);
    expect(p, ")");
}

static void parse_index(struct cursor *p, struct wr_create_table *t)
{
    struct wr_index_meta *all =
        ARENA_ARRAY(&p->s->c.arena, struct wr_index_meta, t->index_count + 1);

    if (t->index_count)
        memcpy(all, t->indexes, sizeof(*all) * t->index_count);
    parse_index_meta(p, &all[t->index_count]);
    t->indexes = all;
    t->index_count++;
}

static void parse_stream(struct cursor *p, struct wr_stream_spec *out)
{
    *out = (struct wr_stream_spec){.given = true};
    if (take(p, "off"))
        return;
    out->enable = true;
    if (take(p, "on"))
        return;
    out->has_expiration = true;
    out->expiration_h = (int32_t)parse_number(p);
}

/* One option of a table; false: it is none. "ttl=none" leaves the option out. */
static bool parse_option(struct cursor *p, struct wr_table_options *o)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } options[] = {{"ttl", WR_HAS_TTL},
                   {"versions", WR_HAS_MAX_VERSIONS},
                   {"deviation", WR_HAS_DEVIATION},
                   {"allow_update", WR_HAS_ALLOW_UPDATE},
                   {"update_full_row", WR_HAS_UPDATE_FULL_ROW},
                   {"cell_bytes_max", WR_HAS_CELL_BYTES}};

    for (size_t i = 0; i < PORT_COUNT(options); i++) {
        if (!token_is(p->at, options[i].name) || !token_is(p->at + 1, "="))
            continue;
        p->at += 2;
        o->given |= options[i].bit;
        if (take(p, "none"))
            o->given &= ~options[i].bit;
        else if (options[i].bit == WR_HAS_TTL)
            o->ttl_s = (int32_t)parse_number(p);
        else if (options[i].bit == WR_HAS_MAX_VERSIONS)
            o->max_versions = (int32_t)parse_number(p);
        else if (options[i].bit == WR_HAS_DEVIATION)
            o->deviation_s = parse_number(p);
        else if (options[i].bit == WR_HAS_ALLOW_UPDATE)
            o->allow_update = parse_bool(p);
        else if (options[i].bit == WR_HAS_CELL_BYTES)
            o->cell_bytes_max = parse_number(p);
        else
            o->update_full_row = parse_bool(p);
        return true;
    }
    return false;
}

static bool parse_reserved(struct cursor *p, struct wr_throughput *t)
{
    if (token_is(p->at, "read") && token_is(p->at + 1, "=")) {
        p->at += 2;
        t->has_read = true;
        t->read = (int32_t)parse_number(p);
        return true;
    }
    if (token_is(p->at, "write") && token_is(p->at + 1, "=")) {
        p->at += 2;
        t->has_write = true;
        t->write = (int32_t)parse_number(p);
        return true;
    }
    return false;
}

bool take_option(struct cursor *p, const char *name)
{
    if (!token_is(p->at, name) || !token_is(p->at + 1, "="))
        return false;
    p->at += 2;
    return true;
}

static void remember(struct script *s, struct known_table known)
{
    for (size_t i = 0; i < s->table_count; i++)
        if (bytes_equal(s->tables[i].name, known.name)) {
            s->tables[i] = known;
            return;
        }
    if (s->table_count < KNOWN_TABLES_MAX)
        s->tables[s->table_count++] = known;
}

/* The key of an index: its own columns, then those of its table that are not among them. */
static void remember_index(struct script *s, const struct wr_key_schema *key, size_t key_count,
                           const struct wr_index_meta *ix)
{
    struct wr_key_schema *all =
        ARENA_ARRAY(&s->c.arena, struct wr_key_schema, ix->key_column_count + key_count);
    size_t n = ix->key_column_count;

    for (size_t i = 0; i < n; i++)
        all[i].name = ix->key_columns[i];
    for (size_t i = 0; i < key_count; i++) {
        bool given = false;

        for (size_t j = 0; j < ix->key_column_count; j++)
            given |= bytes_equal(ix->key_columns[j], key[i].name);
        if (!given)
            all[n++] = key[i];
    }
    remember(s, (struct known_table){ix->name, all, n});
}

static void remember_table(struct script *s, const struct wr_create_table *t)
{
    remember(s, (struct known_table){t->table, t->key, t->key_count});
    for (size_t i = 0; i < t->index_count; i++)
        remember_index(s, t->key, t->key_count, &t->indexes[i]);
}

/* With `series`, its table. */
static void parse_create(struct cursor *p, struct wr_create_table *t, struct wr_series_spec *series)
{
    t->table = parse_name(p);
    t->options = (struct wr_table_options){
        .given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1};
    t->reserved = (struct wr_throughput){.has_read = true, .has_write = true};
    while (p->at->kind != TOKEN_END && !token_is(p->at, "->")) {
        if (parse_option(p, &t->options) || parse_reserved(p, &t->reserved) ||
            (series && parse_series_option(p, series)))
            continue;
        if (take_option(p, "key"))
            parse_key_schema(p, &t->key, &t->key_count);
        else if (take_option(p, "defined"))
            parse_defined(p, &t->defined, &t->defined_count);
        else if (take_option(p, "splits"))
            parse_partitions(p, true, &t->partitions, &t->partition_count);
        else if (take_option(p, "ranges"))
            parse_partitions(p, false, &t->partitions, &t->partition_count);
        else if (take_option(p, "stream"))
            parse_stream(p, &t->stream);
        else if (take_option(p, "stream_columns"))
            need_list(p, &t->stream.columns_to_get, &t->stream.column_count);
        else if (take_option(p, "index"))
            parse_index(p, t);
        else if (take_option(p, "sse_key"))
            t->sse =
                (struct wr_sse_spec){true, true, (int32_t)parse_number(p), BYTES_NONE, BYTES_NONE};
        else if (take_option(p, "layout"))
            t->layout = parse_name(p);
        else if (take(p, "local_transactions"))
            t->local_transactions = true;
        else
            script_die(p->s, "no such part of a table: '%.*s'", BYTES_FMT(p->at->text));
    }
    remember_table(p->s, t);
}

static void parse_update(struct cursor *p, struct wr_request *out)
{
    struct wr_update_table *t = &out->update_table;

    out->op = WR_OP_UPDATE_TABLE;
    t->table = parse_name(p);
    while (p->at->kind != TOKEN_END && !token_is(p->at, "->")) {
        if (parse_option(p, &t->options) || take(p, "options"))
            t->has_options = true;
        else if (parse_reserved(p, &t->reserved) || take(p, "reserved"))
            t->has_reserved = true;
        else if (take_option(p, "stream"))
            parse_stream(p, &t->stream);
        else
            script_die(p->s, "no such part of a table: '%.*s'", BYTES_FMT(p->at->text));
    }
}

static void parse_table_name(struct cursor *p, enum wr_op op, struct wr_request *out)
{
    out->op = op;
    out->describe_table.table = parse_name(p);
}

static void parse_columns(struct cursor *p, enum wr_op op, struct wr_request *out)
{
    out->op = op;
    out->add_defined_column.table = parse_name(p);
    parse_defined(p, &out->add_defined_column.columns, &out->add_defined_column.count);
}

/* create_index t (name (keys) (columns) [local]) [base_data] */
static void parse_create_index(struct cursor *p, struct wr_request *out)
{
    out->op = WR_OP_CREATE_INDEX;
    out->create_index.table = parse_name(p);
    parse_index_meta(p, &out->create_index.index);
    out->create_index.include_base_data = take(p, "base_data");
    for (size_t i = 0; i < p->s->table_count; i++)
        if (bytes_equal(p->s->tables[i].name, out->create_index.table)) {
            remember_index(p->s, p->s->tables[i].key, p->s->tables[i].key_count,
                           &out->create_index.index);
            break;
        }
}

/* drop_index t name */
static void parse_drop_index(struct cursor *p, struct wr_request *out)
{
    out->op = WR_OP_DROP_INDEX;
    out->drop_index.table = parse_name(p);
    out->drop_index.index = parse_name(p);
}

static void parse_split(struct cursor *p, struct wr_request *out)
{
    struct wr_split_points *t = &out->compute_split_points;

    out->op = WR_OP_COMPUTE_SPLIT_POINTS;
    t->table = parse_name(p);
    while (p->at->kind != TOKEN_END && !token_is(p->at, "->")) {
        if (take_option(p, "size")) {
            t->split_size = parse_number(p);
        } else if (take_option(p, "unit")) {
            t->has_unit = true;
            t->unit_bytes = parse_number(p);
        } else if (take_option(p, "limit")) {
            t->has_limit = true;
            t->limit = (int32_t)parse_number(p);
        } else if (take(p, "estimated")) {
            t->estimated = true;
        } else {
            script_die(p->s, "no such part of a split: '%.*s'", BYTES_FMT(p->at->text));
        }
    }
}

/* heat t minutes=5 rows=4 columns=5 metrics=31 */
static void parse_heat(struct cursor *p, struct wr_request *out)
{
    struct wr_describe_heat *h = &out->describe_heat;

    out->op = WR_OP_DESCRIBE_HEAT;
    h->table = parse_name(p);
    h->minutes = WR_HEAT_MINUTES_MAX;
    while (p->at->kind != TOKEN_END && !token_is(p->at, "->")) {
        if (take_option(p, "minutes"))
            h->minutes = (int32_t)parse_number(p);
        else if (take_option(p, "rows"))
            h->rows = (int32_t)parse_number(p);
        else if (take_option(p, "columns"))
            h->columns = (int32_t)parse_number(p);
        else if (take_option(p, "metrics"))
            h->metrics = (uint32_t)parse_number(p);
        else
            script_die(p->s, "no such part of a heat map: '%.*s'", BYTES_FMT(p->at->text));
    }
}

static void parse_sizes(struct cursor *p, struct wr_request *out)
{
    out->op = WR_OP_DESCRIBE_SIZES;
    out->describe_sizes.table = parse_name(p);
    out->describe_sizes.now = take(p, "again");
}

bytes parse_text(struct cursor *p)
{
    return parse_value(p).bytes;
}

bytes table_of(bytes id)
{
    bytes table;

    return wr_stream_table(id, &table) ? table : id;
}

static bool parse_limit(struct cursor *p, bool *has, int32_t *limit)
{
    if (!take_option(p, "limit"))
        return false;
    *has = true;
    *limit = (int32_t)parse_number(p);
    return true;
}

/* streams [t] · stream $id [from=$shard] [limit=1] · shard_iterator $id $shard [time=us] · records
 * $iterator [limit=1] */
static bool parse_stream_request(struct cursor *p, struct wr_request *out)
{
    if (take(p, "streams")) {
        out->op = WR_OP_LIST_STREAM;
        if (p->at->kind != TOKEN_END && !token_is(p->at, "->"))
            out->list_stream.table = parse_name(p);
    } else if (take(p, "stream")) {
        struct wr_describe_stream *d = &out->describe_stream;

        out->op = WR_OP_DESCRIBE_STREAM;
        d->stream = parse_text(p);
        d->table = table_of(d->stream);
        if (take_option(p, "from"))
            d->first_shard = parse_text(p);
        parse_limit(p, &d->has_limit, &d->limit);
    } else if (take(p, "shard_iterator")) {
        struct wr_get_shard_iterator *g = &out->get_shard_iterator;

        out->op = WR_OP_GET_SHARD_ITERATOR;
        g->stream = parse_text(p);
        g->table = table_of(g->stream);
        g->shard = parse_text(p);
        g->has_timestamp = take_option(p, "time");
        if (g->has_timestamp)
            g->timestamp_us = parse_number(p);
    } else if (take(p, "records")) {
        struct wr_get_stream_record *g = &out->get_stream_record;

        out->op = WR_OP_GET_STREAM_RECORD;
        g->iterator = parse_text(p);
        g->table = table_of(g->iterator);
        parse_limit(p, &g->has_limit, &g->limit);
    } else {
        return false;
    }
    return true;
}

bool parse_request(struct cursor *p, struct wr_request *out)
{
    memset(out, 0, sizeof(*out));
    out->instance = BYTES_LIT("spec");
    if (parse_stream_request(p, out) || parse_tunnel_request(p, out) ||
        parse_search_request(p, out) || parse_series_request(p, out))
        return true;
    if (take(p, "table")) {
        out->op = WR_OP_CREATE_TABLE;
        parse_create(p, &out->create_table, NULL);
    } else if (take(p, "series")) {
        out->op = WR_OP_CREATE_SERIES;
        parse_create(p, &out->create_series.table, &out->create_series.series);
    } else if (take(p, "alter")) {
        parse_update(p, out);
    } else if (take(p, "list")) {
        out->op = WR_OP_LIST_TABLE;
    } else if (take(p, "describe")) {
        parse_table_name(p, WR_OP_DESCRIBE_TABLE, out);
    } else if (take(p, "drop")) {
        parse_table_name(p, WR_OP_DELETE_TABLE, out);
    } else if (take(p, "rekey")) {
        out->op = WR_OP_REKEY_TABLE;
        out->rekey_table.table = parse_name(p);
        if (take_option(p, "layout")) {
            out->rekey_table.action = WR_REKEY_START;
            out->rekey_table.layout = parse_name(p);
        } else if (take(p, "cancel")) {
            out->rekey_table.action = WR_REKEY_CANCEL;
        }
    } else if (take(p, "load_table")) {
        parse_table_name(p, WR_OP_LOAD_TABLE, out);
    } else if (take(p, "unload_table")) {
        parse_table_name(p, WR_OP_UNLOAD_TABLE, out);
    } else if (take(p, "add_columns")) {
        parse_columns(p, WR_OP_ADD_DEFINED_COLUMN, out);
    } else if (take(p, "delete_columns")) {
        parse_columns(p, WR_OP_DELETE_DEFINED_COLUMN, out);
    } else if (take(p, "create_index")) {
        parse_create_index(p, out);
    } else if (take(p, "drop_index")) {
        parse_drop_index(p, out);
    } else if (take(p, "partitions")) {
        parse_table_name(p, WR_OP_DESCRIBE_PARTITIONS, out);
    } else if (take(p, "split_points")) {
        parse_split(p, out);
    } else if (take(p, "heat")) {
        parse_heat(p, out);
    } else if (take(p, "begin")) {
        out->op = WR_OP_START_LOCAL_TRANSACTION;
        out->start_local_transaction.table = parse_name(p);
        out->start_local_transaction.key = parse_key(p);
    } else if (take(p, "commit")) {
        out->op = WR_OP_COMMIT_TRANSACTION;
        out->commit_transaction.id = parse_value(p).bytes;
    } else if (take(p, "abort")) {
        out->op = WR_OP_ABORT_TRANSACTION;
        out->abort_transaction.id = parse_value(p).bytes;
    } else if (take(p, "sizes")) {
        parse_sizes(p, out);
    } else {
        return parse_row_request(p, out);
    }
    return true;
}
