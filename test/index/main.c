/* main.c: secondary indexes and a stream under kills.
 *
 *   build/test/index --work DIR [--kills N] [--points ROUNDS] [--seed S]
 *   build/test/index --ops N [--plant yes] [--seed S]
 *
 * A process opens the database, writes rows from several threads, and creates and drops indexes,
 * rekeys the table, splits and merges partitions meanwhile, until it is killed at a random moment.
 * The next one finds the indexes: builds go on, and then each index has an entry for each row that
 * has one, and no other; and no key is stored that belongs to no table. One thread follows the
 * table's stream from life to life: what it read stays how the stream begins, and the stream as a
 * whole makes the rows. Then come processes that end at each named point of a build.
 *
 * With --ceph-conf three processes work at once, on a pool, whose wall clocks differ; now one is
 * killed and another one begins, now one is paused, one dies at each point of the drainer and of
 * a build. When all have been killed, the indexes come to what the rows make of them.
 *
 * With --ops the same work is done N times on mem, where nobody is killed. With --plant as well the
 * engine draws numbers before it appends, and the follower has to see that he missed something. */
#include "base/bytes.h"
#include "base/rng.h"
#include "life.h"

#include "../lives.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POOL_POINT_TRIES 15000
#define PAUSE_SHORT_MS 3000

/* ---- on a pool ---- */

#define SERVERS 3

struct pool {
    struct life *life;
    struct rng *rng;
    uint64_t pause_ms, skew_ms; /* at most */
    int drains;                 /* at so many points of the drainer a server dies */
    bool build_points;          /* and at those of a build */
    pid_t pids[SERVERS];
};

/* With a wall clock of its own, up to half of what they may differ by ahead or behind. `builds`: as
 * in struct life. */
static void server_begin(struct pool *p, int at, bool builds)
{
    struct life one = *p->life;

    one.builds = builds;
    one.seed = rng_next(p->rng);
    one.skew_ms = (int64_t)rng_below(p->rng, p->skew_ms + 1) - (int64_t)p->skew_ms / 2;
    p->pids[at] = begin(&one, life_work);
}

/* Killed; it has not ended by itself. */
static void server_end(struct pool *p, int at)
{
    int status;

    if (waitpid(p->pids[at], &status, WNOHANG) == p->pids[at]) {
        life_problem(p->life, "a server ended by itself with status %x", status);
        return;
    }
    kill(p->pids[at], SIGKILL);
    waitpid(p->pids[at], &status, 0);
}

/* Most pauses are short; one in eight is as long as may be, and outlives leases. */
static uint64_t pause_us(struct pool *p)
{
    uint64_t ms =
        rng_below(p->rng, 8) && p->pause_ms > PAUSE_SHORT_MS ? PAUSE_SHORT_MS : p->pause_ms;

    return 1 + rng_below(p->rng, ms * 1000);
}

/* One of them stands still, or is killed, and another one begins. */
static void disturb(struct pool *p)
{
    int at = (int)rng_below(p->rng, SERVERS);

    if (rng_below(p->rng, 3)) {
        server_end(p, at);
        server_begin(p, at, false);
        return;
    }
    kill(p->pids[at], SIGSTOP);
    sleep_us(pause_us(p));
    kill(p->pids[at], SIGCONT);
}

/* The server that has begun with this fault dies by it. */
static void server_dies(struct pool *p, int at, const char *armed)
{
    int status = 0;
    pid_t ended = 0;

    for (int i = 0; i < POOL_POINT_TRIES && !ended; i++) {
        sleep_us(POINT_LOOK_US);
        ended = waitpid(p->pids[at], &status, WNOHANG);
    }
    if (!ended) {
        life_problem(p->life, "%s was not passed", armed);
        server_end(p, at);
    } else if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) {
        life_problem(p->life, "at %s a server ended with status %x", armed, status);
    } else {
        atomic_fetch_add(&p->life->counts->points, 1);
    }
}

