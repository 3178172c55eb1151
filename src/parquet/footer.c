#include "parquet/footer.h"

#include "parquet/thrift_read.h"

#define DECIMAL_DIGITS_MAX 38

/* An element of the schema as it is written. */
struct element {
    bytes name;
    int physical, length, repetition, children, converted, scale, precision;
    bool has_physical, has_children, has_converted, is_string, is_unsigned;
    enum parquet_meaning meaning;
    uint64_t units_s;
};

/* ---- the meaning of a column */

static uint64_t read_unit(struct reader *r, const struct thrift_field *of)
{
    static const uint64_t units_s[] = {0, 1000, 1000000, 1000000000};
    struct thrift_field f = {0};
    uint64_t found = 0;

    if (!thrift_is_struct(r, of))
        return 0;
    while (thrift_next(r, &f)) {
        if (f.id <= 3)
            found = units_s[f.id];
        thrift_skip(r, &f);
    }
    return found;
}

/* What stands in a type's own struct: DECIMAL's scale and precision, a time's unit, an integer's
 * sign. */
static void read_details(struct reader *r, const struct thrift_field *type, struct element *e)
{
    struct thrift_field f = {0};

    while (thrift_next(r, &f)) {
        if (type->id == 5 && f.id == 1)
            e->scale = thrift_read_i32(r, &f);
        else if (type->id == 5 && f.id == 2)
            e->precision = thrift_read_i32(r, &f);
        else if ((type->id == 7 || type->id == 8) && f.id == 2)
            e->units_s = read_unit(r, &f);
        else if (type->id == 10 && f.id == 2)
            e->is_unsigned = !thrift_read_bool(&f);
        else
            thrift_skip(r, &f);
    }
}

static void read_logical(struct reader *r, const struct thrift_field *of, struct element *e)
{
    static const enum parquet_meaning meanings[] = {
        [5] = MEANS_DECIMAL,   [6] = MEANS_DATE,  [7] = MEANS_TIME,
        [8] = MEANS_TIMESTAMP, [14] = MEANS_UUID, [15] = MEANS_HALF_FLOAT};
    struct thrift_field f = {0};

    if (!thrift_is_struct(r, of))
        return;
    while (thrift_next(r, &f)) {
        if (!thrift_is_struct(r, &f))
            return;
        e->is_string |= f.id == 1 || f.id == 4 || f.id == 12; /* STRING, ENUM, JSON */
        if (f.id < (int)PORT_COUNT(meanings) && meanings[f.id])
            e->meaning = meanings[f.id];
        read_details(r, &f, e);
    }
}

static void use_converted(struct element *e)
{
    switch (e->converted) {
    case CONVERTED_UTF8:
    case CONVERTED_ENUM:
    case CONVERTED_JSON:
        e->is_string = true;
        break;
    case CONVERTED_DECIMAL:
        e->meaning = MEANS_DECIMAL;
        break;
    case CONVERTED_DATE:
        e->meaning = MEANS_DATE;
        break;
    case CONVERTED_TIME_MILLIS:
    case CONVERTED_TIME_MICROS:
        e->meaning = MEANS_TIME;
        e->units_s = e->converted == CONVERTED_TIME_MILLIS ? 1000 : 1000000;
        break;
    case CONVERTED_TIMESTAMP_MILLIS:
    case CONVERTED_TIMESTAMP_MICROS:
        e->meaning = MEANS_TIMESTAMP;
        e->units_s = e->converted == CONVERTED_TIMESTAMP_MILLIS ? 1000 : 1000000;
        break;
    case CONVERTED_UINT_32:
    case CONVERTED_UINT_64:
        e->is_unsigned = true;
        break;
    default:
        break;
    }
}

