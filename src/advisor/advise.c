/* advise.c: makes the candidates, has each simulated and judged, and puts the best first.
 *
 * Single columns come first. A column that does not do as it is gets bucket layouts, which mend a
 * narrow range of writes, and composite partition keys, which mend values that are too few or too
 * large: pairs of the columns that can be keys, and triples where the pair does not do either. */
#include "advisor/advise.h"

#include "base/port.h"

#include <math.h>
#include <stdlib.h>

#define COMBINED_MAX 6 /* columns that combinations are made of */
#define KEY_BYTES_MAX 1024
#define HELPER_BYTES_MAX 64 /* of a column that only tells records apart */

static struct layout_form plain(void)
{
    return (struct layout_form){LAYOUT_FORM_PLAIN, 0};
}

bytes advise_names(const struct advise *a, const size_t *columns, size_t count, const char *between,
                   struct arena *arena)
{
    bytes out = arena_printf(arena, "%s", "");

    for (size_t i = 0; i < count; i++)
        out = arena_printf(arena, "%.*s%s%.*s", BYTES_FMT(out), i ? between : "",
                           BYTES_FMT(a->survey->columns[columns[i]].name));
    return out;
}

bytes advise_index_columns(const struct advise *a, const struct candidate *k, size_t query,
                           struct arena *arena)
{
    const struct query *q = &a->queries[query];
    size_t columns[QUERY_PARTS_MAX + 1];

    if (k->reach[query] < REACH_PARTITION || !q->equal_count)
        return BYTES_NONE;
    memcpy(columns, q->equal, q->equal_count * sizeof(*columns));
    columns[q->equal_count] = q->range;
    return advise_names(a, columns, q->equal_count + (q->range != SIZE_MAX), ",", arena);
}

static bool is_queried(const struct advise *a, size_t column)
{
    for (size_t i = 0; i < a->query_count; i++) {
        if (a->queries[i].range == column)
            return true;
        for (size_t e = 0; e < a->queries[i].equal_count; e++)
            if (a->queries[i].equal[e] == column)
                return true;
    }
    return false;
}

static double distinct(const struct advise *a, size_t column)
{
    return sketch_distinct_count(&a->survey->columns[column].distinct);
}

/* Fit to be a key column at all. */
static bool is_usable(const struct advise *a, size_t column)
{
    const struct survey_column *col = &a->survey->columns[column];

    if (a->ranks->columns[column].type == WR_DOUBLE || col->present == 0 ||
        bytes_equal(col->name, BYTES_LIT(SURVEY_WRITTEN)))
        return false;
    if (col->len_max > KEY_BYTES_MAX && !is_queried(a, column))
        return false;
    return distinct(a, column) > 1.5 || is_queried(a, column);
}

/* ---- the whole key */

static bool holds(const size_t *columns, size_t count, size_t column)
{
    for (size_t i = 0; i < count; i++)
        if (columns[i] == column)
            return true;
    return false;
}

/* The share of the records that have the key of another, told from all records of some values of
 * the key's richest column whose values are enough to choose among. */
static struct advise_repeated find_repeated(const struct advise *a, const size_t *key, size_t count)
{
    struct advise_repeated found = {.share = 1};
    size_t richest = SIZE_MAX;
    uint32_t different;

    for (size_t i = 0; i < count; i++)
        if (a->survey->clusters[key[i]].count &&
            (richest == SIZE_MAX || distinct(a, key[i]) > distinct(a, richest)))
            richest = key[i];
    if (richest == SIZE_MAX)
        return found;
    found.seen = survey_cluster_tuples(a->survey, richest, key, count, &different);
    if (found.seen)
        found.share = 1 - (double)different / found.seen;
    return found;
}

static struct advise_repeated repeated(struct advise *a, const size_t *key, size_t count)
{
    struct advise_repeated found;
    uint32_t columns = 0;

    for (size_t i = 0; i < count; i++)
        columns |= 1u << key[i];
    for (size_t i = 0; i < a->repeated_count; i++)
        if (a->repeated[i].columns == columns)
            return a->repeated[i];
    found = find_repeated(a, key, count);
    found.columns = columns;
    if (a->repeated_count < ADVISE_REPEATED_MAX)
        a->repeated[a->repeated_count++] = found;
    return found;
}

static void key_add(struct candidate *k, size_t column)
{
    if (k->key_count < ADVISE_KEY_MAX && !holds(k->key, k->key_count, column))
        k->key[k->key_count++] = column;
}

