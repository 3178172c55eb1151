/* records.h: what a command prints that is made of records: rows of a table, tables, partitions.
 *
 * A record is a struct wr_row; values stand as value.h writes them. The forms:
 *   table     lines and columns for a terminal; what does not fit is cut and ends with an ellipsis
 *   vertical  a line for each value; also where a table has no room for its columns
 *   json      one array of objects
 *   jsonl     an object a line, which `widerow import` takes back
 *   csv       a header of names and types, which it takes back, too
 * A terminal gets a table, through the pager that WIDEROW_PAGER or PAGER names; all else JSON
 * Lines. Of tables and CSV the columns are those of the first thousand records; a later one fails
 * CSV, and a table is drawn anew for each thousand. */
#ifndef CLI_CONSOLE_RECORDS_H
#define CLI_CONSOLE_RECORDS_H

#include "base/ctx.h"
#include "cli/console/option.h"
#include "widerow.h"

#include <stdio.h>

/* The flags of a command that prints records: a member of its options, named `print`. */
struct records_options {
    const char *format;
    uint64_t max_width;
};

#define RECORDS_FORMATS "table|json|jsonl|csv|vertical"
#define RECORDS_ROWS(type)                                                                         \
    {"format",                                                                                     \
     RECORDS_FORMATS,                                                                              \
     "how it is printed (default: table on a terminal, else jsonl)",                               \
     OPTION_TEXT,                                                                                  \
     offsetof(type, print.format),                                                                 \
     0,                                                                                            \
     0},                                                                                           \
    {                                                                                              \
        "max-width", "N", "columns that a value takes at most in a table (default: what fits)",    \
            OPTION_COUNT, offsetof(type, print.max_width), 1, 1u << 20                             \
    }

struct records;

/* `usual`: the form where none is asked for, or NULL: as above. */
int records_open(struct ctx *c, const struct records_options *o, const char *usual,
                 struct records **out);

/* Prints or keeps one record. `all`: a line for each version of each cell, with its time. */
int records_put(struct ctx *c, struct records *r, const struct wr_row *row, bool all);

/* A record that is made here and now: what a command tells besides rows. */
#define RECORD_CELLS_MAX 16
struct record {
    struct wr_cell cells[RECORD_CELLS_MAX];
    size_t count;
};
void record_text(struct record *r, const char *name, bytes text);
void record_integer(struct record *r, const char *name, int64_t v);
int records_put_record(struct ctx *c, struct records *r, const struct record *record);

/* Opens, prints this one, and closes. */
int records_print_one(struct ctx *c, const struct records_options *o, const struct record *record);

/* True: nobody reads on, so more need not be fetched. */
bool records_enough(const struct records *r);

/* Prints what is kept, frees, and waits for the pager. `r` NULL is allowed. */
int records_close(struct ctx *c, struct records *r);

#endif
