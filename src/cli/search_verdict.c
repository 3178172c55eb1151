#include "cli/search_verdict.h"

#include "cli/console/value.h"
#include "cli/search_file.h"
#include "client/walk.h"
#include "row_value.h"

#include <stdio.h>

#define LOOK_MAX 10000 /* rows that a part finds besides, until one gives up */
#define PAGE_MAX 100
#define NARROW_MAX 16

void search_verdict_print_index(struct ctx *c, const struct wr_search_index_description *d)
{
    int64_t now_us = clock_wall_us(c->clock);

    if (d->status != WR_SEARCH_RUNNING)
        printf("status    %s%s%.*s\n", d->status == WR_SEARCH_FAILED ? "stopped" : "not ready yet",
               d->status_text.len ? ": " : "", BYTES_FMT(d->status_text));
    if (!d->has_sync_stat)
        return;
    printf("phase     %s\n",
           d->phase == WR_SEARCH_INCR ? "follows changes" : "reads the rows that were there");
    if (d->phase == WR_SEARCH_INCR && d->synced_us > 0)
        printf("behind    %.1f s\n",
               now_us > d->synced_us ? (double)(now_us - d->synced_us) / 1e6 : 0.0);
    printf("rows      %lld\nbytes     %lld\n", (long long)d->row_count,
           (long long)d->storage_bytes);
    if (d->ttl_s > 0)
        printf("ttl       %d s\n", d->ttl_s);
}

/* ---- one question: does a condition find the row ---- */

enum answer { FOUND, NOT_FOUND, TOO_MANY };

struct look {
    const struct search_verdict *v;
    const struct wr_row *row;
    struct wr_search_condition narrow[NARROW_MAX]; /* what the row itself has */
    size_t narrow_count;
};

static bool same_value(const struct wr_value *a, const struct wr_value *b)
{
    if (a->type != b->type)
        return false;
    return a->type == WR_BIGINT ? a->integer == b->integer : bytes_equal(a->bytes, b->bytes);
}

static bool same_key(const struct wr_key *a, const struct wr_key *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (i >= b->count || !same_value(&a->columns[i].value, &b->columns[i].value))
            return false;
    return true;
}

/* Among all that a part finds the row is looked for with what it has itself in fields of one value:
 * so there are few others. */
static void make_narrow(struct look *l)
{
    const struct wr_search_schema *s = &l->v->state.schema;

    for (size_t i = 0; i < s->field_count && l->narrow_count < NARROW_MAX; i++) {
        const struct wr_field_schema *f = &s->fields[i];
        const struct wr_value *value = row_value(l->row, f->name);

        if (!value || f->is_array || f->is_virtual || !f->index)
            continue;
        if ((f->type == WR_FIELD_KEYWORD && value->type == WR_VARCHAR) ||
            (f->type == WR_FIELD_LONG && value->type == WR_BIGINT))
            l->narrow[l->narrow_count++] = (struct wr_search_condition){
                .type = WR_SEARCH_TERM, .weight = 1, .field = f->name, .term = *value};
    }
}

static bool find_in_page(const struct look *l, const struct wr_search_result *page, double *score)
{
    for (size_t i = 0; i < page->count; i++)
        if (same_key(&l->v->key, &page->rows[i].key)) {
            *score = page->scores[i];
            return true;
        }
    return false;
}

static int ask(struct ctx *c, const struct look *l, const struct wr_search_condition *part,
               enum answer *out, double *score)
{
    static const struct wr_sorter by_score = {.type = WR_SORTER_SCORE, .order = WR_ORDER_DESC};
    struct wr_search_condition both = {
        .type = WR_SEARCH_BOOL,
        .weight = 1,
        .boolean = {
            .must = part, .must_count = 1, .filter = l->narrow, .filter_count = l->narrow_count}};
    struct wr_request request = {
        .op = WR_OP_SEARCH,
        .search = {.table = l->v->table,
                   .index = l->v->index,
                   .query = &both,
                   .has_limit = true,
                   .limit = PAGE_MAX,
                   .track_total = -1,
                   .sort = {.given = true, .sorters = &by_score, .count = 1}}};

    for (size_t looked = 0; looked < LOOK_MAX; looked += PAGE_MAX) {
        struct wr_reply reply;

        TRY(client_exec(c, l->v->client, &request, &reply));
        *out = find_in_page(l, &reply.search, score) ? FOUND : NOT_FOUND;
        if (*out == FOUND || !reply.search.next_token.ptr)
            return 0;
        request.search.token = reply.search.next_token;
    }
    *out = TOO_MANY;
    return 0;
}

/* ---- what is said ---- */

