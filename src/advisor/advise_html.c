/* advise_html.c: the advice as one page that needs nothing else: styles inside, plots as SVG. */
#include "advisor/advise.h"

#include "cli/console/progress.h"

#define PLOTS_MAX 12  /* candidates with a plot of their load */
#define SHOWN_MAX 100 /* candidates on the page */
#define CELL 7        /* pixels of a window in a plot */

static void put_text(FILE *out, bytes text)
{
    const char *p = text.ptr;
    bool utf8 = bytes_is_utf8(text);

    for (size_t i = 0; i < text.len; i++) {
        if (p[i] == '<')
            fputs("&lt;", out);
        else if (p[i] == '>')
            fputs("&gt;", out);
        else if (p[i] == '&')
            fputs("&amp;", out);
        else if (p[i] == '"')
            fputs("&quot;", out);
        else if ((uint8_t)p[i] >= 0x80 && !utf8)
            fputc('?', out);
        else
            fputc(p[i], out);
    }
}

static void put_head(FILE *out, const struct advise_head *head)
{
    char count[PROGRESS_TEXT], size[PROGRESS_TEXT];

    fputs("<!doctype html><html lang=en><meta charset=utf-8><title>Advice on a key: ", out);
    put_text(out, bytes_str(head->source));
    fputs(
        "</title><style>"
        "body{font:15px/1.45 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;"
        "color:#222;background:#fff}"
        "table{border-collapse:collapse}td,th{padding:.2em .8em .2em 0;text-align:left;"
        "border-bottom:1px solid #ddd;vertical-align:top}"
        "h2{margin:1.6em 0 .3em;font-size:1.1em}code{background:#f3f3f3;padding:.1em .3em}"
        ".good{color:#176b2c}.fair{color:#8a5a00}.bad{color:#a3141a}"
        ".v{font-weight:600;text-transform:uppercase;font-size:.8em}"
        "svg{display:block;margin:.5em 0;background:#f6f6f6}figcaption{color:#666;font-size:.85em}"
        "</style><h1>Advice on a key</h1><p>",
        out);
    put_text(out, bytes_str(head->source));
    fprintf(out, ": %s records, %s.</p>\n", progress_format_count(head->records, count),
            progress_format_bytes(head->bytes, size));
}

static void put_columns(FILE *out, const struct advise *a)
{
    fputs("<table><tr><th>column<th>values<th>length<th>largest value</tr>\n", out);
    for (size_t i = 0; i < a->survey->column_count; i++) {
        const struct survey_column *col = &a->survey->columns[i];
        char count[PROGRESS_TEXT], size[PROGRESS_TEXT];

        fputs("<tr><td>", out);
        put_text(out, col->name);
        fprintf(
            out, "<td>%s<td>%zu-%zu<td>",
            progress_format_count((uint64_t)(sketch_distinct_count(&col->distinct) + 0.5), count),
            col->present ? col->len_min : 0, col->len_max);
        put_text(out, bytes_of(col->weights.top[0].text, col->weights.top[0].text_len));
        fprintf(out, " (%s)</tr>\n", progress_format_bytes(col->weights.top[0].weight, size));
    }
    fputs("</table>\n", out);
}

/* The load by time (across) and partition (down): the darker, the more of its window's writes. */
static void put_plot(FILE *out, const struct simulation *s)
{
    if (s->windows == 0)
        return;
    fprintf(out,
            "<figure style=\"margin:0\"><svg width=\"%u\" height=\"%u\" role=\"img\" "
            "aria-label=\"load by time and partition\">",
            s->windows * CELL, s->partitions * CELL);
    for (uint32_t w = 0; w < s->windows; w++) {
        for (uint32_t p = 0; p < s->partitions; p++) {
            double heat = (double)s->load[w][p] * s->partitions / 4;

            if (heat < 0.02)
                continue;
            fprintf(out,
                    "<rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" fill=\"#b3261e\" "
                    "opacity=\"%.2f\"/>",
                    w * CELL, p * CELL, CELL, CELL, heat > 1 ? 1 : heat);
        }
    }
    fprintf(out,
            "</svg><figcaption>writes on %u partitions (down) over time (across): the busiest "
            "carries %.1f times the mean, %.0f %% of the reserved capacity units are "
            "wasted</figcaption></figure>\n",
            s->partitions, s->peak_to_mean, s->wasted * 100);
}

