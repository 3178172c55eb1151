/* filter.h: filters on reads and column conditions on writes (doc/data-model.md, "Filters",
 * "Conditions").
 *
 * A filter tree is checked and its regular expressions compiled once for a request, then matched
 * against rows by one thread at a time. */
#ifndef TABLE_MODEL_FILTER_H
#define TABLE_MODEL_FILTER_H

#include "base/ctx.h"
#include "widerow.h"

struct limits;
struct filter;

enum filter_use {
    FILTER_READ,
    FILTER_CONDITION, /* page filters are refused */
};

/* Checks and compiles `f` (NULL gives *out = NULL, which matches everything). The result lives in
 * the arena of c and points into `f`, which must outlive it. A page filter may stand alone or under
 * ANDs, once.
 * Errors: E_PARAMETER as in doc/data-model.md, "Limits", "Filters". */
int filter_compile(struct ctx *c, const struct limits *limits, const struct wr_filter *f,
                   enum filter_use use, struct filter **out);

/* True if the row passes. `key` gives the key columns a filter may name (NULL: none); cells are
 * those that the read sees, sorted by name and newest first. An absent row has none. A type other
 * than the filter's value never matches and is not "missing".
 *
 * A text on which a regular expression would try too many ways counts as one that it does not
 * match. All expressions of one request may take a second of time altogether, those of its
 * conditions a quarter of one. Past it, or past the deadline of c, every match is false, and
 * E_PARAMETER or E_BUSY is recorded in c: after matching, look at c->code if filter_has_regex(). */
bool filter_match(struct ctx *c, const struct filter *f, const struct wr_key *key,
                  const struct wr_cell *cells, size_t cell_count);
bool filter_has_regex(const struct filter *f);

/* Cuts cells to the columns that a page filter lets through; without one nothing changes. Returns
 * the new count. Moves cells within the array. */
size_t filter_page(const struct filter *f, struct wr_cell *cells, size_t cell_count);

#endif
