/* schema_codec.c: a table description as stored bytes.
 *
 * A stored schema is a version byte and then fields: tag (one byte), length (varint), payload.
 * Lists repeat their tag. A reader skips tags it does not know, so that fields can be added; what a
 * reader must not skip gets a new version byte. */
#include "table/model/schema_search.h"
#include "table/model/value.h"

/* Version 2 is for tables that a server without key layouts must not touch, version 3 for those
 * that one must not touch that knows nothing of repartitions under way, version 4 for those that
 * one must not touch that takes rows of one partition-key value to be in one partition, version 5
 * for those whose list stands in pages, version 6 for those of more than five key columns, version
 * 7 for those with indexes and those of indexes, whose entries a server that does not keep them
 * would leave wrong, version 8 for those whose stream has records, of which such a server would
 * leave some out, version 9 for those with a change log, in the same way, version 10 for those with
 * tunnels, which such a server would forget with its next change, version 11 for those with search
 * indexes, in the same way, version 12 for those whose indexes follow by outbox records (decision
 * 35), which such a server would not write, version 13 for series and the tables of their periods,
 * whose rows such a server would put where nobody looks, version 14 for those whose changes leave
 * records beside their rows (decision 42), which such a server would leave out, version 15 for
 * those whose locks of transactions are records (decision 43), which such a server would not mind,
 * version 16 for series with an archive, whose periods such a server would drop before they are
 * there, version 18 for those with an index whose changes leave marks for now (index_note.h), where
 * such a server would bring entries, or (version 17, which is not written any more) marks of
 * another form, version 19 for those with an index of descending or hashed key columns, which such
 * a server would describe as any other, so that SQL there would read the wrong end of it, version
 * 20 for those with an index whose key has columns of other types than BIGINT, VARCHAR and
 * VARBINARY, whose values SQL there would compare as if they were texts; all else is written as
 * version 1. */
#define SCHEMA_VERSION_INDEX_TYPES 20
#define SCHEMA_VERSION_INDEX_ORDER 19
#define SCHEMA_VERSION_MARKS 18
#define SCHEMA_VERSION_ARCHIVE 16
#define SCHEMA_VERSION_TXN_RECORDS 15
#define SCHEMA_VERSION_BESIDE 14
#define SCHEMA_VERSION_SERIES 13
#define SCHEMA_VERSION_OUTBOX 12
#define SCHEMA_VERSION_SEARCHES 11
#define SCHEMA_VERSION_TUNNELS 10
#define SCHEMA_VERSION_CHANGE_LOG 9
#define SCHEMA_VERSION_STREAM 8
#define SCHEMA_VERSION_INDEXES 7
#define SCHEMA_VERSION_LONG_KEY 6
#define SCHEMA_VERSION_PAGES 5
#define SCHEMA_VERSION_VALUE_SPLIT 4
#define SCHEMA_VERSION_REPARTITION 3
#define SCHEMA_VERSION 2
#define SCHEMA_VERSION_PLAIN 1
#define KEY_COLUMNS_BEFORE 5 /* what readers of the older versions know at most */

enum field {
    F_ID = 1,
    F_VERSION,
    F_INSTANCE,
    F_TABLE,
    F_KEY,
    F_DEFINED,
    F_OPTIONS,
    F_RESERVED,
    F_STATUS,
    F_STREAM,
    F_SSE,
    F_INDEX,
    F_SPLIT,
    F_CREATION,
    F_LOCAL_TRANSACTIONS,
    F_HAS_OUT_OF_LINE,
    F_LAYOUT,      /* text; left out: plain */
    F_LOCATION_ID, /* left out: the table's id */
    F_SHADOW,      /* left out: none */
    F_CELL_BYTES = 32,
    F_PARTITION = 40,
    F_REPARTITION,         /* left out: none is under way */
    F_VALUE_SPLIT,         /* left out: no */
    F_PAGE,                /* in place of F_PARTITION */
    F_INDEX_TABLE,         /* of an F_INDEX that has a table of its own */
    F_INDEX_BASE,          /* left out: the table is no index */
    F_STREAM_RECORDS = 48, /* left out: none are kept */
    F_ANNOTATION,          /* left out: none */
    F_CHANGE_LOG,          /* left out: there is none */
    F_TUNNEL,
    F_SEARCH,             /* a search index (schema_search.c) */
    F_OUTBOX,             /* left out: no */
    F_SERIES = 54,        /* left out: the table is no series (series.c) */
    F_PERIOD = 55,        /* left out: nor of one */
    F_STREAM_BESIDE = 56, /* left out: no */
    F_TXN_RECORDS = 57,   /* left out: no */
};

static void schema_put_number(struct buf *b, int64_t v)
{
    buf_put_varint(b, zigzag(v));
}

static int64_t schema_read_number(struct reader *r)
{
    return unzigzag(read_varint(r));
}

