/* survey.c: each field is hashed once; everything else is arithmetic on that hash. Nothing is
 * allocated for a record. */
#include "advisor/survey.h"

#include "advisor/radix.h"
#include "base/port.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t survey_hash(bytes value)
{
    return XXH3_64bits(value.ptr, value.len);
}

void survey_init(struct survey *s, uint64_t seed)
{
    *s = (struct survey){.sample.step = 1};
    s->columns = mem_zalloc(sizeof(*s->columns) * SURVEY_COLUMNS_MAX);
    s->clusters = mem_zalloc(sizeof(*s->clusters) * SURVEY_COLUMNS_MAX);
    s->sample.sizes = mem_alloc(sizeof(*s->sample.sizes) * SURVEY_SAMPLE_MAX);
    s->sample.cells = mem_alloc(sizeof(*s->sample.cells) * SURVEY_SAMPLE_MAX * SURVEY_COLUMNS_MAX);
    s->sample.texts = mem_alloc(SURVEY_SAMPLE_TEXT_MAX);
    rng_init(&s->sample.rng, seed);
}

void survey_release(struct survey *s)
{
    for (size_t i = 0; i < s->column_count; i++)
        mem_free(s->clusters[i].rows);
    mem_free(s->columns);
    mem_free(s->clusters);
    mem_free(s->sample.sizes);
    mem_free(s->sample.cells);
    mem_free(s->sample.texts);
    memset(s, 0, sizeof(*s));
}

bool survey_add_column(struct survey *s, bytes name, size_t field)
{
    struct survey_column *col = &s->columns[s->column_count];
    struct survey_cluster *cluster = &s->clusters[s->column_count];

    if (s->column_count == SURVEY_COLUMNS_MAX)
        return false;
    col->name = name;
    col->field = field;
    col->len_min = SIZE_MAX;
    cluster->limit = UINT64_MAX;
    cluster->rows = mem_alloc(sizeof(*cluster->rows) * SURVEY_CLUSTER_MAX * SURVEY_COLUMNS_MAX);
    for (uint32_t i = 0; i < s->sample.count; i++)
        s->sample.cells[(size_t)i * SURVEY_COLUMNS_MAX + s->column_count].len = UINT32_MAX;
    for (size_t k = 0; k < s->column_count; k++)
        for (uint32_t i = 0; i < s->clusters[k].count; i++)
            s->clusters[k].rows[(size_t)i * SURVEY_COLUMNS_MAX + s->column_count] = 0;
    s->column_count++;
    return true;
}

/* ---- types ---- */

static bool all_digits(const char *p, const char *end)
{
    while (p != end && *p >= '0' && *p <= '9')
        p++;
    return p == end;
}

static bool is_double(const char *p, const char *end)
{
    size_t digits = 0;

    if (p != end && (*p == '-' || *p == '+'))
        p++;
    for (; p != end && *p >= '0' && *p <= '9'; p++)
        digits++;
    if (p != end && *p == '.')
        for (p++; p != end && *p >= '0' && *p <= '9'; p++)
            digits++;
    if (digits && p != end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p != end && (*p == '-' || *p == '+'))
            p++;
        return p != end && all_digits(p, end);
    }
    return digits && p == end;
}

static void look_at_type(struct survey_column *col, bytes text)
{
    const char *p = text.ptr, *end = p + text.len;

    if (!col->not_integer) {
        if (p != end && *p == '-')
            p++;
        if (p == end || end - p > 18 || !all_digits(p, end))
            col->not_integer = true;
        else if (*p == '0' && end - p > 1)
            col->padded = true;
    }
    if (col->not_integer && !col->not_double && !is_double(text.ptr, end))
        col->not_double = true;
}

/* ---- samples ---- */

static void sample_copy(struct survey_sample *d, uint32_t to, uint32_t from, size_t *used)
{
    struct survey_sample_cell *out = &d->cells[(size_t)to * SURVEY_COLUMNS_MAX];
    const struct survey_sample_cell *in = &d->cells[(size_t)from * SURVEY_COLUMNS_MAX];

    d->sizes[to] = d->sizes[from];
    for (size_t i = 0; i < SURVEY_COLUMNS_MAX; i++) {
        out[i] = in[i];
        if (in[i].len == UINT32_MAX)
            continue;
        memmove(d->texts + *used, d->texts + in[i].at, in[i].len); /* only ever to the left */
        out[i].at = (uint32_t)*used;
        *used += in[i].len;
    }
}

/* Keeps one record of every two, from stretches twice as long: either, by chance, or what repeats
 * at even distances in the stream would be seen or missed always. */
static void sample_thin(struct survey_sample *d)
{
    size_t used = 0;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < d->count; i += 2)
        sample_copy(d, kept++, i + 1 < d->count ? i + (uint32_t)rng_below(&d->rng, 2) : i, &used);
    d->count = kept;
    d->text_used = used;
    d->step *= 2;
}

