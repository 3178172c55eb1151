/* import_verdict.h: what the advisor says of the key that an import would load its records under.
 */
#ifndef CLI_IMPORT_VERDICT_H
#define CLI_IMPORT_VERDICT_H

#include "advisor/survey.h"
#include "cli/transfer/plan.h"

struct import_verdict {
    const struct plan *plan;
    struct survey survey;
    size_t fields[SURVEY_COLUMNS_MAX]; /* of the record, by column of the survey */
};

/* The plan must be whole and outlive it. The key's columns are looked at, and of the others as many
 * as the advisor takes. */
void import_verdict_begin(struct import_verdict *v, const struct plan *plan);
void import_verdict_add(struct import_verdict *v, const struct csv_record *record);

/* Prints the verdict on stdout, and the line that makes a better table if it knows one. Nothing, if
 * there were no records. */
void import_verdict_print(struct ctx *c, struct import_verdict *v, const char *table, bytes layout);

void import_verdict_end(struct import_verdict *v);

#endif