/* Starts a field in a scratch buffer; field_end() writes tag, length and payload. */
static struct buf field_begin(struct buf *b)
{
    struct buf f;

    buf_init(&f, b->arena, 64);
    return f;
}

static void field_end(struct buf *b, enum field tag, struct buf *f)
{
    buf_put_u8(b, (uint8_t)tag);
    buf_put_counted(b, buf_bytes(f));
}

static void put_number_field(struct buf *b, enum field tag, int64_t v)
{
    struct buf f = field_begin(b);

    schema_put_number(&f, v);
    field_end(b, tag, &f);
}

static struct wr_value schema_read_value(struct reader *r)
{
    struct wr_value v = {.type = read_u8(r)};

    if (value_is_bytes(v.type))
        v.bytes = read_counted(r);
    else
        v.integer = (int64_t)read_u64(r);
    if (v.type == WR_BOOLEAN) {
        r->bad |= v.integer != 0 && v.integer != 1;
        v.boolean = v.integer == 1;
    }
    return v;
}

static void schema_put_stream(struct buf *b, const struct wr_table_description *d)
{
    struct buf f = field_begin(b);

    buf_put_u8(&f, d->stream.enable);
    schema_put_number(&f, d->stream.expiration_h);
    schema_put_number(&f, d->stream_enable_us);
    buf_put_counted(&f, d->stream_id);
    buf_put_varint(&f, d->stream.column_count);
    for (size_t i = 0; i < d->stream.column_count; i++)
        buf_put_counted(&f, d->stream.columns_to_get[i]);
    field_end(b, F_STREAM, &f);
}

static void schema_put_names(struct buf *b, const bytes *names, size_t count)
{
    buf_put_varint(b, count);
    for (size_t i = 0; i < count; i++)
        buf_put_counted(b, names[i]);
}

static bool is_plain(const struct schema *s)
{
    const struct layout *l = &s->location.layout;

    return l->form == LAYOUT_PLAIN && l->partition_cols == 1 && s->location.id == s->id &&
           !s->shadow.id;
}

/* A table in one piece needs no list while that is the one it began with, and partitions of another
 * location mean nothing. */
static bool partitions_matter(const struct schema *s)
{
    return s->partition_location == s->location.id &&
           (s->partition_count > 1 || s->location.layout.buckets > 1 ||
            s->partitions[0].id != s->location.id);
}

static void put_page(struct buf *f, const struct schema_page *p)
{
    buf_put_varint(f, p->id);
    buf_put_counted(f, p->start);
    buf_put_varint(f, p->count);
}

static void put_repartition(struct buf *b, const struct schema_repartition *change)
{
    struct buf f = field_begin(b);

    buf_put_varint(&f, change->first);
    buf_put_varint(&f, change->count);
    for (size_t i = 0; i < change->made_count; i++)
        schema_put_partition(&f, &change->made[i]);
    field_end(b, F_REPARTITION, &f);
}

/* Do changes of its rows leave marks of entries for now? */
static bool leaves_marks(const struct schema *s)
{
    bool coming = false;

    for (size_t i = 0; i < s->index_count; i++)
        coming |= s->indexes[i].phase == INDEX_COMING;
    return coming && !s->outbox;
}

static bool has_typed_index(const struct schema *s)
{
    for (size_t i = 0; i < s->index_count; i++)
        for (size_t k = 0; k < s->indexes[i].location.key_count; k++) {
            enum wr_type type = s->indexes[i].location.key[k].type;

            if (!s->indexes[i].from[k].is_key && type != WR_BIGINT && type != WR_VARCHAR &&
                type != WR_VARBINARY)
                return true;
        }
    return false;
}

static bool has_ordered_index(const struct schema *s)
{
    for (size_t i = 0; i < s->index_count; i++)
        if (s->indexes[i].descending || s->indexes[i].location.layout.form != LAYOUT_PLAIN)
            return true;
    return false;
}

static uint8_t version_of(const struct schema *s)
{
    if (has_typed_index(s))
        return SCHEMA_VERSION_INDEX_TYPES;
    if (has_ordered_index(s))
        return SCHEMA_VERSION_INDEX_ORDER;
    if (leaves_marks(s))
        return SCHEMA_VERSION_MARKS;
    if (s->series.archive.len)
        return SCHEMA_VERSION_ARCHIVE;
    if (s->txn_records)
        return SCHEMA_VERSION_TXN_RECORDS;
    if (s->stream_beside)
        return SCHEMA_VERSION_BESIDE;
    if (s->series.spec.by || s->period.series)
        return SCHEMA_VERSION_SERIES;
    if (s->outbox)
        return SCHEMA_VERSION_OUTBOX;
    if (s->search_count)
        return SCHEMA_VERSION_SEARCHES;
    if (s->tunnel_count)
        return SCHEMA_VERSION_TUNNELS;
    if (s->change_log)
        return SCHEMA_VERSION_CHANGE_LOG;
    if (s->stream.location)
        return SCHEMA_VERSION_STREAM;
    if (s->index_count || s->base.table.len)
        return SCHEMA_VERSION_INDEXES;
    if (s->d.key_count > KEY_COLUMNS_BEFORE)
        return SCHEMA_VERSION_LONG_KEY;
    return schema_is_paged(s)          ? SCHEMA_VERSION_PAGES
           : s->value_split            ? SCHEMA_VERSION_VALUE_SPLIT
           : s->repartition.made_count ? SCHEMA_VERSION_REPARTITION
           : is_plain(s)               ? SCHEMA_VERSION_PLAIN
                                       : SCHEMA_VERSION;
}

