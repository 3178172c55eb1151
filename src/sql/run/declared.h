/* declared.h: what CREATE TABLE said of a table beyond what its description has: lengths, NOT NULL
 * and DEFAULT of columns, options that are kept to be shown, and whether rows may have columns that
 * are not declared. Kept in the table's annotation (doc/format.md), written together with the
 * table. A table without it, made by another program, may have any columns. */
#ifndef SQL_RUN_DECLARED_H
#define SQL_RUN_DECLARED_H

#include "sql/run/run.h"

enum default_kind {
    DEFAULT_NONE = 0,
    DEFAULT_TEXT = 1, /* a constant, as a text */
    DEFAULT_NOW = 2,  /* the moment of the statement */
};

struct declared_column {
    bytes name;
    uint32_t length; /* as wr_key_schema.length; of VARCHAR in characters; 0: not declared */
    bool not_null;
    enum default_kind with; /* a new row gets a value */
    bytes text;             /* of DEFAULT_TEXT */
};

struct declared_option {
    bytes name, value; /* names in capitals */
};

struct declared {
    struct declared_column *columns; /* those of which there is something to say */
    size_t column_count;
    struct declared_option *options;
    size_t option_count;
    bool dynamic; /* rows may have other columns */
};

/* Texts are views of the description. */
int declared_read(struct run *r, const struct wr_table_description *d, struct declared *out);

/* The annotation with it instead, in the arena. */
bytes declared_annotation(struct run *r, bytes annotation, const struct declared *d);

/* NULL: nothing was said of the column. */
const struct declared_column *declared_find(const struct declared *d, bytes name);

/* Says it of a column, instead of what was said; `d` grows in the arena. */
void declared_set(struct run *r, struct declared *d, const struct declared_column *c);

/* What the table is made with: WITH (...), or SET. Options that have their place in a description
 * (TTL, VERSIONS, LAYOUT) are passed over. A name that is none, or a value that cannot be, is a
 * fault. */
int declared_options(struct run *r, const struct option_list *list, struct declared *d);

#endif