static void sample_add(struct survey *s, const struct csv_field *fields, uint32_t size)
{
    struct survey_sample *d = &s->sample;
    struct survey_sample_cell *cells;

    if (d->count == SURVEY_SAMPLE_MAX ||
        SURVEY_SAMPLE_TEXT_MAX - d->text_used < SURVEY_COLUMNS_MAX * SURVEY_SAMPLE_FIELD_MAX)
        sample_thin(d);
    cells = &d->cells[(size_t)d->count * SURVEY_COLUMNS_MAX];
    for (size_t i = 0; i < SURVEY_COLUMNS_MAX; i++) {
        bytes text = i < s->column_count ? fields[s->columns[i].field].text : BYTES_NONE;

        cells[i] = (struct survey_sample_cell){0, UINT32_MAX};
        if (!text.ptr)
            continue;
        if (text.len > SURVEY_SAMPLE_FIELD_MAX)
            text.len = SURVEY_SAMPLE_FIELD_MAX;
        cells[i] = (struct survey_sample_cell){(uint32_t)d->text_used, (uint32_t)text.len};
        memcpy(d->texts + d->text_used, text.ptr, text.len);
        d->text_used += text.len;
    }
    d->sizes[d->count++] = size;
    /* One of the next stretch. */
    d->pick = (s->records / d->step + 1) * d->step + rng_below(&d->rng, d->step);
}

/* Keeps the half of the values whose hashes are lower. */
static void cluster_halve(struct survey_cluster *k, size_t column)
{
    while (k->count == SURVEY_CLUSTER_MAX && k->limit) {
        uint32_t kept = 0;

        k->limit >>= 1;
        for (uint32_t i = 0; i < k->count; i++) {
            const uint32_t *row = &k->rows[(size_t)i * SURVEY_COLUMNS_MAX];

            /* The rows hold the upper halves of the hashes; 0 stands for absent, so 1 is also 0. */
            if (row[column] <= k->limit >> 32)
                memmove(&k->rows[(size_t)kept++ * SURVEY_COLUMNS_MAX], row,
                        sizeof(*row) * SURVEY_COLUMNS_MAX);
        }
        k->count = kept;
        if (k->limit >> 32 == 0)
            k->limit = 0;
    }
    if (k->limit == 0)
        k->count = 0;
}

static void cluster_add(struct survey_cluster *k, size_t column, const uint32_t *row,
                        size_t columns)
{
    if (k->count == SURVEY_CLUSTER_MAX)
        cluster_halve(k, column);
    if (row[column] <= k->limit >> 32 && k->limit)
        memcpy(&k->rows[(size_t)k->count++ * SURVEY_COLUMNS_MAX], row, sizeof(*row) * columns);
}

/* ---- the record ---- */

static void look_at_field(struct survey_column *col, const struct csv_field *field, uint64_t hash)
{
    size_t len = field->text.len;

    col->present++;
    col->text_bytes += len;
    col->quoted += field->quoted;
    col->len_min = len < col->len_min ? len : col->len_min;
    col->len_max = len > col->len_max ? len : col->len_max;
    look_at_type(col, field->text);
    sketch_distinct_add(&col->distinct, hash);
}

/* Three rounds over the fields, so that the cells of the sketches, which lie in the outer caches,
 * are on their way while the rest is looked at. */
void survey_add(struct survey *s, const struct csv_field *fields)
{
    uint64_t hashes[SURVEY_COLUMNS_MAX];
    uint32_t row[SURVEY_COLUMNS_MAX], size = 0;

    for (size_t i = 0; i < s->column_count; i++) {
        bytes text = fields[s->columns[i].field].text;

        hashes[i] = 0;
        row[i] = 0;
        if (!text.ptr)
            continue;
        hashes[i] = XXH3_64bits(text.ptr, text.len);
        row[i] = (uint32_t)(hashes[i] >> 32);
        row[i] += row[i] == 0;
        size += (uint32_t)(text.len + s->columns[i].name.len);
        sketch_weights_prefetch(&s->columns[i].weights, hashes[i]);
    }
    for (size_t i = 0; i < s->column_count; i++)
        if (row[i])
            look_at_field(&s->columns[i], &fields[s->columns[i].field], hashes[i]);
    for (size_t i = 0; i < s->column_count; i++) {
        if (!row[i])
            continue;
        sketch_weights_add(&s->columns[i].weights, hashes[i], size,
                           fields[s->columns[i].field].text);
        if (PORT_UNLIKELY(hashes[i] <= s->clusters[i].limit))
            cluster_add(&s->clusters[i], i, row, s->column_count);
    }
    if (PORT_UNLIKELY(s->records == s->sample.pick))
        sample_add(s, fields, size);
    s->records++;
    s->bytes += size;
}

uint32_t survey_cluster_tuples(const struct survey *s, size_t cluster_column, const size_t *columns,
                               size_t count, uint32_t *different)
{
    const struct survey_cluster *k = &s->clusters[cluster_column];
    uint64_t *tuples = mem_alloc(sizeof(*tuples) * (k->count + 1));
    uint32_t *ignored = mem_zalloc(sizeof(*ignored) * (k->count + 1));

    for (uint32_t i = 0; i < k->count; i++) {
        uint32_t tuple[SURVEY_COLUMNS_MAX];

        for (size_t j = 0; j < count; j++)
            tuple[j] = k->rows[(size_t)i * SURVEY_COLUMNS_MAX + columns[j]];
        tuples[i] = XXH3_64bits(tuple, sizeof(tuple[0]) * count);
    }
    radix_sort(tuples, ignored, k->count);
    *different = k->count > 0;
    for (uint32_t i = 1; i < k->count; i++)
        *different += tuples[i] != tuples[i - 1];
    mem_free(tuples);
    mem_free(ignored);
    return k->count;
}
