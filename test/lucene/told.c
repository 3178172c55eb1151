#include "told.h"

#include <inttypes.h>

static const char *type_name(enum wr_field_type t)
{
    switch (t) {
    case WR_FIELD_DOUBLE:
        return "double";
    case WR_FIELD_KEYWORD:
        return "keyword";
    case WR_FIELD_TEXT:
        return "text";
    case WR_FIELD_GEO_POINT:
        return "geo";
    default:
        return "long";
    }
}

void tell_schema(FILE *to, const struct wr_search_schema *d)
{
    for (size_t i = 0; i < d->field_count; i++)
        fprintf(to, "S %.*s %s %d\n", BYTES_FMT(d->fields[i].name), type_name(d->fields[i].type),
                d->fields[i].is_array);
}

static void tell_text(FILE *to, bytes text)
{
    for (size_t i = 0; i < text.len; i++)
        putc(bytes_u8(text)[i] == ' ' ? '_' : bytes_u8(text)[i], to);
}

static void tell_value(FILE *to, const struct wr_value *v)
{
    if (v->type == WR_BIGINT)
        fprintf(to, "%" PRId64, v->integer);
    else if (v->type == WR_DOUBLE)
        fprintf(to, "%.17g", v->real);
    else if (v->type == WR_NULL)
        fputc('-', to);
    else
        tell_text(to, v->bytes);
}

void tell_document(FILE *to, bytes key, const struct wr_row *row)
{
    fprintf(to, "D %.*s", BYTES_FMT(key));
    for (size_t i = 0; i < row->cell_count; i++) {
        fprintf(to, " %.*s=", BYTES_FMT(row->cells[i].name));
        tell_value(to, &row->cells[i].value);
    }
    fputc('\n', to);
}

static void tell_words(FILE *to, bytes text)
{
    size_t count = text.len > 0;

    for (size_t i = 0; i < text.len; i++)
        count += bytes_u8(text)[i] == ' ';
    fprintf(to, "%zu %.*s", count, BYTES_FMT(text));
}

static void tell_list(FILE *to, const struct wr_search_condition *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fputc(' ', to);
        tell_condition(to, &list[i]);
    }
}

static void tell_bool(FILE *to, const struct wr_bool_condition *b)
{
    fprintf(to, "bool %d %zu %zu %zu %zu", b->minimum.given ? b->minimum.number : -1, b->must_count,
            b->filter_count, b->must_not_count, b->should_count);
    tell_list(to, b->must, b->must_count);
    tell_list(to, b->filter, b->filter_count);
    tell_list(to, b->must_not, b->must_not_count);
    tell_list(to, b->should, b->should_count);
}

static void tell_match(FILE *to, const struct wr_search_condition *q)
{
    fprintf(to, q->type == WR_SEARCH_MATCH ? "match %.*s" : "phrase %.*s", BYTES_FMT(q->field));
    if (q->type == WR_SEARCH_MATCH)
        fprintf(to, " %d %d", q->match.all, q->match.minimum.given ? q->match.minimum.number : 1);
    fputc(' ', to);
    tell_words(to, q->match.text);
}

static void tell_field_condition(FILE *to, const struct wr_search_condition *q)
{
    static const char *const names[] = {
        [WR_SEARCH_TERM] = "term",         [WR_SEARCH_TERMS] = "terms",
        [WR_SEARCH_RANGE] = "range",       [WR_SEARCH_PREFIX] = "prefix",
        [WR_SEARCH_WILDCARD] = "wildcard", [WR_SEARCH_EXISTS] = "exists",
        [WR_SEARCH_GEO_BOX] = "box",       [WR_SEARCH_GEO_DISTANCE] = "circle",
    };

    fprintf(to, "%s %.*s", names[q->type], BYTES_FMT(q->field));
    if (q->type == WR_SEARCH_EXISTS)
        return;
    fputc(' ', to);
    switch (q->type) {
    case WR_SEARCH_TERM:
        tell_value(to, &q->term);
        break;
    case WR_SEARCH_TERMS:
        fprintf(to, "%zu", q->terms.count);
        for (size_t i = 0; i < q->terms.count; i++) {
            fputc(' ', to);
            tell_value(to, &q->terms.values[i]);
        }
        break;
    case WR_SEARCH_RANGE:
        tell_value(to, &q->range.from);
        fputc(' ', to);
        tell_value(to, &q->range.to);
        fprintf(to, " %d %d", q->range.include_from, q->range.include_to);
        break;
    case WR_SEARCH_GEO_BOX:
        fprintf(to, "%.*s %.*s", BYTES_FMT(q->geo.points[0]), BYTES_FMT(q->geo.points[1]));
        break;
    case WR_SEARCH_GEO_DISTANCE:
        fprintf(to, "%.*s %.17g", BYTES_FMT(q->geo.points[0]), q->geo.metres);
        break;
    default:
        tell_text(to, q->pattern);
    }
}

