/* Fields of search indexes: texts that are cut into tokens, and texts that are dates, points and
 * addresses. */
#include "fuzz.h"

#include "search/field/analyzer.h"
#include "search/field/date.h"
#include "search/field/geo.h"
#include "search/field/ip.h"

#include <stdio.h>

#define GRAMS_MAX (ANALYZER_FUZZY_CHARACTERS * (ANALYZER_FUZZY_SPREAD + 1))
#define WORDS_AT_ONE_PLACE 20

struct seen {
    size_t count, stop_after;
    uint32_t position;
};

static int see(void *arg, bytes token, uint32_t position)
{
    struct seen *s = arg;

    CHECK(token.len > 0 && token.len <= ANALYZER_TOKEN_MAX);
    CHECK(bytes_is_utf8(token));
    CHECK(position >= s->position);
    s->position = position;
    return ++s->count == s->stop_after ? 1 : 0;
}

static void analyzer_check(const struct analyzer *a, bytes text, size_t stop_after)
{
    struct seen stored = {0}, again = {.stop_after = stop_after}, query = {0};

    CHECK(analyze(a, text, see, &stored) == 0);
    CHECK(stored.count <= text.len * WORDS_AT_ONE_PLACE + GRAMS_MAX);
    CHECK(analyze(a, text, see, &again) == (stop_after && stop_after <= stored.count));
    CHECK(analyze_query(a, text, true, see, &query) == 0);
    CHECK(a->kind == ANALYZER_FUZZY || query.count == stored.count);
    CHECK(a->kind != ANALYZER_FUZZY || query.count <= ANALYZER_FUZZY_CHARACTERS);
}

/* 1: a text, 2: the analyzer, 3: delimiter, 4 and 5: min_chars and max_chars, 6: flags, 7: after
 * how many tokens the walk is ended. */
void fuzz_analyzer(bytes in)
{
    static const char *const names[] = {"single_word", "split", "fuzzy", "min_word", "max_word"};
    uint64_t kind = fuzz_number(in, 2), flags = fuzz_number(in, 6);
    struct wr_field_schema field = {
        .name = BYTES_LIT("f"),
        .analyzer = kind < PORT_COUNT(names) ? bytes_str(names[kind]) : fuzz_part(in, 2),
        .analyzer_options = {.case_sensitive = flags & 1,
                             .delimit_word = flags >> 1 & 1,
                             .delimiter = flags & 4 ? fuzz_part(in, 3) : BYTES_NONE,
                             .min_chars = (int32_t)fuzz_number(in, 4),
                             .max_chars = (int32_t)fuzz_number(in, 5)}};
    struct analyzer a;
    struct ctx c;

    fuzz_ctx(&c);
    if (fuzz_decoded(&c, analyzer_make(&c, &field, &a)))
        analyzer_check(&a, fuzz_part(in, 1), fuzz_number(in, 7));
    ctx_release(&c);
}

static void date_check(bytes format, bytes text, bytes zone_text, uint64_t seed)
{
    struct wr_field_schema field = {
        .name = BYTES_LIT("f"), .date_formats = &format, .date_format_count = 1};
    struct date_formats *formats;
    int64_t ns = (int64_t)seed, zone = 0;
    struct ctx c;

    fuzz_ctx(&c);
    if (fuzz_decoded(&c, date_formats_make(&c, &field, &formats))) {
        CHECK(!date_of_text(formats, text, &ns) || ns >= 0);
        CHECK(!date_of_integer(formats, (int64_t)seed, &ns) || ns >= 0);
    }
    CHECK(!date_zone_of_text(zone_text, &zone) || zone % 60000000000 == 0);
    for (int32_t unit = 0; unit <= 10; unit++) {
        int32_t value = (int32_t)(seed >> 20);

        CHECK(date_bucket(ns, unit, value, zone, 0) <= ns);
        CHECK(date_bucket_next(ns, unit, value, zone, 0) >= ns);
    }
    ctx_release(&c);
}

static void geo_check(bytes text, bytes other)
{
    struct geo_point p;
    struct geo_box box;
    struct geo_cell cell;
    double lat, lon;

    if (geo_box_make(text, other, &box))
        geo_box_has(&box, (struct geo_point){0, 0});
    if (geo_hash_cell(other, &cell))
        CHECK(cell.top > cell.bottom && cell.right > cell.left);
    if (!geo_of_text(text, &p, &lat, &lon))
        return;
    CHECK(lat >= -90 && lat <= 90 && lon >= -180 && lon <= 180);
    CHECK(geo_metres(lat, lon, geo_lat(p), geo_lon(p)) < 1);
    geo_box_of_circle(lat, lon, 100, &box);
    CHECK(geo_box_has(&box, p));
    for (int n = 1; n <= GEO_HASH_MAX; n++) {
        char hash[GEO_HASH_MAX + 1];

        geo_hash(p, n, hash);
        CHECK(geo_hash_cell(bytes_str(hash), &cell));
        CHECK(geo_lat(p) >= cell.bottom && geo_lat(p) < cell.top);
    }
}

/* 1: a value's text, 2: a date format, 3: a zone, another point, a geohash, 4: a number. */
void fuzz_field_value(bytes in)
{
    uint8_t ip[IP_BYTES], low[IP_BYTES], high[IP_BYTES];
    bytes text = fuzz_part(in, 1);

    date_check(fuzz_part(in, 2), text, fuzz_part(in, 3), fuzz_number(in, 4));
    geo_check(text, fuzz_part(in, 3));
    if (ip_range_of_cidr(text, low, high))
        CHECK(memcmp(low, high, IP_BYTES) <= 0);
    if (ip_of_text(text, ip))
        CHECK(ip_range_of_cidr(text, low, high) && !memcmp(low, ip, IP_BYTES));
}