static const char *part_name(const struct wr_search_condition *q)
{
    static const char *const names[] = {
        [WR_SEARCH_MATCH] = "match",         [WR_SEARCH_MATCH_PHRASE] = "phrase",
        [WR_SEARCH_TERM] = "term",           [WR_SEARCH_RANGE] = "range",
        [WR_SEARCH_PREFIX] = "prefix",       [WR_SEARCH_WILDCARD] = "wildcard",
        [WR_SEARCH_GEO_DISTANCE] = "circle", [WR_SEARCH_EXISTS] = "exists",
        [WR_SEARCH_MATCH_ALL] = "every row",
    };

    if (q->type != WR_SEARCH_BOOL)
        return names[q->type];
    return q->boolean.must_not_count ? "not" : q->boolean.must_count ? "and" : "or";
}

/* May a field of that type hold such a value at all? */
static bool value_fits(const struct wr_field_schema *f, const struct wr_value *v)
{
    if (f->is_array)
        return v->type == WR_VARCHAR;
    switch (f->type) {
    case WR_FIELD_LONG:
        return v->type == WR_BIGINT;
    case WR_FIELD_DOUBLE:
        return v->type == WR_DOUBLE || v->type == WR_BIGINT;
    case WR_FIELD_BOOLEAN:
        return v->type == WR_BOOLEAN;
    case WR_FIELD_DATE:
        return v->type == WR_BIGINT || v->type == WR_VARCHAR;
    case WR_FIELD_VECTOR:
        return v->type == WR_VARBINARY || v->type == WR_VARCHAR;
    default:
        return v->type == WR_VARCHAR;
    }
}

/* The row's own value, behind a part about one field. */
static void print_own(struct ctx *c, const struct look *l, bytes field)
{
    const struct wr_search_schema *s = &l->v->state.schema;
    const struct wr_field_schema *f = NULL;
    const struct wr_value *v = row_value(l->row, field);
    struct buf b;

    for (size_t i = 0; i < s->field_count; i++)
        if (bytes_equal(s->fields[i].name, field))
            f = &s->fields[i];
    if (!f || f->is_virtual)
        return;
    if (!v) {
        printf("; the row has no %.*s", BYTES_FMT(field));
        return;
    }
    buf_init(&b, &c->arena, 64);
    value_put(&b, v);
    printf("; the row has %.*s%s", (int)(b.len < 60 ? b.len : 60), (const char *)b.data,
           b.len > 60 ? "…" : "");
    if (!value_fits(f, v))
        printf(", which is no %s: it is not in the index", search_file_type(f->type));
}

static int print_part(struct ctx *c, const struct look *l, const struct wr_search_condition *q,
                      int depth, enum answer *out)
{
    static const char *const words[] = {
        [FOUND] = "found", [NOT_FOUND] = "not found", [TOO_MANY] = "finds too many to tell"};
    const struct wr_bool_condition *b = &q->boolean;
    enum answer inner;
    double score = 0;

    TRY(ask(c, l, q, out, &score));
    printf("%*s%s", depth * 2, "", part_name(q));
    if (q->field.len)
        printf(" %.*s", BYTES_FMT(q->field));
    printf(": %s", words[*out]);
    if (*out == FOUND)
        printf(", score %g", score);
    if (q->field.len)
        print_own(c, l, q->field);
    putchar('\n');
    if (q->type != WR_SEARCH_BOOL)
        return 0;
    for (size_t i = 0; i < b->must_count; i++)
        TRY(print_part(c, l, &b->must[i], depth + 1, &inner));
    for (size_t i = 0; i < b->should_count; i++)
        TRY(print_part(c, l, &b->should[i], depth + 1, &inner));
    for (size_t i = 0; i < b->must_not_count; i++)
        TRY(print_part(c, l, &b->must_not[i], depth + 1, &inner));
    return 0;
}

int search_verdict_print(struct ctx *c, const struct search_verdict *v)
{
    static const struct wr_search_condition all = {.type = WR_SEARCH_MATCH_ALL, .weight = 1};
    struct wr_get_row get = {.table = v->table, .key = v->key};
    struct look l = {.v = v};
    enum answer answer = NOT_FOUND;
    struct wr_row row;
    double score;

    get.read.max_versions = 1;
    get.read.has_max_versions = true;
    search_verdict_print_index(c, &v->state);
    TRY(walk_row(c, v->client, &get, &row));
    if (row.key.count == 0)
        return fail(c, WR_E_NOT_EXIST, "the table has no such row");
    l.row = &row;
    make_narrow(&l);
    TRY(ask(c, &l, &all, &answer, &score));
    if (answer == NOT_FOUND)
        return fail(c, WR_E_NOT_EXIST,
                    "the row is in the table and not, or not as it is now, in the index: %s",
                    v->state.phase == WR_SEARCH_INCR
                        ? "it was written a moment ago, or its time to live is over"
                        : "the index still reads the rows that were there");
    TRY(print_part(c, &l, v->query, 0, &answer));
    return answer == NOT_FOUND ? fail(c, WR_E_NOT_EXIST, "the condition does not find the row") : 0;
}