static void put_key_column(struct buf *b, const struct wr_key_schema *k)
{
    struct buf f = field_begin(b);

    buf_put_counted(&f, k->name);
    buf_put_u8(&f, (uint8_t)k->type);
    buf_put_varint(&f, k->length);
    buf_put_u8(&f, (uint8_t)(k->descending | k->auto_increment << 1));
    field_end(b, F_KEY, &f);
}

static void put_defined_column(struct buf *b, const struct wr_defined_column *column)
{
    struct buf f = field_begin(b);

    buf_put_counted(&f, column->name);
    buf_put_u8(&f, (uint8_t)column->type);
    field_end(b, F_DEFINED, &f);
}

static void put_options(struct buf *b, const struct wr_table_options *o)
{
    struct buf f = field_begin(b);

    schema_put_number(&f, o->ttl_s);
    schema_put_number(&f, o->max_versions);
    schema_put_number(&f, o->deviation_s);
    buf_put_u8(&f, (uint8_t)(o->allow_update | o->update_full_row << 1));
    field_end(b, F_OPTIONS, &f);
}

static void put_reserved(struct buf *b, const struct schema *s)
{
    struct buf f = field_begin(b);

    schema_put_number(&f, s->d.reserved.read);
    schema_put_number(&f, s->d.reserved.write);
    schema_put_number(&f, s->d.last_increase_s);
    schema_put_number(&f, s->d.last_decrease_s);
    schema_put_number(&f, s->throughput_us);
    field_end(b, F_RESERVED, &f);
}

static void put_encryption(struct buf *b, const struct wr_table_description *d)
{
    struct buf f = field_begin(b);

    buf_put_u8(&f, (uint8_t)(d->sse.given | d->sse.enable << 1));
    schema_put_number(&f, d->sse.key_type);
    buf_put_counted(&f, d->sse.key_id);
    buf_put_counted(&f, d->sse.role_arn);
    field_end(b, F_SSE, &f);
}

static void put_index(struct buf *b, const struct wr_index_meta *ix)
{
    struct buf f = field_begin(b);

    buf_put_counted(&f, ix->name);
    schema_put_names(&f, ix->key_columns, ix->key_column_count);
    schema_put_names(&f, ix->defined_columns, ix->defined_column_count);
    schema_put_number(&f, ix->update_mode);
    schema_put_number(&f, ix->type);
    field_end(b, F_INDEX, &f);
}

static void put_index_table(struct buf *b, const struct index *index)
{
    struct buf f = field_begin(b);

    index_encode(&f, index);
    field_end(b, F_INDEX_TABLE, &f);
}

static void put_index_base(struct buf *b, const struct index_base *base)
{
    struct buf f = field_begin(b);

    index_base_encode(&f, base);
    field_end(b, F_INDEX_BASE, &f);
}

static void put_pages(struct buf *b, const struct schema *s)
{
    for (size_t i = 0; i < s->page_count; i++) {
        struct buf f = field_begin(b);

        put_page(&f, &s->pages[i]);
        field_end(b, F_PAGE, &f);
    }
}

static void put_partitions(struct buf *b, const struct schema *s)
{
    for (size_t i = 0; i < s->partition_count; i++) {
        struct buf f = field_begin(b);

        schema_put_partition(&f, &s->partitions[i]);
        field_end(b, F_PARTITION, &f);
    }
}

static void put_location(struct buf *b, const struct schema *s)
{
    buf_put_u8(b, F_LAYOUT);
    buf_put_counted(b, layout_format(b->arena, &s->location.layout, s->d.key));
    put_number_field(b, F_LOCATION_ID, s->location.id);
}

static void put_shadow(struct buf *b, const struct schema *s)
{
    struct buf f = field_begin(b);

    schema_put_number(&f, s->shadow.id);
    buf_put_u8(&f, (uint8_t)s->rekey);
    buf_put_counted(&f, layout_format(b->arena, &s->shadow.layout, s->d.key));
    field_end(b, F_SHADOW, &f);
}