static void server_begin_to_die(struct pool *p, int at, const char *armed, bool builds)
{
    setenv("WR_FAULT", armed, 1);
    server_begin(p, at, builds);
    unsetenv("WR_FAULT");
}

/* One of them is killed, and the one in its place dies at the point. */
static void drainer_dies_at(struct pool *p, const char *point)
{
    char armed[64];
    int at = (int)rng_below(p->rng, SERVERS);

    snprintf(armed, sizeof(armed), "%s:crash:%u", point, 1 + (unsigned)rng_below(p->rng, 3));
    server_end(p, at);
    server_begin_to_die(p, at, armed, false);
    server_dies(p, at, armed);
    server_begin(p, at, false);
}

/* All are killed, so that the next one builds, and drops nothing. It dies at the point, and those
 * that begin then go on with its build. */
static void builder_dies_at(struct pool *p, const char *point)
{
    char armed[64];

    snprintf(armed, sizeof(armed), "%s:crash:1", point);
    for (int i = 0; i < SERVERS; i++)
        server_end(p, i);
    server_begin_to_die(p, 0, armed, true);
    server_dies(p, 0, armed);
    for (int i = 0; i < SERVERS; i++)
        server_begin(p, i, false);
}

/* Servers work on the same table; now one is killed, now one is paused, then one dies at each point
 * of a build and of the drainer, at last all are killed. Marks go after a minute, so all points of
 * the drainer but the first two take as long. */
static void run_pool(struct pool *p, int kills)
{
    static const char *const drain[] = {"drain_begin", "drain_settled", "drain_noted",
                                        "drain_unmarked"};
    static const char *const build[] = {"index_begin", "index_page", "index_before_end",
                                        "index_end"};

    for (int i = 0; i < SERVERS; i++)
        server_begin(p, i, false);
    for (int i = 0; i < kills; i++) {
        sleep_us(500000 + rng_below(p->rng, 1500000));
        disturb(p);
    }
    for (size_t i = 0; p->build_points && i < PORT_COUNT(build); i++)
        builder_dies_at(p, build[i]);
    for (int i = 0; i < p->drains && i < (int)PORT_COUNT(drain); i++)
        drainer_dies_at(p, drain[i]);
    sleep_us(500000);
    for (int i = 0; i < SERVERS; i++)
        server_end(p, i);
    run_whole(p->life, "the comparison", life_compare);
}

/* Each point of a build (base/fault.def), as often as `rounds`. */
static void run_points(struct life *l, struct rng *rng, int rounds)
{
    static const char *const points[] = {"index_begin", "index_page",       "index_before_taken",
                                         "index_taken", "index_before_end", "index_end"};

    for (int i = 0; i < rounds; i++)
        for (size_t k = 0; k < PORT_COUNT(points) && l->counts->problems < 10; k++) {
            struct life one = *l;

            one.seed = rng_next(rng);
            one.wide = rng_below(rng, 2);
            one.builds = true;
            run_point(&one, points[k], 1 + (unsigned)rng_below(rng, 3));
        }
}

static int report(struct life *l, int kills)
{
    const struct life_counts *n = l->counts;

    printf("%d kills and %llu crashes at points, seed %" PRIu64
           ": %llu writes, %llu refused for a new index, %llu indexes created, %llu seen complete, "
           "%llu dropped, %llu rekeyings, %llu splits, %llu merges, %llu transactions, "
           "%llu entries compared, %llu records replayed\n",
           kills, n->points, l->seed, n->writes, n->busy, n->created, n->completed, n->dropped,
           n->rekeyed, n->splits, n->merges, n->committed, n->compared, n->replayed);
    if (!n->compared || !n->created || (!l->ceph_conf && (!n->replayed || !n->committed)))
        life_problem(l, "it has shown nothing");
    printf("index: %llu passed, %llu failed, 0 skipped\n",
           (unsigned long long)kills + n->points + (l->ops > 0), n->problems);
    return n->problems != 0;
}

