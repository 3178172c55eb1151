/* fault.c: the registry behind fault_hit(). The environment is read at the first pass of any point,
 * so a test that starts a child need only set WR_FAULT. */
#include "base/fault.h"

#ifdef WR_FAULTS

#include "base/port.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct armed {
    unsigned at; /* 0: not armed */
    bool crash;
    bool stop;
    bool on; /* and at every later pass */
};

static const char *const fault_names[FAULT_COUNT] = {
#define FAULT(name) #name,
#include "base/fault.def"
#undef FAULT
};

static struct {
    pthread_mutex_t lock;
    bool ready; /* the environment has been read */
    struct armed armed[FAULT_COUNT];
    unsigned passes[FAULT_COUNT];
} faults = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int fault_find(const char *name, size_t n)
{
    for (int i = 0; i < FAULT_COUNT; i++)
        if (strlen(fault_names[i]) == n && memcmp(fault_names[i], name, n) == 0)
            return i;
    return -1;
}

/* Reads one "name:what:N[+]" of n bytes. */
static bool fault_parse(const char *s, size_t n, struct armed *armed)
{
    const char *what = memchr(s, ':', n);
    const char *count = what ? memchr(what + 1, ':', (size_t)(s + n - what - 1)) : NULL;
    struct armed a = {0};
    char *end;
    int f;

    if (!count)
        return false;
    f = fault_find(s, (size_t)(what - s));
    a.crash = strncmp(what, ":crash:", 7) == 0;
    a.stop = strncmp(what, ":stop:", 6) == 0;
    if (f < 0 || (!a.crash && !a.stop && strncmp(what, ":error:", 7) != 0))
        return false;
    a.at = (unsigned)strtoul(count + 1, &end, 10);
    if (*end == '+') {
        a.on = true;
        end++;
    }
    if (end != s + n || a.at == 0)
        return false;
    armed[f] = a;
    return true;
}

static bool fault_parse_all(const char *list, struct armed *armed)
{
    memset(armed, 0, sizeof(*armed) * FAULT_COUNT);
    while (list && *list) {
        size_t n = strcspn(list, ",");

        if (!fault_parse(list, n, armed))
            return false;
        list += n + (list[n] == ',');
    }
    return true;
}

/* Under the lock. A mistyped point would make a test pass for nothing, so it ends the process. */
static void fault_read_environment(void)
{
    const char *list = getenv("WR_FAULT");

    faults.ready = true;
    if (list && !fault_parse_all(list, faults.armed)) {
        fprintf(stderr, "WR_FAULT cannot be read: %s\n", list);
        abort();
    }
}

bool fault_arm(const char *list)
{
    struct armed armed[FAULT_COUNT];

    if (!fault_parse_all(list, armed))
        return false;
    pthread_mutex_lock(&faults.lock);
    faults.ready = true;
    memcpy(faults.armed, armed, sizeof(armed));
    memset(faults.passes, 0, sizeof(faults.passes));
    pthread_mutex_unlock(&faults.lock);
    return true;
}

unsigned fault_passes(enum fault f)
{
    unsigned n;

    pthread_mutex_lock(&faults.lock);
    n = faults.passes[f];
    pthread_mutex_unlock(&faults.lock);
    return n;
}

bool fault_hit(enum fault f)
{
    bool hit, crash, stop;

    pthread_mutex_lock(&faults.lock);
    if (!faults.ready)
        fault_read_environment();
    faults.passes[f]++;
    hit = faults.armed[f].at && (faults.passes[f] == faults.armed[f].at ||
                                 (faults.armed[f].on && faults.passes[f] > faults.armed[f].at));
    crash = hit && faults.armed[f].crash;
    stop = hit && faults.armed[f].stop;
    pthread_mutex_unlock(&faults.lock);
    if (crash) {
        /* No handlers, no buffers: as abrupt as a kill from outside. */
        fprintf(stderr, "fault: crash at %s\n", fault_names[f]);
        abort();
    }
    if (stop)
        raise(SIGSTOP);
    return hit && !stop;
}

#else

/* An empty translation unit is not C. */
typedef int fault_not_built;

#endif