/* What the table's creator said, in the order of the older builds. */
static void put_description(struct buf *b, const struct schema *s)
{
    const struct wr_table_description *d = &s->d;

    buf_put_u8(b, F_INSTANCE);
    buf_put_counted(b, s->instance);
    buf_put_u8(b, F_TABLE);
    buf_put_counted(b, d->table);
    for (size_t i = 0; i < d->key_count; i++)
        put_key_column(b, &d->key[i]);
    for (size_t i = 0; i < d->defined_count; i++)
        put_defined_column(b, &d->defined[i]);
    put_options(b, &d->options);
    put_reserved(b, s);
    put_number_field(b, F_STATUS, d->status);
    schema_put_stream(b, d);
    put_encryption(b, d);
    for (size_t i = 0; i < d->index_count; i++)
        put_index(b, &d->indexes[i]);
    for (size_t i = 0; i < s->index_count; i++)
        put_index_table(b, &s->indexes[i]);
    if (s->base.table.len)
        put_index_base(b, &s->base);
}

static void put_stream_records(struct buf *b, const struct schema_stream *s)
{
    struct buf f = field_begin(b);

    buf_put_varint(&f, s->location);
    buf_put_varint(&f, s->shards);
    field_end(b, F_STREAM_RECORDS, &f);
}

static void put_tunnel(struct buf *b, const struct schema_tunnel *t)
{
    struct buf f = field_begin(b);

    buf_put_varint(&f, t->number);
    buf_put_counted(&f, t->name);
    buf_put_u8(&f, (uint8_t)t->type);
    buf_put_u8(&f, t->config.earliest);
    buf_put_varint(&f, t->config.start_ns);
    buf_put_varint(&f, t->config.end_ns);
    schema_put_number(&f, t->creation_us);
    field_end(b, F_TUNNEL, &f);
}

static void put_search(struct buf *b, const struct schema_search *s)
{
    struct buf f = field_begin(b);

    schema_put_search(&f, s);
    field_end(b, F_SEARCH, &f);
}

static void put_series(struct buf *b, const struct schema *s)
{
    struct buf f = field_begin(b), p = field_begin(b);

    if (s->series.spec.by) {
        series_encode(&f, &s->series);
        field_end(b, F_SERIES, &f);
    }
    if (s->period.series) {
        series_period_encode(&p, &s->period);
        field_end(b, F_PERIOD, &p);
    }
}

void schema_encode(struct buf *b, const struct schema *s)
{
    buf_put_u8(b, version_of(s));
    put_number_field(b, F_ID, s->id);
    put_number_field(b, F_VERSION, (int64_t)s->version);
    put_description(b, s);
    if (schema_is_paged(s))
        put_pages(b, s);
    if (!s->page_count && partitions_matter(s))
        put_partitions(b, s);
    if (s->repartition.made_count)
        put_repartition(b, &s->repartition);
    if (s->value_split)
        put_number_field(b, F_VALUE_SPLIT, 1);
    put_number_field(b, F_CREATION, s->d.creation_us);
    put_number_field(b, F_LOCAL_TRANSACTIONS, s->d.local_transactions);
    put_number_field(b, F_HAS_OUT_OF_LINE, s->has_out_of_line);
    if (s->d.options.cell_bytes_max)
        put_number_field(b, F_CELL_BYTES, s->d.options.cell_bytes_max);
    if (!is_plain(s))
        put_location(b, s);
    if (s->shadow.id)
        put_shadow(b, s);
    if (s->stream.location)
        put_stream_records(b, &s->stream);
    if (s->change_log)
        put_number_field(b, F_CHANGE_LOG, s->change_log);
    if (s->d.annotation.len) {
        buf_put_u8(b, F_ANNOTATION);
        buf_put_counted(b, s->d.annotation);
    }
    for (size_t i = 0; i < s->tunnel_count; i++)
        put_tunnel(b, &s->tunnels[i]);
    for (size_t i = 0; i < s->search_count; i++)
        put_search(b, &s->searches[i]);
    if (s->outbox)
        put_number_field(b, F_OUTBOX, 1);
    if (s->stream_beside)
        put_number_field(b, F_STREAM_BESIDE, 1);
    if (s->txn_records)
        put_number_field(b, F_TXN_RECORDS, 1);
    put_series(b, s);
}

/* An index that is resolved when all fields are read. */
struct index_fields {
    bytes name, layouts[2];
};

/* A description while it is read. The arrays are those that out points to, still writable; the
 * counts in out tell how far each of them is filled. */
struct schema_reader {
    struct ctx *c;
    struct schema *out;
    struct wr_key_schema *key;
    struct wr_defined_column *defined;
    struct wr_index_meta *indexes;
    struct index *index_tables;
    struct index_fields *index_fields; /* of each */
    struct wr_value *splits;
    struct schema_partition *partitions;
    struct schema_page *pages;
    struct schema_tunnel *tunnels;
    struct schema_search *searches;
    bytes layout,
        shadow_layout; /* texts, which cannot be parsed before the key columns are known */
};

