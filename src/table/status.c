/* status.c: what a database says of itself, and its settings. */
#include "base/scheduler.h"
#include "table/changelog/change_log_watch.h"
#include "table/core/call.h"
#include "table/core/clock_watch.h"
#include "table/core/db_limits.h"
#include "table/maint/index_drainer.h"
#include "table/maint/scrub.h"
#include "table/search/searches.h"
#include "table/txn/txn.h"

#include <stdio.h>

bool wr_is_shared(const struct wr_db *db)
{
    return db_is_shared(db);
}

const char *wr_error_name(int code)
{
    return err_info(code)->code;
}

int wr_error_status(int code)
{
    return err_info(code)->http_status;
}

int wr_error_applied(int code)
{
    return err_info(code)->applied;
}

/* ---- settings ---- */

int wr_settings_change(struct wr_db *db, const struct wr_setting *settings, size_t count,
                       char *message, size_t message_size)
{
    struct limits next;
    char why[256];

    limits_assign(&next, &db->given);
    for (size_t i = 0; i < count; i++) {
        if (limits_set(&next, settings[i].name, settings[i].value, why, sizeof(why)))
            return err_refuse(message, message_size, E_PARAMETER, "%s.", why);
        if (limits_of_opening(limits_find(settings[i].name)))
            return err_refuse(message, message_size, E_PARAMETER,
                              "%s counts from the opening of the database on. Open it again to "
                              "change it.",
                              settings[i].name);
    }
    db_limits_give(db, &next);
    atomic_store(&db->limits_known, true);
    return E_OK;
}

int64_t wr_setting_value(const struct wr_db *db, const char *name)
{
    size_t i = limits_find(name);

    return limits_name(i) ? limits_value(&db->given, i) : -1;
}

bool wr_engine_has_setting(const char *engine, const char *setting)
{
    return engine_has_option(engine, setting);
}

/* ---- status ---- */

static void read_search_status(struct wr_db *db, struct wr_status *out)
{
    struct change_log_stat changes;
    struct searches_stat s;

    searches_stat(db->searches, clock_watch_ms(db) * 1000, &s);
    out->search_indexes = s.indexes;
    out->search_indexes_reading = s.reading;
    out->search_indexes_stopped = s.stopped;
    out->search_documents = s.documents;
    out->search_segments = s.segments;
    out->search_bytes = s.bytes;
    out->search_behind_ms = (uint64_t)s.behind_us / 1000;
    out->searches = s.searches;
    change_log_watch_stat(db->changes, &changes);
    out->change_log_bytes = changes.bytes;
    out->change_logs_cut = changes.cut;
}

static void read_index_status(struct wr_db *db, struct wr_status *out)
{
    struct index_drainer_stat s;

    index_drainer_stat(db->index_drainer, &s);
    out->index_waiting = s.waiting;
    out->index_behind_ms = s.age_ms;
    out->index_left = s.left;
}

static void read_status(struct wr_db *db, struct wr_status *out)
{
    struct engine_stat s = {0};
    struct txn_stat txns;

    engine_stat(db->engine, &s);
    *out = (struct wr_status){.writable = s.writable,
                              .syncs = s.syncs,
                              .acknowledged = s.acked,
                              .bytes_stored = s.bytes_stored,
                              .disk_reads = s.disk_reads,
                              .remote_reads = s.remote_reads,
                              .remote_writes = s.remote_writes,
                              .remote_read_bytes = s.remote_read_bytes,
                              .remote_written_bytes = s.remote_written_bytes,
                              .request_memory = atomic_load(&db->memory.requests->bytes)};
    txns_stat(db->txns, &txns);
    out->transactions = txns.open;
    out->transaction_bytes = txns.bytes;
    out->transactions_committed = txns.committed;
    out->transactions_aborted = txns.aborted;
    out->transactions_expired = txns.expired;
    out->transaction_conflicts = txns.refused;
    read_search_status(db, out);
    read_index_status(db, out);
    snprintf(out->reason, sizeof(out->reason), "%s", s.reason);
    scrubber_stat(db->scrubber, out);
    out->clock_odd = clock_watch_text(db, out->clock, sizeof(out->clock));
}

void wr_status(struct wr_db *db, struct wr_status *out, size_t size)
{
    struct wr_status own;

    read_status(db, &own);
    memset(out, 0, size);
    memcpy(out, &own, size < sizeof(own) ? size : sizeof(own));
}

#define TASKS_MAX 32

size_t wr_tasks(struct wr_db *db, struct wr_task *out, size_t max)
{
    struct task_stat all[TASKS_MAX];
    size_t n = scheduler_stat(db->background, all, TASKS_MAX);
    struct clock real;

    clock_real_init(&real);
    for (size_t i = 0; i < n && i < max; i++) {
        out[i] = (struct wr_task){
            .state = (enum wr_task_state)all[i].state,
            .percent = all[i].percent,
            .steps = all[i].steps,
            .failures = all[i].failures,
            .bytes = all[i].bytes,
            .busy_us = all[i].busy_us,
            .ago_ms = all[i].last_us ? (clock_mono_us(&real) - all[i].last_us) / 1000 : -1};
        snprintf(out[i].name, sizeof(out[i].name), "%s", all[i].name);
        snprintf(out[i].text, sizeof(out[i].text), "%s", all[i].text);
    }
    return n;
}

/* ---- memory ---- */

void wr_request_bounds(struct wr_db *db, size_t *body_bytes, size_t *memory_bytes)
{
    *body_bytes = (size_t)db_limits(db)->body_bytes_max;
    *memory_bytes = (size_t)db_limits(db)->request_memory_max;
}

bool wr_memory_full(struct wr_db *db)
{
    return memory_full(&db->memory, db->engine);
}

bool wr_memory_lacks(struct wr_db *db, uint64_t size)
{
    return memory_lacks(&db->memory, size);
}

bool wr_memory_spent(struct wr_db *db)
{
    return memory_spent(&db->memory);
}

uint64_t wr_memory_max(struct wr_db *db)
{
    return memory_of_requests(&db->memory);
}
