/* points.c: every named fault point of base/fault.def ends the process, several times each, and
 * everything acknowledged is there after the next start. A point that is never hit fails the test,
 * so that none can be forgotten.
 *
 * A point is looked for in stages, each of which brings the server through other code. The stages
 * of a point that the common order would find late are listed; a new point needs no entry. */
#include "rekey.h"
#include "server.h"
#include "workload.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HITS_SHORT 3
#define HITS_NIGHTLY 20
#define STAGE_MS 3000
#define SWEEP_MS 8000 /* the sweeper wakes up every 5 s */
#define LATER_S "120"
#define JUNK_ROWS 200

#ifdef WR_FAULTS

enum stage {
    STAGE_BUSY,  /* some random pass of the point while writers work */
    STAGE_FIRST, /* its first pass: at the start, or when a table is dropped */
    STAGE_MEND,  /* its second pass, after a failed sync has made the engine reopen its files */
    STAGE_NEW,   /* its first pass in a folder that is being made */
    STAGE_LATER, /* its first pass two minutes after a table was dropped, when that is swept up */
    STAGE_COUNT
};

static const char *const names[] = {
#define FAULT(name) #name,
#include "base/fault.def"
#undef FAULT
};

static const struct hint {
    const char *name;
    enum stage stages[2];
} hints[] = {
    {"rocks_reopen", {STAGE_FIRST, STAGE_MEND}},
    {"drop_half", {STAGE_LATER, STAGE_LATER}},
    {"folder_half_made", {STAGE_NEW, STAGE_NEW}},
    {"repartition_before_store", {STAGE_FIRST, STAGE_FIRST}},
    {"repartition_after_store", {STAGE_FIRST, STAGE_FIRST}},
    {"rekey_begin", {STAGE_FIRST, STAGE_FIRST}},
    {"rekey_page", {STAGE_FIRST, STAGE_BUSY}},
    {"rekey_before_switch", {STAGE_FIRST, STAGE_FIRST}},
    {"rekey_after_switch", {STAGE_FIRST, STAGE_FIRST}},
    {"rekey_end", {STAGE_FIRST, STAGE_FIRST}},
};

/* Points that writers of rows never come to, or only where a partition is an object, and the suite
 * that dies there. */
static const char *const elsewhere[] = {
    "replace_before_drop",
    "client_impatient",
    "bulk_before_ingest",   /* test/cell */
    "bulk_after_ingest",    /* test/cell */
    "cell_after_record",    /* test/cell */
    "cell_before_publish",  /* test/cell */
    "cell_after_publish",   /* test/cell */
    "carry_removed",        /* unit stream_carry_test */
    "carry_appended",       /* unit stream_carry_test */
    "log_unguarded",        /* planted by linear, on a pool */
    "sql_update_unguarded", /* planted by linear */
    "repartition_begin",    /* test/rados/splits.sh, like all below */
    "repartition_noted",
    "repartition_before_engine",
    "repartition_made",
    "repartition_closed",
    "repartition_copied_half",
    "repartition_copied",
    "repartition_gone",
    "garbage_taken",  /* test/rados/cells.sh */
    "garbage_erased", /* test/rados/cells.sh */
    "sweep_row",      /* test/rados/agree.sh, like all below */
    "catalog_deaf",
    "catalog_late",
    "table_before_store",
    "table_stored",
    "table_before_notify",
    "text_stored",
    "index_too_large", /* unit index_build_test, like the next */
    "index_marks",
    "index_begin", /* test/index, like all below */
    "index_page",
    "index_before_taken",
    "index_taken",
    "index_before_end",
    "index_end",
    "drain_begin",
    "drain_settled",
    "drain_noted",
    "drain_unmarked",
    "search_segment_stored", /* test/search, like all below */
    "search_before_state",
    "search_state_stored",
};

struct points {
    struct crash *run;
    struct server server;
    struct workload *workload;
    struct picture *picture;
    char dir[256];
    int folders; /* made so far */
    int rekeys;  /* asked for so far */
    int hits;
    struct crash_times ready;
};

/* ---- work for the server */

/* A new folder, and a book that knows it is empty. */
static void new_folder(struct points *t)
{
    if (t->workload)
        workload_free(t->workload);
    t->workload = workload_new(t->run);
    snprintf(t->dir, sizeof(t->dir), "%s/points-%d", t->run->work, ++t->folders);
    server_init(&t->server, t->run, t->dir);
}

