/* bug.h: planted bugs. A saboteur stands between the clients and the database and now and then does
 * what a broken server would do; the checker must see it in the history. */
#ifndef LINEAR_BUG_H
#define LINEAR_BUG_H

#include "workload.h"

struct saboteur;

#define BUG_NONE (-1) /* a saboteur that does nothing, to show that the rest is sound */

#define PAGE_BUG "a page of two moments" /* to be found where a page is one point in time */

#define TXN_BUG "transaction: " /* begins the names of those of transactions */

int bug_count(void);
const char *bug_name(int bug);

struct saboteur *saboteur_new(int bug);
void saboteur_free(struct saboteur *s);

/* How often the bug has struck. */
size_t saboteur_strikes(const struct saboteur *s);

/* In the place of plan_issue(). */
void bug_issue(struct saboteur *s, struct worker *k, struct plan *p);

#endif
