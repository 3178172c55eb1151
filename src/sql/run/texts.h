/* texts.h: answers that are tables of texts. */
#ifndef SQL_RUN_TEXTS_H
#define SQL_RUN_TEXTS_H

#include "sql/run/run.h"

#define TEXTS_COLUMNS_MAX 18

/* `names` ends with NULL. */
int texts_columns(struct run *r, const char *const *names);

/* A row of `n` texts, one for each column; ptr NULL: NULL. */
int texts_row(struct run *r, const bytes *texts, size_t n);

#endif
