/* sql_offer.h: what Tab offers in `widerow sql`: keywords, tables, columns of the tables that the
 * statement names. The server is asked for them. */
#ifndef CLI_SQL_OFFER_H
#define CLI_SQL_OFFER_H

#include "base/buf.h"
#include "cli/line.h"
#include "cli/sql_link.h"

struct sql_offer {
    struct sql_link *link;
    const struct buf *typed; /* the lines in front of this one */
};

/* A line_offer_fn, whose argument is a struct sql_offer. */
void sql_offer(void *arg, const char *text, struct line_offers *out);

#endif
