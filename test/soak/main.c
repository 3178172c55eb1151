/* main.c: soak --widerowd FILE --widerow FILE --preload FILE --work DIR [--seconds N] [--seed N]
 * [--steps 0] (the clock is steady: to tell what is to blame) */
#include "door.h"
#include "soak.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PROBLEMS_SHOWN 12
#define SECONDS_DEFAULT 60
#define LONG_LIVES 6 /* of a run */
#define LONG_LIFE_US_MIN 8000000
#define JUDGED_SECONDS_MIN                                                                         \
    600 /* from here on a life must have been long enough to judge memory by */
#define SPLITS_SECONDS_MIN 180

static pthread_mutex_t print_lock = PTHREAD_MUTEX_INITIALIZER;
static struct soak soak;

void crash_case_begin(struct crash *run)
{
    run->broken = false;
    run->problems = 0;
}

bool crash_case_end(struct crash *run)
{
    bool ok = !run->broken;

    run->passed += ok;
    run->failed += !ok;
    run->broken = false;
    return ok;
}

static void print_problem(const char *fmt, va_list args)
{
    printf("FAILED: after %lld s: ",
           (long long)(clock_mono_us(&soak.run.clock) - soak.end_us) / 1000000 +
               (long long)soak.seconds);
    vprintf(fmt, args);
    printf("\n");
    fflush(stdout);
}

void crash_problem(struct crash *run, const char *fmt, ...)
{
    va_list args;

    pthread_mutex_lock(&print_lock);
    run->broken = true;
    if (++run->problems <= PROBLEMS_SHOWN) {
        va_start(args, fmt);
        print_problem(fmt, args);
        va_end(args);
    }
    pthread_mutex_unlock(&print_lock);
}

void crash_give_up(struct crash *run, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    print_problem(fmt, args);
    va_end(args);
    printf("seed %llu\nsoak: %d passed, %d failed, 0 skipped\n", (unsigned long long)run->seed,
           run->passed, run->failed + 1);
    fflush(stdout);
    _exit(1);
}

/* ---- the time of day, which steps; clients go by the same, or the server would refuse what they
 * sign */

static int64_t (*real_wall_us)(struct clock *self);

static int64_t stepped_wall_us(struct clock *self)
{
    return real_wall_us(self) + atomic_load(soak.clock_us);
}

static void clock_make(struct soak *s)
{
    int fd;

    snprintf(s->clock_file, sizeof(s->clock_file), "%s/clock", s->run.work);
    fd = open(s->clock_file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(*s->clock_us)) != 0)
        crash_give_up(&s->run, "cannot make %s: %s", s->clock_file, strerror(errno));
    s->clock_us = mmap(NULL, sizeof(*s->clock_us), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (s->clock_us == MAP_FAILED)
        crash_give_up(&s->run, "cannot map %s: %s", s->clock_file, strerror(errno));
    real_wall_us = s->run.clock.wall_us;
    s->run.clock.wall_us = stepped_wall_us;
}

/* ---- the run */

static bool parse(struct soak *s, int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *value = argv[i + 1];

        if (strcmp(argv[i], "--widerowd") == 0)
            s->run.widerowd = value;
        else if (strcmp(argv[i], "--widerow") == 0)
            s->run.widerow = value;
        else if (strcmp(argv[i], "--preload") == 0)
            s->run.preload = value;
        else if (strcmp(argv[i], "--work") == 0)
            snprintf(s->run.work, sizeof(s->run.work), "%s", value);
        else if (strcmp(argv[i], "--seconds") == 0)
            s->seconds = strtoll(value, NULL, 10);
        else if (strcmp(argv[i], "--steps") == 0)
            s->steady = strcmp(value, "0") == 0;
        else if (strcmp(argv[i], "--seed") == 0)
            s->run.seed = strtoull(value, NULL, 10);
        else
            return false;
    }
    return argc % 2 == 1 && s->run.widerowd && s->run.widerow && s->run.preload && s->run.work[0] &&
           s->seconds > 0;
}