void tell_condition(FILE *to, const struct wr_search_condition *q)
{
    if (q && q->weight != 1 && q->type != WR_SEARCH_CONST_SCORE)
        fprintf(to, "*%.9g ", q->weight);
    if (!q || q->type == WR_SEARCH_MATCH_ALL) {
        fputs("all", to);
    } else if (q->type == WR_SEARCH_BOOL) {
        tell_bool(to, &q->boolean);
    } else if (q->type == WR_SEARCH_DIS_MAX) {
        fprintf(to, "dismax %.9g %zu", q->dis_max.tie_breaker, q->dis_max.count);
        tell_list(to, q->dis_max.queries, q->dis_max.count);
    } else if (q->type == WR_SEARCH_CONST_SCORE) {
        fprintf(to, "const %.9g ", q->weight);
        tell_condition(to, q->inner);
    } else if (q->type == WR_SEARCH_MATCH || q->type == WR_SEARCH_MATCH_PHRASE) {
        tell_match(to, q);
    } else {
        tell_field_condition(to, q);
    }
}

static void tell_aggregation(FILE *to, const struct wr_aggregation *a)
{
    static const char *const names[] = {
        [WR_AGG_AVG] = "avg", [WR_AGG_MAX] = "max",     [WR_AGG_MIN] = "min",
        [WR_AGG_SUM] = "sum", [WR_AGG_COUNT] = "count", [WR_AGG_DISTINCT_COUNT] = "distinct",
    };

    fprintf(to, "%s:%.*s", names[a->type], BYTES_FMT(a->field));
}

static void tell_group_by(FILE *to, const struct wr_group_by *g)
{
    fprintf(to, "%.*s", BYTES_FMT(g->field));
    if (g->type == WR_GROUP_HISTOGRAM)
        fprintf(to, "/%" PRId64, g->interval.integer);
}

void tell_query(FILE *to, const struct wr_search *s)
{
    const struct wr_sorter *by = s->sort.count ? &s->sort.sorters[0] : NULL;

    fprintf(to, "Q %d ", s->limit);
    if (!by || by->type == WR_SORTER_KEY)
        fputs("key", to);
    else if (by->type == WR_SORTER_SCORE)
        fputs("score", to);
    else
        fprintf(to, "%c%.*s", by->order == WR_ORDER_DESC ? '-' : '+', BYTES_FMT(by->field));
    fprintf(to, " %d ", s->track_total > 0);
    for (size_t i = 0; i < s->aggregation_count; i++) {
        tell_aggregation(to, &s->aggregations[i]);
        fputc(i + 1 < s->aggregation_count ? ';' : ' ', to);
    }
    fputs(s->aggregation_count ? "" : "- ", to);
    for (size_t i = 0; i < s->group_by_count; i++) {
        tell_group_by(to, &s->group_bys[i]);
        fputc(i + 1 < s->group_by_count ? ';' : ' ', to);
    }
    fputs(s->group_by_count ? "" : "- ", to);
    tell_condition(to, s->query);
    fputc('\n', to);
}

static double aggregation_value(const struct wr_aggregation_result *a)
{
    return a->type == WR_AGG_COUNT || a->type == WR_AGG_DISTINCT_COUNT ? (double)a->count : a->real;
}

void tell_answer(FILE *to, const struct search_hits *hits, const struct wr_search *s)
{
    fprintf(to, "T %" PRId64 "\n", hits->total);
    for (size_t i = 0; i < hits->count; i++)
        fprintf(to, "H %.*s %.9g\n", BYTES_FMT(hits->hits[i].key),
                hits->scored ? (double)hits->hits[i].score : -1);
    for (size_t i = 0; i < s->aggregation_count; i++) {
        fputs("A ", to);
        tell_aggregation(to, &s->aggregations[i]);
        fprintf(to, " %.17g\n", aggregation_value(&hits->aggregations[i]));
    }
    for (size_t i = 0; i < s->group_by_count; i++)
        for (size_t k = 0; k < hits->group_bys[i].count; k++) {
            const struct wr_group *g = &hits->group_bys[i].groups[k];

            fputs("G ", to);
            tell_group_by(to, &s->group_bys[i]);
            fputc(' ', to);
            if (g->key.ptr)
                tell_text(to, g->key);
            else
                tell_value(to, &g->value);
            fprintf(to, " %" PRId64 "\n", g->count);
        }
    fputs(".\n", to);
}
