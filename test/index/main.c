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
 * With --ceph-conf three processes work at once, on a pool; now one is killed and another one
 * begins, now one is paused. When all have been killed, the indexes come to what the rows make of
 * them.
 *
 * With --ops the same work is done N times on mem, where nobody is killed. With --plant as well the
 * engine draws numbers before it appends, and the follower has to see that he missed something. */
#include "base/bytes.h"
#include "base/rng.h"
#include "life.h"

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

#define POINT_LOOK_US 20000
#define POINT_TRIES 3000 /* a minute: nothing is judged by how long it takes */

static void sleep_us(uint64_t us)
{
    struct timespec t = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};

    nanosleep(&t, NULL);
}

static pid_t begin(struct life *l, void (*run)(struct life *l, struct wr_db *db))
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        struct wr_db *db = life_open(l);

        if (!db)
            _exit(1);
        run(l, db);
        wr_close(db);
        fflush(NULL);
        _exit(0);
    }
    return pid;
}

/* The process does its work to the end. */
static void run_whole(struct life *l, const char *what,
                      void (*run)(struct life *l, struct wr_db *db))
{
    int status = 0;

    waitpid(begin(l, run), &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        life_problem(l, "%s ended with status %x", what, status);
}

static void run_killed(struct life *l, uint64_t us)
{
    int status = 0;
    pid_t pid = begin(l, life_work);

    sleep_us(us);
    if (waitpid(pid, &status, WNOHANG) == pid) {
        life_problem(l, "the process ended by itself with status %x", status);
        return;
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
}

/* ---- on a pool ---- */

#define SERVERS 3

/* One of them stands still for as long, or (0) is killed, and another one begins. */
static void disturb(struct life *l, struct rng *r, pid_t *pids, uint64_t pause_us)
{
    pid_t *pid = &pids[rng_below(r, SERVERS)];

    if (pause_us) {
        kill(*pid, SIGSTOP);
        sleep_us(pause_us);
        kill(*pid, SIGCONT);
        return;
    }
    kill(*pid, SIGKILL);
    waitpid(*pid, NULL, 0);
    l->seed = rng_next(r);
    *pid = begin(l, life_work);
}

/* Servers work on the same table; now one is killed, now one is paused, at last all are killed. */
static void run_pool(struct life *l, struct rng *r, int kills, uint64_t pause_ms)
{
    pid_t pids[SERVERS];
    int status;

    for (int i = 0; i < SERVERS; i++) {
        l->seed = rng_next(r);
        pids[i] = begin(l, life_work);
    }
    for (int i = 0; i < kills; i++) {
        sleep_us(500000 + rng_below(r, 1500000));
        disturb(l, r, pids, rng_below(r, 3) ? 0 : 1 + rng_below(r, pause_ms * 1000));
    }
    sleep_us(500000);
    for (int i = 0; i < SERVERS; i++) {
        if (waitpid(pids[i], &status, WNOHANG) == pids[i])
            life_problem(l, "a server ended by itself with status %x", status);
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    run_whole(l, "the comparison", life_compare);
}

/* The process that passes the point ends there. It may be that none does in time: there was nothing
 * to build. */
static void run_point(struct life *l, const char *point, unsigned pass)
{
    char armed[64];
    pid_t pid;
    int status = 0;

    snprintf(armed, sizeof(armed), "%s:crash:%u", point, pass);
    setenv("WR_FAULT", armed, 1);
    pid = begin(l, life_work);
    unsetenv("WR_FAULT");
    for (int i = 0; i < POINT_TRIES && waitpid(pid, &status, WNOHANG) == 0; i++)
        sleep_us(POINT_LOOK_US);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) {
        atomic_fetch_add(&l->counts->points, 1);
    } else if (status == 0) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        life_problem(l, "%s was not passed %u times", point, pass);
    } else {
        life_problem(l, "at %s the process ended with status %x", point, status);
    }
    run_whole(l, "the comparison", life_compare);
}

/* Each point of a build (base/fault.def), as often as `rounds`. */
static void run_points(struct life *l, struct rng *rng, int rounds)
{
    static const char *const points[] = {"index_begin", "index_page", "index_before_end",
                                         "index_end"};
    struct rlimit no_core = {0, 0};

    setrlimit(RLIMIT_CORE, &no_core);
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

    printf("%d kills and %llu crashes at points of a build, seed %" PRIu64
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
    int kills = 8, rounds = 1;
    uint64_t pause_ms = 3000;
    struct rng rng;

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
            pause_ms = strtoull(argv[i + 1], NULL, 10);
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
              "[--pause-ms MS] [--seed S]\n"
              "       index --ops N [--plant yes] [--seed S]\n",
              stderr);
        return 2;
    }
    l.counts =
        mmap(NULL, sizeof(*l.counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    rng_init(&rng, l.seed);
    if (l.ops)
        return run_ops(&l);
    l.namespace = l.dir;
    run_whole(&l, "CreateTable", life_create);
    if (l.ceph_conf) {
        for (int i = 0; i < rounds && l.counts->problems < 10; i++)
            run_pool(&l, &rng, kills, pause_ms);
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