static void say_figures(const struct soak *s)
{
    printf("  %d lives: %d kills, %d stops, %d starts killed; %lld steps of the clock, %lld of "
           "them back; %d rekeyings, "
           "%d backups\n",
           s->lives, s->kills, s->stops, s->starts_killed, (long long)s->clock_steps,
           (long long)s->clock_back, s->rekeys, s->backups);
    printf("  %llu changes acknowledged, %llu reads compared, %llu unanswered, %llu refused; %llu "
           "partitions split, "
           "%llu pairs merged\n",
           (unsigned long long)s->acked, (unsigned long long)s->reads,
           (unsigned long long)s->unsure, (unsigned long long)s->refused,
           (unsigned long long)s->splits, (unsigned long long)s->merges);
    watch_print(&s->watch);
}

/* A run that did not do what it is for has not shown anything. */
static void check_coverage(struct soak *s)
{
    crash_case_begin(&s->run);
    if (!s->acked || !s->reads || !s->kills)
        crash_problem(&s->run, "nothing was acknowledged, read or killed");
    if (s->seconds >= SPLITS_SECONDS_MIN && (!s->splits || !s->merges))
        crash_problem(&s->run, "no partition was %s", s->splits ? "merged" : "split");
    if (s->seconds >= JUDGED_SECONDS_MIN &&
        (!s->watch.judged || (!s->clock_back && !s->steady) || !s->rekeys || s->backups < 2))
        crash_problem(
            &s->run,
            "no life was long enough to judge, or no backup, rekeying or step back was made");
    crash_case_end(&s->run);
}

static void run(struct soak *s)
{
    static char dir[300];
    int64_t life_us = s->seconds * 1000000 / LONG_LIVES;
    bool well;

    if (life_us < LONG_LIFE_US_MIN)
        life_us = LONG_LIFE_US_MIN;
    snprintf(dir, sizeof(dir), "%s/data", s->run.work);
    server_init(&s->server, &s->run, dir);
    s->server.clock_file = s->clock_file;
    s->book = mem_zalloc(sizeof(*s->book));
    s->book->run = &s->run;
    watch_init(&s->watch, &s->run, atoi(MEMORY_MIB_TEXT));
    crash_case_begin(&s->run);
    well = life_begin(s);
    crash_case_end(&s->run);
    s->end_us = clock_mono_us(&s->run.clock) + s->seconds * 1000000;
    while (well && clock_mono_us(&s->run.clock) < s->end_us)
        well = life_run(s, life_us);
    if (well)
        life_end(s);
    else
        server_kill(&s->server);
    say_figures(s);
    if (well)
        check_coverage(s);
    mem_free(s->watch.samples);
    mem_free(s->book);
}

int main(int argc, char **argv)
{
    struct soak *s = &soak;

    clock_real_init(&s->run.clock);
    s->run.seed = (uint64_t)clock_wall_us(&s->run.clock) % 1000000000;
    s->seconds = SECONDS_DEFAULT;
    if (!parse(s, argc, argv)) {
        fprintf(stderr, "usage: soak --widerowd FILE --widerow FILE --preload FILE --work DIR "
                        "[--seconds N] [--seed N]\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    curl_global_init(CURL_GLOBAL_ALL);
    rng_init(&s->run.rng, s->run.seed);
    s->run.port = crash_port_choose(&s->run.rng);
    clock_make(s);
    setenv("WIDEROW_INSTANCE", DOOR_INSTANCE, 1);
    setenv("WIDEROW_ACCESS_KEY_ID", DOOR_KEY_ID, 1);
    setenv("WIDEROW_ACCESS_KEY_SECRET", DOOR_KEY_SECRET, 1);
    unsetenv("WR_FAULT");
    unsetenv("WIDEROW_ADMIN");
    printf("soak: %lld s, seed %llu\n", (long long)s->seconds, (unsigned long long)s->run.seed);
    run(s);
    printf("soak: %d passed, %d failed, 0 skipped\n", s->run.passed, s->run.failed);
    return s->run.failed ? 1 : 0;
}
