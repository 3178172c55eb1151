#include "cli/search_file.h"

#include "cli/console/value.h"
#include "record/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_MAX (4u << 20)
#define LIST_MAX 1000 /* of anything */

static const char *const type_names[] = {
#define FIELD_TYPE(type, name) [WR_FIELD_##type] = (name),
#include "field_type.def"
#undef FIELD_TYPE
};
static const char *const metrics[] = {"euclidean", "cosine", "dot_product"};

const char *search_file_type(enum wr_field_type type)
{
    return type >= WR_FIELD_LONG && type <= WR_FIELD_FLATTENED ? type_names[type] : "unknown";
}

/* ---- reading ---- */

struct reading {
    struct ctx *c;
    const char *path;
};

/* With the beginning of where it is, on one line. */
static int bad(const struct reading *r, const char *what, bytes at)
{
    size_t len = 0;

    while (len < at.len && len < 80 && bytes_u8(at)[len] != '\n')
        len++;
    return fail(r->c, E_PARAMETER, "%s: %s: %.*s", r->path, what, (int)len, (const char *)at.ptr);
}

static int read_whole(struct ctx *c, const char *path, bytes *out)
{
    FILE *f = fopen(path, "re");
    char *text;
    size_t len;

    if (!f)
        return fail(c, E_NOT_EXIST, "%s: %s", path, strerror(errno));
    text = arena_alloc(&c->arena, FILE_MAX);
    len = fread(text, 1, FILE_MAX, f);
    fclose(f);
    if (len == FILE_MAX)
        return fail(c, E_PARAMETER, "%s: a schema is smaller than %u MiB", path, FILE_MAX >> 20);
    *out = bytes_of(text, len);
    return 0;
}

/* Each member of an object, or each value of an array (name: no bytes). */
typedef int member_fn(struct reading *r, bytes name, const struct csv_field *v, void *arg);

static int each(struct reading *r, bytes text, char open, char close, member_fn *fn, void *arg)
{
    struct json_reader j = json_reader_of((char *)text.ptr, text.len);
    bool more;

    if (!json_take(&j, open))
        return bad(r, open == '{' ? "an object in {} is wanted" : "a list in [] is wanted", text);
    for (more = !json_take(&j, close); more; more = json_take_next(&j, close)) {
        struct csv_field v;
        bytes name = BYTES_NONE;

        if ((open == '{' && !json_take_name(&j, &name)) || !json_take_value(&j, &v))
            break;
        TRY(fn(r, name, &v, arg));
    }
    json_skip_space(&j);
    if (j.fault || j.at != j.end)
        return bad(r, j.fault ? j.fault : "more stands behind the end", text);
    return 0;
}

struct names {
    bytes *list;
    size_t count;
};

static int add_name(struct reading *r, bytes name, const struct csv_field *v, void *arg)
{
    struct names *n = arg;

    (void)name;
    if (!v->quoted)
        return bad(r, "a name in quotes is wanted", v->text);
    if (n->count == LIST_MAX)
        return bad(r, "the list is too long, at", v->text);
    n->list[n->count++] = v->text;
    return 0;
}

static int read_names(struct reading *r, bytes text, const bytes **list, size_t *count)
{
    struct names n = {ARENA_ARRAY(&r->c->arena, bytes, LIST_MAX), 0};

    TRY(each(r, text, '[', ']', add_name, &n));
    *list = n.list;
    *count = n.count;
    return 0;
}

static int read_flag(struct reading *r, const struct csv_field *v, bool *out)
{
    *out = bytes_equal(v->text, BYTES_LIT("true"));
    return *out || bytes_equal(v->text, BYTES_LIT("false"))
               ? 0
               : bad(r, "true or false is wanted", v->text);
}

static int read_word(struct reading *r, bytes text, const char *const *words, size_t count,
                     const char *what, size_t *out)
{
    for (*out = 0; *out < count; ++*out)
        if (words[*out] && bytes_equal(text, bytes_str(words[*out])))
            return 0;
    return bad(r, what, text);
}

static int read_number(struct reading *r, const struct csv_field *v, int32_t *out)
{
    struct wr_value n;

    if (v->quoted || !value_of_text(v->text, WR_BIGINT, &n) || n.integer < 0 ||
        n.integer > INT32_MAX)
        return bad(r, "a whole number is wanted", v->text);
    *out = (int32_t)n.integer;
    return 0;
}

static int field_member(struct reading *r, bytes name, const struct csv_field *v, void *arg)
{
    struct wr_field_schema *f = arg;
    size_t at;

#define IS(word) bytes_equal(name, BYTES_LIT(word))
    if (IS("name")) {
        f->name = v->text;
    } else if (IS("type")) {
        TRY(read_word(r, v->text, type_names, PORT_COUNT(type_names), "no such type of a field",
                      &at));
        f->type = (enum wr_field_type)at;
    } else if (IS("analyzer")) {
        f->analyzer = v->text;
    } else if (IS("array")) {
        return read_flag(r, v, &f->is_array);
    } else if (IS("index")) {
        return read_flag(r, v, &f->index);
    } else if (IS("sort_and_agg")) {
        return read_flag(r, v, &f->sort_and_agg);
    } else if (IS("store")) {
        f->store_given = true;
        return read_flag(r, v, &f->store);
    } else if (IS("virtual")) {
        return read_flag(r, v, &f->is_virtual);
    } else if (IS("sources")) {
        return read_names(r, v->text, &f->source_fields, &f->source_field_count);
    } else if (IS("formats")) {
        return read_names(r, v->text, &f->date_formats, &f->date_format_count);
    } else if (IS("dimension")) {
        f->vector.given = true;
        f->vector.data_type = 2;
        return read_number(r, v, &f->vector.dimension);
    } else if (IS("metric")) {
        TRY(read_word(r, v->text, metrics, PORT_COUNT(metrics),
                      "a metric is euclidean, cosine or dot_product, not", &at));
        f->vector.metric = (int32_t)at;
    } else {
        return bad(r, "a field has no such member", name);
    }
    return 0;
#undef IS
}

