#include "search/result/group_key.h"
#include "search/result/collect_memory.h"

#include "base/buf.h"
#include "search/field/date.h"
#include "search/field/geo.h"
#include "search/result/buckets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NS_PER_MS 1000000

struct group_key {
    struct collect *k;
    const struct wr_group_by *g;
    const struct search_field *field;
    size_t at;
    const struct segment_column *col;
    struct texts texts; /* of ordinals, geohashes, composites */
    uint32_t *known;    /* of the segment's terms: number and one */
    bool has_missing;
    int64_t missing;
    /* Histograms. */
    bool reals;
    double interval, offset;
    bool has_range;
    int64_t first, last; /* keys, both in */
    int32_t unit, units;
    int64_t zone_ns, offset_ns;
    /* COMPOSITE */
    struct group_key *sources[GROUP_SOURCES_MAX];
    size_t source_count;
    bytes after; /* ptr NULL: from the beginning */
};

/* ---- histograms ---- */

static int64_t histogram_key(const struct group_key *key, int64_t number)
{
    double v = key->reals ? real_of_number(number) : (double)number;
    double bucket = floor((v - key->offset) / key->interval) * key->interval + key->offset;

    return key->reals                             ? number_of_real(bucket)
           : bucket >= -0x1p63 && bucket < 0x1p63 ? (int64_t)bucket
                                                  : number;
}

static int64_t date_key(const struct group_key *key, int64_t ns)
{
    return date_bucket(ns, key->unit, key->units, key->zone_ns, key->offset_ns);
}

/* The nearest integer that there is. */
static int64_t saturated(double v)
{
    return v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : (int64_t)v;
}

static bool real_of_value(const struct wr_value *v, double *out)
{
    *out = v->type == WR_BIGINT ? (double)v->integer : v->type == WR_DOUBLE ? v->real : NAN;
    return isfinite(*out);
}

static int make_histogram(struct group_key *key)
{
    struct ctx *c = key->k->c;
    double low, high, next;

    key->reals = key->field->type == WR_FIELD_DOUBLE;
    if (key->field->type != WR_FIELD_LONG && !key->reals)
        return fail(c, E_PARAMETER,
                    "[group by histogram] field_name:%.*s type:%s is invalid, allow [long, double]",
                    BYTES_FMT(key->g->field), search_type_name(key->field->type));
    if (!real_of_value(&key->g->interval, &key->interval) || !(key->interval > 0))
        return fail(c, E_PARAMETER, "[group by histogram] the interval is a number above 0");
    if (key->g->offset.type != WR_NULL && !real_of_value(&key->g->offset, &key->offset))
        return fail(c, E_PARAMETER, "[group by histogram] the offset is no number");
    key->has_range = key->g->range_min.type != WR_NULL && key->g->range_max.type != WR_NULL;
    if (!key->has_range)
        return E_OK;
    if (!real_of_value(&key->g->range_min, &low) || !real_of_value(&key->g->range_max, &high) ||
        low > high)
        return fail(c, E_PARAMETER,
                    "[group by histogram] the field_range is two numbers, the smaller one first");
    if ((high - low) / key->interval > GROUPS_MAX)
        return fail(c, E_PARAMETER,
                    "[group by histogram] the field_range has more than %d intervals", GROUPS_MAX);
    /* Keys from min to max. */
    next = ceil((low - key->offset) / key->interval) * key->interval + key->offset;
    key->first = key->reals ? number_of_real(next) : saturated(next);
    next = floor((high - key->offset) / key->interval) * key->interval + key->offset;
    key->last = key->reals ? number_of_real(next) : saturated(next);
    return E_OK;
}

static bool date_value(const struct group_key *key, const struct wr_value *v, int64_t *out)
{
    return v->type == WR_BIGINT    ? date_of_integer(key->field->dates, v->integer, out)
           : v->type == WR_VARCHAR ? date_of_text(key->field->dates, v->bytes, out)
                                   : false;
}

