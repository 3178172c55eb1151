/* year.c: fourteen months of a series under load. Each month the wall clock is turned (libfaketime
 * is loaded in front, its offset stands in a file), the database is opened anew, as a clock that
 * jumps ahead is not believed before that, and while writers put rows of this month and the one
 * before, and readers look for rows of all months that are kept, the series ages: two months take
 * writes, six more are kept. The monotonic clock stays as it is. */
#include "year.h"

#include "series.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MONTHS 14
#define HOT 2
#define WARM 6
#define WRITERS 3
#define READERS 2
#define AGED_S 120 /* for the task to come by, which looks every two seconds */

struct month {
    pthread_mutex_t lock;
    struct series_row *rows; /* that were acknowledged */
    size_t count, room;
    struct series_sums sums;
};

struct year {
    struct wr_db *db;
    struct month months[MONTHS];
    int now;         /* the month it is */
    int rows;        /* to be put this month, by each writer */
    int first_kept;  /* months from here on must be found */
    atomic_int done; /* writers */
    _Atomic uint64_t reads;
};

/* ---- the clock ---- */

static const char *clock_file;
static struct timespec real_start, mono_start; /* before it was ever turned */

static int64_t month_start_s(int month)
{
    struct tm tm = {
        .tm_year = SERIES_FIRST_YEAR - 1900 + month / 12, .tm_mon = month % 12, .tm_mday = 1};

    return (int64_t)timegm(&tm);
}

/* The wall clock says that from now on, and goes on as the monotonic one. */
static void turn_clock(int64_t to_s)
{
    struct timespec mono;
    char next[512];
    FILE *f;

    clock_gettime(CLOCK_MONOTONIC, &mono);
    snprintf(next, sizeof(next), "%s.next", clock_file);
    f = fopen(next, "w");
    if (!f)
        series_die("%s cannot be written", next);
    fprintf(f, "%+lld\n",
            (long long)(to_s - (real_start.tv_sec + mono.tv_sec - mono_start.tv_sec)));
    fclose(f);
    rename(next, clock_file);
    for (int i = 0; llabs((long long)time(NULL) - (long long)to_s) > 60; i++) {
        if (i > 300)
            series_die("libfaketime does not turn the clock: it says %lld, not %lld",
                       (long long)time(NULL), (long long)to_s);
        usleep(100000);
    }
}

/* ---- load ---- */

static void remember(struct month *m, const struct series_row *row)
{
    pthread_mutex_lock(&m->lock);
    if (m->count == m->room) {
        m->room = 2 * m->room + 1024;
        m->rows = realloc(m->rows, m->room * sizeof(*m->rows));
    }
    m->rows[m->count++] = *row;
    series_sums_add(&m->sums, row);
    pthread_mutex_unlock(&m->lock);
}

static void *put_rows(void *arg)
{
    struct year *y = arg;
    static atomic_int writers;
    int id = atomic_fetch_add(&writers, 1);
    unsigned seed = (unsigned)id;

    for (int i = 0; i < y->rows; i++) {
        int month = y->now && i % 4 == 0 ? y->now - 1 : y->now;
        struct series_row row = {
            .card = rand_r(&seed) % 500, .month = month, .number = id * 100000 + i};
        char message[256];
        int code = series_put(y->db, &row, message);

        if (code)
            series_die("a row of month %d in month %d is answered %d: %s", month, y->now, code,
                       message);
        remember(&y->months[month], &row);
    }
    atomic_fetch_add(&y->done, 1);
    return NULL;
}

static bool pick(struct year *y, unsigned *seed, struct series_row *out)
{
    struct month *m = &y->months[y->first_kept + rand_r(seed) % (y->now - y->first_kept + 1)];
    bool any;

    pthread_mutex_lock(&m->lock);
    any = m->count != 0;
    if (any)
        *out = m->rows[(size_t)rand_r(seed) % m->count];
    pthread_mutex_unlock(&m->lock);
    return any;
}

static void *look_for_rows(void *arg)
{
    struct year *y = arg;
    unsigned seed = (unsigned)y->now;
    struct series_row row;

    while (atomic_load(&y->done) < WRITERS) {
        if (!pick(y, &seed, &row))
            continue;
        if (!series_has(y->db, &row))
            series_die("row %d of month %d is not found in month %d", row.number, row.month,
                       y->now);
        atomic_fetch_add(&y->reads, 1);
    }
    return NULL;
}

/* ---- a month ---- */

/* All that was acknowledged before of months that are kept, while others write. */
static void check_while_busy(struct year *y)
{
    struct series_sums found[MONTHS];
    uint64_t rows[MONTHS];

    for (int i = 0; i < MONTHS; i++) {
        pthread_mutex_lock(&y->months[i].lock);
        rows[i] = y->months[i].sums.rows;
        pthread_mutex_unlock(&y->months[i].lock);
    }
    series_scan(y->db, found, MONTHS);
    for (int i = y->first_kept; i < MONTHS; i++)
        if (found[i].rows < rows[i])
            series_die("in month %d, under load, month %d has %llu rows of %llu", y->now, i,
                       (unsigned long long)found[i].rows, (unsigned long long)rows[i]);
}

