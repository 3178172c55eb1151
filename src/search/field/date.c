#include "search/field/date.h"

#include "base/gregorian.h"
#include "base/number.h"

#define FORMATS_MAX 32
#define FORMAT_BYTES_MAX 256
#define SECOND_NS INT64_C(1000000000)
#define DAY_S 86400
#define ZONE_HOURS_MAX 18

/* A run of one letter, or a literal text between such runs. */
struct item {
    char letter; /* 0: literal */
    uint8_t count;
    char literal;
};

struct date_format {
    int64_t epoch_ns; /* of an epoch format: its unit; 0: a pattern */
    const struct item *items;
    size_t count;
};

struct date_formats {
    const struct date_format *formats;
    size_t count;
};

static const struct {
    const char *name;
    int64_t ns;
} epochs[] = {
    {"epoch_second", SECOND_NS},
    {"epoch_millis", 1000000},
    {"epoch_micros", 1000},
    {"epoch_nanos", 1},
};

/* How often a letter may stand in a row. */
static const struct {
    char letter;
    uint8_t max;
} letters[] = {
    {'y', 4}, {'M', 2}, {'d', 2}, {'a', 1}, {'K', 2}, {'h', 2},
    {'H', 2}, {'m', 2}, {'s', 2}, {'S', 9}, {'X', 3},
};

/* ---- formats ---- */