static int table_drop(struct door *d, const char *table)
{
    struct wr_request request = {.op = WR_OP_DELETE_TABLE,
                                 .delete_table = {.table = bytes_str(table)}};
    struct wr_reply reply;

    door_clear(d);
    return door_exec(d, &request, &reply);
}

static const char *const junk_keys[1] = {"id"};

static int junk_fill(struct door *d)
{
    struct wr_row_change changes[JUNK_ROWS] = {0};
    struct wr_key_column keys[JUNK_ROWS];
    struct wr_cell cell = {.name = BYTES_LIT("v"),
                           .value = {.type = WR_BIGINT, .integer = 1},
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_table_write table = {
        .table = BYTES_LIT("junk"), .changes = changes, .change_count = JUNK_ROWS};
    struct wr_request request = {.op = WR_OP_BATCH_WRITE_ROW,
                                 .batch_write_row = {.tables = &table, .table_count = 1}};
    struct wr_reply reply;

    for (int i = 0; i < JUNK_ROWS; i++) {
        keys[i] =
            (struct wr_key_column){bytes_str(junk_keys[0]), {.type = WR_BIGINT, .integer = i}};
        changes[i] = (struct wr_row_change){.type = WR_PUT, .row = {{&keys[i], 1}, &cell, 1}};
    }
    door_clear(d);
    return door_exec(d, &request, &reply);
}

static bool count_row(void *arg, const struct wr_row *row)
{
    (void)row;
    ++*(int *)arg;
    return true;
}

/* Makes a table, fills it, drops it, and has the others rekeyed, until the server goes or time is
 * over. */
static void junk_until(struct points *t, int64_t until_ms)
{
    struct door d;

    door_open(&d, t->run);
    while (!server_ended(&t->server) && clock_mono_ms(&t->run->clock) < until_ms) {
        if (door_create_table(&d, "junk", junk_keys, 1) || junk_fill(&d) || table_drop(&d, "junk"))
            crash_sleep_us(5000);
        rekey_ask(t->run, t->rekeys++);
        crash_sleep_us(20000);
    }
    door_close(&d);
}

/* A table that was dropped and made again is empty, wherever the drop was cut. */
static void junk_check(struct points *t, const char *where)
{
    struct door d;
    int rows = 0, code;

    door_open(&d, t->run);
    code = table_drop(&d, "junk");
    if (code == 0 || code == WR_E_NOT_EXIST)
        code = door_create_table(&d, "junk", junk_keys, 1);
    if (code == 0)
        code = door_scan(&d, "junk", junk_keys, 1, INT64_MIN, INT64_MAX, count_row, &rows);
    if (code || rows)
        crash_problem(t->run, "%s: a table made again has %d rows of the dropped one (%s)", where,
                      rows, code ? d.c.text : "read");
    table_drop(&d, "junk");
    door_close(&d);
}

/* Leaves a table that was filled and dropped. */
static bool junk_leave(struct points *t)
{
    struct door d;
    int code;

    server_start(&t->server);
    if (!server_wait_ready(&t->server))
        return false;
    door_open(&d, t->run);
    code = door_create_table(&d, "junk", junk_keys, 1);
    if (!code)
        code = junk_fill(&d);
    if (!code)
        code = table_drop(&d, "junk");
    door_close(&d);
    server_kill(&t->server);
    return code == 0;
}

/* ---- one crash */

static bool hit(struct points *t, const char *name)
{
    char *text = server_output(&t->server), want[100];
    bool found;

    snprintf(want, sizeof(want), "fault: crash at %s\n", name);
    found = strstr(text, want) != NULL;
    mem_free(text);
    return found;
}

static void fault_text(struct points *t, enum stage stage, const char *name, char *out, size_t size)
{
    struct rng *rng = &t->run->rng;

    if (stage == STAGE_BUSY)
        snprintf(out, size, "%s:crash:%lld", name, (long long)crash_between(rng, 1, 60));
    else if (stage == STAGE_MEND)
        snprintf(out, size, "commit_before_sync:error:%lld,%s:crash:2",
                 (long long)crash_between(rng, 5, 40), name);
    else
        snprintf(out, size, "%s:crash:1", name);
}

/* Runs a stage with the point armed. True if the process ended there. While the clock is shifted
 * nobody writes: cells stamped so would hide the updates that follow. */
static bool stage_run(struct points *t, enum stage stage, const char *name)
{
    char fault[200];
    bool working = false;

    if (stage == STAGE_NEW)
        new_folder(t);
    if (stage == STAGE_LATER && !junk_leave(t))
        return false;
    fault_text(t, stage, name, fault, sizeof(fault));
    t->server.fault = fault;
    t->server.clock_shift_s = stage == STAGE_LATER ? LATER_S : NULL;
    server_start(&t->server);
    t->server.fault = t->server.clock_shift_s = NULL;
    if (stage == STAGE_LATER && server_wait_ready(&t->server)) {
        server_wait_end(&t->server, SWEEP_MS);
    } else if (server_wait_ready(&t->server)) {
        /* The point may be hit before there is anything to write to. */
        working = workload_create(t->workload);
        if (working)
            workload_start(t->workload);
        else if (!server_wait_end(&t->server, 1000))
            crash_problem(t->run, "%s: cannot make tables", name);
        if (working)
            junk_until(t, clock_mono_ms(&t->run->clock) + STAGE_MS);
    }
    if (!server_ended(&t->server)) {
        server_kill(&t->server);
        if (working)
            workload_stop(t->workload);
        return false;
    }
    if (working)
        workload_stop(t->workload);
    return hit(t, name);
}

static void recover(struct points *t, const char *where)
{
    char *text;

    server_start(&t->server);
    if (!server_wait_ready(&t->server)) {
        text = server_output(&t->server);
        crash_problem(t->run, "%s: the server does not start: %s", where, text);
        mem_free(text);
        return;
    }
    crash_times_add(&t->ready, t->server.ready_us);
    if (!workload_create(t->workload)) {
        crash_problem(t->run, "%s: cannot make tables", where);
        return;
    }
    if (workload_look(t->workload, t->picture))
        crash_problem(t->run, "%s: the rows cannot be read", where);
    workload_compare(t->workload, t->picture, where, true);
    if (workload_follow(t->workload, where, true))
        crash_problem(t->run, "%s: the chains cannot be read", where);
    junk_check(t, where);
    server_kill(&t->server);
}

/* The stage to try first, and the one after it. */
static enum stage stage_of(const char *name, int hits, int attempt)
{
    for (size_t i = 0; i < PORT_COUNT(hints); i++)
        if (strcmp(hints[i].name, name) == 0 && attempt < 2)
            return hints[i].stages[(hits + attempt) % 2];
    return (enum stage)(attempt % STAGE_COUNT);
}

static bool is_elsewhere(const char *name)
{
    for (size_t i = 0; i < PORT_COUNT(elsewhere); i++)
        if (strcmp(elsewhere[i], name) == 0)
            return true;
    return false;
}

static void one_point(struct points *t, const char *name, int wanted)
{
    int hits = 0, attempts = 0, settled = -1;
    char where[100];

    crash_case_begin(t->run);
    while (hits < wanted && attempts < STAGE_COUNT) {
        enum stage stage = settled >= 0 ? (enum stage)settled : stage_of(name, hits, attempts);

        snprintf(where, sizeof(where), "%s, stage %d", name, (int)stage);
        if (stage_run(t, stage, name)) {
            hits++;
            /* A stage beyond the first that worked is the one to stay with. */
            settled = attempts > 1 ? (int)stage : -1;
            attempts = attempts > 1 ? attempts : 0;
        } else {
            attempts++;
            settled = -1;
        }
        recover(t, where);
    }
    if (hits < wanted)
        crash_problem(t->run, "%s was hit %d times, not %d", name, hits, wanted);
    t->hits += hits;
    if (!crash_case_end(t->run))
        new_folder(t);
}

void points_part(struct crash *run)
{
    struct points t = {.run = run};
    int wanted = run->count ? run->count : run->nightly ? HITS_NIGHTLY : HITS_SHORT;

    t.picture = mem_alloc(sizeof(*t.picture));
    new_folder(&t);
    for (size_t i = 0; i < PORT_COUNT(names); i++)
        if (!is_elsewhere(names[i]))
            one_point(&t, names[i], wanted);
    server_kill(&t.server);
    printf("  %zu points, %d crashes\n", PORT_COUNT(names) - PORT_COUNT(elsewhere), t.hits);
    crash_times_print(&t.ready, "ready again");
    workload_free(t.workload);
    mem_free(t.picture);
}

#else

void points_part(struct crash *run)
{
    printf("SKIPPED points: fault points are not built in\n");
    run->skipped++;
}

#endif