/* All that is kept, nothing twice, and nothing else. */
static void check_all(struct year *y)
{
    static const struct series_sums none;
    struct series_sums found[MONTHS];

    series_scan(y->db, found, MONTHS);
    for (int i = 0; i < MONTHS; i++) {
        const struct series_sums *want = i >= y->first_kept ? &y->months[i].sums : &none;

        if (found[i].rows != want->rows || found[i].sum != want->sum)
            series_die("in month %d, month %d has %llu rows, want %llu", y->now, i,
                       (unsigned long long)found[i].rows, (unsigned long long)want->rows);
    }
}

static bool reached(struct wr_db *db, int frozen, int dropped)
{
    struct wr_reply *reply = series_describe(db);
    char f[SERIES_TEXT_BYTES], d[SERIES_TEXT_BYTES];
    bool is;

    series_month(frozen, f);
    series_month(dropped, d);
    is = (frozen < 0 || bytes_equal(reply->series.frozen, bytes_str(f))) &&
         (dropped < 0 || bytes_equal(reply->series.dropped, bytes_str(d)));
    wr_reply_free(reply);
    return is;
}

static void wait_until_aged(struct year *y)
{
    for (int i = 0; !reached(y->db, y->now - HOT, y->now - HOT - WARM); i++) {
        if (i > AGED_S * 10)
            series_die("month %d: the series has not aged", y->now);
        usleep(100000);
    }
}

static void check_late(struct year *y)
{
    struct series_row late = {.card = 1, .month = y->now - HOT, .number = 99999999};
    char message[256];

    if (late.month < 0)
        return;
    if (series_put(y->db, &late, message) != WR_E_PARAMETER || !strstr(message, "is read-only"))
        series_die("a late row is answered '%s'", message);
    late.month = y->now - HOT - WARM;
    if (late.month >= 0 &&
        (series_put(y->db, &late, message) != WR_E_PARAMETER || !strstr(message, "was dropped")))
        series_die("a row of a dropped month is answered '%s'", message);
}

static void live_a_month(struct year *y)
{
    pthread_t threads[WRITERS + READERS];

    atomic_store(&y->done, 0);
    for (int i = 0; i < WRITERS + READERS; i++)
        pthread_create(&threads[i], NULL, i < WRITERS ? put_rows : look_for_rows, y);
    check_while_busy(y);
    wait_until_aged(y);
    for (int i = 0; i < WRITERS + READERS; i++)
        pthread_join(threads[i], NULL);
    check_all(y);
    check_late(y);
}

/* A clock that goes wrong while the server runs: what is kept stays, and what is read-only too. */
static void check_wild_clock(struct year *y, int64_t true_s, int months)
{
    turn_clock(month_start_s(y->now + months) + 86400 * 14);
    sleep(6); /* the task has looked twice */
    if (!reached(y->db, y->now - HOT, y->now - HOT - WARM))
        series_die("month %d: the series ages by a clock that jumped by %d months", y->now, months);
    check_all(y);
    check_late(y);
    turn_clock(true_s);
}

int year_run(const char *dir, int rows)
{
    static struct year y;
    uint64_t total = 0;

    clock_file = getenv("FAKETIME_TIMESTAMP_FILE");
    if (!clock_file)
        series_die("year needs libfaketime in front; test/series/run.sh does it");
    clock_gettime(CLOCK_REALTIME, &real_start);
    clock_gettime(CLOCK_MONOTONIC, &mono_start);
    y.rows = rows;
    for (int i = 0; i < MONTHS; i++)
        pthread_mutex_init(&y.months[i].lock, NULL);
    for (y.now = 0; y.now < MONTHS; y.now++) {
        int64_t now_s = month_start_s(y.now) + 86400 * 14;

        turn_clock(now_s);
        y.db = series_open_db(dir, false);
        if (!y.now && series_make(y.db, HOT, WARM))
            series_die("the series cannot be made");
        y.first_kept = y.now - HOT - WARM + 1 > 0 ? y.now - HOT - WARM + 1 : 0;
        live_a_month(&y);
        if (y.now == 6)
            check_wild_clock(&y, now_s, 10);
        if (y.now == 10)
            check_wild_clock(&y, now_s, -5);
        wr_close(y.db);
    }
    for (int i = 0; i < MONTHS; i++)
        total += y.months[i].sums.rows;
    printf("year: %d months, %llu rows put, %llu reads, each found its row\n", MONTHS,
           (unsigned long long)total, (unsigned long long)atomic_load(&y.reads));
    return 0;
}
