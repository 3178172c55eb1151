/* twin_search.h: the search indexes of a table, for its twin (twin.h). */
#ifndef CLI_TRANSFER_TWIN_SEARCH_H
#define CLI_TRANSFER_TWIN_SEARCH_H

#include "client/client.h"

struct twin_search {
    bytes name;
    struct wr_search_index_description description;
};

/* All of a table, in the arena of c. A server without search indexes has none. */
int twin_search_list(struct ctx *c, struct client *cl, bytes table, struct twin_search **out,
                     size_t *count);

/* Drops those that the table has there. */
int twin_search_drop(struct ctx *c, struct client *to, bytes table);

/* Makes them there, and waits until the rows are in them. One that the server does not make, or
 * cannot fill, is no failure, but told; *left_out counts them. */
int twin_search_create(struct ctx *c, struct client *to, bytes table,
                       const struct twin_search *indexes, size_t count, size_t *left_out);

#endif
