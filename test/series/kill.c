/* kill.c: a process puts rows into ever new months of a series, freezes and drops old ones, and is
 * killed: at the n-th pass of a named point, or at a random moment. What it was told is in a pipe.
 * The next process finds each step done or not begun: each acknowledged row of a month that is
 * there, no row of one that was dropped, none twice; and goes on where it was. */
#include "kill.h"

#include "series.h"

#include "base/fault.h"
#include "base/rng.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MONTHS_MAX 2000
#define ROWS 6      /* of a month */
#define KEPT_HOT 2  /* months that are not frozen */
#define KEPT_WARM 3 /* frozen ones that are not dropped */
#define RANDOM_MS 400

/* What the process that was killed had been told, and what it had asked last. */
struct told {
    struct series_sums months[MONTHS_MAX];
    struct series_row asked; /* whose answer did not come; number -1: none */
    int newest;              /* month with an acknowledged row; -1: none */
    int frozen, dropped;     /* acknowledged; -1: none */
    int asked_frozen, asked_dropped;
};

struct message {
    char kind; /* r: a row is asked for, R: acknowledged; f, F, d, D: months frozen and dropped */
    struct series_row row;
};

/* ---- the process that is killed ---- */

static void say(int fd, char kind, struct series_row row)
{
    struct message m;

    memset(&m, 0, sizeof(m));
    m.kind = kind;
    m.row = row;
    if (write(fd, &m, sizeof(m)) != sizeof(m))
        _exit(3);
}

static void ask(struct wr_db *db, int fd, char kind, struct series_row row)
{
    char message[256] = "";
    int code;

    say(fd, kind, row);
    code = kind == 'r'
               ? series_put(db, &row, message)
               : series_until(db, kind == 'f' ? WR_SERIES_FREEZE : WR_SERIES_DROP, row.month);
    if (code) {
        fprintf(stderr, "%c of month %d is answered %d: %s\n", kind, row.month, code, message);
        _exit(4);
    }
    say(fd, (char)(kind - 'a' + 'A'), row);
}

static void live(const char *dir, int fd, int from, const char *fault)
{
    struct wr_db *db = series_open_db(dir, true);

    if (fault && !fault_arm(fault))
        _exit(5);
    for (int month = from; month < MONTHS_MAX; month++) {
        for (int i = 0; i < ROWS; i++)
            ask(db, fd, 'r', (struct series_row){i, month, i});
        if (month >= KEPT_HOT)
            ask(db, fd, 'f', (struct series_row){0, month - KEPT_HOT, 0});
        if (month >= KEPT_HOT + KEPT_WARM)
            ask(db, fd, 'd', (struct series_row){0, month - KEPT_HOT - KEPT_WARM, 0});
    }
    _exit(6);
}

/* ---- the one that looks ---- */

static void hear(struct told *t, const struct message *m)
{
    t->asked.number = -1;
    switch (m->kind) {
    case 'r':
        t->asked = m->row;
        break;
    case 'R':
        series_sums_add(&t->months[m->row.month], &m->row);
        t->newest = m->row.month > t->newest ? m->row.month : t->newest;
        break;
    case 'f':
        t->asked_frozen = m->row.month;
        break;
    case 'F':
        t->frozen = m->row.month;
        break;
    case 'd':
        t->asked_dropped = m->row.month;
        break;
    default:
        t->dropped = m->row.month;
        break;
    }
}

/* The last of the months that a description names; -1: none. */
static int month_named(bytes name)
{
    int64_t year = 0, month = 0;

    if (!name.len)
        return -1;
    if (name.len != 7 || sscanf(name.ptr, "%4ld-%2ld", &year, &month) != 2)
        series_die("a period is named '%.*s'", BYTES_FMT(name));
    return (int)((year - SERIES_FIRST_YEAR) * 12 + month - 1);
}