/* Columns that let a query go on behind the partition key, of the first query that has all of it.
 */
static void add_queried(const struct advise *a, struct candidate *k)
{
    for (size_t i = 0; i < a->query_count; i++) {
        const struct query *q = &a->queries[i];
        size_t known = 0;

        while (known < k->column_count && (holds(q->equal, q->equal_count, k->columns[known]) ||
                                           (known == 0 && q->range == k->columns[0])))
            known++;
        if (known == 0 || (known < k->column_count && q->range != k->columns[known]))
            continue;
        if (q->range == k->columns[0])
            return;
        for (size_t e = 0; e < q->equal_count; e++)
            key_add(k, q->equal[e]);
        if (q->range != SIZE_MAX)
            key_add(k, q->range);
        return;
    }
}

/* The column that makes the key tell the most records apart; SIZE_MAX: none helps. */
static size_t find_helper(struct advise *a, const struct candidate *k, const size_t *usable,
                          size_t count, struct advise_repeated *found)
{
    size_t tried[ADVISE_KEY_MAX], best = SIZE_MAX;

    memcpy(tried, k->key, sizeof(tried));
    for (size_t i = 0; i < count; i++) {
        struct advise_repeated here;

        if (holds(k->key, k->key_count, usable[i]) ||
            a->survey->columns[usable[i]].len_max > HELPER_BYTES_MAX)
            continue;
        tried[k->key_count] = usable[i];
        here = repeated(a, tried, k->key_count + 1);
        if (here.share < found->share) {
            *found = here;
            best = usable[i];
        }
    }
    return best;
}

/* Fills the key up until it tells all records apart. */
static void make_key(struct advise *a, struct candidate *k, const size_t *usable, size_t count)
{
    struct advise_repeated found;
    size_t helper;

    k->key_count = 0;
    for (size_t i = 0; i < k->column_count; i++)
        key_add(k, k->columns[i]);
    add_queried(a, k);
    found = repeated(a, k->key, k->key_count);
    while (found.share > 0 && k->key_count < ADVISE_KEY_MAX &&
           (helper = find_helper(a, k, usable, count, &found)) != SIZE_MAX)
        key_add(k, helper);
    k->repeated = found.share;
    k->repeated_seen = found.seen;
}

/* ---- figures of a candidate */

/* How many partition keys there are: all that were seen if they were seen often, else counted among
 * the records of some values of the richest column. */
static double count_different(const struct advise *a, const struct candidate *k)
{
    size_t richest = SIZE_MAX;
    uint32_t different;

    if (k->column_count == 1)
        return distinct(a, k->columns[0]);
    if (k->simulation.different < a->ranks->count / 8)
        return k->simulation.different;
    for (size_t i = 0; i < k->column_count; i++)
        if (a->survey->clusters[k->columns[i]].count &&
            (richest == SIZE_MAX || distinct(a, k->columns[i]) > distinct(a, richest)))
            richest = k->columns[i];
    if (richest == SIZE_MAX)
        return k->simulation.different;
    survey_cluster_tuples(a->survey, richest, k->columns, k->column_count, &different);
    return different / (((double)a->survey->clusters[richest].limit + 1) / 0x1p64);
}

static void measure(const struct advise *a, struct candidate *k)
{
    double total = (double)a->survey->bytes;

    simulate(a->ranks, k->columns, k->column_count, k->layout, a->partitions, &k->simulation);
    k->different = count_different(a, k);
    k->largest_bytes = k->simulation.largest * total;
    if (k->column_count == 1) {
        const struct sketch_weights *w = &a->survey->columns[k->columns[0]].weights;

        k->largest_bytes = w->top_count ? (double)w->top[0].weight : 0;
        if (w->top_count)
            k->largest_text = bytes_of(w->top[0].text, w->top[0].text_len);
    }
    if (k->layout.kind ==
        LAYOUT_FORM_RANDOM) { /* even one partition key spreads over the buckets */
        k->largest_bytes /= k->layout.n;
        k->different *= k->layout.n;
    }
    for (size_t i = 0; i < a->query_count; i++)
        k->reach[i] = query_reach(&a->queries[i], k->key, k->key_count, k->column_count, k->layout);
}

/* ---- candidates */

struct maker {
    struct advise *a;
    const size_t *usable;
    size_t usable_count;
};

