/* bug.c: each bug is one function. It is given a plan and either leaves it alone (false: it is then
 * issued as it should be) or carries it out in its own, wrong way (true). What it sends to the
 * database meanwhile is not recorded. */
#include "bug_own.h"

#include <stdio.h>
#include <time.h>

/* ---- what bugs are made of */

bool bug_strikes(struct saboteur *s, struct worker *k, unsigned one_in)
{
    if (rng_below(&k->rng, one_in))
        return false;
    atomic_fetch_add(&s->strikes, 1);
    return true;
}

void bug_pause_us(int us)
{
    struct timespec t = {0, us * 1000};

    nanosleep(&t, NULL);
}

static int row_of(const struct op *o)
{
    return __builtin_ctz(o->rows);
}

static struct place *place_of(struct saboteur *s, const struct op *o)
{
    return &s->places[o->group][row_of(o)];
}

static bool is_change(const struct plan *p)
{
    return p->kind == PLAN_CHANGE;
}

static bool is_conditional(const struct plan *p)
{
    return is_change(p) && (p->ops[0].changes[0].compares || p->ops[0].changes[0].existence);
}

static struct row_state look(struct worker *k, int group, int row)
{
    struct plan p = {.kind = PLAN_GET, .count = 1};

    p.ops[0] = (struct op){.type = OP_READ,
                           .group = (uint16_t)group,
                           .rows = (uint8_t)(1u << row),
                           .columns = ALL_COLUMNS};
    plan_issue(k, &p);
    return p.ops[0].seen[row];
}

/* Applies one change for itself. */
static uint8_t change_alone(struct worker *k, int group, const struct change *c)
{
    struct plan p = {.kind = PLAN_CHANGE, .count = 1};

    p.ops[0] = (struct op){.type = OP_WRITE,
                           .group = (uint16_t)group,
                           .rows = (uint8_t)(1u << c->row),
                           .change_count = 1};
    p.ops[0].changes[0] = *c;
    plan_issue(k, &p);
    return p.ops[0].outcome;
}

static struct change unconditional(const struct change *c)
{
    struct change out = *c;

    out.existence = EXIST_ANY;
    out.compares = false;
    return out;
}

/* Makes the row what `row` says. */
static void overwrite(struct worker *k, int group, int at, const struct row_state *row)
{
    struct change c = {.row = (uint8_t)at, .type = CHANGE_DELETE};

    if (row->has) {
        c.type = CHANGE_PUT;
        c.sets = row->has & ALL_COLUMNS;
        memcpy(c.column, row->column, sizeof(c.column));
    }
    change_alone(k, group, &c);
}

static void answer(struct op *o, uint8_t outcome)
{
    o->outcome = outcome;
    if (outcome != DONE)
        o->returned = false;
}

/* Reads, and answers with `shown` instead. */
static void answer_row(struct op *o, const struct row_state *shown)
{
    o->outcome = DONE;
    o->seen[row_of(o)] = model_visible(shown, o->columns);
}

/* The row as it was some time ago; refreshed now and then. False: not known yet. */
static bool past_of(struct saboteur *s, struct worker *k, const struct op *o, struct row_state *out)
{
    struct place *at = place_of(s, o);
    bool known, refresh;

    pthread_mutex_lock(&s->lock);
    known = at->has_past;
    *out = at->past;
    pthread_mutex_unlock(&s->lock);
    refresh = !known || rng_below(&k->rng, 40) == 0;
    if (refresh) {
        struct row_state now = look(k, o->group, row_of(o));

        pthread_mutex_lock(&s->lock);
        at->past = now;
        at->has_past = true;
        pthread_mutex_unlock(&s->lock);
    }
    return known && !refresh;
}

/* ---- wrong reads */

static bool stale_read(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct row_state past;

    if (p->kind != PLAN_GET || !past_of(s, k, &p->ops[0], &past) || !bug_strikes(s, k, 6))
        return false;
    answer_row(&p->ops[0], &past);
    return true;
}

