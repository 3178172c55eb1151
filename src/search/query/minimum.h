/* minimum.h: how many clauses of a query must match. */
#ifndef SEARCH_QUERY_MINIMUM_H
#define SEARCH_QUERY_MINIMUM_H

#include "base/ctx.h"
#include "widerow.h"

/* Of `clauses`, as a number or a text asks for it: "3", "-1" (all but one), "75%", "-25%",
 * "2<75%" (above two: so many), several of these behind one another. `otherwise` where nothing is
 * given. E_PARAMETER. */
int minimum_match(struct ctx *c, const struct wr_minimum_match *m, int64_t clauses,
                  int64_t otherwise, int64_t *out);

#endif
