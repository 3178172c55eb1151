/* name.h: which names tables and columns may have (doc/data-model.md, "Names"). */
#ifndef TABLE_MODEL_NAME_H
#define TABLE_MODEL_NAME_H

#include "base/ctx.h"

#define NAME_BYTES_MAX 255

/* Table and index names: a letter or '_', then letters, digits and '_', 1 to NAME_BYTES_MAX bytes.
 * Else E_PARAMETER, "Invalid table name: '…'.". */
int name_check_table(struct ctx *c, bytes name);

/* The same, or the name of a period's table: one of these, '@', and digits, '-' and 'W'. What reads
 * may name it. */
int name_check_table_or_period(struct ctx *c, bytes name);

/* Column names of every kind (key, defined, attribute, in columns_to_get and in filters): 1 to
 * NAME_BYTES_MAX bytes of UTF-8 that do not start with '#'. Else E_PARAMETER, "Invalid column name:
 * '…'.". */
int name_check_column(struct ctx *c, bytes name);

/* A name that was not checked, as an error text may show it: always UTF-8, and cut when very long.
 * In the arena of c, or `name` itself. */
bytes name_text(struct ctx *c, bytes name);

/* Sorts names as bytes. */
void names_sort(bytes *names, size_t count);

/* Sorts them, and keeps each once. Gives how many are left. */
size_t names_sort_unique(bytes *names, size_t count);

/* The first of sorted names that is `name`, NULL if none is. */
const bytes *names_find(const bytes *names, size_t count, bytes name);

#endif