/* A bar a candidate: the busiest partition by the mean, shorter is better. */
static void put_ranking(FILE *out, const struct advise *a, size_t count)
{
    static const char *const colours[] = {"#2e7d46", "#c08a1e", "#b3261e"};

    fprintf(out,
            "<h2>Peak to mean load, best candidate first</h2><svg width=\"720\" height=\"%zu\" "
            "font-size=\"12\" font-family=\"sans-serif\">",
            count * 20 + 4);
    for (size_t i = 0; i < count; i++) {
        const struct candidate *k = &a->candidates[i];
        char layout[LAYOUT_FORM_BYTES];
        double width = k->simulation.peak_to_mean / a->partitions * 360;

        fprintf(out, "<text x=\"0\" y=\"%zu\">", i * 20 + 14);
        put_text(out, advise_names(a, k->columns, k->column_count, "+", a->arena));
        fprintf(out,
                " %s</text><rect x=\"300\" y=\"%zu\" width=\"%.0f\" height=\"13\" fill=\"%s\"/>"
                "<text x=\"%.0f\" y=\"%zu\">%.1f</text>",
                layout_form_format(k->layout, layout), i * 20 + 3, width, colours[k->verdict],
                width + 306, i * 20 + 14, k->simulation.peak_to_mean);
    }
    fputs("</svg>\n", out);
}

static void put_candidate(FILE *out, const struct advise *a, const struct candidate *k, bool plot)
{
    char layout[LAYOUT_FORM_BYTES];

    fputs("<h2>", out);
    put_text(out, advise_names(a, k->columns, k->column_count, " + ", a->arena));
    fprintf(out, ", %s <span class=\"v %s\">%s</span></h2><ul>\n",
            layout_form_format(k->layout, layout), verdict_name(k->verdict),
            verdict_name(k->verdict));
    for (size_t i = 0; i < k->reason_count; i++) {
        fprintf(out, "<li class=%s title=\"", verdict_name(k->reasons[i].verdict));
        put_text(out, bytes_str(rule_infos[k->reasons[i].rule].text));
        fputs("\">", out);
        put_text(out, k->reasons[i].text);
        fputs("</li>\n", out);
    }
    for (size_t i = 0; i < a->query_count; i++) {
        bytes columns;

        fputs("<li>&ldquo;", out);
        put_text(out, a->queries[i].text);
        fprintf(out, "&rdquo;: %s", reach_text(k->reach[i]));
        columns = advise_index_columns(a, k, i, a->arena);
        if (columns.len) {
            fputs("; a secondary index on ", out);
            put_text(out, columns);
            fputs(" would serve it", out);
        }
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
    if (k->verdict != VERDICT_BAD) {
        fputs("<p><code>", out);
        put_text(out, advise_create_line(a, k, a->arena));
        fputs("</code></p>\n", out);
    }
    if (plot)
        put_plot(out, &k->simulation);
}

void advise_print_html(const struct advise *a, const struct advise_head *head, FILE *out)
{
    size_t shown = a->candidate_count < SHOWN_MAX ? a->candidate_count : SHOWN_MAX;

    put_head(out, head);
    put_columns(out, a);
    put_ranking(out, a, shown < 20 ? shown : 20);
    for (size_t i = 0; i < a->candidate_count; i++) {
        const struct candidate *k = &a->candidates[i];
        bool single = k->column_count == 1;

        if (i < shown || single)
            put_candidate(out, a, k, i < PLOTS_MAX || single);
    }
    fputs("</html>\n", out);
}