/* Lists are counted first, so that their arrays can be made in one piece. */
static void count_fields(struct reader r, size_t counts[256])
{
    memset(counts, 0, 256 * sizeof(*counts));
    while (reader_left(&r) && !r.bad) {
        counts[read_u8(&r)]++;
        read_counted(&r);
    }
}

static const bytes *schema_read_names(struct ctx *c, struct reader *r, size_t *count)
{
    uint64_t n = read_varint(r);
    bytes *names;

    if (n > reader_left(r)) {
        r->bad = true;
        n = 0;
    }
    names = ARENA_ARRAY(&c->arena, bytes, n);
    for (size_t i = 0; i < n; i++)
        names[i] = read_counted(r);
    *count = n;
    return names;
}

/* Each of the following reads one field's payload; read_field[] names it. */

static bytes read_rest(struct reader *f)
{
    return read_bytes(f, reader_left(f));
}

static void read_id(struct schema_reader *r, struct reader *f)
{
    r->out->id = (uint32_t)schema_read_number(f);
}

static void read_version(struct schema_reader *r, struct reader *f)
{
    r->out->version = (uint64_t)schema_read_number(f);
}

static void read_instance(struct schema_reader *r, struct reader *f)
{
    r->out->instance = read_rest(f);
}

static void read_table(struct schema_reader *r, struct reader *f)
{
    r->out->d.table = read_rest(f);
}

static void read_key_column(struct schema_reader *r, struct reader *f)
{
    struct wr_key_schema *k = &r->key[r->out->d.key_count++];
    uint8_t flags;

    k->name = read_counted(f);
    k->type = read_u8(f);
    k->length = (uint32_t)read_varint(f);
    flags = read_u8(f);
    k->descending = flags & 1;
    k->auto_increment = flags >> 1 & 1;
}

static void read_defined_column(struct schema_reader *r, struct reader *f)
{
    struct wr_defined_column *column = &r->defined[r->out->d.defined_count++];

    column->name = read_counted(f);
    column->type = read_u8(f);
}

static void read_options(struct schema_reader *r, struct reader *f)
{
    struct wr_table_options *o = &r->out->d.options;
    uint8_t flags;

    o->given |= WR_HAS_TTL | WR_HAS_MAX_VERSIONS | WR_HAS_DEVIATION | WR_HAS_ALLOW_UPDATE |
                WR_HAS_UPDATE_FULL_ROW;
    o->ttl_s = (int32_t)schema_read_number(f);
    o->max_versions = (int32_t)schema_read_number(f);
    o->deviation_s = schema_read_number(f);
    flags = read_u8(f);
    o->allow_update = flags & 1;
    o->update_full_row = flags >> 1 & 1;
}

static void read_reserved(struct schema_reader *r, struct reader *f)
{
    struct wr_table_description *d = &r->out->d;

    d->reserved = (struct wr_throughput){.has_read = true, .has_write = true};
    d->reserved.read = (int32_t)schema_read_number(f);
    d->reserved.write = (int32_t)schema_read_number(f);
    d->last_increase_s = schema_read_number(f);
    d->last_decrease_s = schema_read_number(f);
    r->out->throughput_us = schema_read_number(f);
}

static void read_status(struct schema_reader *r, struct reader *f)
{
    r->out->d.status = (enum wr_table_status)schema_read_number(f);
}

static void read_stream(struct schema_reader *r, struct reader *f)
{
    struct wr_table_description *d = &r->out->d;

    d->stream.given = true;
    d->stream.enable = read_u8(f) != 0;
    d->stream.has_expiration = d->stream.enable;
    d->stream.expiration_h = (int32_t)schema_read_number(f);
    d->stream_enable_us = schema_read_number(f);
    d->stream_id = read_counted(f);
    d->stream.columns_to_get = schema_read_names(r->c, f, &d->stream.column_count);
}

static void read_encryption(struct schema_reader *r, struct reader *f)
{
    struct wr_table_description *d = &r->out->d;
    uint8_t flags = read_u8(f);

    d->sse.given = flags & 1;
    d->sse.enable = flags >> 1 & 1;
    d->sse.key_type = (int32_t)schema_read_number(f);
    d->sse.key_id = read_counted(f);
    d->sse.role_arn = read_counted(f);
}

static void read_index(struct schema_reader *r, struct reader *f)
{
    struct wr_index_meta *ix = &r->indexes[r->out->d.index_count++];

    ix->name = read_counted(f);
    ix->key_columns = schema_read_names(r->c, f, &ix->key_column_count);
    ix->defined_columns = schema_read_names(r->c, f, &ix->defined_column_count);
    ix->update_mode = (int32_t)schema_read_number(f);
    ix->type = (int32_t)schema_read_number(f);
    ix->sync_phase = 2;
    ix->partial = true; /* unless it has a table of its own, below */
}

