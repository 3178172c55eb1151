/* type.h: what types are called, and how large their values are. */
#ifndef SQL_RUN_TYPE_H
#define SQL_RUN_TYPE_H

#include "sql/run/table.h"

/* As CREATE TABLE has it: DECIMAL(10,2). */
bytes type_text(struct arena *a, const struct table_column *c);

/* As MySQL's own lists have it: decimal, and decimal(10,2). */
const char *type_mysql_name(enum wr_type type);
bytes type_mysql_text(struct arena *a, const struct table_column *c);

bool type_is_text(enum wr_type type);

struct type_size {
    int64_t text; /* characters or bytes at most; 0: it is no text */
    int digits;   /* 0: it is no number */
    int fraction; /* of them behind the point */
    bool exact;   /* a number that is exact */
};

struct type_size type_size(const struct table_column *c);

#endif
