#include "table/core/clock_watch.h"

#include "table/core/db.h"

#include <stdio.h>

#define HOUR_US (3600 * 1000000ll)
#define STEP_US HOUR_US               /* a longer one is not believed at once */
#define STEP_HELD_US (24 * HOUR_US)   /* but after that time */
#define SAMPLE_EVERY_US (4 * 1000000) /* all of them reach back for more than the grace */
#define SKEW_US DB_CLOCK_SKEW_US
#define AHEAD_MS 60000

_Static_assert((CLOCK_WATCH_SAMPLES - 1) * (SAMPLE_EVERY_US / 1000) >= CLOCK_WATCH_BACK_MS,
               "samples reach back for a grace period");

/* ---- steps ---- */

/* Under the lock: what the wall clock would say had it not been set since the two readings. */
static int64_t unstepped_us(const struct clock_watch *w, int64_t mono_us)
{
    return w->wall_us + (mono_us > w->mono_us ? mono_us - w->mono_us : 0);
}

void clock_watch_open(struct wr_db *db)
{
    struct clock_watch *w = &db->watch;

    w->wall_us = clock_wall_us(&db->clock);
    w->mono_us = clock_mono_us(&db->clock);
    atomic_store(&w->believed_ms, (w->wall_us + STEP_US) / 1000);
}

int64_t clock_watch_ms(struct wr_db *db)
{
    struct clock_watch *w = &db->watch;
    int64_t wall_ms = clock_wall_ms(&db->clock), unstepped_ms;

    if (PORT_LIKELY(wall_ms <= atomic_load_explicit(&w->believed_ms, memory_order_relaxed)))
        return wall_ms;
    pthread_mutex_lock(&w->lock);
    unstepped_ms = unstepped_us(w, clock_mono_us(&db->clock)) / 1000;
    pthread_mutex_unlock(&w->lock);
    return wall_ms - unstepped_ms > STEP_US / 1000 ? unstepped_ms : wall_ms;
}

/* The monotonic clock goes on from the comparison: a step of ours since then removes nothing. */
int64_t clock_watch_removal_ms(struct wr_db *db)
{
    struct clock_watch *w = &db->watch;
    int64_t now_ms = clock_watch_ms(db), slowest_ms = 0;

    if (!db_is_shared(db))
        return now_ms;
    pthread_mutex_lock(&w->lock);
    if (w->compared_us)
        slowest_ms = (w->slowest_us + clock_mono_us(&db->clock) - w->compared_us) / 1000;
    pthread_mutex_unlock(&w->lock);
    return slowest_ms < now_ms ? slowest_ms : now_ms;
}

static void step_begins(struct wr_db *db, struct clock_watch *w, int64_t ahead_us, int64_t mono_us)
{
    w->step_us = ahead_us;
    w->step_since_us = mono_us;
    log_error(
        &db->log,
        "clock: the wall clock jumped ahead by %lld s. Stamps follow it; no row expires by it "
        "for a day. If it is right, start the server again; if not, set it right and see "
        "doc/operations.md, \"The clock\".",
        (long long)ahead_us / 1000000);
}

/* Under the lock. */
static void look_for_step(struct wr_db *db, struct clock_watch *w, int64_t wall_us, int64_t mono_us)
{
    int64_t ahead_us = wall_us - unstepped_us(w, mono_us);

    if (!w->step_us && ahead_us > STEP_US)
        step_begins(db, w, ahead_us, mono_us);
    else if (w->step_us && ahead_us <= STEP_US) {
        w->step_us = 0;
        log_info(&db->log, "clock: the wall clock has come back from its jump");
    } else if (w->step_us && mono_us - w->step_since_us > STEP_HELD_US) {
        w->step_us = 0;
        log_info(&db->log, "clock: the jump of the wall clock a day ago is believed from now on");
    }
    if (!w->step_us) {
        w->wall_us = wall_us;
        w->mono_us = mono_us;
    }
    atomic_store(&w->believed_ms, (unstepped_us(w, mono_us) + STEP_US) / 1000);
}

/* ---- grace ---- */

/* Under the lock. */
static void clock_watch_take_sample(struct clock_watch *w, int64_t mono_us, int64_t stamp_ms)
{
    if (w->sampled &&
        mono_us - w->samples[(w->sampled - 1) % CLOCK_WATCH_SAMPLES].mono_us < SAMPLE_EVERY_US)
        return;
    w->samples[w->sampled++ % CLOCK_WATCH_SAMPLES] = (struct clock_sample){mono_us, stamp_ms};
}

void clock_watch_look(struct wr_db *db)
{
    struct clock_watch *w = &db->watch;
    int64_t stamp_ms = db_clock_peek(db) / 1000;

    pthread_mutex_lock(&w->lock);
    look_for_step(db, w, clock_wall_us(&db->clock), clock_mono_us(&db->clock));
    clock_watch_take_sample(w, clock_mono_us(&db->clock), stamp_ms);
    pthread_mutex_unlock(&w->lock);
}