static int add_field(struct reading *r, bytes name, const struct csv_field *v, void *arg)
{
    struct wr_search_schema *s = arg;
    struct wr_field_schema *f = (struct wr_field_schema *)s->fields + s->field_count;

    (void)name;
    if (s->field_count == LIST_MAX)
        return bad(r, "there are too many fields, at", v->text);
    *f = (struct wr_field_schema){.index = true};
    TRY(each(r, v->text, '{', '}', field_member, f));
    if (!f->name.len || !f->type)
        return bad(r, "a field has a name and a type", v->text);
    if (!f->store_given)
        f->store = f->type != WR_FIELD_TEXT;
    s->field_count++;
    return 0;
}

static int read_sort(struct reading *r, bytes text, struct wr_sort *out)
{
    const bytes *names;
    struct wr_sorter *list;

    TRY(read_names(r, text, &names, &out->count));
    list = ARENA_ARRAY(&r->c->arena, struct wr_sorter, out->count);
    for (size_t i = 0; i < out->count; i++) {
        bool down = bytes_starts(names[i], BYTES_LIT("-"));

        list[i] = (struct wr_sorter){.type = WR_SORTER_FIELD,
                                     .field = bytes_skip(names[i], down),
                                     .order = down ? WR_ORDER_DESC : WR_ORDER_ASC,
                                     .order_given = true};
    }
    out->sorters = list;
    out->given = true;
    return 0;
}

static int schema_member(struct reading *r, bytes name, const struct csv_field *v, void *arg)
{
    struct wr_search_schema *s = arg;

    if (bytes_equal(name, BYTES_LIT("fields"))) {
        s->fields = ARENA_ARRAY(&r->c->arena, struct wr_field_schema, LIST_MAX + 1);
        s->field_count = 0;
        return each(r, v->text, '[', ']', add_field, s);
    }
    if (bytes_equal(name, BYTES_LIT("sort")))
        return read_sort(r, v->text, &s->index_sort);
    if (bytes_equal(name, BYTES_LIT("routing")))
        return read_names(r, v->text, &s->routing_fields, &s->routing_field_count);
    return bad(r, "a schema has no such member", name);
}

int search_file_read(struct ctx *c, const char *path, struct wr_search_schema *out)
{
    struct reading r = {c, path};
    bytes text;

    *out = (struct wr_search_schema){0};
    TRY(read_whole(c, path, &text));
    TRY(each(&r, text, '{', '}', schema_member, out));
    return out->field_count ? 0 : fail(c, E_PARAMETER, "%s: there are no fields", path);
}

/* ---- writing ---- */

static void put(struct buf *b, const char *text)
{
    buf_put_bytes(b, bytes_str(text));
}

/* , "NAME":  */
static void put_name(struct buf *b, const char *name)
{
    put(b, ", \"");
    put(b, name);
    put(b, "\": ");
}

static void put_text(struct buf *b, const char *name, bytes text)
{
    put_name(b, name);
    value_put_string(b, text);
}

static void put_names(struct buf *b, const char *name, const bytes *list, size_t count)
{
    put_name(b, name);
    put(b, "[");
    for (size_t i = 0; i < count; i++) {
        put(b, i ? ", " : "");
        value_put_string(b, list[i]);
    }
    put(b, "]");
}

static void put_field(struct buf *b, const struct wr_field_schema *f)
{
    put(b, "{\"name\": ");
    value_put_string(b, f->name);
    put_text(b, "type", bytes_str(search_file_type(f->type)));
    if (f->analyzer.len)
        put_text(b, "analyzer", f->analyzer);
    if (f->is_array)
        put(b, ", \"array\": true");
    if (!f->index)
        put(b, ", \"index\": false");
    if (f->sort_and_agg)
        put(b, ", \"sort_and_agg\": true");
    if (f->store_given)
        put(b, f->store ? ", \"store\": true" : ", \"store\": false");
    if (f->is_virtual)
        put(b, ", \"virtual\": true");
    if (f->source_field_count)
        put_names(b, "sources", f->source_fields, f->source_field_count);
    if (f->date_format_count)
        put_names(b, "formats", f->date_formats, f->date_format_count);
    if (f->vector.given) {
        put_name(b, "dimension");
        value_put(b, &(struct wr_value){.type = WR_BIGINT, .integer = f->vector.dimension});
        if (f->vector.metric >= 0 && (size_t)f->vector.metric < PORT_COUNT(metrics))
            put_text(b, "metric", bytes_str(metrics[f->vector.metric]));
    }
    put(b, "}");
}

static void put_sort(struct buf *b, const struct wr_sort *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->count; i++) {
        if (s->sorters[i].type != WR_SORTER_FIELD)
            continue;
        put(b, n++ ? ", \"" : ",\n \"sort\": [\"");
        put(b, s->sorters[i].order == WR_ORDER_DESC ? "-" : "");
        buf_put_bytes(b, s->sorters[i].field);
        put(b, "\"");
    }
    if (n)
        put(b, "]");
}

void search_file_put(struct buf *b, const struct wr_search_schema *s)
{
    put(b, "{\"fields\": [");
    for (size_t i = 0; i < s->field_count; i++) {
        put(b, i ? ",\n  " : "\n  ");
        put_field(b, &s->fields[i]);
    }
    put(b, "\n ]");
    put_sort(b, &s->index_sort);
    if (s->routing_field_count)
        put_names(b, "routing", s->routing_fields, s->routing_field_count);
    put(b, "}\n");
}
