/* advise_rule.c: each rule gives a figure and the sentence that carries it; the table says from
 * which figure on it counts against a key. */
#include "advisor/advise.h"

#include "base/port.h"
#include "cli/console/progress.h"

#include <math.h>
#include <stdlib.h>

#define NEVER NAN /* every comparison with it is false */
#define OVER true
#define UNDER false
#define YEAR_SECONDS 31556952.0
#define RISES 0.9      /* a correlation with time from which on a key is said to rise */
#define SEEN_ENOUGH 16 /* sampled records below which a share is only a bound */

const struct rule_info rule_infos[RULE_COUNT] = {
#define RULE(NAME, name, fair, bad, worse, text) {#name, fair, bad, worse, text},
#include "advisor/advise_rule.def"
};

enum verdict rule_verdict(enum rule rule, double figure)
{
    const struct rule_info *info = &rule_infos[rule];

    if (info->over ? figure > info->bad : figure < info->bad)
        return VERDICT_BAD;
    if (info->over ? figure > info->fair : figure < info->fair)
        return VERDICT_FAIR;
    return VERDICT_GOOD;
}

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {"good", "fair", "bad"};

    return names[verdict];
}

/* One rule at work. */
struct judge {
    const struct advise *a;
    struct candidate *k;
    const struct candidate *parent;
    bool single;
    bytes name; /* of the candidate's columns, "CardID+SellerID" */
};

static void PORT_PRINTF(4, 5)
    say(struct judge *j, enum rule rule, double figure, const char *fmt, ...)
{
    struct reason *reason = &j->k->reasons[j->k->reason_count++];
    va_list args;

    va_start(args, fmt);
    *reason = (struct reason){rule, rule_verdict(rule, figure), figure,
                              arena_vprintf(j->a->arena, fmt, args)};
    va_end(args);
    if (reason->verdict > j->k->verdict)
        j->k->verdict = reason->verdict;
}

static const struct survey_column *column_at(const struct judge *j, size_t i)
{
    return &j->a->survey->columns[j->k->columns[i]];
}

static bool plain_order(const struct judge *j)
{
    return !layout_form_buckets(j->k->layout);
}

static const char *of_bytes(double n, char *out)
{
    return progress_format_bytes((uint64_t)(n < 1.8e19 ? n : 1.8e19), out);
}

static const char *of_count(double n, char *out)
{
    return progress_format_count((uint64_t)(n + 0.5), out);
}

static void rule_few(struct judge *j)
{
    char count[PROGRESS_TEXT];
    double n = j->k->different;
    const char *name = (const char *)j->name.ptr;

    of_count(n, count);
    if (j->k->layout.kind == LAYOUT_FORM_RANDOM)
        say(j, RULE_FEW, n, "%s over %u buckets are about %s parts that a table can be cut into",
            name, j->k->layout.n, count);
    else if (rule_verdict(RULE_FEW, n) == VERDICT_GOOD)
        say(j, RULE_FEW, n, "%s has about %s different values: enough to spread", name, count);
    else
        say(j, RULE_FEW, n,
            "%s has only %s different values: the table can never use more partitions than that",
            name, count);
}

static void rule_skew(struct judge *j)
{
    char share[PROGRESS_TEXT], times[PROGRESS_TEXT];
    double figure = j->k->simulation.largest, mean = j->k->different ? 1 / j->k->different : 1;

    if (j->single && j->a->survey->bytes) /* of random layouts: what of it is in one bucket */
        figure = j->k->largest_bytes / (double)j->a->survey->bytes;
    progress_format_share(figure, share);
    of_count(figure / mean, times);
    if (j->k->simulation.largest_seen < SEEN_ENOUGH && !j->single)
        say(j, RULE_SKEW, figure, "no partition key has more than %s of the records", share);
    else if (rule_verdict(RULE_SKEW, figure) == VERDICT_GOOD)
        say(j, RULE_SKEW, figure, "the most frequent value has %s of the records", share);
    else
        say(j, RULE_SKEW, figure,
            "skewed: %s%.*s%s alone has %s of the records, %s times the average%s",
            j->single ? "'" : "one value", BYTES_FMT(j->k->largest_text), j->single ? "'" : "",
            share, times,
            plain_order(j) ? "" : "; a value stays in one bucket, hashing cannot divide it");
}