static int make_date_histogram(struct group_key *key)
{
    struct ctx *c = key->k->c;
    const struct wr_group_by *g = key->g;
    int64_t low, high, length;

    if (key->field->type != WR_FIELD_DATE)
        return fail(c, E_PARAMETER,
                    "[group by date histogram] field_name:%.*s type:%s is invalid, allow [date]",
                    BYTES_FMT(g->field), search_type_name(key->field->type));
    key->unit = g->date_interval.unit;
    key->units = g->date_interval.value;
    if (!g->date_interval.given || key->units < 1 ||
        !date_interval_ns(&g->date_interval, &length) || (key->unit <= 3 && key->units != 1))
        return fail(
            c, E_PARAMETER,
            "[group by date histogram] the interval is 1 or more of a unit, and 1 of years, "
            "quarters and months");
    if (g->time_zone.ptr && g->time_zone.len && !date_zone_of_text(g->time_zone, &key->zone_ns))
        return fail(c, E_PARAMETER,
                    "[group by date histogram] the time zone '%.*s' is not as '+08:00'",
                    BYTES_FMT(g->time_zone));
    if (g->date_offset.given && !date_interval_ns(&g->date_offset, &key->offset_ns))
        return fail(c, E_PARAMETER, "[group by date histogram] the offset has no known unit");
    key->has_range = g->range_min.type != WR_NULL && g->range_max.type != WR_NULL;
    if (!key->has_range)
        return E_OK;
    if (!date_value(key, &g->range_min, &low) || !date_value(key, &g->range_max, &high) ||
        low > high)
        return fail(
            c, E_PARAMETER,
            "[group by date histogram] the field_range is two dates in a format of the field");
    if ((double)(high - low) / (double)length > GROUPS_MAX)
        return fail(c, E_PARAMETER,
                    "[group by date histogram] the field_range has more than %d intervals",
                    GROUPS_MAX);
    key->first = date_key(key, low);
    key->last = date_key(key, high) - 1; /* the bucket of the upper end is out */
    return E_OK;
}

/* ---- making ---- */

static int make_missing(struct group_key *key)
{
    struct document_value v = {0};

    if (key->g->missing.type == WR_NULL)
        return E_OK;
    if (!document_convert(&key->k->c->arena, key->field, &key->g->missing, &v))
        return fail(key->k->c, E_PARAMETER, "[group by] the missing value does not fit field %.*s",
                    BYTES_FMT(key->g->field));
    key->has_missing = true;
    key->missing = v.number;
    return E_OK;
}

static int check_groupable(struct group_key *key)
{
    enum wr_field_type t = key->field->type;

    if (t != WR_FIELD_LONG && t != WR_FIELD_DOUBLE && t != WR_FIELD_BOOLEAN &&
        t != WR_FIELD_KEYWORD && t != WR_FIELD_DATE && t != WR_FIELD_IP)
        return fail(key->k->c, E_PARAMETER,
                    "[group by field] field_name:%.*s type:%s is invalid, allow [long, double, "
                    "boolean, keyword, date, ip]",
                    BYTES_FMT(key->g->field), search_type_name(t));
    return E_OK;
}

static int make_grid(struct group_key *key)
{
    if (key->field->type != WR_FIELD_GEO_POINT)
        return fail(key->k->c, E_PARAMETER,
                    "[group by geo grid] field_name:%.*s type:%s is invalid, allow [geo_point]",
                    BYTES_FMT(key->g->field), search_type_name(key->field->type));
    if (key->g->precision < 1 || key->g->precision > GEO_HASH_MAX)
        return fail(key->k->c, E_PARAMETER, "[group by geo grid] the precision is from 1 to %d",
                    GEO_HASH_MAX);
    return E_OK;
}

static int read_composite_token(struct group_key *key)
{
    bytes hex = key->g->next_token;
    uint8_t *raw;

    if (!hex.ptr || !hex.len)
        return E_OK;
    raw = arena_alloc(&key->k->c->arena, hex.len / 2 + 1);
    for (size_t i = 0; i < hex.len; i++) {
        uint8_t ch = bytes_u8(hex)[i];
        int digit = ch >= '0' && ch <= '9' ? ch - '0' : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;

        if (digit < 0 || hex.len % 2)
            return fail(key->k->c, E_PARAMETER, "[group by composite] invalid next_token");
        raw[i / 2] = (uint8_t)(i % 2 ? raw[i / 2] | digit : digit << 4);
    }
    key->after = bytes_of(raw, hex.len / 2);
    return E_OK;
}