static void read_element(struct reader *r, struct element *e)
{
    struct thrift_field f = {0};

    *e = (struct element){0};
    while (thrift_next(r, &f)) {
        if (f.id == 1) {
            e->physical = thrift_read_i32(r, &f);
            e->has_physical = true;
        } else if (f.id == 2) {
            e->length = thrift_read_i32(r, &f);
        } else if (f.id == 3) {
            e->repetition = thrift_read_i32(r, &f);
        } else if (f.id == 4) {
            e->name = thrift_read_binary(r, &f);
        } else if (f.id == 5) {
            e->children = thrift_read_i32(r, &f);
            e->has_children = true;
        } else if (f.id == 6) {
            e->converted = thrift_read_i32(r, &f);
            e->has_converted = true;
        } else if (f.id == 7) {
            e->scale = thrift_read_i32(r, &f);
        } else if (f.id == 8) {
            e->precision = thrift_read_i32(r, &f);
        } else if (f.id == 10) {
            read_logical(r, &f, e);
        } else {
            thrift_skip(r, &f);
        }
    }
    if (e->has_converted && !e->meaning && !e->is_string)
        use_converted(e);
}

static bool is_whole_number(int physical)
{
    return physical == PHYSICAL_INT32 || physical == PHYSICAL_INT64;
}

/* A mark that does not fit the values is none. */
static enum parquet_meaning meaning_of(const struct element *e)
{
    bool whole = is_whole_number(e->physical), fixed = e->physical == PHYSICAL_FIXED;

    switch (e->meaning) {
    case MEANS_DECIMAL:
        return whole || fixed || e->physical == PHYSICAL_BYTE_ARRAY ? MEANS_DECIMAL : MEANS_ITSELF;
    case MEANS_DATE:
        return e->physical == PHYSICAL_INT32 ? MEANS_DATE : MEANS_ITSELF;
    case MEANS_TIME:
    case MEANS_TIMESTAMP:
        return whole && e->units_s ? e->meaning : MEANS_ITSELF;
    case MEANS_UUID:
        return fixed && e->length == 16 ? MEANS_UUID : MEANS_ITSELF;
    case MEANS_HALF_FLOAT:
        return fixed && e->length == 2 ? MEANS_HALF_FLOAT : MEANS_ITSELF;
    default:
        if (e->physical == PHYSICAL_INT96)
            return MEANS_TIMESTAMP;
        return e->is_unsigned && whole ? MEANS_UNSIGNED : MEANS_ITSELF;
    }
}

static enum wr_type type_of(const struct element *e, enum parquet_meaning meaning)
{
    if (meaning == MEANS_DECIMAL || meaning == MEANS_UUID)
        return WR_VARCHAR;
    if (meaning == MEANS_HALF_FLOAT)
        return WR_DOUBLE;
    switch (e->physical) {
    case PHYSICAL_BOOLEAN:
        return WR_BOOLEAN;
    case PHYSICAL_FLOAT:
    case PHYSICAL_DOUBLE:
        return WR_DOUBLE;
    case PHYSICAL_BYTE_ARRAY:
    case PHYSICAL_FIXED:
        return e->is_string ? WR_VARCHAR : WR_VARBINARY;
    default:
        return WR_BIGINT;
    }
}

static int make_leaf(struct ctx *c, const struct element *e, struct parquet_leaf *out)
{
    if ((e->has_children && e->children > 0) || e->repetition > REPETITION_OPTIONAL)
        return fail(c, E_PARAMETER,
                    "column %.*s is nested (a list, a map or a struct); only flat files are read, "
                    "so leave it out or flatten it when the file is written",
                    BYTES_FMT(e->name));
    if (!e->has_physical || e->physical < 0 || e->physical > PHYSICAL_FIXED || e->repetition < 0 ||
        (e->physical == PHYSICAL_FIXED && e->length <= 0))
        return fail(c, E_PARAMETER, "column %.*s has a type that Parquet does not know",
                    BYTES_FMT(e->name));
    *out = (struct parquet_leaf){.name = e->name,
                                 .physical = (enum parquet_physical)e->physical,
                                 .length = (uint32_t)e->length,
                                 .optional = e->repetition == REPETITION_OPTIONAL,
                                 .meaning = meaning_of(e)};
    out->units_s = e->physical == PHYSICAL_INT96 ? 1000000000 : e->units_s;
    out->type = type_of(e, out->meaning);
    if (out->meaning == MEANS_DECIMAL && (e->precision < 0 || e->precision > DECIMAL_DIGITS_MAX ||
                                          e->scale < 0 || e->scale > DECIMAL_DIGITS_MAX))
        return fail(c, E_PARAMETER, "column %.*s is a decimal of more than %d digits",
                    BYTES_FMT(e->name), DECIMAL_DIGITS_MAX);
    out->scale = (uint32_t)e->scale;
    return 0;
}

