/* plan.h: how lines of CSV or JSON Lines become rows of a table.
 *
 * A plan says which field becomes which key or attribute column and of what type. It is made in
 * steps: the user's words (plan_parse), the table's own schema if it exists (plan_use_schema), then
 * types in the header ("amount:double", as `widerow export` writes it), those of the table's
 * defined columns (plan_use_defined), and for what is still open a look at the first lines
 * (plan_guess). Of JSON Lines the header is the names of the first lines, and a column of several
 * types, integers and doubles too, keeps them all ("any"). A row needs every column of its key: an
 * empty field is none, and "" in quotes is an empty text, unless all of the file stands in quotes,
 * as the column's name in the header then does. Texts of failures are for the person at the
 * keyboard. */
#ifndef CLI_TRANSFER_PLAN_H
#define CLI_TRANSFER_PLAN_H

#include "base/ctx.h"
#include "record/csv.h"
#include "widerow.h"

#define PLAN_TYPE_OPEN WR_NULL /* not known yet */

struct plan_column {
    bytes name;
    enum wr_type type;
    size_t field; /* of the line, from 0 */
    bool guessed; /* the type is what the first lines looked like */
    bool any;     /* JSON Lines: each value is of the type that it is written in */
    /* plan_guess() only */
    bool seen, integers, not_text, not_integer, not_double, not_boolean, not_binary;
};

/* Lives in the arena it was made with. */
struct plan {
    struct plan_column keys[WR_KEY_COLUMNS_MAX];
    size_t key_count;
    struct plan_column *columns;
    size_t column_count;
    size_t field_count;         /* every line must have as many */
    struct csv_record header;   /* names only */
    enum wr_type *header_types; /* by field: of "NAME:type" in the header, else PLAN_TYPE_OPEN */
    bool all_columns;           /* no --columns: all fields that are no key */
    bool keys_given;            /* by --key */
    bool has_null;              /* set by the caller behind plan_parse(): of CSV, a field with */
    bytes null;                 /* this text is none, too */
    bool has_cells;             /* a field holds cells beside the columns (cells.h), */
    size_t cells_field;         /* this one */
    bool json; /* fields tell texts (quoted) from numbers, and values may be objects (value.h) */
};

struct resume_part;

/* One line's row, in one piece of memory; the values point into it. */
struct import_row {
    struct resume_part *part; /* NULL, or what is settled with it (resume.h) */
    uint64_t line;
    uint64_t source_bytes;       /* of the line in the file */
    bytes raw;                   /* the line, if the record had it */
    const struct wr_cell *cells; /* beside the columns; they count where both have a name */
    size_t cell_count;
    size_t bytes;             /* of names and values, as the limits count them */
    struct wr_value values[]; /* the keys', then the columns'; WR_NULL: no such cell */
};

/* `keys` and `columns` are lists "NAME[:type],NAME[:type]"; either may be NULL: the keys are then
 * the table's, and the columns all fields that are no key. */
int plan_parse(struct ctx *c, struct plan *p, const struct csv_record *header, const char *keys,
               const char *columns);

/* Takes key types from a table that exists, and the order of its key. */
int plan_use_schema(struct ctx *c, struct plan *p, const struct wr_key_schema *schema,
                    size_t count);

/* Takes the types that a table defines for columns of which neither words nor header say one. Not
 * of JSON Lines, where each value is written as what it is. */
void plan_use_defined(struct plan *p, const struct wr_defined_column *defined, size_t count);

/* Is there a column whose type only the first lines tell? Before plan_guess_end(). */
bool plan_guesses(const struct plan *p);

/* Looks at the fields of one line; call for each of the first lines, then plan_guess_end(). */
void plan_guess(struct plan *p, const struct csv_record *record);

/* Decides on a type for what is still open. */
void plan_guess_end(struct plan *p);

/* The row of a line; free it with mem_free(). NULL: the line is bad, `message` says why. */
struct import_row *plan_row(const struct plan *p, const struct csv_record *record, char *message,
                            size_t message_size);

/* The name of its type (type_name.h), or "any". */
const char *plan_column_type(const struct plan_column *column);

#endif
