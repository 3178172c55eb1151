/* bug_own.h: what the files of planted bugs share; for nobody else. */
#ifndef LINEAR_BUG_OWN_H
#define LINEAR_BUG_OWN_H

#include "bug.h"

struct place {
    struct row_state past; /* the row some time ago */
    bool has_past;
    struct row_state coming; /* what a write under way will make of it */
    int shown;               /* how often `coming` was shown */
    bool has_coming;
};

struct saboteur {
    int bug;
    atomic_size_t strikes;
    pthread_mutex_t lock; /* of the places */
    struct place places[GROUPS_MAX][GROUP_ROWS];
};

/* Carries the plan out in a wrong way, or (false) leaves it alone. */
typedef bool bug_fn(struct saboteur *s, struct worker *k, struct plan *p);

bool bug_strikes(struct saboteur *s, struct worker *k, unsigned one_in);
void bug_pause_us(int us);

/* ---- bug_txn.c: bugs of transactions ---- */

bug_fn txn_commit_lost, txn_abort_applied, txn_half_committed, txn_without_a_lock, txn_lock_lost,
    txn_seen_half_way, txn_own_write_not_read, txn_dirty_read, txn_begun_late, txn_commits_twice;

#endif
