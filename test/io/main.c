/* main.c: io PART [flags]: runs one part of the I/O tests and prints a line of counts. The counting
 * is what crash.h asks for. */
#include "io.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROBLEMS_SHOWN 4

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
    if (++run->problems <= PROBLEMS_SHOWN) {
        printf("FAILED: ");
        va_start(args, fmt);
        vprintf(fmt, args);
        va_end(args);
        printf("\n");
        fflush(stdout);
    }
    pthread_mutex_unlock(&print_lock);
}

void crash_give_up(struct crash *run, const char *fmt, ...)
{
    va_list args;

    printf("FAILED: ");
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\nio: %d passed, %d failed, %d skipped\n", run->passed, run->failed + 1, run->skipped);
    fflush(stdout);
    _exit(1);
}

static const struct size_bin {
    const char *name;
    void (*run)(struct io *io);
} parts[] = {{"full", full_part}, {"nth", nth_part}, {"storm", storm_part}};

static int usage(void)
{
    fprintf(stderr, "usage: io full|nth|storm --widerowd FILE --preload FILE --work DIR\n"
                    "          [--seed N] [--nightly] [--count N]\n");
    return 2;
}

static bool parse(struct io *io, int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--nightly") == 0) {
            io->run.nightly = true;
            continue;
        }
        if (!value)
            return false;
        if (strcmp(argv[i], "--widerowd") == 0)
            io->run.widerowd = value;
        else if (strcmp(argv[i], "--preload") == 0)
            io->preload = value;
        else if (strcmp(argv[i], "--work") == 0)
            snprintf(io->run.work, sizeof(io->run.work), "%s", value);
        else if (strcmp(argv[i], "--seed") == 0)
            io->run.seed = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "--count") == 0)
            io->run.count = (int)strtol(value, NULL, 10);
        else
            return false;
        i++;
    }
    return io->run.widerowd && io->preload && io->run.work[0];
}

int main(int argc, char **argv)
{
    struct io io = {0};
    const struct size_bin *part = NULL;
    char dir[256];
    int64_t start_us;

    clock_real_init(&io.run.clock);
    io.run.seed = (uint64_t)clock_wall_us(&io.run.clock) % 1000000000;
    for (size_t i = 0; argc > 1 && i < PORT_COUNT(parts); i++)
        if (strcmp(parts[i].name, argv[1]) == 0)
            part = &parts[i];
    if (!part || !parse(&io, argc, argv))
        return usage();
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    curl_global_init(CURL_GLOBAL_ALL);
    rng_init(&io.run.rng, io.run.seed);
    setenv("WIDEROW_INSTANCE", DOOR_INSTANCE, 1);
    setenv("WIDEROW_ACCESS_KEY_ID", DOOR_KEY_ID, 1);
    setenv("WIDEROW_ACCESS_KEY_SECRET", DOOR_KEY_SECRET, 1);
    unsetenv("WR_FAULT");
    start_us = clock_mono_us(&io.run.clock);
    printf("%s: seed %llu\n", part->name, (unsigned long long)io.run.seed);
    snprintf(dir, sizeof(dir), "%s/data", io.run.work);
    io_init(&io, dir);
    part->run(&io);
    printf("  %.1f s\n", (double)(clock_mono_us(&io.run.clock) - start_us) / 1e6);
    printf("%s: %d passed, %d failed, %d skipped\n", part->name, io.run.passed, io.run.failed,
           io.run.skipped);
    return io.run.failed ? 1 : 0;
}
