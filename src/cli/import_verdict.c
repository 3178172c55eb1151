#include "cli/import_verdict.h"

#include "advisor/advise.h"

#include <stdio.h>

/* As `widerow advise` has them where nobody says otherwise. */
#define PARTITION_BYTES 10000000000u
#define PARTITIONS 16
#define BUCKETS 16
#define NUMBER_TEXT 32

static void add_column(struct import_verdict *v, const struct plan_column *column)
{
    size_t at = v->survey.column_count;

    if (at < SURVEY_COLUMNS_MAX && survey_add_column(&v->survey, column->name, at))
        v->fields[at] = column->field;
}

void import_verdict_begin(struct import_verdict *v, const struct plan *plan)
{
    *v = (struct import_verdict){.plan = plan};
    survey_init(&v->survey, 1);
    for (size_t i = 0; i < plan->key_count; i++)
        add_column(v, &plan->keys[i]);
    for (size_t i = 0; i < plan->column_count; i++)
        add_column(v, &plan->columns[i]);
}

/* A typed value as the text that the survey looks at. */
static struct csv_field text_of(const struct wr_value *v, char number[NUMBER_TEXT])
{
    switch (v->type) {
    case WR_VARCHAR:
    case WR_VARBINARY:
        return (struct csv_field){v->bytes, true};
    case WR_BIGINT:
        snprintf(number, NUMBER_TEXT, "%lld", (long long)v->integer);
        return (struct csv_field){bytes_str(number), false};
    case WR_DOUBLE:
        snprintf(number, NUMBER_TEXT, "%.17g", v->real);
        return (struct csv_field){bytes_str(number), false};
    case WR_BOOLEAN:
        return (struct csv_field){bytes_str(v->boolean ? "true" : "false"), false};
    default:
        return (struct csv_field){BYTES_NONE, false};
    }
}

void import_verdict_add(struct import_verdict *v, const struct csv_record *record)
{
    struct csv_field fields[SURVEY_COLUMNS_MAX] = {0};
    char numbers[SURVEY_COLUMNS_MAX][NUMBER_TEXT];

    for (size_t i = 0; i < v->survey.column_count && record->values; i++)
        fields[i] = text_of(&record->values[v->fields[i]], numbers[i]);
    for (size_t i = 0; i < v->survey.column_count && !record->values; i++) {
        fields[i] = record->fields[v->fields[i]];
        if (fields[i].text.len == 0 && !fields[i].quoted)
            fields[i].text = BYTES_NONE;
    }
    survey_add(&v->survey, fields);
}

void import_verdict_end(struct import_verdict *v)
{
    survey_release(&v->survey);
}

/* The key's columns are the survey's first. */
static bool is_ours(const struct import_verdict *v, const struct candidate *k, bytes layout)
{
    char text[LAYOUT_FORM_BYTES];

    if (k->column_count > v->plan->key_count ||
        !bytes_equal(bytes_str(layout_form_format(k->layout, text)), layout))
        return false;
    for (size_t i = 0; i < k->column_count; i++)
        if (k->columns[i] != i)
            return false;
    return true;
}

static void print(struct import_verdict *v, const struct advise *a, bytes layout)
{
    const struct candidate *ours = NULL;
    bytes name = v->plan->keys[0].name;

    for (size_t i = 0; i < a->candidate_count && !ours; i++)
        if (is_ours(v, &a->candidates[i], layout))
            ours = &a->candidates[i];
    if (ours)
        printf("The key %.*s with layout %.*s: %s%s%.*s\n", BYTES_FMT(name), BYTES_FMT(layout),
               verdict_name(ours->verdict), ours->reason_count ? ", " : "",
               BYTES_FMT(ours->reason_count ? ours->reasons[0].text : BYTES_LIT("")));
    else
        printf("The key %.*s with layout %.*s is none that the advisor judges\n", BYTES_FMT(name),
               BYTES_FMT(layout));
    if (a->candidate_count && (!ours || a->candidates[0].verdict < ours->verdict))
        printf("Better: %.*s\n", BYTES_FMT(advise_create_line(a, &a->candidates[0], a->arena)));
}

void import_verdict_print(struct ctx *c, struct import_verdict *v, const char *table, bytes layout)
{
    struct advise *a;
    struct ranks ranks;

    if (v->survey.records == 0)
        return;
    a = arena_zalloc(&c->arena, sizeof(*a));
    ranks_init(&ranks, &v->survey, SIZE_MAX, true, NULL);
    a->survey = &v->survey;
    a->ranks = &ranks;
    a->partition_bytes = PARTITION_BYTES;
    a->partitions = PARTITIONS;
    a->buckets = BUCKETS;
    a->table = table;
    advise(c, a);
    print(v, a, layout);
    ranks_release(&ranks);
}