/* The root, and then its leaves in a row. */
static int read_schema(struct ctx *c, struct reader *r, const struct thrift_field *f,
                       struct parquet_footer *out)
{
    size_t count = thrift_read_list(r, f, THRIFT_STRUCT);
    struct parquet_leaf *leaves;
    struct element e;

    if (!count || out->leaves) {
        r->bad = true; /* none, or a second one */
        return 0;
    }
    if (count - 1 > PARQUET_COLUMNS_MAX)
        return fail(c, E_PARAMETER, "the file has %zu columns; %d are the most", count - 1,
                    PARQUET_COLUMNS_MAX);
    read_element(r, &e);
    leaves = ARENA_ARRAY(&c->arena, struct parquet_leaf, count);
    for (size_t i = 0; i + 1 < count && !r->bad; i++) {
        read_element(r, &e);
        if (!r->bad)
            TRY(make_leaf(c, &e, &leaves[i]));
    }
    out->leaves = leaves;
    out->leaf_count = count - 1;
    return 0;
}

/* ---- row groups */

static void read_chunk_meta(struct reader *r, const struct thrift_field *of,
                            struct parquet_chunk *out)
{
    struct thrift_field f = {0};
    int64_t dictionary = 0, data = 0, size = 0;

    if (!thrift_is_struct(r, of))
        return;
    while (thrift_next(r, &f)) {
        if (f.id == 4)
            out->codec = thrift_read_i32(r, &f);
        else if (f.id == 5)
            out->values = (uint64_t)thrift_read_int(r, &f);
        else if (f.id == 7)
            size = thrift_read_int(r, &f);
        else if (f.id == 9)
            data = thrift_read_int(r, &f);
        else if (f.id == 11)
            dictionary = thrift_read_int(r, &f);
        else
            thrift_skip(r, &f);
    }
    /* Some writers leave a zero where there is no dictionary. */
    out->offset = (uint64_t)(dictionary > 0 && dictionary < data ? dictionary : data);
    out->size = (uint64_t)size;
}

static void read_chunk(struct reader *r, struct parquet_chunk *out)
{
    struct thrift_field f = {0};

    while (thrift_next(r, &f)) {
        if (f.id == 3)
            read_chunk_meta(r, &f, out);
        else
            thrift_skip(r, &f);
    }
}

static int read_group(struct ctx *c, struct reader *r, const struct parquet_footer *footer,
                      struct parquet_group *out)
{
    struct parquet_chunk *chunks =
        ARENA_ARRAY(&c->arena, struct parquet_chunk, footer->leaf_count + 1);
    struct thrift_field f = {0};
    size_t count = 0;

    memset(chunks, 0, sizeof(*chunks) * footer->leaf_count);
    while (thrift_next(r, &f)) {
        if (f.id == 1) {
            count = thrift_read_list(r, &f, THRIFT_STRUCT);
            if (count != footer->leaf_count)
                return fail(c, E_PARAMETER, "a row group has %zu columns, the file has %zu", count,
                            footer->leaf_count);
            for (size_t i = 0; i < count && !r->bad; i++)
                read_chunk(r, &chunks[i]);
        } else if (f.id == 3) {
            out->rows = (uint64_t)thrift_read_int(r, &f);
        } else {
            thrift_skip(r, &f);
        }
    }
    out->chunks = chunks;
    return !r->bad && count != footer->leaf_count
               ? fail(c, E_PARAMETER, "a row group has no columns")
               : 0;
}

