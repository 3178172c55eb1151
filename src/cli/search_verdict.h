/* search_verdict.h: whether and why a search index finds a row. */
#ifndef CLI_SEARCH_VERDICT_H
#define CLI_SEARCH_VERDICT_H

#include "client/client.h"

struct search_verdict {
    struct client *client;
    bytes table, index;
    struct wr_search_condition *query;
    struct wr_table_description description;
    struct wr_search_index_description state;
    struct wr_key key;
};

/* Lines for people: the row, the index, then the condition and each part of it. E_NOT_EXIST: the
 * condition does not find the row. */
int search_verdict_print(struct ctx *c, const struct search_verdict *v);

/* What is known of an index beside its schema, a line each. */
void search_verdict_print_index(struct ctx *c, const struct wr_search_index_description *d);

#endif
