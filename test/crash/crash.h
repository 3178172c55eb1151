/* crash.h: what all parts of the crash tests share: the run's settings, its counts, its chance.
 *
 * Each part is one function. It runs cases, calls crash_pass() or crash_problem() for each, and
 * prints its figures. Everything random comes from the seed, but when a kill lands is up to the
 * machine: a seed repeats what was written and where damage was done, not the instant. */
#ifndef CRASH_CRASH_H
#define CRASH_CRASH_H

#include "base/clock.h"
#include "base/port.h"
#include "base/rng.h"

#include <stdbool.h>
#include <stdint.h>

struct crash {
    const char *widerowd, *widerow; /* the programs under test */
    const char *preload;            /* preload/preload.c, built */
    char work[200];                 /* a folder of our own */
    uint64_t seed;
    bool nightly;
    int count; /* kills, flips, states of a part; 0: what the tier says */
    int port;  /* all servers listen on it, one after the other */
    struct clock clock;
    struct rng rng; /* the main thread's */
    int passed, failed, skipped;
    bool broken;  /* a problem since crash_case_begin() ... */
    int problems; /* ... and how many */
    bool quiet;   /* problems are wanted: do not print them */
};

/* A case is passed if no problem was reported between begin and end. */
void crash_case_begin(struct crash *run);
bool crash_case_end(struct crash *run);

/* Prints a line that begins with FAILED; the first few of a case. Any thread. */
void crash_problem(struct crash *run, const char *fmt, ...) PORT_PRINTF(2, 3);

/* Cannot go on: prints and ends the program. */
PORT_NORETURN void crash_give_up(struct crash *run, const char *fmt, ...) PORT_PRINTF(2, 3);

void crash_sleep_us(int64_t us);

/* from to to, both included. */
int64_t crash_between(struct rng *rng, int64_t from, int64_t to);

/* A free port below those that the system gives to outgoing connections: a client that connects
 * while no server listens could else be given the very port it calls, and talk to itself. */
int crash_port_choose(struct rng *rng);

/* Figures of many measurements, in microseconds. */
struct crash_times {
    int64_t *us;
    int count, capacity;
};

void crash_times_add(struct crash_times *t, int64_t us);
/* "median 45 ms, max 80 ms, 100 measured"; frees what it holds. */
void crash_times_print(struct crash_times *t, const char *what);

/* The parts. */
void import_part(struct crash *run);
void kill_part(struct crash *run);
void points_part(struct crash *run);
void damage_part(struct crash *run);
void power_part(struct crash *run);
void recovery_part(struct crash *run);

#endif
