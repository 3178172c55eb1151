/* Schemas of search indexes. */
#include "wire/ots_search_part.h"

#define SINGLE_WORD BYTES_LIT("single_word")

/* ---- reading */

/* Clients send parameters of one analyzer with another one: what has another form is passed over,
 * not refused. */
static void read_parameter(bytes analyzer, bytes in, struct wr_analyzer_options *out)
{
    bool single = !analyzer.ptr || bytes_equal(analyzer, SINGLE_WORD);
    bool split = bytes_equal(analyzer, BYTES_LIT("split"));
    bool fuzzy = bytes_equal(analyzer, BYTES_LIT("fuzzy"));
    struct pb_reader r;

    for (r = pb_reader_of(in); pb_next(&r);) {
        if (split && r.field == 1) {
            struct pb_reader text = r;
            bytes delimiter = pb_bytes(&text);

            if (!text.bad)
                out->delimiter = delimiter;
        } else if (r.type == 0) {
            if (r.field == (single ? 1u : split ? 2u : 3u))
                out->case_sensitive = pb_bool(&r);
            else if (single && r.field == 2)
                out->delimit_word = pb_bool(&r);
            else if (fuzzy && r.field == 1)
                out->min_chars = pb_int32(&r);
            else if (fuzzy && r.field == 2)
                out->max_chars = pb_int32(&r);
        }
    }
}

static int read_vector(struct search_read *s, bytes in, struct wr_vector_options *out)
{
    struct pb_reader r = pb_reader_of(in);

    *out = (struct wr_vector_options){.given = true};
    while (pb_next(&r))
        if (r.field == 1)
            out->data_type = pb_int32(&r);
        else if (r.field == 2)
            out->dimension = pb_int32(&r);
        else if (r.field == 3)
            TRY(search_enum(s, &r, 0, 2, "Metric type", &out->metric));
    return search_end(s, &r);
}

static int read_fields(struct search_read *s, bytes in, unsigned field,
                       const struct wr_field_schema **out, size_t *count)
{
    struct pb_reader r = pb_reader_of(in);
    struct wr_field_schema *list;
    size_t n = 0;

    TRY(search_items(s, pb_count(in, field), sizeof(*list), &list));
    while (pb_next(&r))
        if (r.field == field)
            TRY(search_read_field(s, pb_bytes(&r), &list[n++]));
    *out = n ? list : NULL;
    *count = n;
    return search_end(s, &r);
}

static int read_field_part(struct search_read *s, struct pb_reader *r, struct wr_field_schema *out)
{
    int32_t type;

    switch (r->field) {
    case 1:
        out->name = pb_bytes(r);
        break;
    case 2:
        TRY(search_enum(s, r, WR_FIELD_LONG, WR_FIELD_FLATTENED, "Field type", &type));
        out->type = (enum wr_field_type)type;
        break;
    case 3:
        TRY(search_enum(s, r, 1, 4, "Index options", &out->index_options));
        break;
    case 4:
        out->analyzer = pb_bytes(r);
        break;
    case 5:
        out->index = pb_bool(r);
        break;
    case 6:
        out->sort_and_agg = pb_bool(r);
        break;
    case 7:
        out->store_given = true;
        out->store = pb_bool(r);
        break;
    case 9:
        out->is_array = pb_bool(r);
        break;
    case 10:
        out->analyzer_parameter = pb_bytes(r);
        break;
    case 11:
        out->is_virtual = pb_bool(r);
        break;
    case 14:
        out->highlighting = pb_bool(r);
        break;
    case 15:
        return read_vector(s, pb_bytes(r), &out->vector);
    case 16:
        return search_enum(s, r, 1, 2, "Type of JSON", &out->json_type);
    case 17:
        return search_enum(s, r, 1, 2, "Similarity", &out->similarity);
    }
    return 0;
}

int search_read_field(struct search_read *s, bytes in, struct wr_field_schema *out)
{
    struct pb_reader r = pb_reader_of(in);

    *out = (struct wr_field_schema){.index = true};
    TRY(search_enter(s));
    TRY(read_fields(s, in, 8, &out->children, &out->child_count));
    search_leave(s);
    TRY(search_texts(s, in, 12, &out->source_fields, &out->source_field_count));
    TRY(search_texts(s, in, 13, &out->date_formats, &out->date_format_count));
    while (pb_next(&r))
        TRY(read_field_part(s, &r, out));
    TRY(search_end(s, &r));
    TRY(search_need(s, out->name.ptr, "field schema", "field_name"));
    TRY(search_need(s, out->type, "field schema", "field_type"));
    if (!out->store_given)
        out->store = out->type != WR_FIELD_TEXT;
    if (out->analyzer_parameter.ptr)
        read_parameter(out->analyzer, out->analyzer_parameter, &out->analyzer_options);
    return 0;
}