static int read_groups(struct ctx *c, struct reader *r, const struct thrift_field *f,
                       struct parquet_footer *out)
{
    size_t count = thrift_read_list(r, f, THRIFT_STRUCT);
    struct parquet_group *groups;

    if (count && !out->leaf_count)
        return fail(c, E_PARAMETER, "the file has row groups and no columns");
    /* Each takes three bytes and a column's two at least: so much memory only for a footer that is
     * as large. */
    if (count > reader_left(r) / 3)
        return fail(c, E_PARAMETER, "the footer is damaged");
    groups = ARENA_ARRAY(&c->arena, struct parquet_group, count + 1);
    memset(groups, 0, sizeof(*groups) * count);
    for (size_t i = 0; i < count && !r->bad; i++)
        TRY(read_group(c, r, out, &groups[i]));
    out->groups = groups;
    out->group_count = count;
    return 0;
}

/* ---- the whole */

static void read_notes(struct reader *r, const struct thrift_field *of, struct parquet_footer *out)
{
    size_t count = thrift_read_list(r, of, THRIFT_STRUCT);

    for (size_t i = 0; i < count && !r->bad; i++) {
        struct thrift_field f = {0};
        bytes name = BYTES_NONE, value = BYTES_NONE;

        while (thrift_next(r, &f)) {
            if (f.id == 1)
                name = thrift_read_binary(r, &f);
            else if (f.id == 2)
                value = thrift_read_binary(r, &f);
            else
                thrift_skip(r, &f);
        }
        if (bytes_equal(name, BYTES_LIT("widerow.key")))
            out->key_note = value;
    }
}

static int check_places(struct ctx *c, const struct parquet_footer *footer, uint64_t file_size)
{
    uint64_t rows = 0;

    for (size_t i = 0; i < footer->group_count; i++) {
        const struct parquet_group *g = &footer->groups[i];

        if (g->rows > INT64_MAX - rows)
            return fail(c, E_PARAMETER, "row group %zu has no number of rows", i + 1);
        rows += g->rows;
        for (size_t k = 0; k < footer->leaf_count; k++) {
            const struct parquet_chunk *chunk = &g->chunks[k];

            if (chunk->values != g->rows || chunk->size > file_size ||
                chunk->offset > file_size - chunk->size)
                return fail(c, E_PARAMETER,
                            "row group %zu, column %.*s: its place or number of values is none",
                            i + 1, BYTES_FMT(footer->leaves[k].name));
        }
    }
    return rows == footer->rows ? 0
                                : fail(c, E_PARAMETER,
                                       "the row groups have not as many rows as "
                                       "the file");
}

int parquet_footer_read(struct ctx *c, bytes text, uint64_t file_size, struct parquet_footer *out)
{
    struct reader r = reader_of(text);
    struct thrift_field f = {0};

    *out = (struct parquet_footer){0};
    while (thrift_next(&r, &f)) {
        if (f.id == 2)
            TRY(read_schema(c, &r, &f, out));
        else if (f.id == 3)
            out->rows = (uint64_t)thrift_read_int(&r, &f);
        else if (f.id == 4)
            TRY(read_groups(c, &r, &f, out));
        else if (f.id == 5)
            read_notes(&r, &f, out);
        else if (f.id == 8 || f.id == 9)
            return fail(c, E_PARAMETER, "the file is encrypted");
        else
            thrift_skip(&r, &f);
    }
    if (r.bad || !out->leaf_count)
        return fail(c, E_PARAMETER, "the footer is damaged");
    return check_places(c, out, file_size);
}