int64_t clock_watch_before(struct wr_db *db, int64_t grace_ms)
{
    struct clock_watch *w = &db->watch;
    int64_t until_us = clock_mono_us(&db->clock) - grace_ms * 1000, stamp_ms = INT64_MIN;

    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < CLOCK_WATCH_SAMPLES && i < w->sampled; i++)
        if (w->samples[i].mono_us <= until_us && w->samples[i].stamp_ms > stamp_ms)
            stamp_ms = w->samples[i].stamp_ms;
    if (db_is_shared(db) && !w->compared_us)
        stamp_ms = INT64_MIN;
    if (stamp_ms != INT64_MIN)
        stamp_ms -= (w->own_us - w->slowest_us) / 1000;
    pthread_mutex_unlock(&w->lock);
    return stamp_ms;
}

bool clock_watch_ahead(struct wr_db *db, int64_t stamp_ms)
{
    struct clock_watch *w = &db->watch;
    int64_t ahead_ms;
    bool known;

    pthread_mutex_lock(&w->lock);
    known = w->compared_us || !db_is_shared(db);
    ahead_ms = (w->fastest_us - w->own_us) / 1000;
    pthread_mutex_unlock(&w->lock);
    return known && stamp_ms > db_clock_peek(db) / 1000 + ahead_ms + AHEAD_MS;
}

int64_t clock_watch_spread_ms(struct wr_db *db)
{
    struct clock_watch *w = &db->watch;
    int64_t spread_ms;

    pthread_mutex_lock(&w->lock);
    spread_ms = w->compared_us ? (w->fastest_us - w->slowest_us) / 1000 : -1;
    pthread_mutex_unlock(&w->lock);
    return spread_ms;
}

/* ---- other servers ---- */

/* How far apart two clocks are at least, if one said `other` between two readings of ours. */
static int64_t skew_at_least(int64_t asked_us, int64_t answered_us, int64_t other_us)
{
    return other_us > answered_us ? other_us - answered_us
           : other_us < asked_us  ? asked_us - other_us
                                  : 0;
}

static void report_skew(struct wr_db *db, int64_t before_us, int64_t skew_us)
{
    if (!before_us && skew_us)
        log_error(&db->log,
                  "clock: another server's wall clock is %lld ms apart from this one's; %d are "
                  "allowed. Set them by NTP.",
                  (long long)skew_us / 1000, SKEW_US / 1000);
    if (before_us && !skew_us)
        log_info(&db->log, "clock: the servers' wall clocks are together again");
}

/* Under the lock. Who was silent may have the slowest clock or the fastest, as far as was known:
 * that goes on to count. Before it was known, nothing is. */
static void keep_bounds(struct clock_watch *w, int64_t mono_us, int64_t *slowest_us,
                        int64_t *fastest_us)
{
    int64_t passed_us = mono_us - w->compared_us;

    if (w->slowest_us + passed_us < *slowest_us)
        *slowest_us = w->slowest_us + passed_us;
    if (w->fastest_us + passed_us > *fastest_us)
        *fastest_us = w->fastest_us + passed_us;
}

void clock_watch_compare(struct wr_db *db, int64_t asked_us, int64_t answered_us,
                         const int64_t *others_us, size_t count, bool all)
{
    struct clock_watch *w = &db->watch;
    size_t far = 0;
    int64_t before_us, most_us = 0, slowest_us = answered_us, fastest_us = answered_us, mono_us;

    for (size_t i = 0; i < count; i++) {
        int64_t skew_us = skew_at_least(asked_us, answered_us, others_us[i]);

        far += skew_us > SKEW_US;
        if (skew_us > SKEW_US && skew_us > most_us)
            most_us = skew_us;
        if (others_us[i] < slowest_us)
            slowest_us = others_us[i];
        if (others_us[i] > fastest_us)
            fastest_us = others_us[i];
    }
    pthread_mutex_lock(&w->lock);
    before_us = w->skew_us;
    w->skew_us = most_us;
    w->is_odd = far && 2 * far >= count + 1;
    mono_us = clock_mono_us(&db->clock);
    if (!all && w->compared_us)
        keep_bounds(w, mono_us, &slowest_us, &fastest_us);
    if (all || w->compared_us) {
        w->slowest_us = slowest_us;
        w->fastest_us = fastest_us;
        w->own_us = answered_us;
        w->compared_us = mono_us;
    }
    pthread_mutex_unlock(&w->lock);
    report_skew(db, before_us, most_us);
}

bool clock_watch_text(struct wr_db *db, char *out, size_t size)
{
    struct clock_watch *w = &db->watch;
    int64_t ahead_us = db_clock_peek(db) - clock_wall_us(&db->clock), skew_us, step_us;
    bool odd;

    pthread_mutex_lock(&w->lock);
    skew_us = w->skew_us;
    step_us = w->step_us;
    odd = w->is_odd;
    pthread_mutex_unlock(&w->lock);
    *out = 0;
    if (skew_us)
        snprintf(out, size, "another server's wall clock is %lld ms apart from this one's",
                 (long long)skew_us / 1000);
    else if (step_us)
        snprintf(out, size, "the wall clock jumped ahead by %lld s", (long long)step_us / 1000000);
    else if (ahead_us > HOUR_US)
        snprintf(out, size, "stamps are %lld s ahead of the wall clock",
                 (long long)ahead_us / 1000000);
    return odd;
}