static void rule_size(struct judge *j)
{
    char size[PROGRESS_TEXT], limit[PROGRESS_TEXT];
    double figure = j->k->largest_bytes / (double)j->a->partition_bytes;

    of_bytes(j->k->largest_bytes, size);
    of_bytes((double)j->a->partition_bytes, limit);
    if (figure > 1)
        say(j, RULE_SIZE, figure,
            "the largest partition key holds %s, more than a partition may (%s), and is never "
            "divided",
            size, limit);
    else
        say(j, RULE_SIZE, figure, "the largest partition key holds %s; a partition may hold %s",
            size, limit);
}

static void rule_growth(struct judge *j)
{
    const struct ranks *r = j->a->ranks;
    char pace[PROGRESS_TEXT], limit[PROGRESS_TEXT];
    double years, left = (double)j->a->partition_bytes - j->k->largest_bytes, rate;

    if (r->seconds <= 0 || left <= 0)
        return;
    rate = j->k->largest_bytes / r->seconds * YEAR_SECONDS;
    if (j->k->simulation.largest_seen < 2)
        rate = 0;
    years = rate > 0 ? left / rate : INFINITY;
    of_bytes(rate, pace);
    of_bytes((double)j->a->partition_bytes, limit);
    if (years > 1000)
        say(j, RULE_GROWTH, years, "its largest value grows by %s a year and stays far below %s",
            pace, limit);
    else
        say(j, RULE_GROWTH, years,
            "its largest value grows by %s a year without end: it passes %s in %.1f years%s", pace,
            limit, years,
            years < 5 ? "; add a period (the month) to the key, or a table a month" : "");
}

static void rule_narrow(struct judge *j)
{
    const struct simulation *s = &j->k->simulation;
    char share[PROGRESS_TEXT];
    const char *name = (const char *)j->name.ptr;

    if (!j->a->ranks->ordered || s->windows < 4)
        return;
    progress_format_share(s->span, share);
    if (rule_verdict(RULE_NARROW, s->span) == VERDICT_GOOD)
        say(j, RULE_NARROW, s->span, "what is written at the same time spreads over %s of the %s",
            share, plain_order(j) ? "key range" : "buckets");
    else if (s->rise > RISES)
        say(j, RULE_NARROW, s->span,
            "%s rises with time: all writes of a moment go to %s of the key range, the newest end",
            name, share);
    else if (s->rise < -RISES)
        say(j, RULE_NARROW, s->span,
            "%s falls with time: all writes of a moment go to %s of the key range, its lowest end",
            name, share);
    else
        say(j, RULE_NARROW, s->span, "all writes of a moment go to %s of the key range", share);
}

static void rule_load(struct judge *j)
{
    const struct simulation *s = &j->k->simulation;
    char wasted[PROGRESS_TEXT];

    if (!j->a->ranks->ordered || s->windows == 0)
        return;
    progress_format_share(s->wasted, wasted);
    say(j, RULE_LOAD, s->peak_to_mean,
        "replayed onto %u partitions the busiest carries %.1f times the mean load: %s of the "
        "capacity units reserved for it are wasted",
        s->partitions, s->peak_to_mean, wasted);
}

/* Only of the key that the table has: what another one would be asked for is not known. */
static void rule_traffic(struct judge *j)
{
    const struct advise_traffic *t = &j->a->traffic;
    char share[PROGRESS_TEXT], count[PROGRESS_TEXT];

    if (t->accesses == 0 || j->k->columns[0] != t->column || !j->single)
        return;
    say(j, RULE_TRAFFIC, t->hottest / t->accesses,
        "of %s accesses in the last hour %s were for the hottest, %.*s",
        of_count(t->accesses, count), progress_format_share(t->hottest / t->accesses, share),
        BYTES_FMT(t->key));
}