static int make_composite(struct group_key *key)
{
    const struct wr_group_by *g = key->g;

    if (!g->source_count || g->source_count > GROUP_SOURCES_MAX)
        return fail(key->k->c, E_PARAMETER, "[group by composite] there are 1 to %d sources",
                    GROUP_SOURCES_MAX);
    if (g->has_size && g->size > GROUPS_MAX)
        return fail(key->k->c, E_PARAMETER,
                    "[group by composite] size must be at most %d, and is %d", GROUPS_MAX, g->size);
    for (size_t i = 0; i < g->source_count; i++) {
        if (g->sources[i].type != WR_GROUP_FIELD && g->sources[i].type != WR_GROUP_HISTOGRAM &&
            g->sources[i].type != WR_GROUP_DATE_HISTOGRAM)
            return fail(key->k->c, E_PARAMETER,
                        "[group by composite] a source is a group-by of a field, a histogram or a "
                        "date histogram");
        TRY(group_key_make(key->k, &g->sources[i], &key->sources[i]));
    }
    key->source_count = g->source_count;
    return read_composite_token(key);
}

int group_key_make(struct collect *k, const struct wr_group_by *g, struct group_key **out)
{
    struct group_key *key = ARENA_NEW(&k->c->arena, struct group_key);

    key->k = key->texts.k = k;
    key->g = g;
    *out = key;
    if (g->type == WR_GROUP_COMPOSITE)
        return make_composite(key);
    key->field = search_schema_find(k->schema, g->field, &key->at);
    if (!key->field)
        return fail(k->c, E_PARAMETER, "[group by] field: %.*s does not exist",
                    BYTES_FMT(g->field));
    switch (g->type) {
    case WR_GROUP_HISTOGRAM:
        TRY(make_histogram(key));
        return make_missing(key);
    case WR_GROUP_DATE_HISTOGRAM:
        TRY(make_date_histogram(key));
        return make_missing(key);
    case WR_GROUP_GEO_GRID:
        return make_grid(key);
    default:
        return check_groupable(key);
    }
}

/* ---- of a document ---- */

void group_key_segment(struct group_key *key, const struct segment *s)
{
    for (size_t i = 0; i < key->source_count; i++)
        group_key_segment(key->sources[i], s);
    if (!key->field)
        return;
    key->col = &s->columns[key->at];
    key->known = NULL;
}

const struct segment_column *group_key_terms(const struct group_key *key)
{
    return key->g->type == WR_GROUP_FIELD && key->field->kind == FIELD_ORDINAL && !key->has_missing
               ? key->col
               : NULL;
}

int64_t group_key_of_term(struct group_key *key, uint32_t term)
{
    return texts_number(&key->texts, column_term(key->col, term));
}

/* Numbers of terms are kept where documents ask for the same ones again, not for all terms of a
 * large dictionary of which a few are met. */
static int64_t term_number(struct group_key *key, uint32_t term)
{
    if (!key->known && key->col->term_count / 4 > key->k->expected)
        return group_key_of_term(key, term);
    if (!key->known)
        key->known = collect_alloc(key->k, key->col->term_count * sizeof(key->known[0]));
    if (!key->known[term])
        key->known[term] = (uint32_t)group_key_of_term(key, term) + 1;
    return key->known[term] - 1;
}

static bool in_range(const struct group_key *key, int64_t value)
{
    return !key->has_range || (value >= key->first && value <= key->last);
}

static bool key_of_number(struct group_key *key, int64_t number, int64_t *out)
{
    char hash[GEO_HASH_MAX + 1];

    switch (key->g->type) {
    case WR_GROUP_HISTOGRAM:
        *out = histogram_key(key, number);
        return in_range(key, *out);
    case WR_GROUP_DATE_HISTOGRAM:
        *out = date_key(key, number);
        return in_range(key, *out);
    case WR_GROUP_GEO_GRID:
        geo_hash(document_unpack_point(number), key->g->precision, hash);
        *out = texts_number(&key->texts, bytes_str(hash));
        return true;
    default:
        *out = number;
        return true;
    }
}

static size_t single_keys(struct group_key *key, uint32_t doc, int64_t *out)
{
    uint32_t first = column_first(key->col, doc), end = column_first(key->col, doc + 1);
    size_t n = 0;

    if (first == end && key->has_missing)
        return key_of_number(key, key->missing, out);
    for (uint32_t i = first; i < end; i++) {
        if (key->field->kind == FIELD_ORDINAL)
            out[n++] = term_number(key, key->col->ordinals[i]);
        else
            n += key_of_number(key, key->col->numbers[i], &out[n]);
    }
    return n;
}