static void read_index_table(struct schema_reader *r, struct reader *f)
{
    size_t i = r->out->index_count++;

    index_decode(f, &r->index_tables[i], &r->index_fields[i].name, r->index_fields[i].layouts);
}

static void read_index_base(struct schema_reader *r, struct reader *f)
{
    r->out->base = index_base_decode(f);
}

static void read_split(struct schema_reader *r, struct reader *f)
{
    r->splits[r->out->d.split_count++] = schema_read_value(f);
}

static void read_partition(struct schema_reader *r, struct reader *f)
{
    r->partitions[r->out->partition_count++] = schema_read_partition(f);
}

static void read_page(struct schema_reader *r, struct reader *f)
{
    struct schema_page *p = &r->pages[r->out->page_count++];

    p->id = read_varint(f);
    p->start = read_counted(f);
    p->count = read_varint(f);
}

static void read_repartition(struct schema_reader *r, struct reader *f)
{
    struct schema_repartition *change = &r->out->repartition;
    struct schema_partition *made = ARENA_ARRAY(&r->c->arena, struct schema_partition, 1);
    size_t room = 1;

    *change = (struct schema_repartition){0}; /* a damaged description may have the field twice */
    change->first = read_varint(f);
    change->count = read_varint(f);
    while (reader_left(f) && !f->bad) {
        if (change->made_count == room) {
            struct schema_partition *more =
                ARENA_ARRAY(&r->c->arena, struct schema_partition, 2 * room);

            memcpy(more, made, room * sizeof(*made));
            made = more;
            room *= 2;
        }
        made[change->made_count++] = schema_read_partition(f);
    }
    change->made = made;
}

static void read_value_split(struct schema_reader *r, struct reader *f)
{
    r->out->value_split = schema_read_number(f) != 0;
}

static void read_creation(struct schema_reader *r, struct reader *f)
{
    r->out->d.creation_us = schema_read_number(f);
}

static void read_local_transactions(struct schema_reader *r, struct reader *f)
{
    r->out->d.local_transactions = schema_read_number(f) != 0;
}

static void read_has_out_of_line(struct schema_reader *r, struct reader *f)
{
    r->out->has_out_of_line = schema_read_number(f) != 0;
}

static void read_cell_bytes(struct schema_reader *r, struct reader *f)
{
    r->out->d.options.cell_bytes_max = schema_read_number(f);
    r->out->d.options.given |= WR_HAS_CELL_BYTES;
}

static void read_layout(struct schema_reader *r, struct reader *f)
{
    r->layout = read_rest(f);
}

static void read_location_id(struct schema_reader *r, struct reader *f)
{
    r->out->location.id = (uint32_t)schema_read_number(f);
}

static void read_shadow(struct schema_reader *r, struct reader *f)
{
    r->out->shadow.id = (uint32_t)schema_read_number(f);
    r->out->rekey = read_u8(f);
    r->shadow_layout = read_counted(f);
}

static void read_stream_records(struct schema_reader *r, struct reader *f)
{
    struct schema_stream *s = &r->out->stream;
    uint64_t location = read_varint(f), shards = read_varint(f);

    f->bad |= !location || location > UINT32_MAX || !shards || shards > SCHEMA_SHARDS_MAX;
    s->location = (uint32_t)location;
    s->shards = (uint16_t)shards;
}

static void read_change_log(struct schema_reader *r, struct reader *f)
{
    int64_t location = schema_read_number(f);

    f->bad |= location <= 0 || location > UINT32_MAX;
    r->out->change_log = (uint32_t)location;
}

static void read_annotation(struct schema_reader *r, struct reader *f)
{
    r->out->d.annotation = read_rest(f);
}

static void read_tunnel(struct schema_reader *r, struct reader *f)
{
    struct schema_tunnel *t = &r->tunnels[r->out->tunnel_count++];

    t->number = read_varint(f);
    t->name = read_counted(f);
    t->type = (enum wr_tunnel_type)read_u8(f);
    t->config.earliest = read_u8(f) != 0;
    t->config.start_ns = read_varint(f);
    t->config.end_ns = read_varint(f);
    t->creation_us = schema_read_number(f);
    f->bad |= !t->number || t->type < WR_TUNNEL_BASE_DATA || t->type > WR_TUNNEL_BASE_AND_STREAM;
}

static void read_outbox(struct schema_reader *r, struct reader *f)
{
    r->out->outbox = schema_read_number(f) != 0;
}

static void read_stream_beside(struct schema_reader *r, struct reader *f)
{
    r->out->stream_beside = schema_read_number(f) != 0;
}

static void read_txn_records(struct schema_reader *r, struct reader *f)
{
    r->out->txn_records = schema_read_number(f) != 0;
}

static void read_search(struct schema_reader *r, struct reader *f)
{
    schema_read_search(&r->c->arena, f, &r->searches[r->out->search_count++]);
}

