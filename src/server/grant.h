/* grant.h: what an access key may do, and on which tables.
 *
 * A text of grants is a list with commas, without spaces:
 *
 *   rw        read and write every table       rw:cards*   ... those whose names start with cards
 *   ro        read every table                 ro:logs     ... the table logs
 *
 * A name without rw or ro in front takes that of the grant before it: "rw:cards*,orders*". A key
 * may do what any one of its grants allows, so the order does not count and nothing is ever taken
 * away: "ro,rw:cards*" reads everything and writes cards. Making, changing and dropping a table is
 * writing it; a list of tables shows those that may be read. */
#ifndef SERVER_GRANT_H
#define SERVER_GRANT_H

#include "base/ctx.h"
#include "widerow.h"

struct grant {
    bool write;
    bool prefix; /* `table` is the beginning of a name, else the whole name */
    bytes table;
};

struct grants {
    const struct grant *list;
    size_t count;
};

/* "rw" */
struct grants grants_all(void);

/* The result lives in `a` and does not point into `text`. E_PARAMETER: `why` says in one sentence
 * what is wrong; nothing was changed. */
int grants_parse(struct arena *a, bytes text, struct grants *out, char *why, size_t why_size);

bool grants_allow(const struct grants *g, bytes table, bool write);

/* E_OK: all tables that a request names may be used so. Else E_PERMISSION, with a text that names
 * the operation and the first table that may not. A list of tables is always allowed. */
int grants_check(struct ctx *c, const struct grants *g, const struct wr_request *request);

/* The tables of `all` that may be read, in the arena of `c`. */
struct wr_table_list grants_visible(struct ctx *c, const struct grants *g,
                                    const struct wr_table_list *all);

/* The same of streams, by their tables. */
struct wr_stream_list grants_visible_streams(struct ctx *c, const struct grants *g,
                                             const struct wr_stream_list *all);

/* And of search indexes. */
struct wr_search_index_list grants_visible_search_indexes(struct ctx *c, const struct grants *g,
                                                          const struct wr_search_index_list *all);

#endif
