/* catalog_follow.h: the thread that follows the journal of catalog changes (catalog_journal.h). */
#ifndef TABLE_CATALOG_CATALOG_FOLLOW_H
#define TABLE_CATALOG_CATALOG_FOLLOW_H

struct catalog;
struct journal;

/* NULL: the system gives no thread. */
struct journal *journal_start(struct catalog *cat);
/* Waits for the look that is under way. NULL is allowed. */
void journal_stop(struct journal *j);

#endif
