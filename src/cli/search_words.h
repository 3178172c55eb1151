/* search_words.h: what a search is for, as it is written on a command line:
 *
 *   *                          every row
 *   title : "red shoes"        TEXT with one of the words at least; title :: both of them
 *   title ~ "red shoes"        TEXT with the words behind one another
 *   tag = new   price >= 5     a term, a range; = ! < <= > >=
 *   tag like "a*b?"            a wildcard;  tag starts "ab"  a prefix
 *   price exists               any value
 *   place near "30.2,120.1" 5000       metres around a point
 *   ... and ... or ... not ... ( )
 */
#ifndef CLI_SEARCH_WORDS_H
#define CLI_SEARCH_WORDS_H

#include "base/ctx.h"
#include "widerow.h"

/* Memory is that of c, and texts are views of `text`. */
int search_words_parse(struct ctx *c, const char *text, struct wr_search_condition **out);

/* The sort: "field,-field,_score,_key", each ascending, after '-' descending; _score begins with
 * the best. */
int search_words_sort(struct ctx *c, const char *text, struct wr_sort *out);

#endif