static struct candidate *add(struct maker *m, const size_t *columns, size_t count,
                             struct layout_form layout, const struct candidate *parent)
{
    struct advise *a = m->a;
    struct candidate *k = &a->candidates[a->candidate_count];

    if (a->candidate_count == ADVISE_CANDIDATES_MAX)
        return NULL;
    a->candidate_count++;
    memcpy(k->columns, columns, sizeof(*columns) * count);
    k->column_count = count;
    k->layout = layout;
    make_key(a, k, m->usable, m->usable_count);
    measure(a, k);
    rule_judge(a, k, parent);
    return k;
}

static void add_buckets(struct maker *m, const struct candidate *k)
{
    size_t column = k->columns[0];
    const struct simulation *s = &k->simulation;

    if (k->verdict == VERDICT_GOOD)
        return;
    add(m, k->columns, 1, (struct layout_form){LAYOUT_FORM_HASH, m->a->buckets}, NULL);
    if (m->a->ranks->columns[column].type == WR_BIGINT && fabs(s->rise) > 0.9 &&
        !m->a->ranks->columns[column].is_time)
        add(m, k->columns, 1, (struct layout_form){LAYOUT_FORM_REVERSE, m->a->buckets}, NULL);
    if (fabs(s->rise) > 0.9 || s->largest > 1.0 / m->a->partitions / 2 ||
        k->largest_bytes > (double)m->a->partition_bytes)
        add(m, k->columns, 1, (struct layout_form){LAYOUT_FORM_RANDOM, m->a->buckets}, NULL);
}

static void add_composite(struct maker *m, const struct candidate *single, const size_t *columns,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t key[SIMULATE_PARTS_MAX] = {single->columns[0], columns[i]};
        struct candidate *pair;

        if (key[1] == key[0])
            continue;
        pair = add(m, key, 2, (struct layout_form){LAYOUT_FORM_COMPOSITE, 2}, single);
        /* No column behind one that rises makes its writes spread. */
        if (!pair || pair->verdict == VERDICT_GOOD || single->verdict == VERDICT_GOOD ||
            fabs(single->simulation.rise) > 0.9)
            continue;
        for (size_t t = 0; t < count; t++) {
            key[2] = columns[t];
            if (key[2] != key[0] && key[2] != key[1])
                add(m, key, 3, (struct layout_form){LAYOUT_FORM_COMPOSITE, 3}, pair);
        }
    }
}

static int sum_of_reach(const struct advise *a, const struct candidate *k)
{
    int sum = 0;

    for (size_t i = 0; i < a->query_count; i++)
        sum += (int)k->reach[i];
    return sum;
}

static size_t count_verdict(const struct candidate *k, enum verdict verdict)
{
    size_t n = 0;

    for (size_t i = 0; i < k->reason_count; i++)
        n += k->reasons[i].verdict == verdict;
    return n;
}

/* Below zero: x is the better one. */
static double compare(const struct advise *a, const struct candidate *x, const struct candidate *y)
{
    const double figures[][2] = {
        {x->verdict, y->verdict},
        {sum_of_reach(a, x), sum_of_reach(a, y)},
        {(double)count_verdict(x, VERDICT_BAD), (double)count_verdict(y, VERDICT_BAD)},
        {(double)count_verdict(x, VERDICT_FAIR), (double)count_verdict(y, VERDICT_FAIR)},
        {(double)x->column_count, (double)y->column_count},
        {x->layout.kind, y->layout.kind},
        {(double)x->key_count, (double)y->key_count},
        {x->simulation.peak_to_mean, y->simulation.peak_to_mean},
    };

    for (size_t i = 0; i < PORT_COUNT(figures); i++)
        if (figures[i][0] != figures[i][1])
            return figures[i][0] - figures[i][1];
    return 0;
}

static void sort_candidates(struct advise *a)
{
    struct candidate **order =
        arena_alloc(a->arena, sizeof(struct candidate *) * (a->candidate_count + 1));
    struct candidate *sorted = arena_alloc(a->arena, sizeof(*sorted) * (a->candidate_count + 1));

    for (size_t i = 0; i < a->candidate_count; i++) {
        size_t at = i;

        for (; at && compare(a, &a->candidates[i], order[at - 1]) < 0; at--)
            order[at] = order[at - 1];
        order[at] = &a->candidates[i];
    }
    for (size_t i = 0; i < a->candidate_count; i++)
        sorted[i] = *order[i];
    a->candidates = sorted;
}

