/* searches.h: search indexes as they are kept in memory: which there are, what each holds, and how
 * far it has followed its table.
 *
 * One thread follows the change logs of all tables with indexes (search_feed.c): rows that are
 * there already are walked first, then changes are read from where the log stood before. It alone
 * changes an index; who searches takes a reference to the view of the moment. Another merges
 * segments. What is held lies in memory alone: after a start all is built again from the rows, and
 * until then a search of an index from before is answered with E_BUSY. */
#ifndef TABLE_SEARCH_SEARCHES_H
#define TABLE_SEARCH_SEARCHES_H

#include "search/segment/view.h"
#include "table/core/db.h"

#include <pthread.h>

#define SEARCH_INDEXES_OF_TABLE_MAX 16

enum search_phase {
    SEARCH_NEW,      /* requests may still be under way that go by a description without it */
    SEARCH_WALKING,  /* rows that were there before are read */
    SEARCH_FOLLOWING /* changes are read as they come */
};

/* An index. It has a reference for the registry and one for each who uses it. */
struct search_index {
    _Atomic int refs;
    uint64_t number; /* as of schema_search */
    struct ctx ctx;  /* owns the schema */
    struct search_schema *schema;
    bool from_before; /* it was there when the database was opened */

    pthread_mutex_t lock; /* of what follows; held for moments */
    struct view *view;
    enum search_phase phase;
    uint64_t position; /* in the change log */
    int64_t synced_us; /* changes before that time are in the view */
    bool full;         /* there is no memory for more */
    bool stuck;        /* following has failed; it is tried again */
    char text[160];    /* why */

    /* The feed's own. */
    bytes walked; /* the last key that the walk has seen, encoded; ptr NULL: it begins */
    bool merging; /* under `lock` */
    bool seen;    /* some table still has it */
    struct search_index *next;
};

struct searches;

/* What its threads do, time and again: a round over all tables, and a merge of an index; true:
 * there is more to do at once. (search_feed.h) */
struct searches_work {
    bool (*round)(struct wr_db *db);
    bool (*merge)(struct search_index *x);
};

/* NULL: the system gives no thread. */
struct searches *searches_start(struct wr_db *db, const struct searches_work *work);
/* Ends the threads; searches that are queued are answered. Before the database's pool stops. NULL
 * is allowed, here and below. */
void searches_stop(struct searches *s);
void searches_free(struct searches *s);

/* The index of that number with a reference, made if it is not there yet. E_PARAMETER. */
int searches_find(struct ctx *c, struct wr_db *db, const struct schema_search *of,
                  struct search_index **out);
void search_index_release(struct search_index *x);
/* What it holds now, with a reference. */
struct view *search_index_view(struct search_index *x);

/* Something has changed in tables: the feed looks at once. */
void searches_wake(struct searches *s);

/* Threads for searches. */
struct pool *searches_pool(struct searches *s);

#endif
