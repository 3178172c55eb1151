/* bug_txn.c: what a server that is wrong about transactions would do. */
#include "bug_own.h"

static struct op *op_of(struct plan *p)
{
    return &p->ops[0];
}

static bool is_txn(const struct plan *p)
{
    return p->kind == PLAN_TXN;
}

static bool writes(const struct plan *p, int i)
{
    return p->steps[i].ops[0].type == OP_WRITE;
}

static int last_write(const struct plan *p)
{
    int i = p->ops[0].step_count - 1;

    while (i >= 0 && !writes(p, i))
        i--;
    return i;
}

/* The steps in a transaction that then ends as it should not. */
static bool wrong_end(struct worker *k, struct plan *p, bool aborts, uint8_t outcome)
{
    char id[TXN_TEXT];
    bool ok;

    if (!txn_start(k, p->ops[0].group, id)) {
        txn_finish(p, NOTHING);
        return true;
    }
    ok = txn_steps(k, p, id, 0, p->ops[0].step_count);
    txn_end(k, id, aborts || !ok);
    txn_finish(p, ok ? outcome : NOTHING);
    return true;
}

/* It is told that the commit is done. */
bool txn_commit_lost(struct saboteur *s, struct worker *k, struct plan *p)
{
    if (!is_txn(p) || p->aborts || last_write(p) < 0 || !bug_strikes(s, k, 3))
        return false;
    return wrong_end(k, p, true, DONE);
}

bool txn_abort_applied(struct saboteur *s, struct worker *k, struct plan *p)
{
    if (!is_txn(p) || !p->aborts || last_write(p) < 0 || !bug_strikes(s, k, 1))
        return false;
    return wrong_end(k, p, false, REFUSED);
}

/* The last write is answered, but is not in the commit. */
bool txn_half_committed(struct saboteur *s, struct worker *k, struct plan *p)
{
    int last = is_txn(p) && !p->aborts ? last_write(p) : -1;
    char id[TXN_TEXT];
    bool ok;

    if (last < 0 || !bug_strikes(s, k, 2))
        return false;
    if (!txn_start(k, op_of(p)->group, id)) {
        txn_finish(p, NOTHING);
        return true;
    }
    ok = txn_steps(k, p, id, 0, last);
    txn_end(k, id, !ok);
    if (ok && txn_start(k, op_of(p)->group, id)) { /* where its outcome is known from */
        ok = txn_steps(k, p, id, last, op_of(p)->step_count);
        txn_end(k, id, true);
    }
    txn_finish(p, ok ? DONE : NOTHING);
    return true;
}

/* Steps in parts, with others in between. */
static bool in_parts(struct worker *k, struct plan *p, bool locked)
{
    int count = op_of(p)->step_count, middle = count / 2;
    bool ok = true;

    for (int part = 0; part < 2 && ok; part++) {
        char id[TXN_TEXT];

        if (part)
            bug_pause_us(2000);
        if (locked && !txn_start(k, op_of(p)->group, id)) {
            ok = false;
            break;
        }
        ok = txn_steps(k, p, locked ? id : NULL, part ? middle : 0, part ? count : middle);
        if (locked)
            txn_end(k, id, false);
    }
    txn_finish(p, ok ? DONE : MAYBE);
    return true;
}

/* Each step takes effect at once, and others write meanwhile. */
bool txn_without_a_lock(struct saboteur *s, struct worker *k, struct plan *p)
{
    if (!is_txn(p) || p->aborts || !bug_strikes(s, k, 1))
        return false;
    return in_parts(k, p, false);
}

/* In the middle of it somebody else has the lock. */
bool txn_lock_lost(struct saboteur *s, struct worker *k, struct plan *p)
{
    if (!is_txn(p) || p->aborts || !bug_strikes(s, k, 1))
        return false;
    return in_parts(k, p, true);
}

/* The commit's rows land one by one. */
bool txn_seen_half_way(struct saboteur *s, struct worker *k, struct plan *p)
{
    char id[TXN_TEXT];
    bool ok;

    if (!is_txn(p) || p->aborts || last_write(p) < 1 || !bug_strikes(s, k, 1))
        return false;
    if (!txn_start(k, op_of(p)->group, id)) {
        txn_finish(p, NOTHING);
        return true;
    }
    ok = txn_steps(k, p, id, 0, op_of(p)->step_count);
    txn_end(k, id, true);
    for (int i = 0; i < op_of(p)->step_count && ok; i++) {
        struct plan again = p->steps[i];

        again.ops[0].returned = false;
        if (!writes(p, i) || p->steps[i].ops[0].outcome != DONE)
            continue;
        plan_issue(k, &again);
        bug_pause_us(2000);
    }
    txn_finish(p, ok ? DONE : NOTHING);
    return true;
}

/* Reads inside show what is outside. */
bool txn_own_write_not_read(struct saboteur *s, struct worker *k, struct plan *p)
{
    int count = op_of(p)->step_count;
    bool ok = true;
    char id[TXN_TEXT];

    if (!is_txn(p) || p->aborts || !bug_strikes(s, k, 1))
        return false;
    if (!txn_start(k, op_of(p)->group, id)) {
        txn_finish(p, NOTHING);
        return true;
    }
    for (int i = 0; i < count && ok; i++)
        ok = txn_steps(k, p, writes(p, i) ? id : NULL, i, i + 1);
    txn_end(k, id, !ok);
    txn_finish(p, ok ? DONE : NOTHING);
    return true;
}

/* Readers see what a transaction has written that then aborts. */
bool txn_dirty_read(struct saboteur *s, struct worker *k, struct plan *p)
{
    int last = is_txn(p) && p->aborts ? last_write(p) : -1;

    if (last < 0 || p->steps[last].kind != PLAN_CHANGE || !bug_strikes(s, k, 1))
        return false;
    txn_steps(k, p, NULL, last, last + 1);
    bug_pause_us(2000);
    txn_finish(p, NOTHING);
    return true;
}

/* The lock is only taken behind the first read. */
bool txn_begun_late(struct saboteur *s, struct worker *k, struct plan *p)
{
    char id[TXN_TEXT];
    bool ok;

    if (!is_txn(p) || p->aborts || last_write(p) < 1 || writes(p, 0) || !bug_strikes(s, k, 1))
        return false;
    ok = txn_steps(k, p, NULL, 0, 1);
    bug_pause_us(2000);
    ok = ok && txn_start(k, op_of(p)->group, id);
    if (ok) {
        ok = txn_steps(k, p, id, 1, op_of(p)->step_count);
        txn_end(k, id, !ok);
    }
    txn_finish(p, ok ? DONE : NOTHING);
    return true;
}

/* A commit that was answered is applied once more, some time later. */
bool txn_commits_twice(struct saboteur *s, struct worker *k, struct plan *p)
{
    int last = is_txn(p) && !p->aborts ? last_write(p) : -1;

    if (last < 0 || p->steps[last].kind != PLAN_CHANGE ||
        p->steps[last].ops[0].changes[0].removes || !bug_strikes(s, k, 2))
        return false;
    plan_issue_txn(k, p);
    if (op_of(p)->outcome == DONE && p->steps[last].ops[0].outcome == DONE) {
        struct plan again = p->steps[last];

        again.ops[0].returned = false;
        again.ops[0].changes[0].compares = false;
        again.ops[0].changes[0].existence = EXIST_ANY;
        bug_pause_us(2000);
        plan_issue(k, &again);
    }
    return true;
}