static void rule_reads(struct judge *j)
{
    size_t worse = 0, first = SIZE_MAX, lost = 0;

    if (j->a->query_count == 0) {
        if (!plain_order(j) && j->k->layout.kind != LAYOUT_FORM_RANDOM)
            say(j, RULE_READS, 0,
                "still readable in order: a range read is %u ranges, which the server merges",
                j->k->layout.n);
        else if (!plain_order(j))
            say(j, RULE_READS, 0, "ranges are merged in order; reading one row asks all %u buckets",
                j->k->layout.n);
        return;
    }
    for (size_t i = 0; i < j->a->query_count; i++) {
        bool bad = j->k->reach[i] >= REACH_PARTITION;

        worse += bad;
        lost += j->k->reach[i] == REACH_LOST;
        if (bad && first == SIZE_MAX)
            first = i;
    }
    if (worse == 0)
        say(j, RULE_READS, 0, "every query is served: \"%.*s\" is %s",
            BYTES_FMT(j->a->queries[0].text), reach_text(j->k->reach[0]));
    else /* reading somewhat too much is half as bad as reading everything */
        say(j, RULE_READS, (double)(worse + lost) / (double)(2 * j->a->query_count),
            "%zu of %zu queries read too much; \"%.*s\": %s", worse, j->a->query_count,
            BYTES_FMT(j->a->queries[first].text), reach_text(j->k->reach[first]));
}

static void rule_missing(struct judge *j)
{
    const struct survey *s = j->a->survey;
    char share[PROGRESS_TEXT];

    for (size_t i = 0; i < j->k->column_count; i++) {
        const struct survey_column *col = column_at(j, i);
        double figure = s->records ? (double)(s->records - col->present) / (double)s->records : 0;

        if (figure > 0)
            say(j, RULE_MISSING, figure,
                "%s of the records have no %.*s; a key column must be there",
                progress_format_share(figure, share), BYTES_FMT(col->name));
    }
}

static void rule_unique(struct judge *j)
{
    bytes key = advise_names(j->a, j->k->key, j->k->key_count, ", ", j->a->arena);
    char share[PROGRESS_TEXT];

    if (j->k->repeated > 0)
        say(j, RULE_UNIQUE, j->k->repeated,
            "with the key %.*s %s of the records would replace another; add a column that tells "
            "them apart",
            BYTES_FMT(key), progress_format_share(j->k->repeated, share));
    else if (j->k->repeated_seen < j->a->survey->records)
        say(j, RULE_UNIQUE, 0, "the key %.*s told all of %u records apart that were compared",
            BYTES_FMT(key), j->k->repeated_seen);
    else
        say(j, RULE_UNIQUE, 0, "the key %.*s tells all records apart", BYTES_FMT(key));
}

static void rule_divides(struct judge *j)
{
    size_t last = j->k->column_count - 1;
    const struct candidate *p = j->parent;
    uint32_t seen;
    double left;
    char share[PROGRESS_TEXT];

    if (!p)
        return;
    left = simulate_left(j->a->ranks, j->k->columns, last, j->k->columns[last], &seen);
    if (seen < SEEN_ENOUGH)
        return;
    progress_format_share(left, share);
    if (left >= 0.999)
        say(j, RULE_DIVIDES, left,
            "%.*s divides nothing: all records of the largest %.*s have the same one",
            BYTES_FMT(column_at(j, last)->name),
            BYTES_FMT(advise_names(j->a, p->columns, p->column_count, "+", j->a->arena)));
    else
        say(j, RULE_DIVIDES, left, "%.*s divides the largest %.*s: %s of its records stay together",
            BYTES_FMT(column_at(j, last)->name),
            BYTES_FMT(advise_names(j->a, p->columns, p->column_count, "+", j->a->arena)), share);
}

static void rule_width(struct judge *j)
{
    if (!j->parent)
        return;
    if (j->parent->verdict == VERDICT_GOOD)
        say(j, RULE_WIDTH, 1, "longer than needed: %.*s alone is a good partition key",
            BYTES_FMT(
                advise_names(j->a, j->parent->columns, j->parent->column_count, "+", j->a->arena)));
    else if (j->k->key_count > 3)
        say(j, RULE_WIDTH, 0, "the key has %zu columns: as many as a client may send",
            j->k->key_count);
}

static double mean_length(const struct judge *j, size_t column)
{
    const struct survey_column *col = &j->a->survey->columns[column];

    if (j->a->ranks->columns[column].type == WR_BIGINT)
        return 8;
    return col->present ? (double)col->text_bytes / (double)col->present : 0;
}

static void rule_length(struct judge *j)
{
    double sum = 0;

    for (size_t i = 0; i < j->k->key_count; i++)
        sum += mean_length(j, j->k->key[i]);
    if (rule_verdict(RULE_LENGTH, sum) != VERDICT_GOOD)
        say(j, RULE_LENGTH, sum, "the key %.*s is %.0f bytes long on average",
            BYTES_FMT(advise_names(j->a, j->k->key, j->k->key_count, ", ", j->a->arena)), sum);
}