static void check_state(const struct told *t, const struct wr_series_result *s)
{
    int frozen = month_named(s->frozen), dropped = month_named(s->dropped);

    if (frozen != t->frozen && frozen != t->asked_frozen)
        series_die("frozen up to month %d, acknowledged %d, asked %d", frozen, t->frozen,
                   t->asked_frozen);
    if (dropped != t->dropped && dropped != t->asked_dropped)
        series_die("dropped up to month %d, acknowledged %d, asked %d", dropped, t->dropped,
                   t->asked_dropped);
    for (size_t i = 0; i < s->count; i++) {
        int month = month_named(s->periods[i].name);

        if (month <= dropped || s->periods[i].frozen != (month <= frozen))
            series_die("month %d is listed%s, with months frozen up to %d and dropped up to %d",
                       month, s->periods[i].frozen ? " frozen" : "", frozen, dropped);
    }
}

/* Exactly what was acknowledged, and perhaps the row whose answer did not come. */
static void check_rows(struct told *t, struct wr_db *db, int dropped)
{
    static struct series_sums found[MONTHS_MAX];
    static const struct series_sums none;

    series_scan(db, found, MONTHS_MAX);
    if (t->asked.number >= 0 && series_has(db, &t->asked)) {
        series_sums_add(&t->months[t->asked.month], &t->asked);
        t->newest = t->asked.month > t->newest ? t->asked.month : t->newest;
    }
    t->asked.number = -1;
    for (int i = 0; i < MONTHS_MAX; i++) {
        const struct series_sums *want = i <= dropped ? &none : &t->months[i];

        if (found[i].rows != want->rows || found[i].sum != want->sum)
            series_die("month %d has %llu rows, want %llu", i, (unsigned long long)found[i].rows,
                       (unsigned long long)want->rows);
    }
}

static void look(const char *dir, struct told *t)
{
    struct wr_db *db = series_open_db(dir, true);
    struct wr_reply *reply = series_describe(db);

    check_state(t, &reply->series);
    t->frozen = t->asked_frozen = month_named(reply->series.frozen);
    t->dropped = t->asked_dropped = month_named(reply->series.dropped);
    check_rows(t, db, t->dropped);
    wr_reply_free(reply);
    wr_close(db);
}

/* Lives once and is killed: at the fault, or after so many milliseconds. */
static void live_and_die(const char *dir, struct told *t, const char *fault, unsigned ms)
{
    int fds[2], status;
    struct message m;
    pid_t pid;

    /* A month that was begun is put anew, the same rows: so the next one. */
    if (pipe(fds) || (pid = fork()) < 0)
        series_die("no process can be started");
    if (!pid) {
        close(fds[0]);
        live(dir, fds[1], t->newest + 1, fault);
    }
    close(fds[1]);
    if (!fault) {
        usleep(ms * 1000);
        kill(pid, SIGKILL);
    }
    while (read(fds[0], &m, sizeof(m)) == sizeof(m))
        hear(t, &m);
    close(fds[0]);
    waitpid(pid, &status, 0);
    if (!WIFSIGNALED(status))
        series_die("the process ended with %d instead of being killed (%s)", WEXITSTATUS(status),
                   fault ? fault : "at a random moment");
}

int kill_run(const char *dir, int each, int random)
{
    static const char *const points[] = {"table_before_store", "table_stored",
                                         "table_before_notify", "commit_before_sync",
                                         "commit_before_complete"};
    static struct told t = {.asked = {.number = -1}, .newest = -1};
    struct wr_db *db = series_open_db(dir, true);
    int kills = 0;
    struct rng rng;

    rng_init(&rng, 23);
    if (series_make(db, 0, 0))
        series_die("the series cannot be made");
    wr_close(db);
    t.frozen = t.dropped = t.asked_frozen = t.asked_dropped = -1;
    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
        for (int n = 1; n <= each; n++, kills++) {
            char fault[64];

            snprintf(fault, sizeof(fault), "%s:crash:%d", points[i], n);
            live_and_die(dir, &t, fault, 0);
            look(dir, &t);
        }
    for (int i = 0; i < random; i++, kills++) {
        live_and_die(dir, &t, NULL, 20 + (unsigned)rng_below(&rng, RANDOM_MS));
        look(dir, &t);
    }
    printf("kill: %d kills, %d months, each time the exact rows\n", kills, t.newest + 1);
    return 0;
}
