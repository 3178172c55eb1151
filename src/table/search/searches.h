/* searches.h: search indexes as they are kept in memory: which there are, what each holds, and how
 * far it has followed its table.
 *
 * One thread follows the change logs of all tables with indexes (search_feed.c): rows that are
 * there already are walked first, then changes are read from where the log stood before. It alone
 * changes an index; who searches takes a reference to the view of the moment. Another merges
 * segments. Where the engine keeps files, what an index is at a moment is stored every few seconds
 * (search_save.h), and a start goes on from there; else it lies in memory alone. */
#ifndef TABLE_SEARCH_SEARCHES_H
#define TABLE_SEARCH_SEARCHES_H

#include "search/segment/view.h"
#include "table/search/search_store.h"

#include <pthread.h>

#define SEARCH_INDEXES_OF_TABLE_MAX 16

/* Stored: never change a number. */
enum search_phase {
    SEARCH_NEW = 0,       /* requests may still be under way that go by a description without it */
    SEARCH_WALKING = 1,   /* rows that were there before are read */
    SEARCH_FOLLOWING = 2, /* changes are read as they come */
    SEARCH_LOADING = 3,   /* what is stored of it has not been looked at; never stored */
};

/* What a segment was when the index's state was stored last. */
struct search_saved {
    uint64_t number;
    struct dead *dead; /* with a reference; NULL: nothing was gone */
};

/* A stored segment that nobody holds any more. */
struct search_freed {
    uint64_t number, len;
};

/* An index. It has a reference for the registry and one for each who uses it. */
struct search_index {
    _Atomic int refs;
    uint64_t number; /* as of schema_search */
    struct ctx ctx;  /* owns the schema */
    struct search_schema *schema;
    struct segment_owner owner; /* of its stored segments */

    pthread_mutex_t lock; /* of what follows; held for moments */
    struct view *view;
    bool changed; /* something that is stored of it, since it was */
    /* Searches are answered with E_BUSY until it follows: it is made again from the rows, and what
     * it had before is not there any more. */
    bool hidden;
    enum search_phase phase;
    uint64_t position; /* in the change log */
    int64_t synced_us; /* changes before that time are in the view */
    bool full;         /* there is no memory for more */
    bool damaged;      /* what is stored of it is: it is to be made again */
    bool clears;       /* what is stored of it is removed first; the feed's thread's */
    uint64_t made;     /* how often it was made again */
    bool stuck;        /* following has failed; it is tried again */
    char text[160];    /* why */
    struct search_freed *freed;
    size_t freed_count, freed_capacity;

    /* The feed's own. */
    struct search_store store; /* location 0: not known yet */
    struct search_saved *saved;
    size_t saved_count;
    uint64_t saved_position; /* how far the log is not needed any more */
    int64_t saved_ms;        /* monotonic */
    bytes walked;            /* the last key that the walk has seen, encoded; ptr NULL: it begins */
    bool merging;            /* under `lock` */
    bool seen;               /* some table still has it */
    struct search_index *next;
};

struct searches;

/* What its threads do, time and again: a round over all tables, and a merge of an index; true:
 * there is more to do at once. (search_feed.h) */
struct searches_work {
    /* `sweep`: indexes have gone since the last one. */
    bool (*round)(struct wr_db *db, bool sweep);
    bool (*merge)(struct search_index *x);
    void (*end)(struct search_index *x); /* the feed's last */
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

/* How often it was made again; asked before a view is taken. */
uint64_t search_index_made(struct search_index *x);

/* Something that is stored of it is damaged, as the text says: it is made again from the rows.
 * `made`: of the view that showed it, which may be one of before. Any thread. */
void search_index_damaged(struct search_index *x, uint64_t made, const char *text);

/* The engine has found damage among keys of this range. */
void searches_range_damaged(struct searches *s, const struct key_range *range);

/* What of stored segments is in memory. */
struct part_cache *searches_cache(struct searches *s);

/* Threads for searches. */
struct pool *searches_pool(struct searches *s);

/* What there is, for status pages. */
struct searches_stat {
    uint64_t indexes;
    uint64_t reading; /* of them, those that read rows that were there before */
    uint64_t stopped; /* that have no memory for more, or can't follow their table now */
    uint64_t documents, segments, bytes;
    int64_t behind_us; /* the one that is farthest behind its table */
    uint64_t searches; /* and scans, since the start */
};
/* `now_us`: of the wall clock. `s` NULL is allowed. */
void searches_stat(struct searches *s, int64_t now_us, struct searches_stat *out);
/* One more search. */
void searches_count(struct searches *s);

#endif
