/* main.c: runs scenarios, checks their histories, and checks that the checker finds planted bugs.
 *
 * Why strict linearizability is asked for: a write is answered after the view that readers use
 * shows it, and views only go forward. A read during a write that is not answered yet shows either
 * the view before or the one after; once one reader has seen the one after, all later ones do. So
 * nothing can go back, and the histories (which hold many reads during each write) must bear it
 * out. A write without an answer may land at any time after its call, or never.
 *
 * A page of GetRange is one point in time on an engine that gives snapshots, however its rows are
 * stored and laid out; the reference promises none. Elsewhere each row is read for itself. */
#include "bug.h"
#include "by_sql.h"
#include "check.h"
#include "faults.h"
#include "follow.h"

#include "base/fault.h"
#include "life.h"

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BUG_REQUESTS 2500
#define BUG_TRIES 3
#define BUG_FAULTS 2  /* while a bug is planted under several servers, ... */
#define BUG_PAUSE_S 1 /* ... of so long at most */
#define SHIFT_MS 4000

struct run {
    uint64_t seed;
    const char *widerowd;
    const char *work;   /* folder */
    const char *engine; /* with servers: one that they can share */
    int servers;        /* 0: one, and all scenarios for it */
    const char *only;   /* part of the names to run; NULL: all */
    const char *bugs;   /* with servers: part of the names of bugs to plant there; NULL: none */
    int faults;         /* of a run of "servers under faults" */
    int rounds;
    int pause_s; /* how long a server is stopped */
    double scale;
    int passed, failed, skipped;
    size_t requests, operations;
    int bug_tables; /* made so far */
};

