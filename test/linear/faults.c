#include "faults.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CLUSTER "LINEAR_CLUSTER_DIR"
#define LINK "LINEAR_LINK"
#define PRELOAD "LINEAR_PRELOAD"
#define OSDS 3
#define LEAST_MS 500
#define DELAY_MS_MAX 4000
#define BETWEEN_MS 2000 /* on average: long enough for a lock to change hands in peace */

static void sleep_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* ---- the environment ---- */

static bool is_set(const char *name)
{
    if (getenv(name))
        return true;
    fprintf(stderr, "linear: %s is not set; test/rados/linear.sh does that\n", name);
    return false;
}

bool faults_are_possible(void)
{
    return is_set(CLUSTER) && is_set(LINK) && is_set(PRELOAD);
}

static int read_number(const char *folder, const char *file)
{
    char path[600];
    int number = 0;
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    f = fopen(path, "r");
    if (f && fscanf(f, "%d", &number) != 1)
        number = 0;
    if (f)
        fclose(f);
    return number;
}

void faults_prepare(struct target_spec *spec, int i)
{
    static const int clocks_ms[] = {0, -450, 450};

    spec->preload = getenv(PRELOAD);
    spec->clock_ms = clocks_ms[i % 3];
    spec->link_port = i == 1 ? read_number(getenv(LINK), "port") : 0;
}

/* ---- faults ---- */

/* Each lasts for so long and is over when the function returns. False: it could not be done. */
typedef bool fault_fn(struct workload *w, struct rng *r, int ms);

static struct server *any_server(struct workload *w, struct rng *r)
{
    return server_of(w->server, (int)rng_below(r, (uint64_t)w->conf.servers));
}

static bool pause_server(struct workload *w, struct rng *r, int ms)
{
    struct server *s = any_server(w, r);

    if (kill(s->pid, SIGSTOP))
        return false;
    sleep_ms(ms);
    return kill(s->pid, SIGCONT) == 0;
}

static bool kill_server(struct workload *w, struct rng *r, int ms)
{
    (void)ms;
    return server_restart(any_server(w, r));
}

/* A signal to the OSDs of which there is a bit. */
static bool signal_osds(unsigned which, int signal)
{
    char file[32], *run = NULL;
    bool ok = asprintf(&run, "%s/run", getenv(CLUSTER)) > 0;

    for (int i = 0; i < OSDS && ok; i++) {
        int pid;

        if (!(which & 1u << i))
            continue;
        snprintf(file, sizeof(file), "osd.%d.pid", i);
        pid = read_number(run, file);
        ok = pid > 0 && kill(pid, signal) == 0;
    }
    free(run);
    return ok;
}

static bool freeze(unsigned which, int ms)
{
    bool ok = signal_osds(which, SIGSTOP);

    sleep_ms(ms);
    return signal_osds(which, SIGCONT) && ok;
}

static bool freeze_osds(struct workload *w, struct rng *r, int ms)
{
    (void)w;
    (void)r;
    return freeze((1u << OSDS) - 1, ms);
}

static bool freeze_osd(struct workload *w, struct rng *r, int ms)
{
    (void)w;
    return freeze(1u << rng_below(r, OSDS), ms);
}

static bool kill_osd(struct workload *w, struct rng *r, int ms)
{
    const char *dir = getenv(CLUSTER);
    int osd = (int)rng_below(r, OSDS), code;
    char *command;

    (void)w;
    if (asprintf(&command,
                 "(test/rados/cluster.sh kill-osd %s %d && sleep %d.%03d && "
                 "test/rados/cluster.sh start-osd %s %d) >/dev/null 2>&1",
                 dir, osd, ms / 1000, ms % 1000, dir, osd) < 0)
        return false;
    code = system(command);
    free(command);
    return code == 0;
}

/* Puts a file into the folder of the link for so long. */
static bool mark_link(const char *file, const char *text, int ms)
{
    char path[600];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", getenv(LINK), file);
    f = fopen(path, "w");
    if (!f || fprintf(f, "%s", text) < 0 || fclose(f))
        return false;
    sleep_ms(ms);
    return unlink(path) == 0;
}

static bool cut_link(struct workload *w, struct rng *r, int ms)
{
    (void)w;
    (void)r;
    return mark_link("cut", "", ms);
}

/* Each piece of what goes through comes so much later: an operation and its answer take twice that.
 */
static bool slow_link(struct workload *w, struct rng *r, int ms)
{
    char delay_ms[16];

    (void)w;
    snprintf(delay_ms, sizeof(delay_ms), "%d", (int)(10 * pow(DELAY_MS_MAX / 10, rng_unit(r))));
    return mark_link("delay", delay_ms, ms);
}

/* In turn, so that the first ones are those that cost acknowledged changes before. */
static const struct fault {
    const char *name;
    fault_fn *run;
    int most_ms;
} faults[] = {
    {"server paused", pause_server, 40000}, {"OSDs frozen", freeze_osds, 4000},
    {"link cut", cut_link, 40000},          {"server paused", pause_server, 5000},
    {"OSD frozen", freeze_osd, 10000},      {"server killed", kill_server, 0},
    {"server paused", pause_server, 40000}, {"OSD killed and back", kill_osd, 5000},
    {"link slow", slow_link, 20000},
};

/* From LEAST_MS to the most, each doubling as likely as the next. */
static int choose_ms(const struct workload *w, struct rng *r, const struct fault *f)
{
    int most = w->conf.pause_s * 1000 < f->most_ms ? w->conf.pause_s * 1000 : f->most_ms;

    return most <= LEAST_MS ? LEAST_MS
                            : (int)(LEAST_MS * pow((double)most / LEAST_MS, rng_unit(r)));
}

void faults_disturb(struct workload *w)
{
    struct rng r;

    rng_init(&r, w->conf.seed);
    atomic_store(&w->hold, true);
    for (int i = 0; i < w->conf.faults && w->disturbances < DISTURBANCES_MAX; i++) {
        const struct fault *f = &faults[i % (int)PORT_COUNT(faults)];
        struct disturbance *d;

        sleep_ms(BETWEEN_MS / 2 + (int)rng_below(&r, BETWEEN_MS));
        d = workload_disturb(w, f->name, 0);
        if (!f->run(w, &r, choose_ms(w, &r, f))) {
            fprintf(stderr, "linear: %s: it could not be done\n", f->name);
            w->disturbances = 0; /* the run has failed */
            break;
        }
        workload_disturbed(d);
    }
    sleep_ms(BETWEEN_MS);
    atomic_store(&w->hold, false);
}
