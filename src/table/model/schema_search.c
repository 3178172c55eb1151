#include "table/model/schema_search.h"

#define DEPTH_MAX 8 /* of fields in fields */

/* Flags of a field; stored. */
enum {
    FLAG_INDEX = 1,
    FLAG_SORT = 2,
    FLAG_STORE_GIVEN = 4,
    FLAG_STORE = 8,
    FLAG_ARRAY = 16,
    FLAG_VIRTUAL = 32,
    FLAG_HIGHLIGHTING = 64,
    FLAG_VECTOR = 128,
    FLAG_CASE = 256,
    FLAG_DELIMIT = 512,
};

static void put_signed(struct buf *f, int64_t v)
{
    buf_put_varint(f, zigzag(v));
}

static int32_t read_signed(struct reader *f)
{
    int64_t v = unzigzag(read_varint(f));

    f->bad |= v < INT32_MIN || v > INT32_MAX;
    return (int32_t)v;
}

/* 0 for none, else the length and one. */
static void put_optional(struct buf *f, bytes text)
{
    buf_put_varint(f, text.ptr ? text.len + 1 : 0);
    buf_put_bytes(f, text);
}

static bytes read_optional(struct reader *f)
{
    uint64_t n = read_varint(f);

    return n ? read_bytes(f, n - 1) : BYTES_NONE;
}

static void put_texts(struct buf *f, const struct wr_bytes *list, size_t count)
{
    buf_put_varint(f, count);
    for (size_t i = 0; i < count; i++)
        buf_put_counted(f, list[i]);
}

/* A count of members that take a byte or more. */
static size_t read_count(struct reader *f)
{
    uint64_t n = read_varint(f);

    if (n > reader_left(f)) {
        f->bad = true;
        return 0;
    }
    return n;
}

static const struct wr_bytes *read_texts(struct arena *a, struct reader *f, size_t *count)
{
    struct wr_bytes *list;

    *count = read_count(f);
    list = ARENA_ARRAY(a, struct wr_bytes, *count);
    for (size_t i = 0; i < *count; i++)
        list[i] = read_counted(f);
    return list;
}

static uint32_t flags_of(const struct wr_field_schema *s)
{
    return (s->index ? FLAG_INDEX : 0) | (s->sort_and_agg ? FLAG_SORT : 0) |
           (s->store_given ? FLAG_STORE_GIVEN : 0) | (s->store ? FLAG_STORE : 0) |
           (s->is_array ? FLAG_ARRAY : 0) | (s->is_virtual ? FLAG_VIRTUAL : 0) |
           (s->highlighting ? FLAG_HIGHLIGHTING : 0) | (s->vector.given ? FLAG_VECTOR : 0) |
           (s->analyzer_options.case_sensitive ? FLAG_CASE : 0) |
           (s->analyzer_options.delimit_word ? FLAG_DELIMIT : 0);
}

static void put_field(struct buf *f, const struct wr_field_schema *s)
{
    buf_put_counted(f, s->name);
    put_signed(f, s->type);
    buf_put_varint(f, flags_of(s));
    put_signed(f, s->index_options);
    put_optional(f, s->analyzer);
    put_optional(f, s->analyzer_options.delimiter);
    put_signed(f, s->analyzer_options.min_chars);
    put_signed(f, s->analyzer_options.max_chars);
    put_optional(f, s->analyzer_parameter);
    put_texts(f, s->source_fields, s->source_field_count);
    put_texts(f, s->date_formats, s->date_format_count);
    put_signed(f, s->vector.data_type);
    put_signed(f, s->vector.dimension);
    put_signed(f, s->vector.metric);
    put_signed(f, s->json_type);
    put_signed(f, s->similarity);
    buf_put_varint(f, s->child_count);
    for (size_t i = 0; i < s->child_count; i++)
        put_field(f, &s->children[i]);
}

static enum wr_field_type read_type(struct reader *f)
{
    int32_t v = read_signed(f);

    f->bad |= v < WR_FIELD_LONG || v > WR_FIELD_FLATTENED;
    return (enum wr_field_type)v;
}