static void read_series(struct schema_reader *r, struct reader *f)
{
    series_decode(&r->c->arena, f, &r->out->series);
}

static void read_period(struct schema_reader *r, struct reader *f)
{
    series_period_decode(f, &r->out->period);
}

/* By tag; NULL: a field of a later version of Widerow, which is skipped. */
static void (*const read_field[256])(struct schema_reader *r, struct reader *f) = {
    [F_ID] = read_id,
    [F_VERSION] = read_version,
    [F_INSTANCE] = read_instance,
    [F_TABLE] = read_table,
    [F_KEY] = read_key_column,
    [F_DEFINED] = read_defined_column,
    [F_OPTIONS] = read_options,
    [F_RESERVED] = read_reserved,
    [F_STATUS] = read_status,
    [F_STREAM] = read_stream,
    [F_SSE] = read_encryption,
    [F_INDEX] = read_index,
    [F_SPLIT] = read_split,
    [F_CREATION] = read_creation,
    [F_LOCAL_TRANSACTIONS] = read_local_transactions,
    [F_HAS_OUT_OF_LINE] = read_has_out_of_line,
    [F_LAYOUT] = read_layout,
    [F_LOCATION_ID] = read_location_id,
    [F_SHADOW] = read_shadow,
    [F_CELL_BYTES] = read_cell_bytes,
    [F_PARTITION] = read_partition,
    [F_REPARTITION] = read_repartition,
    [F_VALUE_SPLIT] = read_value_split,
    [F_PAGE] = read_page,
    [F_INDEX_TABLE] = read_index_table,
    [F_INDEX_BASE] = read_index_base,
    [F_STREAM_RECORDS] = read_stream_records,
    [F_ANNOTATION] = read_annotation,
    [F_CHANGE_LOG] = read_change_log,
    [F_TUNNEL] = read_tunnel,
    [F_SEARCH] = read_search,
    [F_OUTBOX] = read_outbox,
    [F_STREAM_BESIDE] = read_stream_beside,
    [F_TXN_RECORDS] = read_txn_records,
    [F_SERIES] = read_series,
    [F_PERIOD] = read_period,
};

/* What is made begins where the first of those that go begins, ascends, and ends before the next.
 */
static bool repartition_fits_list(const struct schema *s)
{
    const struct schema_repartition *change = &s->repartition;

    if (!change->made_count)
        return true;
    if (!change->count || change->first >= s->partition_count ||
        change->count > s->partition_count - change->first)
        return false;
    for (size_t i = 1; i < change->made_count; i++)
        if (bytes_compare(change->made[i - 1].start, change->made[i].start) >= 0)
            return false;
    if (s->page_count) /* what it is about is known when the pages are (catalog_map.c) */
        return true;
    if (!bytes_equal(change->made[0].start, s->partitions[change->first].start))
        return false;
    return change->first + change->count == s->partition_count ||
           bytes_compare(change->made[change->made_count - 1].start,
                         s->partitions[change->first + change->count].start) < 0;
}

static bool pages_fit(struct schema *s)
{
    if (s->partition_count)
        return false;
    for (size_t i = 0; i < s->page_count; i++) {
        const struct schema_page *p = &s->pages[i];

        if (!p->id || !p->count || p->count > UINT32_MAX ||
            (i ? bytes_compare(s->pages[i - 1].start, p->start) >= 0 : p->start.len != 0))
            return false;
        s->partition_count += p->count;
    }
    return true;
}

/* Partitions in order, the first one open; tables from before there was a list have splits. */
static int read_repartitions(struct ctx *c, struct schema *s)
{
    s->partition_location = s->location.id;
    if (s->page_count) {
        s->partitions = NULL;
        s->d.split_count = 0;
        return pages_fit(s) && repartition_fits_list(s)
                   ? E_OK
                   : fail(c, E_CORRUPT, "A stored table description has pages that do not fit.");
    }
    if (!s->partition_count && schema_partitions_init(c, s)) {
        ctx_clear(c); /* what was stored is wrong, not what was asked for */
        return fail(c, E_CORRUPT, "A stored table description has a bound that is no key value.");
    }
    for (size_t i = 0; i < s->partition_count; i++)
        if (i ? bytes_compare(s->partitions[i - 1].start, s->partitions[i].start) >= 0
              : s->partitions[i].start.len != 0)
            return fail(c, E_CORRUPT, "A stored table description has partitions out of order.");
    if (!repartition_fits_list(s))
        return fail(
            c, E_CORRUPT,
            "A stored table description has a repartition that does not fit its partitions.");
    return schema_splits_init(c, s);
}

