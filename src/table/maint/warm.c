#include "table/maint/warm.h"

#include "base/scheduler.h"
#include "table/core/db.h"

#include <stdio.h>

#define STEP_BYTES_MIN ((int64_t)64 << 10)
#define STEP_BYTES_MAX ((int64_t)1 << 20)
#define GIVE_WAY_US 200000                   /* after a read that went to the disk */
#define REMEMBER_US ((int64_t)600 * 1000000) /* what was read is written down so often */

struct warmer {
    struct wr_db *db;
    bool warm; /* there is nothing more to read back */
};

/* Some ten steps a second. */
static uint64_t step_bytes(int64_t rate)
{
    int64_t size = rate / 10;

    return (uint64_t)(size < STEP_BYTES_MIN   ? STEP_BYTES_MIN
                      : size > STEP_BYTES_MAX ? STEP_BYTES_MAX
                                              : size);
}

static int read_back(struct warmer *w, struct ctx *c, struct task_step *step)
{
    struct wr_db *db = w->db;
    int64_t rate = db->limits.warm_bytes_per_s_max, start_us = clock_mono_us(&db->clock);
    struct warm warm = {.bytes_max = step_bytes(rate)};
    int code = engine_warm(c, db->engine, &warm);

    step->bytes = warm.bytes;
    step->more = !warm.ended;
    step->next_us =
        (int64_t)((double)warm.bytes * 1e6 / (double)rate) - (clock_mono_us(&db->clock) - start_us);
    if (warm.gave_way)
        step->next_us = GIVE_WAY_US;
    if (step->next_us < 0)
        step->next_us = 0;
    w->warm = warm.ended;
    return code;
}

static int warm_step(void *arg, struct task_step *step)
{
    struct warmer *w = arg;
    struct ctx c;
    int code;

    ctx_init(&c, &w->db->clock, &w->db->log, NULL, 0);
    if (!w->warm) {
        code = read_back(w, &c, step);
    } else {
        code = engine_remember(&c, w->db->engine);
        step->next_us = REMEMBER_US;
    }
    if (code)
        snprintf(step->text, sizeof(step->text), "%s", c.text ? c.text : err_info(code)->text);
    ctx_release(&c);
    return code;
}

struct warmer *warmer_start(struct wr_db *db)
{
    struct task_spec spec = {
        .name = "warm", .thread = TASK_LONG, .priority = PRIORITY_WARM, .run = warm_step};
    struct warmer *w;

    if (!engine_has_files(db->engine))
        return NULL;
    w = mem_zalloc(sizeof(*w));
    w->db = db;
    w->warm = !db->limits.warm_bytes_per_s_max;
    spec.first_us = w->warm ? REMEMBER_US : 0;
    spec.arg = w;
    if (scheduler_add(db->background, &spec))
        return w;
    log_error(&db->log, "warm: the system gives no thread: the cache is not warmed");
    mem_free(w);
    return NULL;
}

void warmer_free(struct warmer *w)
{
    mem_free(w);
}