static void count_splits(struct life *l, struct wr_db *db)
{
    struct wr_request req = {.op = WR_OP_DESCRIBE_PARTITIONS, .instance = bytes_str(LIFE_INSTANCE)};
    struct wr_reply *reply;

    req.describe_partitions.table = bytes_str(LIFE_TABLE);
    reply = wr_exec(db, &req);
    if (reply->code)
        life_problem(l, "DescribePartitions: %s", reply->message);
    l->counts->splits = reply->partitions.splits;
    l->counts->merges = reply->partitions.merges;
    wr_reply_free(reply);
}

/* All of it in one process, which is not killed. */
static int run_ops(struct life *l)
{
    struct life_counts *n = l->counts;
    struct wr_db *db = life_open(l);

    if (!db)
        return 1;
    life_create(l, db);
    life_work(l, db);
    life_compare(l, db);
    life_replay(l, db);
    count_splits(l, db);
    wr_close(db);
    if (!l->plant)
        return report(l, 0);
    printf("a number drawn before the append: %llu problems found in %llu writes, seed %" PRIu64
           "\n",
           n->problems, n->writes, l->seed);
    printf("index: %d passed, %d failed, 0 skipped\n", n->problems > 0, !n->problems);
    return !n->problems;
}

int main(int argc, char **argv)
{
    struct life l = {.dir = NULL, .seed = (uint64_t)time(NULL)};
    struct rng rng;
    struct pool pool = {
        .life = &l, .rng = &rng, .pause_ms = PAUSE_SHORT_MS, .skew_ms = 900, .drains = 4};
    struct rlimit no_core = {0, 0};
    int kills = 8, rounds = 1;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--work") == 0)
            l.dir = argv[i + 1];
        else if (strcmp(argv[i], "--kills") == 0)
            kills = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--points") == 0)
            rounds = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--ceph-conf") == 0)
            l.ceph_conf = argv[i + 1];
        else if (strcmp(argv[i], "--pause-ms") == 0)
            pool.pause_ms = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--drains") == 0)
            pool.drains = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--build-points") == 0)
            pool.build_points = strcmp(argv[i + 1], "yes") == 0;
        else if (strcmp(argv[i], "--skew-ms") == 0)
            pool.skew_ms = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--ops") == 0)
            l.ops = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--plant") == 0)
            l.plant = true;
        else if (strcmp(argv[i], "--seed") == 0)
            l.seed = strtoull(argv[i + 1], NULL, 10);
    }
    if (!l.dir && !l.ops) {
        fputs("usage: index --work DIR [--kills N] [--points ROUNDS] [--seed S]\n"
              "       index --work NAMESPACE --ceph-conf FILE [--kills N] [--points ROUNDS] "
              "[--pause-ms MS] [--skew-ms MS] [--drains N] [--build-points yes] [--seed S]\n"
              "       index --ops N [--plant yes] [--seed S]\n",
              stderr);
        return 2;
    }
    l.counts =
        mmap(NULL, sizeof(*l.counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    rng_init(&rng, l.seed);
    setrlimit(RLIMIT_CORE, &no_core);
    if (l.ops)
        return run_ops(&l);
    l.namespace = l.dir;
    run_whole(&l, "CreateTable", life_create);
    if (l.ceph_conf) {
        for (int i = 0; i < rounds && l.counts->problems < 10; i++)
            run_pool(&pool, kills);
        return report(&l, kills * rounds);
    }
    for (int i = 0; i < kills && l.counts->problems < 10; i++) {
        struct life one = l;

        one.seed = rng_next(&rng);
        one.wide = rng_below(&rng, 2);
        one.no_sync = rng_below(&rng, 2);
        one.clock = rng_below(&rng, 3) == 0;
        run_killed(&one, 100000 + rng_below(&rng, 900000));
        if (i % 3 != 2) /* else one kill after the other */
            run_whole(&one, "the comparison", life_compare);
        if (i % 10 == 4)
            run_whole(&one, "the replay", life_replay);
    }
    run_points(&l, &rng, rounds);
    run_whole(&l, "the comparison", life_compare);
    run_whole(&l, "the replay", life_replay);
    return report(&l, kills);
}