static void read_field(struct arena *a, struct reader *f, int depth, struct wr_field_schema *s)
{
    struct wr_field_schema *children;
    uint64_t flags;

    s->name = read_counted(f);
    s->type = read_type(f);
    flags = read_varint(f);
    s->index = flags & FLAG_INDEX;
    s->sort_and_agg = flags & FLAG_SORT;
    s->store_given = flags & FLAG_STORE_GIVEN;
    s->store = flags & FLAG_STORE;
    s->is_array = flags & FLAG_ARRAY;
    s->is_virtual = flags & FLAG_VIRTUAL;
    s->highlighting = flags & FLAG_HIGHLIGHTING;
    s->vector.given = flags & FLAG_VECTOR;
    s->analyzer_options.case_sensitive = flags & FLAG_CASE;
    s->analyzer_options.delimit_word = flags & FLAG_DELIMIT;
    s->index_options = read_signed(f);
    s->analyzer = read_optional(f);
    s->analyzer_options.delimiter = read_optional(f);
    s->analyzer_options.min_chars = read_signed(f);
    s->analyzer_options.max_chars = read_signed(f);
    s->analyzer_parameter = read_optional(f);
    s->source_fields = read_texts(a, f, &s->source_field_count);
    s->date_formats = read_texts(a, f, &s->date_format_count);
    s->vector.data_type = read_signed(f);
    s->vector.dimension = read_signed(f);
    s->vector.metric = read_signed(f);
    s->json_type = read_signed(f);
    s->similarity = read_signed(f);
    s->child_count = read_count(f);
    f->bad |= depth == DEPTH_MAX && s->child_count;
    if (f->bad)
        s->child_count = 0;
    s->children = children = ARENA_ARRAY(a, struct wr_field_schema, s->child_count);
    for (size_t i = 0; i < s->child_count && !f->bad; i++)
        read_field(a, f, depth + 1, &children[i]);
}

static void put_sorter(struct buf *f, const struct wr_sorter *s)
{
    buf_put_u8(f, (uint8_t)s->type);
    buf_put_u8(f, (uint8_t)s->order);
    buf_put_u8(f, s->order_given);
    buf_put_u8(f, (uint8_t)s->mode);
    buf_put_counted(f, s->field);
}

static void read_sorter(struct reader *f, struct wr_sorter *s)
{
    s->type = (enum wr_sorter_type)read_u8(f);
    s->order = (enum wr_order)read_u8(f);
    s->order_given = read_u8(f) != 0;
    s->mode = (enum wr_sort_mode)read_u8(f);
    s->field = read_counted(f);
    f->bad |= s->type < WR_SORTER_FIELD || s->type > WR_SORTER_DOC || s->order > WR_ORDER_DESC ||
              s->mode > WR_SORT_MODE_AVG;
}

void schema_put_search(struct buf *f, const struct schema_search *s)
{
    buf_put_varint(f, s->number);
    buf_put_counted(f, s->name);
    put_signed(f, s->creation_us);
    put_signed(f, s->ttl_s);
    put_signed(f, s->d.shards);
    put_texts(f, s->d.routing_fields, s->d.routing_field_count);
    buf_put_u8(f, s->d.has_routing_partition_size);
    put_signed(f, s->d.routing_partition_size);
    buf_put_u8(f, s->d.custom_column_version);
    buf_put_u8(f, s->d.index_sort.given);
    buf_put_varint(f, s->d.index_sort.count);
    for (size_t i = 0; i < s->d.index_sort.count; i++)
        put_sorter(f, &s->d.index_sort.sorters[i]);
    buf_put_varint(f, s->d.field_count);
    for (size_t i = 0; i < s->d.field_count; i++)
        put_field(f, &s->d.fields[i]);
}

void schema_read_search(struct arena *a, struct reader *f, struct schema_search *s)
{
    struct wr_field_schema *fields;
    struct wr_sorter *sorters;

    s->number = read_varint(f);
    s->name = read_counted(f);
    s->creation_us = unzigzag(read_varint(f));
    s->ttl_s = read_signed(f);
    s->d.shards = read_signed(f);
    s->d.routing_fields = read_texts(a, f, &s->d.routing_field_count);
    s->d.has_routing_partition_size = read_u8(f) != 0;
    s->d.routing_partition_size = read_signed(f);
    s->d.custom_column_version = read_u8(f) != 0;
    s->d.index_sort.given = read_u8(f) != 0;
    s->d.index_sort.count = read_count(f);
    s->d.index_sort.sorters = sorters = ARENA_ARRAY(a, struct wr_sorter, s->d.index_sort.count);
    for (size_t i = 0; i < s->d.index_sort.count && !f->bad; i++)
        read_sorter(f, &sorters[i]);
    s->d.field_count = read_count(f);
    s->d.fields = fields = ARENA_ARRAY(a, struct wr_field_schema, s->d.field_count);
    for (size_t i = 0; i < s->d.field_count && !f->bad; i++)
        read_field(a, f, 0, &fields[i]);
    f->bad |= !s->number || !s->name.len;
}

const struct schema_search *schema_search_find(const struct schema *s, bytes name)
{
    for (size_t i = 0; i < s->search_count; i++)
        if (bytes_equal(s->searches[i].name, name))
            return &s->searches[i];
    return NULL;
}
