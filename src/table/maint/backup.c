/* backup.c: wr_backup() and wr_restore(): the engine does the work, this gives it a context. */
#include "table/core/db.h"

#include <stdio.h>

static void give_message(const struct ctx *c, int code, char *message, size_t size)
{
    if (code && message && size)
        snprintf(message, size, "%s", c->text ? c->text : err_info(code)->text);
}

int wr_backup(struct wr_db *db, const char *dir, char *message, size_t message_size)
{
    struct ctx c;
    int64_t start_us = clock_mono_us(&db->clock);
    int code;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    code = engine_checkpoint(&c, db->engine, dir);
    if (code)
        log_warn(&db->log, "backup: into %s failed: %s", dir, c.text ? c.text : "");
    else
        log_info(&db->log, "backup: into %s, %lld ms", dir,
                 (long long)(clock_mono_us(&db->clock) - start_us) / 1000);
    give_message(&c, code, message, message_size);
    ctx_release(&c);
    return code;
}

int wr_restore(const char *backup, const char *dir, char *message, size_t message_size)
{
    struct clock clock;
    struct engine_conf conf = {.dir = dir ? dir : "", .clock = &clock};
    struct ctx c;
    int code;

    clock_real_init(&clock);
    ctx_init(&c, &clock, NULL, NULL, 0);
    if (dir && !*dir)
        code = fail(&c, E_PARAMETER, "The data folder's name is empty.");
    else
        code = engine_restore(&c, "rocks", &conf, backup);
    give_message(&c, code, message, message_size);
    ctx_release(&c);
    return code;
}
