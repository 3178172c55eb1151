#include "search/field/schema.h"

static const char *const type_names[] = {
#define FIELD_TYPE(type, name) [WR_FIELD_##type] = (name),
#include "field_type.def"
#undef FIELD_TYPE
};

static const enum field_kind kinds[] = {
    [WR_FIELD_LONG] = FIELD_NUMBER,      [WR_FIELD_DOUBLE] = FIELD_NUMBER,
    [WR_FIELD_BOOLEAN] = FIELD_NUMBER,   [WR_FIELD_KEYWORD] = FIELD_ORDINAL,
    [WR_FIELD_TEXT] = FIELD_TEXT,        [WR_FIELD_NESTED] = FIELD_NONE,
    [WR_FIELD_GEO_POINT] = FIELD_NUMBER, [WR_FIELD_DATE] = FIELD_NUMBER,
    [WR_FIELD_VECTOR] = FIELD_VECTOR,    [WR_FIELD_FUZZY_KEYWORD] = FIELD_ORDINAL,
    [WR_FIELD_IP] = FIELD_ORDINAL,       [WR_FIELD_JSON] = FIELD_NONE,
    [WR_FIELD_FLATTENED] = FIELD_NONE,
};

static bool is_type(enum wr_field_type type)
{
    return type >= WR_FIELD_LONG && type <= WR_FIELD_FLATTENED;
}

const char *search_type_name(enum wr_field_type type)
{
    return is_type(type) ? type_names[type] : "unknown";
}

const struct search_field *search_schema_find(const struct search_schema *s, bytes name, size_t *at)
{
    for (size_t i = 0; i < s->count; i++)
        if (bytes_equal(s->fields[i].name, name)) {
            if (at)
                *at = i;
            if (s->asked)
                s->asked[i / 64] |= 1ull << i % 64;
            return &s->fields[i];
        }
    return NULL;
}

static int check_name(struct ctx *c, const struct search_schema *s, bytes name)
{
    if (!name.len || name.len > 255 || !bytes_is_utf8(name))
        return fail(c, E_PARAMETER,
                    "Invalid field name of a search index: '%.*s'. It is 1 to 255 bytes of UTF-8.",
                    BYTES_FMT(name));
    if (search_schema_find(s, name, NULL))
        return fail(c, E_PARAMETER, "Duplicated field name of a search index: '%.*s'.",
                    BYTES_FMT(name));
    return E_OK;
}

static int make_vector(struct ctx *c, const struct wr_field_schema *d, struct search_field *f)
{
    if (!d->vector.given || d->vector.dimension < 1 || d->vector.dimension > SEARCH_DIMENSION_MAX)
        return fail(
            c, E_PARAMETER,
            "The VECTOR field '%.*s' of a search index needs vector_options with a dimension "
            "from 1 to %d.",
            BYTES_FMT(d->name), SEARCH_DIMENSION_MAX);
    if (d->vector.metric < 0 || d->vector.metric > 2)
        return fail(c, E_PARAMETER, "Unknown metric %d of the VECTOR field '%.*s'.",
                    d->vector.metric, BYTES_FMT(d->name));
    f->dimension = (uint32_t)d->vector.dimension;
    f->metric = d->vector.metric;
    return E_OK;
}

static int make_field(struct ctx *c, const struct wr_field_schema *d, struct search_field *f)
{
    if (!is_type(d->type))
        return fail(c, E_PARAMETER, "Unknown type %d of field '%.*s' of a search index.",
                    (int)d->type, BYTES_FMT(d->name));
    *f = (struct search_field){
        .name = d->name,
        .column = d->name,
        .type = d->type,
        .kind = kinds[d->type],
        .is_array = d->is_array,
        .is_virtual = d->is_virtual,
        .stored = !d->is_virtual && (d->store_given ? d->store : d->type != WR_FIELD_TEXT),
    };
    if (d->is_virtual) {
        if (d->source_field_count != 1)
            return fail(c, E_PARAMETER,
                        "The virtual field '%.*s' of a search index needs exactly one source "
                        "field, and has %zu.",
                        BYTES_FMT(d->name), d->source_field_count);
        f->column = d->source_fields[0];
    }
    if (d->type == WR_FIELD_TEXT)
        TRY(analyzer_make(c, d, &f->analyzer));
    if (d->type == WR_FIELD_VECTOR)
        TRY(make_vector(c, d, f));
    if (d->type == WR_FIELD_DATE)
        TRY(date_formats_make(c, d, &f->dates));
    return E_OK;
}