/* Makes the lists, with room for as many members as there are fields. */
static void init_lists(struct schema_reader *r, struct reader stored)
{
    struct arena *arena = &r->c->arena;
    struct schema *out = r->out;
    size_t counts[256];

    count_fields(stored, counts);
    out->d.key = r->key = ARENA_ARRAY(arena, struct wr_key_schema, counts[F_KEY]);
    out->d.defined = r->defined = ARENA_ARRAY(arena, struct wr_defined_column, counts[F_DEFINED]);
    out->d.indexes = r->indexes = ARENA_ARRAY(arena, struct wr_index_meta, counts[F_INDEX]);
    out->indexes = r->index_tables = ARENA_ARRAY(arena, struct index, counts[F_INDEX_TABLE]);
    r->index_fields = ARENA_ARRAY(arena, struct index_fields, counts[F_INDEX_TABLE]);
    out->d.splits = r->splits = ARENA_ARRAY(arena, struct wr_value, counts[F_SPLIT]);
    out->partitions = r->partitions =
        ARENA_ARRAY(arena, struct schema_partition, counts[F_PARTITION]);
    out->pages = r->pages = ARENA_ARRAY(arena, struct schema_page, counts[F_PAGE]);
    out->tunnels = r->tunnels = ARENA_ARRAY(arena, struct schema_tunnel, counts[F_TUNNEL]);
    out->searches = r->searches = ARENA_ARRAY(arena, struct schema_search, counts[F_SEARCH]);
}

static int read_fields(struct schema_reader *r, struct reader stored)
{
    const struct schema *out = r->out;

    init_lists(r, stored);
    while (reader_left(&stored) && !stored.bad) {
        uint8_t tag = read_u8(&stored);
        struct reader f = reader_of(read_counted(&stored));

        if (read_field[tag])
            read_field[tag](r, &f);
        stored.bad |= f.bad;
    }
    return stored.bad || out->d.key_count == 0 || out->d.key_count > WR_KEY_COLUMNS_MAX ||
                   out->id == 0 || out->rekey > REKEY_CANCELLING ||
                   (out->rekey == REKEY_NONE) != (out->shadow.id == 0)
               ? fail(r->c, E_CORRUPT, "A stored table description is damaged.")
               : E_OK;
}

static int read_layouts(struct schema_reader *r)
{
    struct schema *out = r->out;
    const struct wr_table_description *d = &out->d;

    if (!out->location.id)
        out->location.id = out->id;
    out->location.key = out->shadow.key = d->key;
    out->location.key_count = out->shadow.key_count = d->key_count;
    if (layout_parse(r->c, r->layout, d->key, d->key_count, &out->location.layout) ||
        layout_parse(r->c, r->shadow_layout, d->key, d->key_count, &out->shadow.layout)) {
        ctx_clear(r->c);
        return fail(r->c, E_CORRUPT, "A stored table description has a damaged key layout.");
    }
    return E_OK;
}

static struct wr_index_meta *meta_of(struct schema_reader *r, bytes name)
{
    for (size_t i = 0; i < r->out->d.index_count; i++)
        if (bytes_equal(r->indexes[i].name, name))
            return &r->indexes[i];
    return NULL;
}

static int read_indexes(struct schema_reader *r)
{
    for (size_t i = 0; i < r->out->index_count; i++) {
        struct index *x = &r->index_tables[i];
        const struct index_fields *f = &r->index_fields[i];
        struct wr_index_meta *meta = meta_of(r, f->name);

        x->meta = meta;
        if (!meta || !index_resolve(&r->c->arena, &r->out->d, x) ||
            layout_parse(r->c, f->layouts[0], x->location.key, x->location.key_count,
                         &x->location.layout) ||
            layout_parse(r->c, f->layouts[1], x->location.key, x->location.key_count,
                         &x->shadow.layout)) {
            ctx_clear(r->c);
            return fail(r->c, E_CORRUPT, "A stored table description has a damaged index.");
        }
        meta->sync_phase = x->phase == INDEX_INCR ? INDEX_INCR : INDEX_FULL;
        meta->partial = !x->include_base_data;
        meta->descending = x->descending;
        meta->hashed =
            x->location.layout.form == LAYOUT_HASH ? x->location.layout.partition_cols : 0;
    }
    return E_OK;
}

int schema_decode(struct ctx *c, bytes stored, struct schema *out)
{
    struct reader fields = reader_of(arena_copy(&c->arena, stored));
    struct schema_reader r = {.c = c, .out = out};
    uint8_t version = read_u8(&fields);
    int rc;

    *out = (struct schema){0};
    if ((version < SCHEMA_VERSION_PLAIN || version > SCHEMA_VERSION_INDEX_TYPES) && !fields.bad)
        return fail(c, E_FORMAT,
                    "A stored table description has version %d; this server knows version %d.",
                    version, SCHEMA_VERSION_INDEX_TYPES);
    rc = read_fields(&r, fields);
    if (!rc)
        rc = read_layouts(&r);
    if (!rc)
        rc = read_indexes(&r);
    return rc ? rc : read_repartitions(c, out);
}