static bool own_write_not_read(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];

    if (is_change(p)) {
        k->old_row = look(k, o->group, row_of(o));
        k->old_group = o->group;
        k->old_at = (uint8_t)row_of(o);
        k->has_old_row = true;
        return false;
    }
    if (p->kind != PLAN_GET || !k->has_old_row || o->group != k->old_group ||
        row_of(o) != k->old_at || !bug_strikes(s, k, 2))
        return false;
    answer_row(o, &k->old_row);
    k->has_old_row = false;
    return true;
}

/* Until two have asked for the row; on a pool, where a read takes milliseconds, they take their
 * time. */
static void wait_for_readers(struct saboteur *s, const struct place *at)
{
    bool asked = false;

    for (int i = 0; i < 40 && !asked; i++) {
        bug_pause_us(3000);
        pthread_mutex_lock(&s->lock);
        asked = at->shown > 1;
        pthread_mutex_unlock(&s->lock);
    }
}

/* A write under way is shown to one reader and not to the next. */
static bool read_goes_back(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];
    struct place *at = place_of(s, o);
    bool show = false;

    if (is_change(p) && o->changes[0].type == CHANGE_PUT && !is_conditional(p)) {
        struct row_state coming = {0};

        model_change(&o->changes[0], &coming);
        pthread_mutex_lock(&s->lock);
        at->coming = coming;
        at->has_coming = true;
        at->shown = 0;
        pthread_mutex_unlock(&s->lock);
        wait_for_readers(s, at);
        pthread_mutex_lock(&s->lock);
        at->has_coming = false;
        pthread_mutex_unlock(&s->lock);
        return false;
    }
    if (p->kind != PLAN_GET)
        return false;
    pthread_mutex_lock(&s->lock);
    if (at->has_coming && at->shown++ % 2 == 0) {
        show = true;
        answer_row(o, &at->coming);
    }
    pthread_mutex_unlock(&s->lock);
    return show && bug_strikes(s, k, 1);
}

/* Readers see a write that then fails. */
static bool dirty_read(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];
    struct place *at = place_of(s, o);
    bool show = false;

    if (is_change(p) && o->changes[0].type == CHANGE_PUT && bug_strikes(s, k, 4)) {
        struct row_state coming = {0};

        model_change(&o->changes[0], &coming);
        pthread_mutex_lock(&s->lock);
        at->coming = coming;
        at->has_coming = true;
        pthread_mutex_unlock(&s->lock);
        bug_pause_us(1500);
        pthread_mutex_lock(&s->lock);
        at->has_coming = false;
        pthread_mutex_unlock(&s->lock);
        answer(o, NOTHING);
        return true;
    }
    if (p->kind != PLAN_GET)
        return false;
    pthread_mutex_lock(&s->lock);
    if (at->has_coming) {
        show = true;
        answer_row(o, &at->coming);
    }
    pthread_mutex_unlock(&s->lock);
    return show;
}

static bool phantom_value(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];

    if (p->kind != PLAN_GET)
        return false;
    plan_issue(k, p);
    if (o->seen[row_of(o)].has & 1 && bug_strikes(s, k, 8))
        o->seen[row_of(o)].column[COLUMN_V] = workload_value(k->w);
    return true;
}

static bool torn_row(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];
    struct row_state past, *seen = &o->seen[row_of(o)];

    if (p->kind != PLAN_GET || o->columns != ALL_COLUMNS || !past_of(s, k, o, &past))
        return false;
    plan_issue(k, p);
    if (past.has & seen->has & 2 && past.column[COLUMN_W] != seen->column[COLUMN_W] &&
        bug_strikes(s, k, 2))
        seen->column[COLUMN_W] = past.column[COLUMN_W];
    return true;
}

static bool swapped_answers(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct row_state a, b;
    struct op *x = &p->ops[0], *y = &p->ops[1];

    if (p->kind != PLAN_BATCH_GET)
        return false;
    plan_issue(k, p);
    a = x->seen[row_of(x)];
    b = y->seen[row_of(y)];
    if (!model_equal(&a, &b) && bug_strikes(s, k, 1)) {
        x->seen[row_of(x)] = b;
        y->seen[row_of(y)] = a;
    }
    return true;
}

