/* grant.h: what an access key may do, and on which tables.
 *
 * A text of grants is a list with commas, without spaces:
 *
 *   rw        read and write every table       rw:cards*   ... those whose names start with cards
 *   ro        read every table                 ro:logs     ... the table logs
 *   +rw       rows alone: letters behind a +, of
 *             r  read rows      a  make and change tables    s  on every table: make users,
 *             w  write rows     t  with a: drop tables          and give them what one may oneself
 *
 * rw is +rwats, ro is +r, + alone is nothing. A name without such a word in front takes that of the
 * grant before it: "rw:cards*,orders*". A key may do what its grants allow together, so the order
 * does not count and nothing is ever taken away: "ro,rw:cards*" reads everything and writes cards.
 * A list of tables shows those on which one may do anything. A write that tells what was there (a
 * condition on a column, a row that is returned) needs leave to read, too. */
#ifndef SERVER_GRANT_H
#define SERVER_GRANT_H

#include "base/ctx.h"
#include "widerow.h"

enum {
    GRANT_READ = 1,
    GRANT_WRITE = 2,
    GRANT_ADMIN = 4,
    GRANT_DROP = 8,
    GRANT_SYSTEM = 16,
    GRANT_ALL = 31,
};

struct grant {
    unsigned may;
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

/* All that is in `need`, perhaps by several grants. */
bool grants_allow(const struct grants *g, bytes table, unsigned need);

/* Is all that `g` allows allowed by `by`, too? */
bool grants_cover(const struct grants *by, const struct grants *g);

/* The text of them, in the arena. */
bytes grants_text(struct arena *a, const struct grants *g);

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