/* A composite's key as bytes: of each source 0 for null, or 1 and the value, so that they sort. */
static void put_part(struct buf *b, const struct group_key *source, bool null, int64_t value)
{
    bytes text;

    buf_put_u8(b, !null);
    if (null)
        return;
    if (source->field->kind != FIELD_ORDINAL) {
        store_u64_be(buf_reserve(b, 8), (uint64_t)value ^ 1ull << 63);
        buf_commit(b, 8);
        return;
    }
    text = source->texts.list[value];
    for (size_t i = 0; i < text.len; i++) {
        uint8_t ch = bytes_u8(text)[i];

        buf_put_u8(b, ch);
        if (!ch)
            buf_put_u8(b, 255);
    }
    buf_put_u8(b, 0);
    buf_put_u8(b, 0);
}

static size_t composite_keys(struct group_key *key, uint32_t doc, int64_t *out)
{
    int64_t values[GROUP_SOURCES_MAX][GROUP_KEYS_MAX];
    size_t counts[GROUP_SOURCES_MAX], at[GROUP_SOURCES_MAX] = {0}, n = 0, i;

    for (i = 0; i < key->source_count; i++)
        counts[i] = single_keys(key->sources[i], doc, values[i]);
    do {
        uint8_t first[512];
        struct arena a;
        struct buf b;

        arena_init(&a, first, sizeof(first));
        buf_init(&b, &a, 64);
        for (i = 0; i < key->source_count; i++)
            put_part(&b, key->sources[i], !counts[i], counts[i] ? values[i][at[i]] : 0);
        out[n++] = texts_number(&key->texts, buf_bytes(&b));
        arena_release(&a);
        for (i = 0; i < key->source_count; i++) {
            if (++at[i] < counts[i])
                break;
            at[i] = 0;
        }
    } while (i < key->source_count && n < GROUP_KEYS_MAX);
    return n;
}

size_t group_key_of(struct group_key *key, uint32_t doc, int64_t *out)
{
    return key->source_count ? composite_keys(key, doc, out) : single_keys(key, doc, out);
}

/* ---- in the answer ---- */

static bool has_texts(const struct group_key *key)
{
    return key->source_count || key->field->kind == FIELD_ORDINAL ||
           key->g->type == WR_GROUP_GEO_GRID;
}

int group_key_compare(const struct group_key *key, int64_t a, int64_t b)
{
    if (key && has_texts(key))
        return bytes_compare(key->texts.list[a], key->texts.list[b]);
    return (a > b) - (a < b);
}

static bytes text_of_real(struct arena *a, double v)
{
    char text[40];

    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    return arena_printf(a, strpbrk(text, ".en") ? "%s" : "%s.0", text);
}

