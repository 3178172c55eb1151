/* kill.c: writers work, the server is killed at a random moment and started again, sometimes killed
 * once more while it starts; then everything must be there.
 *
 * Meanwhile tables are rekeyed, and partitions are split and merged: a server counts its cuts itself,
 * for its own life, so they are asked for shortly before each kill and added up. Neighbours must be
 * idle for a second before they are merged, so some lives last longer. A run in which nothing was
 * cut or merged has not shown what it is to show, and fails. */
#include "door.h"
#include "rekey.h"
#include "server.h"
#include "workload.h"

#include <stdio.h>

#define KILLS_SHORT 100
#define KILLS_NIGHTLY 1500
#define WHOLE_CHAIN_EVERY 50
#define REKEY_EVERY 3 /* kills: tables are copied while servers come and go */
#define LONG_LIFE_EVERY 10
#define LONG_LIFE_EVERY_NIGHTLY 50
#define LONG_LIFE_US 2500000
#define CUTS_KILLS_MIN 40 /* shorter runs need not meet a cut */

struct kills {
    struct crash *run;
    struct server server;
    struct workload *workload;
    struct picture *picture;
    struct crash_times ready; /* from start to ready, after a kill */
    int killed, killed_starting;
    uint64_t splits, merges; /* that were counted; those of a life's last moments are not */
};

/* Rows stored whole or cell by cell, large or small write buffers: another mix each life. */
static void flags_choose(struct kills *k)
{
    int n = 0;

    k->server.flags[n++] = "--set";
    k->server.flags[n++] = "partition_bytes_max=32768"; /* so that some are small enough to merge */
    k->server.flags[n++] = "--set";
    k->server.flags[n++] = rng_below(&k->run->rng, 2) ? "wide_row_cells=4" : "wide_row_cells=256";
    if (rng_below(&k->run->rng, 3) == 0) {
        k->server.flags[n++] = "--memory";
        k->server.flags[n++] = "16M";
    }
    k->server.flags[n] = NULL;
}

static bool start(struct kills *k)
{
    char *text;

    flags_choose(k);
    server_start(&k->server);
    if (server_wait_ready(&k->server))
        return true;
    text = server_output(&k->server);
    crash_problem(k->run, "the server did not start: %s", text);
    mem_free(text);
    return false;
}

/* Perhaps a start that is killed half way. */
static void start_and_kill(struct kills *k)
{
    while (rng_below(&k->run->rng, 4) == 0) {
        flags_choose(k);
        server_start(&k->server);
        crash_sleep_us(crash_between(&k->run->rng, 0, 60000));
        if (server_ended(&k->server))
            crash_problem(k->run, "the server ended by itself while it started");
        server_kill(&k->server);
        k->killed_starting++;
    }
}

/* Adds up what was cut and merged in this life of the server. */
static void count_cuts(struct kills *k)
{
    static const char *const tables[] = {"rows", "chain"};
    struct door d;

    door_open(&d, k->run);
    for (size_t i = 0; i < PORT_COUNT(tables); i++) {
        struct wr_request request = {.op = WR_OP_DESCRIBE_PARTITIONS,
                                     .describe_partitions.table = bytes_str(tables[i])};
        struct wr_reply reply;

        door_clear(&d);
        if (door_exec(&d, &request, &reply) == 0) {
            k->splits += reply.partitions.splits;
            k->merges += reply.partitions.merges;
        }
    }
    door_close(&d);
}

static bool one_kill(struct kills *k, int i)
{
    char where[32];

    snprintf(where, sizeof(where), "kill %d", i);
    crash_case_begin(k->run);
    workload_start(k->workload);
    if (i % REKEY_EVERY == 0)
        rekey_ask(k->run, i / REKEY_EVERY);
    if (i % (k->run->nightly ? LONG_LIFE_EVERY_NIGHTLY : LONG_LIFE_EVERY) == 0)
        crash_sleep_us(LONG_LIFE_US);
    crash_sleep_us(crash_between(&k->run->rng, 500, 125000));
    count_cuts(k);
    crash_sleep_us(crash_between(&k->run->rng, 500, 125000));
    if (server_ended(&k->server))
        crash_problem(k->run, "%s: the server ended by itself, status %d", where, k->server.status);
    server_kill(&k->server);
    k->killed++;
    workload_stop(k->workload);
    start_and_kill(k);
    if (!start(k)) {
        crash_case_end(k->run);
        return false;
    }
    crash_times_add(&k->ready, k->server.ready_us);
    if (workload_look(k->workload, k->picture))
        crash_problem(k->run, "%s: the rows cannot be read", where);
    workload_compare(k->workload, k->picture, where, true);
    if (workload_follow(k->workload, where, i % WHOLE_CHAIN_EVERY == 0))
        crash_problem(k->run, "%s: the chains cannot be read", where);
    return crash_case_end(k->run) || k->run->failed < 10;
}

void kill_part(struct crash *run)
{
    int kills = run->count ? run->count : run->nightly ? KILLS_NIGHTLY : KILLS_SHORT;
    struct kills k = {.run = run, .workload = workload_new(run)};
    char dir[256];

    k.picture = mem_alloc(sizeof(*k.picture));
    snprintf(dir, sizeof(dir), "%s/kill", run->work);
    server_init(&k.server, run, dir);
    if (!start(&k) || !workload_create(k.workload))
        crash_give_up(run, "no server to kill");
    for (int i = 1; i <= kills && one_kill(&k, i); i++)
        ;
    crash_case_begin(run);
    if (workload_follow(k.workload, "at the end", true))
        crash_problem(run, "at the end: the chains cannot be read");
    if (!server_stop(&k.server))
        crash_problem(run, "the server did not stop cleanly");
    crash_case_end(run);
    printf("  %d kills while writing, %d while starting; %llu requests acknowledged, %llu "
           "unanswered\n",
           k.killed, k.killed_starting, (unsigned long long)workload_acked(k.workload),
           (unsigned long long)workload_unsure(k.workload));
    printf("  %llu partitions cut in two, %llu pairs merged while writing\n",
           (unsigned long long)k.splits, (unsigned long long)k.merges);
    crash_case_begin(run);
    if (kills >= CUTS_KILLS_MIN && (!k.splits || !k.merges))
        crash_problem(run, "no partition was %s while servers were killed",
                      k.splits ? "merged" : "cut");
    crash_case_end(run);
    crash_times_print(&k.ready, "ready again");
    mem_free(k.picture);
    workload_free(k.workload);
}