static uint8_t letter_max(char letter)
{
    for (size_t i = 0; i < PORT_COUNT(letters); i++)
        if (letters[i].letter == letter)
            return letters[i].max;
    return 0;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* 'T', or '' for one quote, also within. Returns how many bytes; 0: the quote does not end. */
static size_t quoted(const char *p, size_t len, struct date_format *f, struct item *items)
{
    if (len > 1 && p[1] == '\'') {
        items[f->count++] = (struct item){.literal = '\''};
        return 2;
    }
    for (size_t i = 1; i < len; i++) {
        if (p[i] == '\'' && (i + 1 == len || p[i + 1] != '\''))
            return i + 1;
        i += p[i] == '\'';
        items[f->count++] = (struct item){.literal = p[i]};
    }
    return 0;
}

/* Letters in a row. 0: they are none that are known. */
static size_t letter_run(const char *p, size_t len, struct date_format *f, struct item *items)
{
    size_t n = 1;

    while (n < len && p[n] == p[0])
        n++;
    if (n > letter_max(p[0]))
        return 0;
    items[f->count++] = (struct item){.letter = p[0], .count = (uint8_t)n};
    return n;
}

static bool pattern_of(struct ctx *c, bytes text, struct date_format *out)
{
    const char *p = text.ptr;
    struct item *items = ARENA_ARRAY(&c->arena, struct item, text.len + 1);
    bool has_letter = false;

    out->items = items;
    for (size_t at = 0; at < text.len;) {
        size_t n = 1;

        if (p[at] == '\'') {
            n = quoted(p + at, text.len - at, out, items);
        } else if (is_letter(p[at])) {
            n = letter_run(p + at, text.len - at, out, items);
            has_letter = true;
        } else {
            items[out->count++] = (struct item){.literal = p[at]};
        }
        if (!n)
            return false;
        at += n;
    }
    return has_letter;
}

static int format_of(struct ctx *c, const struct wr_field_schema *field, bytes text,
                     struct date_format *out)
{
    for (size_t i = 0; i < PORT_COUNT(epochs); i++) {
        if (bytes_equal(text, bytes_str(epochs[i].name))) {
            out->epoch_ns = epochs[i].ns;
            return 0;
        }
    }
    if (text.len <= FORMAT_BYTES_MAX && pattern_of(c, text, out))
        return 0;
    if (text.len > FORMAT_BYTES_MAX)
        text.len = FORMAT_BYTES_MAX;
    return fail(c, E_PARAMETER,
                "The field [%.*s] has an unknown date format [%.*s]. Write epoch_second, "
                "epoch_millis, epoch_micros, epoch_nanos, or a pattern such as "
                "yyyy-MM-dd'T'HH:mm:ss.SSS of at most %d bytes.",
                BYTES_FMT(field->name), BYTES_FMT(text), FORMAT_BYTES_MAX);
}

int date_formats_make(struct ctx *c, const struct wr_field_schema *field, struct date_formats **out)
{
    struct date_formats *f = ARENA_NEW(&c->arena, struct date_formats);
    struct date_format *formats;

    if (!field->date_format_count || field->date_format_count > FORMATS_MAX)
        return fail(c, E_PARAMETER,
                    "The field [%.*s] of type DATE has %zu date formats. Give it 1 to %d, such as "
                    "epoch_millis or yyyy-MM-dd.",
                    BYTES_FMT(field->name), field->date_format_count, FORMATS_MAX);
    formats = ARENA_ARRAY(&c->arena, struct date_format, field->date_format_count);
    f->formats = formats;
    for (; f->count < field->date_format_count; f->count++)
        TRY(format_of(c, field, field->date_formats[f->count], &formats[f->count]));
    *out = f;
    return 0;
}

/* ---- parsing ---- */

/* What of a text is left, and what was read of it. */
struct reading {
    const char *p, *end;
    int year, month, day, hour, minute, second;
    int64_t fraction_ns, zone_ns;
    bool half_day, afternoon; /* the hour is one of half a day */
};

/* min to max digits. */
static bool digits(struct reading *r, int min, int max, int *out)
{
    int n = 0;

    for (*out = 0; n < max && r->p < r->end && *r->p >= '0' && *r->p <= '9'; n++)
        *out = *out * 10 + (*r->p++ - '0');
    return n >= min;
}

/* One or two digits for a single letter, two for two, from least to most. */
static bool two_digits(struct reading *r, int count, int least, int most, int *out)
{
    return digits(r, count, 2, out) && *out >= least && *out <= most;
}

static bool year(struct reading *r, int count)
{
    if (count != 2)
        return digits(r, count, 4, &r->year);
    if (!digits(r, 2, 2, &r->year))
        return false;
    r->year += 2000;
    return true;
}

static bool half(struct reading *r)
{
    char first;

    if (r->end - r->p < 2 || (r->p[1] | 0x20) != 'm')
        return false;
    first = (char)(r->p[0] | 0x20);
    r->afternoon = first == 'p';
    r->p += 2;
    return first == 'a' || first == 'p';
}

static bool half_day_hour(struct reading *r, const struct item *it)
{
    bool ok = it->letter == 'h' ? two_digits(r, it->count, 1, 12, &r->hour)
                                : two_digits(r, it->count, 0, 11, &r->hour);

    r->hour %= 12;
    r->half_day = true;
    return ok;
}

static bool fraction(struct reading *r, int count)
{
    int value;

    if (!digits(r, count, count, &value))
        return false;
    r->fraction_ns = value;
    for (int i = count; i < 9; i++)
        r->fraction_ns *= 10;
    return true;
}

/* "Z"; "+08" or "+0800" for one letter, "+0800" for two, "+08:00" for three. */
static bool zone(struct reading *r, int count)
{
    int hours, minutes = 0;
    char sign;

    if (r->p == r->end)
        return false;
    sign = *r->p++;
    if (sign == 'Z')
        return true;
    if ((sign != '+' && sign != '-') || !digits(r, 2, 2, &hours))
        return false;
    if (count == 3 && (r->p == r->end || *r->p++ != ':'))
        return false;
    if ((count > 1 || (r->p < r->end && *r->p >= '0' && *r->p <= '9')) &&
        !digits(r, 2, 2, &minutes))
        return false;
    r->zone_ns = ((int64_t)hours * 3600 + minutes * 60) * SECOND_NS * (sign == '-' ? -1 : 1);
    return minutes < 60 && hours * 60 + minutes <= ZONE_HOURS_MAX * 60;
}

static bool item_read(struct reading *r, const struct item *it)
{
    switch (it->letter) {
    case 'y':
        return year(r, it->count);
    case 'M':
        return two_digits(r, it->count, 1, 12, &r->month);
    case 'd':
        return two_digits(r, it->count, 1, 31, &r->day);
    case 'H':
        r->half_day = false;
        return two_digits(r, it->count, 0, 23, &r->hour);
    case 'K':
    case 'h':
        return half_day_hour(r, it);
    case 'm':
        return two_digits(r, it->count, 0, 59, &r->minute);
    case 's':
        return two_digits(r, it->count, 0, 59, &r->second);
    case 'S':
        return fraction(r, it->count);
    case 'X':
        return zone(r, it->count);
    case 'a':
        return half(r);
    default:
        return r->p < r->end && *r->p++ == it->literal;
    }
}

static bool in_range(__int128 ns, int64_t *out)
{
    if (ns < 0 || ns > INT64_MAX)
        return false;
    *out = (int64_t)ns;
    return true;
}

static bool pattern_read(const struct date_format *f, bytes text, int64_t *ns)
{
    struct reading r = {.p = text.ptr, .year = 1970, .month = 1, .day = 1};
    int64_t seconds;

    r.end = r.p + text.len;
    for (size_t i = 0; i < f->count; i++)
        if (!item_read(&r, &f->items[i]))
            return false;
    if (r.p != r.end || r.year < 0 || r.year > 9999 || !gregorian_has(r.year, r.month, r.day))
        return false;
    if (r.half_day && r.afternoon)
        r.hour += 12;
    seconds =
        gregorian_number(r.year, r.month, r.day) * DAY_S + r.hour * 3600 + r.minute * 60 + r.second;
    return in_range((__int128)seconds * SECOND_NS + r.fraction_ns - r.zone_ns, ns);
}

bool date_of_text(const struct date_formats *f, bytes text, int64_t *ns)
{
    int64_t integer;

    if (!text.len || text.len > FORMAT_BYTES_MAX * 2)
        return false;
    for (size_t i = 0; i < f->count; i++) {
        const struct date_format *format = &f->formats[i];

        if (format->epoch_ns ? number_integer(text, &integer) &&
                                   in_range((__int128)integer * format->epoch_ns, ns)
                             : pattern_read(format, text, ns))
            return true;
    }
    return false;
}

bool date_of_integer(const struct date_formats *f, int64_t integer, int64_t *ns)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->formats[i].epoch_ns)
            return in_range((__int128)integer * f->formats[i].epoch_ns, ns);
    return false;
}

bool date_zone_of_text(bytes text, int64_t *ns)
{
    for (int form = 1; form <= 3; form++) {
        struct reading r = {.p = text.ptr};

        r.end = r.p + text.len;
        if (text.len && zone(&r, form) && r.p == r.end) {
            *ns = r.zone_ns;
            return true;
        }
    }
    return false;
}