static bool page_of_two_moments(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];

    if (p->kind != PLAN_RANGE || !bug_strikes(s, k, 2))
        return false;
    o->outcome = DONE;
    for (int i = 0; i < GROUP_ROWS; i++) {
        int row = p->backward ? GROUP_ROWS - 1 - i : i;

        o->seen[row] = look(k, o->group, row);
        bug_pause_us(1500);
    }
    return true;
}

static bool missing_row(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];
    int row = (int)rng_below(&k->rng, GROUP_ROWS);

    if (p->kind != PLAN_RANGE)
        return false;
    plan_issue(k, p);
    if (o->seen[row].has && bug_strikes(s, k, 3))
        o->seen[row] = (struct row_state){0};
    return true;
}

/* ---- wrong writes */

static bool acknowledged_but_dropped(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];

    if (!is_change(p) || is_conditional(p) || !(o->changes[0].sets & 1) || !bug_strikes(s, k, 6))
        return false;
    answer(o, DONE);
    return true;
}

static bool failed_but_applied(struct saboteur *s, struct worker *k, struct plan *p)
{
    if (!is_change(p) || !(p->ops[0].changes[0].sets & 1) || !bug_strikes(s, k, 6))
        return false;
    plan_issue(k, p);
    answer(&p->ops[0], NOTHING);
    return true;
}

/* The write happens with the client's next request. */
static bool acknowledged_too_early(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];

    if (k->has_deferred) {
        bug_pause_us(1000);
        plan_issue(k, &k->deferred);
        k->has_deferred = false;
    }
    if (!is_change(p) || is_conditional(p) || o->returned || !bug_strikes(s, k, 4))
        return false;
    k->deferred = *p;
    k->has_deferred = true;
    answer(o, DONE);
    return true;
}

static bool neighbour_written(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];
    struct change c = o->changes[0];

    if (!is_change(p) || is_conditional(p) || !(c.sets & 1) || !bug_strikes(s, k, 6))
        return false;
    c.row = (uint8_t)((c.row + 1) % GROUP_ROWS);
    answer(o, change_alone(k, o->group, &c));
    return true;
}

static bool put_keeps_old_columns(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct change c = p->ops[0].changes[0];

    if (!is_change(p) || c.type != CHANGE_PUT || !bug_strikes(s, k, 2))
        return false;
    c.type = CHANGE_UPDATE;
    answer(&p->ops[0], change_alone(k, p->ops[0].group, &c));
    return true;
}

static bool update_drops_old_columns(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct change c = p->ops[0].changes[0];

    if (!is_change(p) || c.type != CHANGE_UPDATE || !(c.sets & 1) || !bug_strikes(s, k, 2))
        return false;
    c.type = CHANGE_PUT;
    answer(&p->ops[0], change_alone(k, p->ops[0].group, &c));
    return true;
}

static bool half_an_update(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct change c = p->ops[0].changes[0];

    if (!is_change(p) || c.type != CHANGE_UPDATE || !(c.sets & 1) || !bug_strikes(s, k, 4))
        return false;
    c.sets = 1u << COLUMN_V;
    answer(&p->ops[0], change_alone(k, p->ops[0].group, &c));
    return true;
}

static bool delete_dropped(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];

    if (!is_change(p) || o->changes[0].type != CHANGE_DELETE || is_conditional(p) ||
        !bug_strikes(s, k, 2))
        return false;
    answer(o, DONE);
    return true;
}

/* Time travel after a delete: some time later the row is there again. */
static bool deleted_row_returns(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];

    if (k->has_old_row) {
        overwrite(k, k->old_group, k->old_at, &k->old_row);
        k->has_old_row = false;
    }
    if (!is_change(p) || o->changes[0].type != CHANGE_DELETE)
        return false;
    k->old_row = look(k, o->group, row_of(o));
    k->old_group = o->group;
    k->old_at = (uint8_t)row_of(o);
    plan_issue(k, p);
    k->has_old_row = o->outcome == DONE && k->old_row.has && bug_strikes(s, k, 1);
    return true;
}

/* ---- wrong conditions */

