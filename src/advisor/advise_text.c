/* advise_text.c: the advice for the terminal. */
#include "advisor/advise.h"

#include "cli/console/progress.h"

static void print_columns(const struct advise *a, FILE *out)
{
    fprintf(out, "\n  %-20s %-8s %14s  %-10s %s\n", "column", "type", "values", "length",
            "largest value");
    for (size_t i = 0; i < a->survey->column_count; i++) {
        const struct survey_column *col = &a->survey->columns[i];
        const struct sketch_top *top = col->weights.top;
        enum wr_type type = a->ranks->columns[i].type;
        char count[PROGRESS_TEXT], size[PROGRESS_TEXT], part[PROGRESS_TEXT], lengths[48];
        double share = a->survey->bytes ? (double)top->weight / (double)a->survey->bytes : 0;

        snprintf(lengths, sizeof(lengths), "%zu-%zu", col->present ? col->len_min : 0,
                 col->len_max);
        fprintf(
            out, "  %-20.*s %-8s %14s  %-10s %s (%.*s, %s)\n", BYTES_FMT(col->name),
            a->ranks->columns[i].is_time ? "time"
            : type == WR_BIGINT          ? "integer"
            : type == WR_DOUBLE          ? "double"
                                         : "text",
            progress_format_count((uint64_t)(sketch_distinct_count(&col->distinct) + 0.5), count),
            lengths, progress_format_bytes(top->weight, size), (int)top->text_len, top->text,
            progress_format_share(share, part));
    }
}

/* Whatever the key: who asks for a range of such a column gets another one than is meant. */
static void print_dates(const struct advise *a, FILE *out)
{
    for (size_t i = 0; i < a->survey->column_count; i++) {
        const struct rank_column *col = &a->ranks->columns[i];

        if (col->date_form)
            fprintf(out,
                    "\nWARNING: %.*s holds dates as text that do not sort by time (%s, as in "
                    "'%.*s').\nNo key serves a range of time over it; write YYYY-MM-DD HH:MM:SS, "
                    "or an integer of milliseconds.\n",
                    BYTES_FMT(a->survey->columns[i].name), col->date_form,
                    BYTES_FMT(col->date_example));
    }
}

static void print_candidate(const struct advise *a, const struct candidate *k, size_t number,
                            FILE *out)
{
    static const char *const marks[] = {" ", "~", "!"};
    char layout[LAYOUT_FORM_BYTES];
    bytes names = advise_names(a, k->columns, k->column_count, " + ", a->arena);

    fprintf(out, "\n%3zu. %.*s, layout %s: %s\n", number, BYTES_FMT(names),
            layout_form_format(k->layout, layout), verdict_name(k->verdict));
    for (size_t i = 0; i < k->reason_count; i++)
        fprintf(out, "   %s %-10s %.*s\n", marks[k->reasons[i].verdict],
                rule_infos[k->reasons[i].rule].name, BYTES_FMT(k->reasons[i].text));
    for (size_t i = 0; i < a->query_count; i++) {
        bytes columns = advise_index_columns(a, k, i, a->arena);

        fprintf(out, "     \"%.*s\": %s\n", BYTES_FMT(a->queries[i].text), reach_text(k->reach[i]));
        if (columns.len)
            fprintf(out, "     an index would serve it: widerow index create %s INDEX %.*s\n",
                    a->table, BYTES_FMT(columns));
    }
    if (k->verdict != VERDICT_BAD)
        fprintf(out, "     %.*s\n", BYTES_FMT(advise_create_line(a, k, a->arena)));
    if (k->verdict != VERDICT_BAD && number == 1)
        fprintf(out, "     in SQL: %.*s;\n", BYTES_FMT(advise_create_table(a, k, a->arena)));
}

/* In one line: what is printed only briefly. */
static void print_short(const struct advise *a, const struct candidate *k, size_t number, FILE *out)
{
    char layout[LAYOUT_FORM_BYTES];
    bytes names = advise_names(a, k->columns, k->column_count, " + ", a->arena);

    fprintf(out, "%3zu. %-5s %-40.*s %-10s %s\n", number, verdict_name(k->verdict),
            BYTES_FMT(names), layout_form_format(k->layout, layout),
            k->reason_count && k->reasons[0].verdict != VERDICT_GOOD
                ? (const char *)k->reasons[0].text.ptr
                : "");
}

void advise_print_text(const struct advise *a, const struct advise_head *head, size_t limit,
                       FILE *out)
{
    char count[PROGRESS_TEXT], size[PROGRESS_TEXT];
    size_t full = 0, left = 0;

    fprintf(out, "%s: %s records, %s, read in %.1f s", head->source,
            progress_format_count(head->records, count), progress_format_bytes(head->bytes, size),
            head->seconds);
    if (head->bad_lines)
        fprintf(out, ", %s bad lines left out", progress_format_count(head->bad_lines, count));
    fprintf(out, "\n");
    if (head->left_out)
        fprintf(out, "%llu columns more than %d were not looked at; --columns chooses which are\n",
                (unsigned long long)head->left_out, SURVEY_COLUMNS_MAX);
    print_columns(a, out);
    print_dates(a, out);
    /* The best in full, and every single column, whose reasons teach the most. */
    for (size_t i = 0; i < a->candidate_count; i++) {
        const struct candidate *k = &a->candidates[i];

        if (i < limit || (k->column_count == 1 && k->layout.kind == LAYOUT_FORM_PLAIN)) {
            print_candidate(a, k, i + 1, out);
            full++;
        }
    }
    left = a->candidate_count - full;
    if (left)
        fprintf(out, "\nthe other %zu, their worst reason:\n", left);
    for (size_t i = limit; i < a->candidate_count; i++) {
        const struct candidate *k = &a->candidates[i];

        if (k->column_count != 1 || k->layout.kind != LAYOUT_FORM_PLAIN)
            print_short(a, k, i + 1, out);
    }
}