static int check_index_sort(struct ctx *c, const struct search_schema *s)
{
    const struct wr_sort *sort = &s->d->index_sort;

    if (!sort->given)
        return E_OK;
    if (s->has_nested && sort->count)
        return fail(c, E_PARAMETER, "A search index with a NESTED field can't have an index sort.");
    for (size_t i = 0; i < sort->count; i++) {
        const struct wr_sorter *by = &sort->sorters[i];
        const struct search_field *f;

        if (by->type == WR_SORTER_KEY)
            continue;
        if (by->type != WR_SORTER_FIELD)
            return fail(c, E_PARAMETER, "An index sort is by fields and by the primary key only.");
        f = search_schema_find(s, by->field, NULL);
        if (!f)
            return fail(c, E_PARAMETER, "The index sort's field '%.*s' does not exist.",
                        BYTES_FMT(by->field));
        if ((f->kind != FIELD_NUMBER && f->kind != FIELD_ORDINAL) ||
            f->type == WR_FIELD_GEO_POINT || f->type == WR_FIELD_FUZZY_KEYWORD)
            return fail(c, E_PARAMETER, "An index can't be sorted by field '%.*s' of type %s.",
                        BYTES_FMT(by->field), search_type_name(f->type));
    }
    return E_OK;
}

int search_schema_make(struct ctx *c, const struct wr_search_schema *d, struct search_schema **out)
{
    struct search_schema *s = ARENA_NEW(&c->arena, struct search_schema);

    if (!d->field_count)
        return fail(c, E_PARAMETER, "A search index needs at least one field.");
    if (d->field_count > SEARCH_FIELDS_MAX)
        return fail(c, E_PARAMETER, "A search index has at most %d fields, not %zu.",
                    SEARCH_FIELDS_MAX, d->field_count);
    s->d = d;
    s->fields = ARENA_ARRAY(&c->arena, struct search_field, d->field_count);
    for (size_t i = 0; i < d->field_count; i++) {
        TRY(check_name(c, s, d->fields[i].name));
        TRY(make_field(c, &d->fields[i], &s->fields[i]));
        s->count++;
        s->has_nested |= d->fields[i].type == WR_FIELD_NESTED;
    }
    TRY(check_index_sort(c, s));
    *out = s;
    return E_OK;
}

static bytes copy_text(struct arena *a, bytes b)
{
    return b.ptr ? arena_copy(a, b) : BYTES_NONE;
}

static const struct wr_bytes *copy_texts(struct arena *a, const struct wr_bytes *list, size_t count)
{
    struct wr_bytes *copy = ARENA_ARRAY(a, struct wr_bytes, count);

    for (size_t i = 0; i < count; i++)
        copy[i] = copy_text(a, list[i]);
    return copy;
}

static const struct wr_field_schema *copy_fields(struct arena *a,
                                                 const struct wr_field_schema *list, size_t count)
{
    struct wr_field_schema *copy = ARENA_ARRAY(a, struct wr_field_schema, count);

    for (size_t i = 0; i < count; i++) {
        struct wr_field_schema *f = &copy[i];

        *f = list[i];
        f->name = copy_text(a, f->name);
        f->analyzer = copy_text(a, f->analyzer);
        f->analyzer_options.delimiter = copy_text(a, f->analyzer_options.delimiter);
        f->analyzer_parameter = copy_text(a, f->analyzer_parameter);
        f->source_fields = copy_texts(a, f->source_fields, f->source_field_count);
        f->date_formats = copy_texts(a, f->date_formats, f->date_format_count);
        f->children = copy_fields(a, f->children, f->child_count);
    }
    return copy;
}

struct wr_search_schema search_schema_copy(struct arena *a, const struct wr_search_schema *d)
{
    struct wr_search_schema s = *d;
    struct wr_sorter *sorters = ARENA_ARRAY(a, struct wr_sorter, d->index_sort.count);

    s.fields = copy_fields(a, d->fields, d->field_count);
    s.routing_fields = copy_texts(a, d->routing_fields, d->routing_field_count);
    for (size_t i = 0; i < d->index_sort.count; i++) {
        /* What else a sorter may have, an index's has not. */
        sorters[i] = (struct wr_sorter){
            .type = d->index_sort.sorters[i].type,
            .order = d->index_sort.sorters[i].order,
            .order_given = d->index_sort.sorters[i].order_given,
            .mode = d->index_sort.sorters[i].mode,
            .field = copy_text(a, d->index_sort.sorters[i].field),
        };
    }
    s.index_sort.sorters = sorters;
    return s;
}