/* Reads, decides, writes, with others in between. */
static bool lost_update(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];
    struct row_state row;
    struct change c;

    if (!is_conditional(p) || o->changes[0].increments || !bug_strikes(s, k, 1))
        return false;
    row = look(k, o->group, row_of(o));
    bug_pause_us(1500);
    c = unconditional(&o->changes[0]);
    answer(o, model_holds(&o->changes[0], &row) ? change_alone(k, o->group, &c) : REFUSED);
    return true;
}

static bool condition_on_old_state(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];
    struct row_state past;
    struct change c;

    if (!is_conditional(p) || o->changes[0].increments || !past_of(s, k, o, &past) ||
        !bug_strikes(s, k, 2))
        return false;
    c = unconditional(&o->changes[0]);
    answer(o, model_holds(&o->changes[0], &past) ? change_alone(k, o->group, &c) : REFUSED);
    return true;
}

static bool condition_ignored(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];
    struct change c = unconditional(&o->changes[0]);

    if (!is_conditional(p) || !o->changes[0].compares || o->returned || !bug_strikes(s, k, 4))
        return false;
    answer(o, change_alone(k, o->group, &c));
    return true;
}

/* What was decided is lost behind its answer. */
static bool conditional_update_lost(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];
    struct row_state now;

    if (!is_conditional(p) || o->returned || !o->changes[0].sets || !bug_strikes(s, k, 4))
        return false;
    now = look(k, o->group, row_of(o));
    answer(o, model_holds(&o->changes[0], &now) ? DONE : REFUSED);
    return true;
}

static bool created_twice(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];
    struct change c = unconditional(&o->changes[0]);

    if (!is_change(p) || o->changes[0].existence != EXIST_NO || !bug_strikes(s, k, 1))
        return false;
    answer(o, change_alone(k, o->group, &c));
    return true;
}

static bool refused_but_applied(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];
    struct change c = unconditional(&o->changes[0]);

    if (!is_conditional(p))
        return false;
    plan_issue(k, p);
    if (o->outcome == REFUSED && c.sets & 1 && bug_strikes(s, k, 3))
        change_alone(k, o->group, &c);
    return true;
}

/* ---- wrong sums */

static bool is_increment(const struct plan *p)
{
    return is_change(p) && p->ops[0].changes[0].increments && !is_conditional(p);
}

static bool increment_twice(struct saboteur *s, struct worker *k, struct plan *p)
{
    if (!is_increment(p) || !bug_strikes(s, k, 5))
        return false;
    plan_issue(k, p);
    change_alone(k, p->ops[0].group, &p->ops[0].changes[0]);
    return true;
}

static bool increment_lost(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];
    struct row_state row;
    struct change c;

    if (!is_increment(p) || !bug_strikes(s, k, 1))
        return false;
    row = look(k, o->group, row_of(o));
    bug_pause_us(1500);
    c = (struct change){.row = o->changes[0].row, .type = CHANGE_UPDATE, .sets = 1u << COLUMN_N};
    c.column[COLUMN_N] = row.column[COLUMN_N] + o->changes[0].delta;
    answer(o, change_alone(k, o->group, &c));
    o->returned_n = c.column[COLUMN_N];
    return true;
}

static bool increment_from_zero(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];
    struct change c = {.row = o->changes[0].row, .type = CHANGE_UPDATE, .sets = 1u << COLUMN_N};

    if (!is_increment(p) || !bug_strikes(s, k, 5))
        return false;
    c.column[COLUMN_N] = o->changes[0].delta;
    answer(o, change_alone(k, o->group, &c));
    o->returned_n = c.column[COLUMN_N];
    return true;
}

static bool wrong_sum_told(struct saboteur *s, struct worker *k, struct plan *p)
{
    if (!is_increment(p) || !p->ops[0].returned)
        return false;
    plan_issue(k, p);
    if (p->ops[0].returned && bug_strikes(s, k, 3))
        p->ops[0].returned_n -= p->ops[0].changes[0].delta; /* the sum before */
    return true;
}

/* ---- wrong batches */