static void rule_prefix(struct judge *j)
{
    const struct rank_column *col = &j->a->ranks->columns[j->k->columns[0]];
    size_t shared = 0;
    bytes first, last;

    if (col->type != WR_VARCHAR || col->is_time || col->value_count < 2)
        return;
    first = col->values[0];
    last = col->values[col->value_count - 1];
    while (shared < first.len && shared < last.len &&
           bytes_u8(first)[shared] == bytes_u8(last)[shared])
        shared++;
    if (rule_verdict(RULE_PREFIX, (double)shared) != VERDICT_GOOD)
        say(j, RULE_PREFIX, (double)shared,
            "every %.*s begins with '%.*s': %zu bytes of each key say nothing",
            BYTES_FMT(column_at(j, 0)->name), (int)shared, (const char *)first.ptr, shared);
}

static void rule_variable(struct judge *j)
{
    for (size_t i = 0; i < j->k->column_count; i++) {
        const struct survey_column *col = column_at(j, i);
        double figure = col->present ? (double)(col->len_max - col->len_min) : 0;

        if (j->a->ranks->columns[j->k->columns[i]].type == WR_VARCHAR &&
            rule_verdict(RULE_VARIABLE, figure) != VERDICT_GOOD)
            say(j, RULE_VARIABLE, figure,
                "%.*s is %zu to %zu characters long: a text joined from it has no fixed places",
                BYTES_FMT(col->name), col->len_min, col->len_max);
    }
}

/* Digits behind an unchanging beginning, or digits alone that are kept as text. */
static bool number_as_text(const struct rank_column *col, size_t *letters)
{
    size_t shared = 0;

    if (col->type != WR_VARCHAR || col->is_time || col->value_count < 2)
        return false;
    while (shared < col->values[0].len &&
           (bytes_u8(col->values[0])[shared] < '0' || bytes_u8(col->values[0])[shared] > '9'))
        shared++;
    *letters = shared;
    for (uint32_t i = 0; i < col->value_count; i++) {
        bytes v = col->values[i];

        if (v.len <= shared || v.len > shared + 18 ||
            memcmp(v.ptr, col->values[0].ptr, shared) != 0)
            return false;
        for (size_t at = shared; at < v.len; at++)
            if (bytes_u8(v)[at] < '0' || bytes_u8(v)[at] > '9')
                return false;
    }
    return true;
}

static void rule_text_number(struct judge *j)
{
    for (size_t i = 0; i < j->k->column_count; i++) {
        const struct rank_column *col = &j->a->ranks->columns[j->k->columns[i]];
        size_t letters;

        if (!number_as_text(col, &letters))
            continue;
        if (letters)
            say(j, RULE_TEXT_NUMBER, 0,
                "%.*s is a number behind '%.*s': as an integer it takes 8 bytes and sorts as a "
                "number",
                BYTES_FMT(column_at(j, i)->name), (int)letters, (const char *)col->values[0].ptr);
        else
            say(j, RULE_TEXT_NUMBER, 1, "%.*s is a number kept as text: make the column an integer",
                BYTES_FMT(column_at(j, i)->name));
    }
}

static void rule_dates(struct judge *j)
{
    for (size_t i = 0; i < j->k->key_count; i++) {
        const struct rank_column *col = &j->a->ranks->columns[j->k->key[i]];

        if (col->date_form)
            say(j, RULE_DATES, 1,
                "%.*s holds dates as text that do not sort by time (%s, as in '%.*s'): a range of "
                "it is no stretch of time; write YYYY-MM-DD HH:MM:SS, or an integer of "
                "milliseconds",
                BYTES_FMT(j->a->survey->columns[j->k->key[i]].name), col->date_form,
                BYTES_FMT(col->date_example));
    }
}

static void rule_names(struct judge *j)
{
    for (size_t i = 0; i < j->k->column_count; i++) {
        size_t column = j->k->columns[i], letters;
        const struct rank_column *col = &j->a->ranks->columns[column];

        if (col->type == WR_VARCHAR && col->value_count <= 64 && mean_length(j, column) >= 12 &&
            !col->is_time && !number_as_text(col, &letters))
            say(j, RULE_NAMES, 1, "%.*s repeats %u names of %.0f characters: a short code would do",
                BYTES_FMT(column_at(j, i)->name), col->value_count, mean_length(j, column));
    }
}