/* The columns that combinations are made of: those in queries first. */
static size_t choose_combined(const struct advise *a, const size_t *usable, size_t count,
                              size_t *out)
{
    size_t n = 0;

    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count && n < COMBINED_MAX; i++)
            if (is_queried(a, usable[i]) == (pass == 0))
                out[n++] = usable[i];
    return n;
}

void advise(struct ctx *c, struct advise *a)
{
    size_t usable[SURVEY_COLUMNS_MAX], combined[COMBINED_MAX], count = 0, combined_count, singles;
    struct maker m = {a, usable, 0};

    for (size_t i = 0; i < a->query_count; i++)
        a->queries[i].unordered = a->queries[i].range != SIZE_MAX &&
                                  a->ranks->columns[a->queries[i].range].date_form != NULL;
    a->arena = &c->arena;
    a->candidates = ARENA_ARRAY(&c->arena, struct candidate, ADVISE_CANDIDATES_MAX);
    for (size_t i = 0; i < a->survey->column_count; i++) {
        sketch_weights_sort(&a->survey->columns[i].weights);
        if (!is_usable(a, i))
            continue;
        a->separators[i] = rule_find_separator(&a->ranks->columns[i], a->arena);
        usable[count++] = i;
    }
    m.usable_count = count;
    for (size_t i = 0; i < count; i++)
        add(&m, &usable[i], 1, plain(), NULL);
    singles = a->candidate_count;
    for (size_t i = 0; i < singles; i++)
        add_buckets(&m, &a->candidates[i]);
    combined_count = choose_combined(a, usable, count, combined);
    for (size_t i = 0; i < singles; i++)
        if (holds(combined, combined_count, a->candidates[i].columns[0]))
            add_composite(&m, &a->candidates[i], combined, combined_count);
    sort_candidates(a);
}

bytes advise_create_line(const struct advise *a, const struct candidate *k, struct arena *arena)
{
    char layout[LAYOUT_FORM_BYTES];
    bytes key = BYTES_LIT("");

    for (size_t i = 0; i < k->key_count; i++)
        key = arena_printf(arena, "%.*s%s%.*s:%s", BYTES_FMT(key), i ? "," : "",
                           BYTES_FMT(a->survey->columns[k->key[i]].name),
                           a->ranks->columns[k->key[i]].type == WR_BIGINT ? "integer" : "string");
    return arena_printf(arena, "widerow create %s --key \"%.*s\" --layout %s", a->table,
                        BYTES_FMT(key), layout_form_format(k->layout, layout));
}

static const char *sql_type(const struct advise *a, size_t column)
{
    enum wr_type type = a->ranks->columns[column].type;

    return type == WR_BIGINT ? "BIGINT" : type == WR_DOUBLE ? "DOUBLE" : "VARCHAR";
}

static bool is_key(const struct candidate *k, size_t column)
{
    for (size_t i = 0; i < k->key_count; i++)
        if (k->key[i] == column)
            return true;
    return false;
}

bytes advise_create_table(const struct advise *a, const struct candidate *k, struct arena *arena)
{
    char layout[LAYOUT_FORM_BYTES];
    bytes columns = BYTES_LIT(""), key = BYTES_LIT("");

    for (size_t i = 0; i < k->key_count; i++) {
        bytes name = a->survey->columns[k->key[i]].name;
        const char *type = a->ranks->columns[k->key[i]].type == WR_BIGINT ? "BIGINT" : "VARCHAR";

        columns = arena_printf(arena, "%.*s`%.*s` %s, ", BYTES_FMT(columns), BYTES_FMT(name), type);
        key = arena_printf(arena, "%.*s%s`%.*s`", BYTES_FMT(key), i ? ", " : "", BYTES_FMT(name));
    }
    for (size_t i = 0; i < a->survey->column_count; i++)
        if (!is_key(k, i))
            columns = arena_printf(arena, "%.*s`%.*s` %s, ", BYTES_FMT(columns),
                                   BYTES_FMT(a->survey->columns[i].name), sql_type(a, i));
    key = arena_printf(arena, "CREATE TABLE `%s` (%.*sPRIMARY KEY (%.*s))", a->table,
                       BYTES_FMT(columns), BYTES_FMT(key));
    if (k->layout.kind == LAYOUT_FORM_PLAIN)
        return key;
    return arena_printf(arena, "%.*s WITH (LAYOUT = '%s')", BYTES_FMT(key),
                        layout_form_format(k->layout, layout));
}
