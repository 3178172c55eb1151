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