static int compare_joined(bytes a, bytes b, char separator)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int r = n ? memcmp(a.ptr, b.ptr, n) : 0;

    if (r || a.len == b.len)
        return r;
    if (a.len < b.len)
        return (uint8_t)separator < bytes_u8(b)[n] ? -1 : 1;
    return bytes_u8(a)[n] < (uint8_t)separator ? -1 : 1;
}

bool rule_breaks_order(const struct rank_column *col, char separator, bytes *a, bytes *b,
                       uint32_t *pairs)
{
    /* Only a value that continues another can change places with it; in the order of texts it
     * stands somewhere behind it. Each value is compared with the chain of its own beginnings. */
    bytes chain[64];
    size_t depth = 0;

    *pairs = 0;
    if (col->type != WR_VARCHAR)
        return false;
    for (uint32_t i = 0; i < col->value_count; i++) {
        bytes v = col->values[i];

        while (depth && !bytes_starts(v, chain[depth - 1]))
            depth--;
        for (size_t d = 0; d < depth; d++) {
            if (compare_joined(chain[d], v, separator) < 0)
                continue;
            if (++*pairs == 1) {
                *a = chain[d];
                *b = v;
            }
        }
        if (depth < PORT_COUNT(chain))
            chain[depth++] = v;
    }
    return *pairs > 0;
}

static int by_bytes(const void *left, const void *right)
{
    return bytes_compare(*(const bytes *)left, *(const bytes *)right);
}

struct advise_separator rule_find_separator(const struct rank_column *col, struct arena *arena)
{
    static const char others[] = ",!#+";
    struct rank_column texts = {.type = WR_VARCHAR, .value_count = col->value_count};
    struct advise_separator found = {0};
    uint32_t ignored;
    bytes x, y;

    /* Numbers are not in the order that they have as texts. */
    texts.values = arena_alloc(arena, sizeof(*texts.values) * (col->value_count + 1));
    memcpy(texts.values, col->values, sizeof(*texts.values) * col->value_count);
    if (col->type != WR_VARCHAR)
        qsort(texts.values, texts.value_count, sizeof(*texts.values), by_bytes);
    if (!rule_breaks_order(&texts, ':', &found.a, &found.b, &found.pairs))
        return found;
    for (const char *o = others; *o && !found.good; o++)
        if (!rule_breaks_order(&texts, *o, &x, &y, &ignored))
            found.good = *o;
    return found;
}

static void rule_separator(struct judge *j)
{
    if (j->k->layout.kind != LAYOUT_FORM_COMPOSITE)
        return;
    for (size_t i = 0; i + 1 < j->k->column_count; i++) {
        const struct advise_separator *s = &j->a->separators[j->k->columns[i]];

        if (s->pairs == 0)
            continue;
        say(j, RULE_SEPARATOR, s->pairs,
            "joined into one text with ':' the order breaks ('%.*s:' sorts behind '%.*s:')%s%c%s; "
            "the layout splice:%zu keeps true order with no separator",
            BYTES_FMT(s->a), BYTES_FMT(s->b),
            s->good ? ", with '" : " and no common separator mends i", s->good ? s->good : 't',
            s->good ? "' it does not" : "", j->k->column_count);
        return;
    }
}

void rule_judge(const struct advise *a, struct candidate *k, const struct candidate *parent)
{
    struct judge j = {a, k, parent, k->column_count == 1,
                      advise_names(a, k->columns, k->column_count, "+", a->arena)};

    k->verdict = VERDICT_GOOD;
    k->reason_count = 0;
#define RULE(NAME, name, fair, bad, worse, text) rule_##name(&j);
#include "advisor/advise_rule.def"
    /* Worst first; within a verdict in the order of the rules. */
    for (size_t i = 1; i < k->reason_count; i++) {
        struct reason moved = k->reasons[i];
        size_t at = i;

        for (; at && k->reasons[at - 1].verdict < moved.verdict; at--)
            k->reasons[at] = k->reasons[at - 1];
        k->reasons[at] = moved;
    }
}