static int read_setting(struct search_read *s, bytes in, struct wr_search_schema *out)
{
    struct pb_reader r = pb_reader_of(in);

    TRY(search_texts(s, in, 2, &out->routing_fields, &out->routing_field_count));
    while (pb_next(&r))
        if (r.field == 1) {
            out->shards = pb_int32(&r);
        } else if (r.field == 3) {
            out->has_routing_partition_size = true;
            out->routing_partition_size = pb_int32(&r);
        } else if (r.field == 7) {
            out->custom_column_version = pb_bool(&r);
        }
    return search_end(s, &r);
}

int search_read_schema(struct search_read *s, bytes in, struct wr_search_schema *out)
{
    struct pb_reader r = pb_reader_of(in);

    TRY(read_fields(s, in, 1, &out->fields, &out->field_count));
    while (pb_next(&r))
        if (r.field == 2)
            TRY(read_setting(s, pb_bytes(&r), out));
        else if (r.field == 3)
            TRY(search_read_sort(s, pb_bytes(&r), &out->index_sort));
    return search_end(s, &r);
}

/* ---- writing */

static void put_vector(struct buf *b, const struct wr_vector_options *v)
{
    size_t start;

    if (!v->given)
        return;
    start = pb_open(b, 15, 0);
    pb_put_int(b, 1, v->data_type);
    pb_put_int(b, 2, v->dimension);
    pb_put_int(b, 3, v->metric);
    pb_close(b, start, 0);
}

/* A field of children has no flags of its own: they are off where all are told. */
static void put_flags(struct buf *b, const struct wr_field_schema *f, bool effective)
{
    bool group = f->type == WR_FIELD_NESTED || f->type == WR_FIELD_JSON;
    bool off = effective && f->type == WR_FIELD_NESTED;

    if (effective || !f->index || !group)
        pb_put_int(b, 5, f->index && !off);
    if (effective || f->sort_and_agg)
        pb_put_int(b, 6, f->sort_and_agg && !off);
    if (effective || f->store_given)
        pb_put_int(b, 7, f->store && !off);
}

void search_put_field(struct buf *b, unsigned field, const struct wr_field_schema *f,
                      bool effective)
{
    size_t start = pb_open(b, field, 0);

    pb_put_bytes(b, 1, f->name);
    pb_put_int(b, 2, f->type);
    search_put_given(b, 3, f->index_options);
    if (f->analyzer.ptr || (effective && f->type == WR_FIELD_TEXT))
        pb_put_bytes(b, 4, f->analyzer.ptr ? f->analyzer : SINGLE_WORD);
    put_flags(b, f, effective);
    for (size_t i = 0; i < f->child_count; i++)
        search_put_field(b, 8, &f->children[i], effective);
    if (effective || f->is_array)
        pb_put_int(b, 9, f->is_array && !(effective && f->type == WR_FIELD_NESTED));
    search_put_optional(b, 10, f->analyzer_parameter);
    search_put_given(b, 11, f->is_virtual);
    ots_put_names(b, 12, f->source_fields, f->source_field_count);
    ots_put_names(b, 13, f->date_formats, f->date_format_count);
    search_put_given(b, 14, f->highlighting);
    put_vector(b, &f->vector);
    search_put_given(b, 16, f->json_type);
    search_put_given(b, 17, f->similarity);
    pb_close(b, start, 0);
}

/* Rows come by their key where no other order was given; of an index with children, by their
 * score. */
static bool has_key_order(const struct wr_search_schema *schema)
{
    for (size_t i = 0; i < schema->field_count; i++)
        if (schema->fields[i].type == WR_FIELD_NESTED)
            return false;
    return true;
}

void search_put_schema(struct buf *b, unsigned field, const struct wr_search_schema *schema,
                       bool effective)
{
    static const struct wr_sorter key = {.type = WR_SORTER_KEY, .order_given = true};
    struct wr_sort sort = schema->index_sort;
    size_t start = pb_open(b, field, 0), part;

    for (size_t i = 0; i < schema->field_count; i++)
        search_put_field(b, 1, &schema->fields[i], effective);
    part = pb_open(b, 2, 0); /* clients need it, even with nothing in it */
    search_put_given(b, 1, schema->shards);
    ots_put_names(b, 2, schema->routing_fields, schema->routing_field_count);
    if (schema->has_routing_partition_size)
        pb_put_int(b, 3, schema->routing_partition_size);
    search_put_given(b, 7, schema->custom_column_version);
    pb_close(b, part, 0);
    if (effective && !sort.given && has_key_order(schema))
        sort = (struct wr_sort){.given = true, .sorters = &key, .count = 1};
    search_put_sort(b, 3, &sort);
    pb_close(b, start, 0);
}