static bytes text_of_ip(struct arena *a, bytes ip)
{
    static const uint8_t v4[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    const uint8_t *p = ip.ptr;

    if (memcmp(p, v4, 12) == 0)
        return arena_printf(a, "%u.%u.%u.%u", p[12], p[13], p[14], p[15]);
    return arena_printf(a, "%x:%x:%x:%x:%x:%x:%x:%x", p[0] << 8 | p[1], p[2] << 8 | p[3],
                        p[4] << 8 | p[5], p[6] << 8 | p[7], p[8] << 8 | p[9], p[10] << 8 | p[11],
                        p[12] << 8 | p[13], p[14] << 8 | p[15]);
}

static bytes key_text(const struct group_key *key, int64_t value)
{
    struct arena *a = &key->k->c->arena;

    if (key->field->kind == FIELD_ORDINAL)
        return key->field->type == WR_FIELD_IP ? text_of_ip(a, key->texts.list[value])
                                               : arena_copy(a, key->texts.list[value]);
    if (key->field->type == WR_FIELD_DOUBLE)
        return text_of_real(a, real_of_number(value));
    if (key->field->type == WR_FIELD_BOOLEAN)
        return value ? BYTES_LIT("true") : BYTES_LIT("false");
    if (key->field->type == WR_FIELD_DATE)
        return arena_printf(a, "%lld", (long long)(value / NS_PER_MS));
    return arena_printf(a, "%lld", (long long)value);
}

/* The parts of a composite's key, as put_part() has put them. */
static void fill_composite(const struct group_key *key, bytes encoded, struct wr_group *out)
{
    struct arena *a = &key->k->c->arena;
    struct wr_bytes *keys = ARENA_ARRAY(a, struct wr_bytes, key->source_count);
    const uint8_t *p = encoded.ptr;

    for (size_t i = 0; i < key->source_count; i++) {
        struct group_key *s = key->sources[i];

        if (!*p++)
            continue;
        if (s->field->kind != FIELD_ORDINAL) {
            keys[i] = key_text(s, (int64_t)(load_u64_be(p) ^ 1ull << 63));
            p += 8;
            continue;
        }
        struct buf b;

        buf_init(&b, a, 32);
        for (; p[0] || p[1]; p += p[0] ? 1 : 2)
            buf_put_u8(&b, p[0]);
        p += 2;
        keys[i] = s->field->type == WR_FIELD_IP ? text_of_ip(a, buf_bytes(&b)) : buf_bytes(&b);
        if (!keys[i].ptr)
            keys[i].ptr = "";
    }
    out->keys = keys;
}

int group_key_fill(const struct group_key *key, int64_t value, struct wr_group *out)
{
    struct geo_cell cell;

    switch (key->g->type) {
    case WR_GROUP_COMPOSITE:
        fill_composite(key, key->texts.list[value], out);
        break;
    case WR_GROUP_HISTOGRAM:
        out->value = key->reals
                         ? (struct wr_value){.type = WR_DOUBLE, .real = real_of_number(value)}
                         : (struct wr_value){.type = WR_BIGINT, .integer = value};
        break;
    case WR_GROUP_DATE_HISTOGRAM:
        out->value = (struct wr_value){.type = WR_BIGINT, .integer = value / NS_PER_MS};
        break;
    case WR_GROUP_GEO_GRID:
        out->key = arena_copy(&key->k->c->arena, key->texts.list[value]);
        if (!geo_hash_cell(out->key, &cell))
            return fail(key->k->c, E_INTERNAL, "A geohash of our own is none.");
        out->top = cell.top;
        out->left = cell.left;
        out->bottom = cell.bottom;
        out->right = cell.right;
        break;
    default:
        out->key = key_text(key, value);
    }
    return E_OK;
}

bool group_key_first(const struct group_key *key, int64_t *value)
{
    *value = key->first;
    return key->has_range && key->first <= key->last;
}

bool group_key_next(const struct group_key *key, int64_t *value)
{
    int64_t before = *value;

    if (key->g->type == WR_GROUP_DATE_HISTOGRAM)
        *value = date_bucket_next(*value, key->unit, key->units, key->zone_ns, key->offset_ns);
    else if (key->reals)
        *value = histogram_key(key, number_of_real(real_of_number(*value) + key->interval * 1.5));
    else if (__builtin_add_overflow(*value, key->interval < 1 ? 1 : saturated(key->interval),
                                    value))
        return false;
    /* Where neighbouring doubles are farther apart than the interval, there is no next one. */
    return *value > before && *value <= key->last;
}

bool group_key_wanted(const struct group_key *key, int64_t value)
{
    return !key->after.ptr || bytes_compare(key->texts.list[value], key->after) > 0;
}

void group_key_page(const struct group_key *key, int64_t last, bool more,
                    struct wr_group_by_result *out)
{
    struct arena *a = &key->k->c->arena;
    struct wr_bytes *names = ARENA_ARRAY(a, struct wr_bytes, key->source_count);
    bytes raw;
    struct buf b;

    for (size_t i = 0; i < key->source_count; i++)
        names[i] = arena_copy(a, key->sources[i]->g->name);
    out->sources = names;
    out->source_count = key->source_count;
    if (!more)
        return;
    raw = key->texts.list[last];
    buf_init(&b, a, raw.len * 2);
    for (size_t i = 0; i < raw.len; i++) {
        buf_put_u8(&b, (uint8_t) "0123456789abcdef"[bytes_u8(raw)[i] >> 4]);
        buf_put_u8(&b, (uint8_t) "0123456789abcdef"[bytes_u8(raw)[i] & 15]);
    }
    out->next_token = buf_bytes(&b);
}
