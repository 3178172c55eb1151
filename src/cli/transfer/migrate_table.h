/* migrate_table.h: one table of a migration, step by step: looked at, filled, followed, finished.
 *
 * Every step may be cut off anywhere, and the next run is exact: it knows by its notes that what
 * stands at the target is its own, and makes the rows there what they are at the source, those
 * included that only the target has. A table with a stream needs that only once: its place in the
 * stream is noted, and from there on the rows that changed are copied again. The source is only
 * read. */
#ifndef CLI_TRANSFER_MIGRATE_TABLE_H
#define CLI_TRANSFER_MIGRATE_TABLE_H

#include "cli/transfer/copy_follow.h"
#include "cli/transfer/migrate_notes.h"
#include "cli/transfer/twin_search.h"

/* What all tables of a migration share. */
struct migration {
    struct target *from, *to;
    struct clock *clock;
    struct migrate_notes *notes;
    struct rate *from_rate, *to_rate;
    struct progress *progress;
    size_t worker_count; /* of each table */
    int64_t retry_ms;    /* how long a server may be gone */
    bool follow;         /* tables have to have streams */
    bool resume;         /* tables of which nothing is noted are ours, too */
    bool no_verify;
};

/* One thread's connections to both sides. */
struct migrate_clients {
    struct client *from, *to;
};

struct migrate_table {
    const struct migration *migration;
    bytes name;
    struct ctx c;             /* the description lives in it */
    struct client *from, *to; /* of the step under way */
    struct wr_table_description here;
    struct twin_search *searches;
    size_t search_count;
    struct migrate_note note;
    bool present;      /* the table is there */
    bool filled;       /* its rows are there, as of the note's place */
    atomic_bool ready; /* to be followed: this thread or another one may */
    bool done;         /* before, and still the same */
    bool streams;      /* follow is open */
    struct copy_follow follow;
    int64_t noted_us; /* monotonic: when the place was noted */
    int64_t read_us;  /* UTC: the stream was read to its end since then; 0: never */
    size_t left_out;  /* indexes that the target does not make */
    int code;         /* of what it failed with; its text is in c */
};

/* `name` must live as long. Release it in any case. */
void migrate_table_init(struct migrate_table *m, const struct migration *all, bytes name);
void migrate_table_release(struct migrate_table *m);

/* These return 0, or the code, which they leave in m->code with the reason in m->c: after that the
 * table is left alone. One thread at a time has a table. */

/* Looks at both sides. Refused, with nothing changed: a table that is there and is not ours or has
 * another form, one without a stream that is to be followed, both sides one and the same. */
int migrate_table_check(struct migrate_table *m, const struct migrate_clients *clients);

/* All rows; what is written meanwhile is the stream's. */
int migrate_table_fill(struct migrate_table *m, const struct migrate_clients *clients);

/* What has changed since the last round. m->follow.current: it was read to its end. */
int migrate_table_follow(struct migrate_table *m, const struct migrate_clients *clients);

/* Notes how far the stream was read, for a run that finishes. */
int migrate_table_pause(struct migrate_table *m, const struct migrate_clients *clients);

/* What is left to read of the stream, options, indexes, and both sides compared. Prints a line. */
int migrate_table_finish(struct migrate_table *m, const struct migrate_clients *clients);

#endif