static bool torn_batch(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0], first = *o;

    if (p->kind != PLAN_ATOMIC || !bug_strikes(s, k, 3))
        return false;
    o->change_count--;
    plan_issue(k, p);
    first.outcome = o->outcome;
    *o = first;
    return true;
}

static bool batch_seen_half_way(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];

    if (p->kind != PLAN_ATOMIC || !bug_strikes(s, k, 1))
        return false;
    for (int i = 0; i < o->change_count; i++) {
        o->changes[i] = unconditional(&o->changes[i]);
        if (i)
            bug_pause_us(2000);
        change_alone(k, o->group, &o->changes[i]);
    }
    answer(o, DONE);
    return true;
}

/* One row's condition fails and the others are changed all the same. */
static bool batch_not_undone(struct saboteur *s, struct worker *k, struct plan *p)
{
    struct op *o = &p->ops[0];

    if (p->kind != PLAN_ATOMIC)
        return false;
    plan_issue(k, p);
    if (o->outcome == REFUSED && bug_strikes(s, k, 1))
        for (int i = 0; i < o->change_count; i++)
            change_alone(k, o->group, &o->changes[i]);
    return true;
}

/* ---- the list */

static const struct {
    const char *name;
    bug_fn *run;
} bugs[] = {
    {"stale read", stale_read},
    {"own write not read", own_write_not_read},
    {"a read goes back behind a write under way", read_goes_back},
    {"dirty read of a write that fails", dirty_read},
    {"a value that nobody wrote", phantom_value},
    {"a row of two versions", torn_row},
    {"two answers of a batch swapped", swapped_answers},
    {PAGE_BUG, page_of_two_moments},
    {"a row missing in a page", missing_row},
    {"write acknowledged but dropped", acknowledged_but_dropped},
    {"write acknowledged too early", acknowledged_too_early},
    {"write answered as failed but applied", failed_but_applied},
    {"another row written", neighbour_written},
    {"put keeps old columns", put_keeps_old_columns},
    {"update drops old columns", update_drops_old_columns},
    {"half an update", half_an_update},
    {"delete dropped", delete_dropped},
    {"deleted row returns", deleted_row_returns},
    {"lost update", lost_update},
    {"condition checked on old state", condition_on_old_state},
    {"condition ignored", condition_ignored},
    {"conditional update lost", conditional_update_lost},
    {"row created twice", created_twice},
    {"refused write applied", refused_but_applied},
    {"increment applied twice", increment_twice},
    {"increment lost", increment_lost},
    {"increment begins at zero again", increment_from_zero},
    {"increment tells the sum before", wrong_sum_told},
    {"torn atomic batch", torn_batch},
    {"atomic batch seen half way", batch_seen_half_way},
    {"atomic batch not undone", batch_not_undone},
    {TXN_BUG "commit lost", txn_commit_lost},
    {TXN_BUG "abort applied", txn_abort_applied},
    {TXN_BUG "half committed", txn_half_committed},
    {TXN_BUG "without a lock", txn_without_a_lock},
    {TXN_BUG "lock lost in the middle", txn_lock_lost},
    {TXN_BUG "seen half way", txn_seen_half_way},
    {TXN_BUG "own write not read", txn_own_write_not_read},
    {TXN_BUG "dirty read", txn_dirty_read},
    {TXN_BUG "begun after its first read", txn_begun_late},
    {TXN_BUG "committed twice", txn_commits_twice},
};

int bug_count(void)
{
    return (int)PORT_COUNT(bugs);
}

const char *bug_name(int bug)
{
    return bug == BUG_NONE ? "(none, as a control)" : bugs[bug].name;
}

struct saboteur *saboteur_new(int bug)
{
    struct saboteur *s = mem_zalloc(sizeof(*s));

    s->bug = bug;
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void saboteur_free(struct saboteur *s)
{
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

size_t saboteur_strikes(const struct saboteur *s)
{
    return atomic_load(&s->strikes);
}

void bug_issue(struct saboteur *s, struct worker *k, struct plan *p)
{
    if (s->bug == BUG_NONE || !bugs[s->bug].run(s, k, p))
        plan_issue(k, p);
}