struct scenario {
    const char *name;
    size_t requests;
    int groups, locks;
    bool http, wide, fresh, shared;
    bool cuts_values; /* so small are partitions; that batches were refused for it is asked for */
    void (*disturb)(struct workload *w);
    int64_t run_ms_min; /* so that partitions are split and merged meanwhile, which is asked for */
    struct filling filling;
    int page_rows; /* see target.h */
    int txns;      /* percent of the plans */
    bool follows;  /* struct workload_conf */
    int by_sql;    /* likewise */
};

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void sleep_ms(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_folder(const char *dir)
{
    nftw(dir, remove_one, 32, FTW_DEPTH | FTW_PHYS);
}

/* ---- histories */

/* All operations of a group, in the order of their calls. */
struct group_ops {
    struct op *ops;
    size_t count;
};

static int compare_calls(const void *a, const void *b)
{
    const struct op *x = a, *y = b;

    if (x->call_ns != y->call_ns)
        return x->call_ns < y->call_ns ? -1 : 1;
    return x->client - y->client;
}

static void collect(const struct workload *w, int group, struct group_ops *out)
{
    *out = (struct group_ops){0};
    for (int i = 0; i < w->conf.clients; i++)
        for (size_t j = 0; j < w->workers[i].op_count; j++)
            out->count += w->workers[i].ops[j].group == group;
    out->ops = mem_alloc((out->count + 1) * sizeof(*out->ops));
    out->count = 0;
    for (int i = 0; i < w->conf.clients; i++)
        for (size_t j = 0; j < w->workers[i].op_count; j++)
            if (w->workers[i].ops[j].group == group)
                out->ops[out->count++] = w->workers[i].ops[j];
    qsort(out->ops, out->count, sizeof(*out->ops), compare_calls);
    for (size_t i = 0; i < out->count; i++)
        out->ops[i].id = (uint32_t)i;
}

struct sampler {
    size_t requests, operations, unanswered, configs;
    int violations, undecided;
};

/* Checks every group; with `explain` the first violation is printed. */
static void check_all(const struct workload *w, bool explain, struct sampler *t)
{
    *t = (struct sampler){0};
    for (int i = 0; i < w->conf.clients; i++)
        t->requests += w->workers[i].requests;
    for (int g = 0; g < w->conf.groups; g++) {
        struct group_ops h;
        struct result r;

        collect(w, g, &h);
        check_history(h.ops, h.count, &r);
        t->operations += h.count;
        t->configs += r.configs;
        for (size_t i = 0; i < h.count; i++)
            t->unanswered += h.ops[i].outcome == MAYBE;
        t->violations += r.verdict == VIOLATION;
        t->undecided += r.verdict == UNDECIDED;
        if (explain && r.verdict == VIOLATION && t->violations == 1)
            check_explain(h.ops, h.count);
        if (explain && r.verdict == UNDECIDED)
            printf("    group %d: no verdict after %zu configs\n", g, r.configs);
        mem_free(h.ops);
    }
}

static const char *problem_of(const struct workload *w)
{
    for (int i = 0; i < w->conf.clients; i++)
        if (w->workers[i].problem[0])
            return w->workers[i].problem;
    return NULL;
}

/* ---- disturbances */

/* While one server stands still, others take over what it had, so their clients are never so long
 * without an answer. What ends a server or an OSD is not judged: that takes what it takes on a busy
 * machine. */
#define SILENT_S_MAX 10

/* A server that was started here ends with this thread (PR_SET_PDEATHSIG), so that stays. */
static void wait_for_the_end(struct workload *w)
{
    while (!atomic_load(&w->stop))
        sleep_ms(5);
}

/* Each life is long enough for partitions to be split and merged. */
static void kill_now_and_then(struct workload *w)
{
    for (int i = 1; i <= 4 && !atomic_load(&w->stop); i++) {
        for (int64_t ms = 0; ms < w->conf.run_ms_min / 5 && !atomic_load(&w->stop); ms += 2)
            sleep_ms(2);
        if (atomic_load(&w->stop))
            return;
        workload_count_cuts(w, &w->cuts);
        w->disturbances++;
        if (!server_restart(w->server)) {
            fprintf(stderr, "linear: the server did not come back\n");
            atomic_store(&w->left, 0);
            return;
        }
    }
    wait_for_the_end(w);
    workload_count_cuts(w, &w->cuts);
}

/* A server is killed, the cluster below loses a daemon and gets it back (LINEAR_CLUSTER is the
 * command that does it), another server is paused: each while clients go on, whatever they have
 * done already. */
static bool do_disturbance(struct workload *w, int i)
{
    struct server *paused = server_of(w->server, 1);

    switch (i) {
    case 0:
        return server_restart(server_of(w->server, 2));
    case 1:
        return !system(getenv("LINEAR_CLUSTER"));
    default:
        kill(paused->pid, SIGSTOP);
        sleep_ms(w->conf.pause_s * 1000);
        kill(paused->pid, SIGCONT);
        return true;
    }
}

/* A server stops itself in the middle of a repartition, at each of LINEAR_POINTS (of fault.def,
 * parted by blanks) in turn; without them this scenario is left out. */
#define STOP_TRIES 1800 /* of 50 ms: until it has something to cut */
#define WAKE_MS 3000 /* that a server goes on for with a repartition that another one has ended */

static bool stop_at(struct workload *w, struct server *s, const char *point)
{
    struct disturbance *d = NULL;
    char fault[64];
    int status;

    snprintf(fault, sizeof(fault), "%s:stop:1", point);
    s->spec.fault = fault;
    if (!server_restart(s))
        return false;
    s->spec.fault = NULL;
    for (int i = 0; i < STOP_TRIES && !d; i++) {
        sleep_ms(50);
        if (waitpid(s->pid, &status, WNOHANG | WUNTRACED) != s->pid)
            continue;
        if (!WIFSTOPPED(status)) {
            fprintf(stderr, "linear: the server died, status %d\n", status);
            s->pid = 0;
            return false;
        }
        d = workload_disturb(w, point, SILENT_S_MAX);
    }
    if (!d)
        return false;
    sleep_ms(w->conf.pause_s * 1000 / 2);
    kill(s->pid, SIGCONT);
    workload_disturbed(d);
    sleep_ms(WAKE_MS);
    if (waitpid(s->pid, &status, WNOHANG) != s->pid)
        return true;
    fprintf(stderr, "linear: the server died when it went on, status %d\n", status);
    s->pid = 0;
    return false;
}

static void stop_in_cuts(struct workload *w)
{
    size_t size = strlen(getenv("LINEAR_POINTS")) + 1;
    struct server *s = server_of(w->server, 1);
    char *points = memcpy(mem_alloc(size), getenv("LINEAR_POINTS"), size);

    atomic_store(&w->hold, true);
    for (char *rest = points, *point; (point = strtok_r(rest, " ", &rest));) {
        if (w->disturbances < DISTURBANCES_MAX && stop_at(w, s, point))
            continue;
        fprintf(stderr, "linear: no cut was stopped at %s\n", point);
        w->disturbances = 0; /* the run has failed */
        s->spec.fault = NULL;
        server_restart(s); /* one that may yet stop itself, or has, would not heed SIGTERM */
        break;
    }
    sleep_ms(1000);
    atomic_store(&w->hold, false);
    mem_free(points);
}

static void disturb_servers(struct workload *w)
{
    static const char *const names[] = {"server killed", "OSD killed and back", "server paused"};

    atomic_store(&w->hold, true);
    for (int i = 0; i < 3; i++) {
        struct disturbance *d;

        if (i == 1 && !getenv("LINEAR_CLUSTER"))
            continue;
        sleep_ms(i == 2 ? 5000 : 1000); /* the pause shall not be blamed for what the OSD did */
        d = workload_disturb(w, names[i], i == 2 ? SILENT_S_MAX : 0);
        if (!do_disturbance(w, i)) {
            fprintf(stderr, "linear: %s: it could not be done\n", names[i]);
            w->disturbances = 0; /* the run has failed */
            break;
        }
        workload_disturbed(d);
    }
    sleep_ms(1000);
    atomic_store(&w->hold, false);
}

/* Commits that fail before or after the sync; storage is reopened after each. */
static void fail_commits(struct workload *w)
{
#ifdef WR_FAULTS
    static const char *const faults[] = {"commit_before_sync:error:3",
                                         "commit_after_sync_before_watermark:error:3",
                                         "commit_after_watermark_before_publish:error:3"};
    long long all = atomic_load(&w->left);

    for (int i = 1; i <= 6 && !atomic_load(&w->stop); i++) {
        while (!atomic_load(&w->stop) && atomic_load(&w->left) > all - all * i / 7)
            sleep_ms(2);
        fault_arm(faults[i % 3]);
        w->disturbances++;
        sleep_ms(100);
    }
    fault_arm(NULL);
#else
    (void)w;
#endif
}

/* ---- scenarios */

static const struct scenario scenarios[] = {
    {"library, rows stored whole", 80000, 24, .http = false},
    {"library, rows stored cell by cell", 50000, 24, .wide = true},
    {"library, rows of 6,000 cells", 1500, 6, .filling = {.columns = 6000, .column_bytes = 1}},
    {"library, rows of 1 KB columns", 1500, 6, .filling = {.columns = 1500, .column_bytes = 1000}},
    {"library, 70 columns named", 10000, 8,
     .filling = {.columns = 300, .column_bytes = 1, .named = 68}},
    {"library, rows in random:4", 2000, 4, .filling = {.layout = "random:4", .rows = 1500}},
    {"library, rows in hash:8", 2000, 4,
     .filling = {.layout = "hash:8", .rows = 1500, .apart = true}},
    {"HTTP, rows of 6,000 cells", 1000, 4, .http = true,
     .filling = {.columns = 6000, .column_bytes = 1}},
    {"library, pages that end early", 4000, 8, .page_rows = 3},
    {"library, rows in random:4, short pages", 1000, 4,
     .filling = {.layout = "random:4", .rows = 300}, .page_rows = 200},
    {"library, rows in hash:8, short pages", 1000, 4,
     .filling = {.layout = "hash:8", .rows = 300, .apart = true}, .page_rows = 200},
    {"library, transactions", 20000, 16, .txns = 25},
    {"library, transactions, cell by cell", 8000, 16, .txns = 25, .wide = true},
    {"library, eight hot groups", 20000, 8, .http = false},
    {"library, commits that fail", 10000, 24, .disturb = fail_commits, .txns = 5},
    {"HTTP, rows stored whole", 30000, 24, .http = true, .run_ms_min = 15000},
    {"HTTP, rows stored cell by cell", 10000, 24, .http = true, .wide = true, .run_ms_min = 15000,
     .txns = 10},
    {"library, followed", 30000, 24, .follows = true},
    {"library, cell by cell, followed", 10000, 24, .wide = true, .txns = 10, .follows = true},
    {"library, commits fail, followed", 10000, 24, .disturb = fail_commits, .follows = true},
    {"HTTP, server killed", 6000, 24, .http = true, .fresh = true, .disturb = kill_now_and_then,
     .run_ms_min = 20000, .txns = 10, .follows = true},
    {"HTTP and SQL", 40000, 24, .http = true, .by_sql = 20},
    {"HTTP and SQL, transactions", 15000, 24, .http = true, .by_sql = 20, .txns = 10},
    {"HTTP and SQL, server killed", 4000, 24, .http = true, .fresh = true, .by_sql = 20,
     .disturb = kill_now_and_then, .run_ms_min = 12000, .txns = 10},
    {"servers take turns", 6000, 24, .http = true, .shared = true, .txns = 10},
    {"servers take turns, cell by cell", 3000, 24, .http = true, .wide = true, .shared = true,
     .txns = 10},
    {"servers take turns, rows of 6,000 cells", 1000, 4, .http = true, .shared = true,
     .filling = {.columns = 6000, .column_bytes = 1}},
    {"servers take turns, values are cut", 8000, 16, .http = true, .wide = true, .shared = true,
     .cuts_values = true},
    {"servers take turns, followed", 6000, 24, .http = true, .shared = true, .follows = true},
    {"servers killed and paused", 12000, 24, .http = true, .fresh = true, .shared = true,
     .disturb = disturb_servers, .txns = 10},
    {"servers killed, paused, followed", 12000, 24, .http = true, .fresh = true, .shared = true,
     .disturb = disturb_servers, .follows = true},
    {"servers under faults", 20000, 48, .locks = 2, .http = true, .fresh = true, .shared = true,
     .disturb = faults_disturb, .txns = 10},
    {"servers stopped in cuts", 12000, 24, .http = true, .fresh = true, .shared = true,
     .disturb = stop_in_cuts},
};

static bool wanted(const struct run *r, const char *name)
{
    return !r->only || strstr(name, r->only);
}

static void prepare(struct target_spec *spec, const struct scenario *sc, int server)
{
    if (sc->disturb == faults_disturb)
        faults_prepare(spec, server);
}

static bool open_others(struct run *r, const struct scenario *sc, struct server *first,
                        const struct target_spec *spec)
{
    for (int i = 1; sc->shared && i < r->servers; i++) {
        struct server *s = mem_zalloc(sizeof(*s));
        struct target_spec mine = *spec;
        char *dir = mem_alloc(560); /* the server's, to the end of the program */

        snprintf(dir, 560, "%s.%d", spec->dir, i);
        remove_folder(dir);
        mine.dir = dir;
        prepare(&mine, sc, i);
        if (!server_open(s, &mine))
            return false;
        s->next = first->next;
        first->next = s;
    }
    return true;
}

static void close_all(struct server *first)
{
    for (struct server *s = first, *next; s; s = next) {
        next = s->next;
        server_close(s);
        mem_free(s);
    }
}

static bool run_scenario(struct run *r, const struct scenario *sc, uint64_t seed)
{
    struct workload *w = mem_zalloc(sizeof(*w));
    struct server *s = mem_zalloc(sizeof(*s));
    struct workload_conf conf = {.table = "linear",
                                 .seed = seed,
                                 .clients = CLIENTS_MAX,
                                 .groups = sc->groups,
                                 .locks = sc->locks,
                                 .txns = sc->txns,
                                 .requests = (size_t)((double)sc->requests * r->scale),
                                 .run_ms_min = sc->run_ms_min,
                                 .shift_ms =
                                     sc->run_ms_min || sc->disturb == stop_in_cuts ? SHIFT_MS : 0,
                                 .range_is_atomic = !sc->shared,
                                 .filling = sc->filling,
                                 .fresh = sc->fresh,
                                 .servers = sc->shared ? r->servers : 0,
                                 .pause_s = r->pause_s,
                                 .faults = r->faults,
                                 .follows = sc->follows,
                                 .by_sql = sc->by_sql,
                                 .cuts_values = sc->cuts_values,
                                 .cuts = sc->run_ms_min > 0,
                                 .disturb = sc->disturb};
    struct target_spec spec = {.http = sc->http,
                               .sql = sc->by_sql > 0,
                               .engine = r->engine,
                               .widerowd = r->widerowd,
                               .wide = sc->wide,
                               .brief = sc->disturb != NULL, /* many are left without their end */
                               .page_rows = sc->page_rows,
                               .small = sc->cuts_values};
    double begin = seconds(), ran;
    struct sampler t = {0};
    struct pauses pauses[DISTURBANCES_MAX];
    size_t spanned = 0, said = 0;
    char dir[512];
    bool ok;

    snprintf(dir, sizeof(dir), "%s/data", r->work);
    remove_folder(dir);
    if (sc->shared) {
        char name[64];

        snprintf(name, sizeof(name), "linear-%llu-%d", (unsigned long long)seed, (int)getpid());
        setenv("WIDEROW_NAMESPACE", name, 1);
    }
    spec.dir = dir;
    prepare(&spec, sc, 0);
    if (sc->disturb == fail_commits)
        setenv("LINEAR_QUIET", "1", 1); /* failures are what it asks for */
    ok = server_open(s, &spec) && open_others(r, sc, s, &spec) && workload_run(w, s, &conf);
    ran = seconds() - begin;
    if (ok && sc->run_ms_min && !sc->disturb)
        workload_count_cuts(w, &w->cuts);
    for (int i = 0; i < conf.clients; i++) {
        spanned += w->workers[i].spanned;
        said += w->workers[i].sql ? by_sql_count(w->workers[i].sql) : 0;
    }
    if (ok) {
        check_all(w, true, &t);
        if (problem_of(w))
            printf("    %s\n", problem_of(w));
        if (w->followed.problem[0])
            printf("    the stream: %s\n", w->followed.problem);
        ok = !w->followed.problem[0] && !t.violations && !t.undecided && !problem_of(w) &&
             t.requests >= conf.requests && (!sc->disturb || w->disturbances) &&
             (!sc->cuts_values || spanned) && (!sc->by_sql || said) &&
             (!sc->run_ms_min || (atomic_load(&w->has_split) && atomic_load(&w->has_merged)));
    }
    for (size_t i = 0; i < w->disturbances && sc->shared; i++) {
        workload_pauses(w, &w->list[i], &pauses[i]);
        ok = ok && (!w->list[i].silent_s_max || pauses[i].silent_s < w->list[i].silent_s_max);
    }
    printf("%-36s %8zu requests %8zu operations %5zu unanswered %8zu configs %6.1f s + %5.1f s  "
           "%s\n",
           sc->name, t.requests, t.operations, t.unanswered, t.configs, ran,
           seconds() - begin - ran, ok ? "ok" : "FAILED");
    if (sc->by_sql)
        printf("    %zu of the plans, by %d clients of %d, were said in SQL\n", said, sc->by_sql,
               conf.clients);
    if (sc->follows)
        printf("    the stream: %zu records by %zu reads, of which %zu came to nothing\n",
               w->followed.records, w->followed.reads, w->followed.refused);
    if (sc->run_ms_min)
        printf("    meanwhile %llu partitions were cut in two and %llu pairs merged, %zu are left; "
               "the longest took %.1f ms\n",
               (unsigned long long)w->cuts.splits, (unsigned long long)w->cuts.merges,
               w->cuts.partitions, (double)w->cuts.longest_us / 1000);
    if (sc->cuts_values)
        printf("    %zu rows of atomic batches were refused, as they spanned partitions\n",
               spanned);
    for (size_t i = 0; i < w->disturbances && sc->shared; i++) {
        const struct pauses *p = &pauses[i];

        printf(
            "    %-20s %5.1f s: longest without any answer %.2f s (after %.1f s; %zu refusals%s%s "
            "in it), longest wait for one %.2f s\n",
            w->list[i].name, (double)(w->list[i].end_ns - w->list[i].begin_ns) / 1e9, p->silent_s,
            p->after_s, p->refused, p->refused ? ", " : "",
            p->refused ? wr_error_name(p->code) : "", p->waited_s);
    }
    fflush(stdout);
    unsetenv("LINEAR_QUIET");
    r->requests += t.requests;
    r->operations += t.operations;
    workload_release(w);
    mem_free(w);
    close_all(s);
    remove_folder(dir);
    return ok;
}

static void run_scenarios(struct run *r)
{
    for (size_t i = 0; i < PORT_COUNT(scenarios); i++) {
        bool ok = true;

        if (scenarios[i].disturb == stop_in_cuts && !getenv("LINEAR_POINTS"))
            continue;
        if (scenarios[i].disturb == faults_disturb && !r->faults)
            continue;
        if (!wanted(r, scenarios[i].name) || scenarios[i].shared != (r->servers > 0))
            continue;
#ifndef WR_FAULTS
        if (scenarios[i].disturb == fail_commits || scenarios[i].disturb == stop_in_cuts) {
            printf("SKIPPED: %s: built without fault points\n", scenarios[i].name);
            r->skipped++;
            continue;
        }
#endif
        for (int round = 0; round < r->rounds && ok; round++)
            ok = run_scenario(r, &scenarios[i], r->seed + i * 104729 + (uint64_t)round * 7919);
        r->passed += ok;
        r->failed += !ok;
    }
}

/* ---- planted bugs */

static bool is_of_transactions(int bug)
{
    return bug != BUG_NONE && strncmp(bug_name(bug), TXN_BUG, strlen(TXN_BUG)) == 0;
}

static bool find_bug(struct run *r, struct server *s, int bug, const struct filling *filling,
                     int try, size_t *strikes)
{
    struct workload *w = mem_zalloc(sizeof(*w));
    struct workload_conf conf = {.clients = 16,
                                 .groups = 4,
                                 .requests = BUG_REQUESTS,
                                 .range_is_atomic = !r->servers,
                                 .servers = r->servers,
                                 .locks = r->servers ? 1 : 0,
                                 .txns = is_of_transactions(bug) ? 30 : 0,
                                 .fresh = r->servers > 0,
                                 .faults = r->servers ? BUG_FAULTS : 0,
                                 .pause_s = BUG_PAUSE_S,
                                 .disturb = r->servers ? faults_disturb : NULL,
                                 .seed = r->seed + (uint64_t)try * 31};
    struct sampler t = {0};
    char table[32];
    bool found;

    snprintf(table, sizeof(table), "bug_%d", r->bug_tables++);
    if (filling)
        conf.filling = *filling;
    conf.table = table;
    conf.saboteur = saboteur_new(bug);
    found = workload_run(w, s, &conf);
    if (found) {
        check_all(w, getenv("LINEAR_SHOW_BUGS"), &t);
        if (problem_of(w))
            printf("    %s\n", problem_of(w));
        found = t.violations && !problem_of(w);
    }
    *strikes += saboteur_strikes(conf.saboteur);
    saboteur_free(conf.saboteur);
    workload_release(w);
    mem_free(w);
    r->operations += bug == BUG_NONE ? t.operations : 0;
    return found;
}

/* Bugs that are planted once more where reads take several scans. */
static const struct filled_bug {
    const char *name;
    struct filling filling;
} filled_bugs[] = {
    {"a row of two versions", {.columns = 300, .column_bytes = 1, .named = 68}},
    {"a page of two moments", {.layout = "random:4", .rows = 200}},
    {"a page of two moments", {.layout = "hash:8", .rows = 200, .apart = true}},
};

static void run_bug(struct run *r, struct server *s, int bug, const struct filling *filling)
{
    size_t strikes = 0;
    bool found = false, good;
    char where[40] = "";

    for (int try = 0; try < (bug == BUG_NONE ? 1 : BUG_TRIES) && !found; try++)
        found = find_bug(r, s, bug, filling, try, &strikes);
    good = found == (bug != BUG_NONE);
    if (filling)
        snprintf(where, sizeof(where), ", %s", filling->layout ? filling->layout : "wide rows");
    printf("%s%-*s %8zu  %s%s\n", bug_name(bug), 44 - (int)strlen(bug_name(bug)), where, strikes,
           found ? "found" : "nothing found", good ? "" : "  FAILED");
    fflush(stdout);
    r->passed += good;
    r->failed += !good;
}

/* Servers as those of the scenario with faults. */
static bool open_bug_servers(struct run *r, struct server *first)
{
    static const struct scenario sc = {.shared = true, .disturb = faults_disturb};
    struct target_spec spec = {.http = true, .engine = r->engine, .widerowd = r->widerowd};
    char name[64];
    char *dir = mem_alloc(512); /* the server's, to the end of the program */

    snprintf(name, sizeof(name), "bugs-%llu-%d-%d", (unsigned long long)r->seed, (int)getpid(),
             r->bug_tables);
    setenv("WIDEROW_NAMESPACE", name, 1);
    snprintf(dir, 512, "%s/bugs.%d", r->work, r->bug_tables);
    spec.dir = dir;
    prepare(&spec, &sc, 0);
    return server_open(first, &spec) && open_others(r, &sc, first, &spec);
}

/* ---- planted bugs of streams */

static const char *const follow_bugs[FOLLOW_BUGS] = {
    [FOLLOW_SOUND] = "stream: (none, as a control)",
    [FOLLOW_PASSES] = "stream: a record left out",
    [FOLLOW_REPEATS] = "stream: a record twice",
    [FOLLOW_LATE] = "stream: a record told late",
    [FOLLOW_DRAWN] = "stream: number drawn before the append",
};

/* The last one is the server's: it stays broken. */
static void run_follow_bug(struct run *r, struct server *s, enum follow_bug bug)
{
    struct workload *w = mem_zalloc(sizeof(*w));
    struct workload_conf conf = {.clients = 16,
                                 .groups = 8,
                                 .requests = bug == FOLLOW_DRAWN ? 4 * BUG_REQUESTS : BUG_REQUESTS,
                                 .range_is_atomic = !r->servers,
                                 .servers = r->servers,
                                 .fresh = r->servers > 0,
                                 .follows = true,
                                 .follow_bug = bug,
                                 .seed = r->seed};
    char table[32];
    bool ran, good;

    snprintf(table, sizeof(table), "bug_%d", r->bug_tables++);
    conf.table = table;
    if (bug == FOLLOW_DRAWN && !r->servers)
        life_plant(s->target.db);
    ran = workload_run(w, s, &conf);
    good = ran && !problem_of(w) && (w->followed.problem[0] != 0) == (bug != FOLLOW_SOUND);
    printf("%-44s %8zu of %zu records  %s%s\n", follow_bugs[bug], w->followed.struck,
           w->followed.records, w->followed.problem[0] ? w->followed.problem : "nothing found",
           good ? "" : "  FAILED");
    fflush(stdout);
    workload_release(w);
    mem_free(w);
    r->passed += good;
    r->failed += !good;
}

static void run_follow_bugs(struct run *r, struct server *s, const char *only)
{
    for (int bug = FOLLOW_SOUND; bug < FOLLOW_BUGS; bug++)
        if ((!only || strstr(follow_bugs[bug], only)) && !(bug == FOLLOW_DRAWN && r->servers))
            run_follow_bug(r, s, (enum follow_bug)bug);
}

/* On a pool servers are started with that one: one log's numbers are drawn by whoever carries. */
static void run_drawn_bug(struct run *r)
{
    struct server *s = mem_zalloc(sizeof(*s));

#ifndef WR_FAULTS
    printf("SKIPPED: %s: built without fault points\n", follow_bugs[FOLLOW_DRAWN]);
    r->skipped++;
    mem_free(s);
    return;
#endif
    setenv("WR_FAULT", "log_unguarded:error:1+", 1);
    if (open_bug_servers(r, s))
        run_follow_bug(r, s, FOLLOW_DRAWN);
    else
        r->failed++;
    unsetenv("WR_FAULT");
    close_all(s);
}

/* A server of which an UPDATE that reads the row writes it whatever others did in between; clients
 * of SQL have to show it, and that there is nothing without it. */
static void run_sql_bug(struct run *r, bool planted)
{
    struct target_spec spec = {.http = true, .sql = true, .engine = "mem", .widerowd = r->widerowd};
    const char *name = planted ? "SQL: UPDATE without its condition" : "SQL: (none, as a control)";
    struct server *s = mem_zalloc(sizeof(*s));
    struct workload *w = mem_zalloc(sizeof(*w));
    struct workload_conf conf = {.table = "by_sql",
                                 .clients = 16,
                                 .groups = 2,
                                 .requests = 2 * BUG_REQUESTS,
                                 .by_sql = 12,
                                 .range_is_atomic = true,
                                 .seed = r->seed};
    struct sampler t = {0};
    char dir[512];
    bool good;

    snprintf(dir, sizeof(dir), "%s/by-sql", r->work);
    spec.dir = dir;
    spec.fault = planted ? "sql_update_unguarded:error:1+" : NULL;
    good = server_open(s, &spec) && workload_run(w, s, &conf);
    if (good)
        check_all(w, !planted || getenv("LINEAR_SHOW_BUGS"), &t);
    if (problem_of(w))
        printf("    %s\n", problem_of(w));
    good = good && !problem_of(w) && (t.violations > 0) == planted;
    printf("%-44s %8s  %s%s\n", name, "", t.violations ? "found" : "nothing found",
           good ? "" : "  FAILED");
    fflush(stdout);
    workload_release(w);
    mem_free(w);
    close_all(s);
    remove_folder(dir);
    r->passed += good;
    r->failed += !good;
}

static void run_sql_bugs(struct run *r)
{
    if (r->only && !strstr("SQL", r->only))
        return;
    run_sql_bug(r, false);
#ifdef WR_FAULTS
    run_sql_bug(r, true);
#else
    printf("SKIPPED: SQL: UPDATE without its condition: built without fault points\n");
    r->skipped++;
#endif
}

static void run_bugs(struct run *r)
{
    struct target_spec spec = {.engine = "mem", .dir = ""};
    struct server *s = mem_zalloc(sizeof(*s));
    const char *only = r->servers ? r->bugs : r->only;
    bool ok = r->servers ? open_bug_servers(r, s) : server_open(s, &spec);

    printf("\n%-44s %8s  %s\n", "planted bug", "strikes", "");
    for (int bug = BUG_NONE; ok && bug < bug_count(); bug++) {
        if (only && !strstr(bug_name(bug), only))
            continue;
        if (r->servers && strcmp(bug_name(bug), PAGE_BUG) == 0)
            continue;
        run_bug(r, s, bug, NULL);
        for (size_t i = 0; i < PORT_COUNT(filled_bugs) && !r->servers; i++)
            if (strcmp(filled_bugs[i].name, bug_name(bug)) == 0)
                run_bug(r, s, bug, &filled_bugs[i].filling);
    }
    if (ok)
        run_follow_bugs(r, s, only);
    r->failed += !ok;
    close_all(s);
    if (r->servers && (!only || strstr(follow_bugs[FOLLOW_DRAWN], only)))
        run_drawn_bug(r);
    if (!r->servers)
        run_sql_bugs(r);
}

int main(int argc, char **argv)
{
    struct run r = {.seed = 0,
                    .widerowd = "build/widerowd",
                    .engine = "rocks",
                    .rounds = 1,
                    .pause_s = 20,
                    .scale = 1};
    double begin = seconds();
    char work[] = "/tmp/widerow-linear.XXXXXX";

    rng_secret(&r.seed, 4);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0)
            r.seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--widerowd") == 0)
            r.widerowd = argv[i + 1];
        else if (strcmp(argv[i], "--rounds") == 0)
            r.rounds = (int)strtol(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--scale") == 0)
            r.scale = strtod(argv[i + 1], NULL);
        else if (strcmp(argv[i], "--only") == 0)
            r.only = argv[i + 1];
        else if (strcmp(argv[i], "--engine") == 0)
            r.engine = argv[i + 1];
        else if (strcmp(argv[i], "--pause") == 0)
            r.pause_s = (int)strtol(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--servers") == 0)
            r.servers = (int)strtol(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--faults") == 0)
            r.faults = (int)strtol(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--bugs") == 0)
            r.bugs = argv[i + 1];
        else {
            fprintf(stderr, "usage: linear [--seed N] [--widerowd PATH] [--rounds N] [--scale X] "
                            "[--only PART-OF-A-NAME] [--engine NAME --servers N --pause S "
                            "--faults N --bugs PART-OF-A-NAME]\n");
            return 2;
        }
    }
    if ((r.faults || (r.servers && r.bugs)) && !faults_are_possible())
        return 2;
    if (!mkdtemp(work))
        return 2;
    r.work = work;
    printf("linear: seed %llu, %d clients\n", (unsigned long long)r.seed, CLIENTS_MAX);
    run_scenarios(&r);
    if (!r.servers || r.bugs)
        run_bugs(&r);
    remove_folder(work);
    printf("\n%zu requests, %zu operations checked, %.1f s\n", r.requests, r.operations,
           seconds() - begin);
    printf("linear: %d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped);
    return r.failed != 0;
}
