/* advise_json.c: the advice for programs. Members are only ever added. */
#include "advisor/advise.h"

#include <math.h>

static void put_text(FILE *out, bytes text)
{
    const uint8_t *p = text.ptr;
    bool utf8 = bytes_is_utf8(text);

    fputc('"', out);
    for (size_t i = 0; i < text.len; i++) {
        if (p[i] == '"' || p[i] == '\\')
            fprintf(out, "\\%c", p[i]);
        else if (p[i] < 0x20 || p[i] == 0x7f || (p[i] >= 0x80 && !utf8))
            fprintf(out, "\\u%04x", p[i]);
        else
            fputc(p[i], out);
    }
    fputc('"', out);
}

static void put_number(FILE *out, double v)
{
    if (isfinite(v))
        fprintf(out, "%.6g", v);
    else
        fputs("null", out);
}

static void put_names(FILE *out, const struct advise *a, const size_t *columns, size_t count)
{
    fputc('[', out);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? ", " : "", out);
        put_text(out, a->survey->columns[columns[i]].name);
    }
    fputc(']', out);
}

static void put_reasons(FILE *out, const struct candidate *k)
{
    fputs("     \"reasons\": [", out);
    for (size_t i = 0; i < k->reason_count; i++) {
        const struct reason *r = &k->reasons[i];

        fprintf(out, "%s\n      {\"rule\": \"%s\", \"verdict\": \"%s\", \"figure\": ", i ? "," : "",
                rule_infos[r->rule].name, verdict_name(r->verdict));
        put_number(out, r->figure);
        fputs(", \"text\": ", out);
        put_text(out, r->text);
        fputc('}', out);
    }
    fputs("]", out);
}

static void put_simulation(FILE *out, const struct simulation *s)
{
    fprintf(out,
            "     \"simulation\": {\"partitions\": %u, \"windows\": %u, \"peak_to_mean\": %.3f, "
            "\"worst\": %.3f, \"cu_wasted\": %.4f, \"span\": %.4f, \"rise\": %.3f}",
            s->partitions, s->windows, s->peak_to_mean, s->worst, s->wasted, s->span, s->rise);
}

/* Where the key does not serve the query. */
static void put_index(FILE *out, const struct advise *a, const struct candidate *k, size_t query)
{
    bytes columns = advise_index_columns(a, k, query, a->arena);

    if (!columns.len)
        return;
    fputs(", \"index\": ", out);
    put_text(out, columns);
}

static void put_candidate(FILE *out, const struct advise *a, const struct candidate *k)
{
    char layout[LAYOUT_FORM_BYTES];

    fputs("    {\"columns\": ", out);
    put_names(out, a, k->columns, k->column_count);
    fprintf(out, ", \"layout\": \"%s\", \"verdict\": \"%s\",\n     \"key\": ",
            layout_form_format(k->layout, layout), verdict_name(k->verdict));
    put_names(out, a, k->key, k->key_count);
    fputs(", \"create\": ", out);
    put_text(out, advise_create_line(a, k, a->arena));
    fprintf(out, ",\n     \"cardinality\": %.0f, \"largest_bytes\": %.0f, \"repeated\": %.6g,\n",
            k->different, k->largest_bytes, k->repeated);
    if (a->query_count) {
        fputs("     \"reads\": [", out);
        for (size_t i = 0; i < a->query_count; i++) {
            fprintf(out, "%s{\"query\": ", i ? ", " : "");
            put_text(out, a->queries[i].text);
            fprintf(out, ", \"reach\": \"%s\"", reach_name(k->reach[i]));
            put_index(out, a, k, i);
            fputc('}', out);
        }
        fputs("],\n", out);
    }
    put_simulation(out, &k->simulation);
    fputs(",\n", out);
    put_reasons(out, k);
    fputc('}', out);
}

static void put_columns(FILE *out, const struct advise *a)
{
    static const char *const types[] = {"text", "integer", "double"};

    fputs("  \"columns\": [", out);
    for (size_t i = 0; i < a->survey->column_count; i++) {
        const struct survey_column *col = &a->survey->columns[i];
        enum wr_type type = a->ranks->columns[i].type;

        fprintf(out, "%s\n    {\"name\": ", i ? "," : "");
        put_text(out, col->name);
        fprintf(out, ", \"type\": \"%s\", \"time\": %s, \"cardinality\": %.0f, \"present\": %llu, ",
                types[type == WR_BIGINT   ? 1
                      : type == WR_DOUBLE ? 2
                                          : 0],
                a->ranks->time_column == i ? "true" : "false",
                sketch_distinct_count(&col->distinct), (unsigned long long)col->present);
        fprintf(out, "\"length\": [%zu, %zu], \"largest\": [", col->present ? col->len_min : 0,
                col->len_max);
        for (size_t t = 0; t < col->weights.top_count && t < 3; t++) {
            fprintf(out, "%s{\"value\": ", t ? ", " : "");
            put_text(out, bytes_of(col->weights.top[t].text, col->weights.top[t].text_len));
            fprintf(out, ", \"bytes\": %llu}", (unsigned long long)col->weights.top[t].weight);
        }
        fputs("]}", out);
    }
    fputs("],\n", out);
}

void advise_print_json(const struct advise *a, const struct advise_head *head, FILE *out)
{
    fputs("{\n  \"source\": ", out);
    put_text(out, bytes_str(head->source));
    fprintf(out,
            ",\n  \"records\": %llu, \"bytes\": %llu, \"bad_lines\": %llu, \"columns_left_out\": "
            "%llu, \"seconds\": %.3f,\n"
            "  \"partition_bytes\": %llu, \"partitions\": %u,\n",
            (unsigned long long)head->records, (unsigned long long)head->bytes,
            (unsigned long long)head->bad_lines, (unsigned long long)head->left_out, head->seconds,
            (unsigned long long)a->partition_bytes, a->partitions);
    put_columns(out, a);
    fputs("  \"candidates\": [", out);
    for (size_t i = 0; i < a->candidate_count; i++) {
        fputs(i ? ",\n" : "\n", out);
        put_candidate(out, a, &a->candidates[i]);
    }
    fputs("\n  ]\n}\n", out);
}
