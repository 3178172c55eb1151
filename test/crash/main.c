/* main.c: crash PART [flags]: runs one part of the crash tests and prints a line of counts. */
#include "door.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PROBLEMS_SHOWN 6

static pthread_mutex_t print_lock = PTHREAD_MUTEX_INITIALIZER;

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

void crash_problem(struct crash *run, const char *fmt, ...)
{
    va_list args;

    pthread_mutex_lock(&print_lock);
    run->broken = true;
    if (run->quiet || ++run->problems > PROBLEMS_SHOWN) {
        pthread_mutex_unlock(&print_lock);
        return;
    }
    printf("FAILED: ");
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
    pthread_mutex_unlock(&print_lock);
}

void crash_give_up(struct crash *run, const char *fmt, ...)
{
    va_list args;

    printf("FAILED: ");
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\nseed %llu\ncrash: %d passed, %d failed, %d skipped\n", (unsigned long long)run->seed,
           run->passed, run->failed + 1, run->skipped);
    fflush(stdout);
    _exit(1);
}

static const struct size_bin {
    const char *name;
    void (*run)(struct crash *run);
} parts[] = {
    {"import", import_part}, {"kill", kill_part},   {"points", points_part},
    {"damage", damage_part}, {"power", power_part}, {"recovery", recovery_part},
};

static int usage(void)
{
    fprintf(stderr,
            "usage: crash import|kill|points|damage|power|recovery --widerowd FILE --widerow FILE\n"
            "             --work DIR [--preload FILE] [--seed N] [--nightly] [--count N]\n");
    return 2;
}

static bool parse(struct crash *run, int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--nightly") == 0) {
            run->nightly = true;
            continue;
        }
        if (!value)
            return false;
        if (strcmp(argv[i], "--widerowd") == 0)
            run->widerowd = value;
        else if (strcmp(argv[i], "--widerow") == 0)
            run->widerow = value;
        else if (strcmp(argv[i], "--preload") == 0)
            run->preload = value;
        else if (strcmp(argv[i], "--work") == 0)
            snprintf(run->work, sizeof(run->work), "%s", value);
        else if (strcmp(argv[i], "--seed") == 0)
            run->seed = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "--count") == 0)
            run->count = (int)strtol(value, NULL, 10);
        else
            return false;
        i++;
    }
    return run->widerowd && run->widerow && run->work[0];
}

int main(int argc, char **argv)
{
    struct crash run = {0};
    const struct size_bin *part = NULL;
    int64_t start_us;

    clock_real_init(&run.clock);
    run.seed = (uint64_t)clock_wall_us(&run.clock) % 1000000000;
    for (size_t i = 0; argc > 1 && i < PORT_COUNT(parts); i++)
        if (strcmp(parts[i].name, argv[1]) == 0)
            part = &parts[i];
    if (!part || !parse(&run, argc, argv))
        return usage();
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    curl_global_init(CURL_GLOBAL_ALL);
    rng_init(&run.rng, run.seed);
    run.port = crash_port_choose(&run.rng);
    setenv("WIDEROW_INSTANCE", DOOR_INSTANCE, 1);
    setenv("WIDEROW_ACCESS_KEY_ID", DOOR_KEY_ID, 1);
    setenv("WIDEROW_ACCESS_KEY_SECRET", DOOR_KEY_SECRET, 1);
    unsetenv("WR_FAULT");
    start_us = clock_mono_us(&run.clock);
    printf("%s: seed %llu\n", part->name, (unsigned long long)run.seed);
    part->run(&run);
    printf("  %.1f s\n", (double)(clock_mono_us(&run.clock) - start_us) / 1e6);
    printf("%s: %d passed, %d failed, %d skipped\n", part->name, run.passed, run.failed,
           run.skipped);
    return run.failed ? 1 : 0;
}
