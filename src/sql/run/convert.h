/* convert.h: values as a column takes them. */
#ifndef SQL_RUN_CONVERT_H
#define SQL_RUN_CONVERT_H

#include "sql/run/table.h"

/* `in`, of whatever type, as a value of the column, in the arena: numbers out of texts and texts
 * out of numbers, moments out of their texts. What does not fit exactly is a fault, as in MySQL's
 * strict mode. NULL stays NULL. `in` and `out` may be the same. */
int convert_value(struct run *r, const struct table_column *column, const struct wr_value *in,
                  struct wr_value *out);

/* The same without a fault and without rounding: false, there is no such value. For comparisons. */
bool convert_try(struct arena *a, const struct table_column *column, const struct wr_value *in,
                 struct wr_value *out);

/* A literal, a parameter, or either with a sign before it. False: it is something else, which has
 * to be computed. */
bool convert_constant(struct run *r, const struct expr *e, struct wr_value *out);

/* As a text; of a moment it is the number that is stored. */
bytes convert_text(struct arena *a, const struct wr_value *v);

/* As a text for people and for columns of texts, moments as SQL writes them. */
bytes convert_shown(struct arena *a, const struct wr_value *v);

/* Of a type whose values stand in v->bytes. */
bool convert_has_bytes(const struct wr_value *v);

/* The value, with its bytes in the arena. */
struct wr_value convert_copy(struct arena *a, const struct wr_value *v);

#endif
