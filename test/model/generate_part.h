/* generate_part.h: what the generator's own files share. */
#ifndef MODEL_GENERATE_PART_H
#define MODEL_GENERATE_PART_H

#include "generate.h"

/* True with a chance of n in a hundred. */
bool gen_chance(struct generator *g, int n);
size_t gen_below(struct generator *g, size_t n);

/* ---- values (generate_value.c) ---- */

bytes gen_column(struct generator *g);
struct wr_value gen_value(struct generator *g);
struct wr_value gen_value_of(struct generator *g, enum wr_type type);
/* A stamp that is far from expiry, legal or not by the table's deviation. */
int64_t gen_stamp(struct generator *g, const struct oracle_table *t, bool update);
/* A stamp that some cell of the table may have. */
int64_t gen_known_stamp(struct generator *g, const struct oracle_table *t);
/* True if every cell of the table brings its own stamp, also ones in the future. */
bool gen_stamped(const struct oracle_table *t);
/* A random cell of a random row, or NULL. */
const struct wr_cell *gen_known_cell(struct generator *g, const struct oracle_table *t);

/* ---- keys (generate_key.c) ---- */

/* A key of a row that is there, or may be. `write` allows the auto-increment placeholder, which is
 * then told in *placeholder. */
struct wr_key gen_key(struct generator *g, const struct oracle_table *t, bool write,
                      bool *placeholder);
/* Both bounds, in the order that the direction needs (with luck). */
void gen_bounds(struct generator *g, const struct oracle_table *t, bool backward,
                struct wr_key *start, struct wr_key *end);

/* ---- indexes (generate_index.c), where g->indexed ---- */

/* The type that a column is defined with, or NULL. */
const struct wr_defined_column *gen_defined(bytes name);
bytes gen_defined_any(struct generator *g); /* the name of one */
/* Makes a table such that it can have indexes, or have some from the first. */
void gen_indexable(struct generator *g, struct wr_create_table *t);
/* CreateIndex or DropIndex. */
void gen_index_op(struct generator *g, const struct oracle_table *t, struct wr_request *out);
/* The table or one of its indexes. */
struct oracle_table *gen_readable(struct generator *g, struct oracle_table *t);
/* Takes away changes of a row that comes before, which a table with indexes would refuse; usually.
 */
void gen_without_repeated(struct generator *g, struct wr_row_change *c, size_t *count);
bool gen_same_key(const struct wr_key *a, const struct wr_key *b); /* generate.c */

/* ---- transactions (generate_txn.c), where g->txns ---- */

/* StartLocalTransaction, usually on a value of a table that has them. */
void gen_start(struct generator *g, const struct oracle_table *t, struct wr_request *out);
/* One that is open, or NULL. */
struct oracle_txn *gen_open_txn(struct generator *g);
/* CommitTransaction or AbortTransaction. */
void gen_end(struct generator *g, const struct oracle_txn *x, struct wr_request *out);
/* Makes the request one of the transaction's: GetRow, GetRange, a change of a row, or a batch. */
void gen_inside(struct generator *g, const struct oracle_txn *x, struct wr_request *out);

/* ---- filters (generate_filter.c) ---- */

const struct wr_filter *gen_filter(struct generator *g, const struct oracle_table *t,
                                   bool condition);
/* One that is refused. */
const struct wr_filter *gen_bad_filter(struct generator *g, const struct oracle_table *t,
                                       bool condition);

/* ---- faults (generate_fault.c) ---- */

/* Makes a legal request illegal in one way, usually. */
void gen_fault(struct generator *g, const struct oracle_table *t, struct wr_request *req);

#endif
