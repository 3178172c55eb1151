/* import.c: `widerow sample | widerow import` against a server that is killed again and again. Each
 * time it is back, every row whose key stands in the --acked file must be there, and every row that
 * is there must be a whole line of the sample. The import itself must go on and end well. */
#include "door.h"
#include "server.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILLS 20
#define KILLS_NIGHTLY 100
#define CHECK_EVERY_NIGHTLY 10 /* kills: a row that is lost stays lost, and a check reads all */
#define RECORDS_PER_KILL 4000
#define STALL_MS_MAX 60000

static const char *const keys[2] = {"DeviceID", "OrderNumber"};
static const char *const columns[4] = {"CardID", "SellerID", "amount", "time"};
static const int column_fields[4] = {0, 1, 4, 5};

/* A line of the sample. */
struct record {
    int64_t device, order;
    bytes fields[6];
    bool acked, found;
};

struct import_test {
    struct crash *run;
    struct server server;
    int lines; /* of the --acked file, in its first `counted` bytes */
    off_t counted;
    pid_t importer; /* 0: ended */
    int importer_status;
    int records, kills, check_every;
    char acked_file[256], sample_file[256], log_file[256];
    char *sample;
    struct record *all; /* by device and order */
    int count, acked;
    struct crash_times ready;
};

/* ---- the sample */

static int record_compare(const void *a, const void *b)
{
    const struct record *x = a, *y = b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static struct record *find(struct import_test *t, int64_t device, int64_t order)
{
    struct record want = {.device = device, .order = order};

    return bsearch(&want, t->all, (size_t)t->count, sizeof(*t->all), record_compare);
}

static char *file_read(const char *path, size_t *size)
{
    FILE *f = fopen(path, "r");
    struct stat st;
    char *text;

    *size = 0;
    if (!f || fstat(fileno(f), &st) != 0) {
        if (f)
            fclose(f);
        return NULL;
    }
    text = mem_alloc((size_t)st.st_size + 1);
    *size = fread(text, 1, (size_t)st.st_size, f);
    text[*size] = 0;
    fclose(f);
    return text;
}

static void sample_parse(struct import_test *t)
{
    char *line = strchr(t->sample, '\n'), *next; /* behind the header */

    t->all = mem_zalloc((size_t)t->records * sizeof(*t->all));
    for (line = line ? line + 1 : NULL; line && *line && t->count < t->records; line = next) {
        struct record *r = &t->all[t->count++];

        next = line + strcspn(line, "\n");
        next += *next == '\n';
        for (int i = 0; i < 6; i++) {
            size_t n = strcspn(line, ",\n");

            r->fields[i] = bytes_of(line, n);
            line += n + (line[n] == ',');
        }
        r->device = strtoll(r->fields[2].ptr, NULL, 10);
        r->order = strtoll(r->fields[3].ptr, NULL, 10);
    }
    qsort(t->all, (size_t)t->count, sizeof(*t->all), record_compare);
    for (int i = 1; i < t->count; i++)
        if (record_compare(&t->all[i - 1], &t->all[i]) == 0)
            crash_give_up(t->run, "the sample has two lines of one key");
}

static void sample_make(struct import_test *t)
{
    char command[1000];
    size_t size;

    snprintf(command, sizeof(command), "'%s' sample campus --records %d --seed %llu >'%s'",
             t->run->widerow, t->records, (unsigned long long)t->run->seed, t->sample_file);
    if (system(command) != 0 || !(t->sample = file_read(t->sample_file, &size)))
        crash_give_up(t->run, "no sample: %s", command);
    sample_parse(t);
    if (t->count != t->records)
        crash_give_up(t->run, "the sample has %d lines, not %d", t->count, t->records);
}

/* ---- the importer */

static void importer_start(struct import_test *t)
{
    char command[2000];

    snprintf(command, sizeof(command),
             "'%s' sample campus --records %d --seed %llu | '%s' import - --table orders --create "
             "--key DeviceID:integer,OrderNumber:integer --columns "
             "CardID:string,SellerID:string,amount:string,time:string --workers 4 --batch 40 "
             "--shuffle --window 2000 --seed %llu --retry 60 --quiet --acked '%s' --endpoint "
             "http://127.0.0.1:%d >'%s' 2>&1",
             t->run->widerow, t->records, (unsigned long long)t->run->seed, t->run->widerow,
             (unsigned long long)t->run->seed, t->acked_file, t->run->port, t->log_file);
    t->importer = fork();
    if (t->importer == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
}

static bool importer_ended(struct import_test *t)
{
    if (t->importer && waitpid(t->importer, &t->importer_status, WNOHANG) == t->importer)
        t->importer = 0;
    return !t->importer;
}

static void importer_signal(struct import_test *t, int signal)
{
    if (!importer_ended(t))
        kill(-t->importer, signal); /* with the shell's other half */
}

/* Whole lines in the --acked file, which only grows. */
static int acked_lines(struct import_test *t)
{
    int fd = open(t->acked_file, O_RDONLY | O_CLOEXEC);
    char text[4096];
    ssize_t n;

    while (fd >= 0 && (n = pread(fd, text, sizeof(text), t->counted)) > 0) {
        for (ssize_t i = 0; i < n; i++)
            t->lines += text[i] == '\n';
        t->counted += n;
    }
    if (fd >= 0)
        close(fd);
    return t->lines;
}

/* Waits until the importer has been told of so many rows. False: it ended, or stands still. */
static bool wait_for(struct import_test *t, int lines)
{
    int64_t until_ms = clock_mono_ms(&t->run->clock) + STALL_MS_MAX;

    while (acked_lines(t) < lines) {
        if (importer_ended(t))
            return false;
        if (clock_mono_ms(&t->run->clock) > until_ms) {
            crash_problem(t->run, "the import stands still");
            return false;
        }
        crash_sleep_us(2000);
    }
    return true;
}

/* ---- checking */

static void mark_acked(struct import_test *t)
{
    size_t size;
    char *text = file_read(t->acked_file, &size), *line = text, *end;

    t->acked = 0;
    for (; line && (end = strchr(line, '\n')); line = end + 1) {
        char *comma;
        int64_t device = strtoll(line, &comma, 10), order = strtoll(comma + 1, NULL, 10);
        struct record *r = find(t, device, order);

        if (!r)
            crash_problem(t->run, "the --acked file names (%lld, %lld), which is no line",
                          (long long)device, (long long)order);
        else
            r->acked = true;
    }
    mem_free(text);
    for (int i = 0; i < t->count; i++) {
        t->acked += t->all[i].acked;
        t->all[i].found = false;
    }
}

static bool check_row(void *arg, const struct wr_row *row)
{
    struct import_test *t = arg;
    int64_t device = row->key.columns[0].value.integer, order = row->key.columns[1].value.integer;
    struct record *r = find(t, device, order);
    bool whole = r && row->cell_count == PORT_COUNT(columns);

    for (size_t i = 0; whole && i < PORT_COUNT(columns); i++) {
        const struct wr_cell *cell = door_cell(row, columns[i]);

        whole = cell && cell->value.type == WR_VARCHAR &&
                bytes_equal(cell->value.bytes, r->fields[column_fields[i]]);
    }
    if (!whole)
        crash_problem(t->run, "row (%lld, %lld) is not what the sample says", (long long)device,
                      (long long)order);
    if (r)
        r->found = true;
    return true;
}

static void check(struct import_test *t, const char *where)
{
    struct door d;
    int lost = 0;

    mark_acked(t);
    door_open(&d, t->run);
    if (door_scan(&d, "orders", keys, 2, INT64_MIN, INT64_MAX, check_row, t))
        crash_problem(t->run, "%s: the table cannot be read: %s", where, d.c.text);
    door_close(&d);
    for (int i = 0; i < t->count; i++) {
        if (!t->all[i].acked || t->all[i].found)
            continue;
        if (lost++ < 5)
            crash_problem(t->run, "%s: the acknowledged row (%lld, %lld) is lost", where,
                          (long long)t->all[i].device, (long long)t->all[i].order);
    }
    if (lost)
        crash_problem(t->run, "%s: %d of %d acknowledged rows are lost", where, lost, t->acked);
}

static bool start(struct import_test *t)
{
    char *text;

    server_start(&t->server);
    if (server_wait_ready(&t->server))
        return true;
    text = server_output(&t->server);
    crash_problem(t->run, "the server did not start: %s", text);
    mem_free(text);
    return false;
}

static bool one_kill(struct import_test *t, int i)
{
    int at = (int)((int64_t)i * t->records / (t->kills + 1));
    char where[32];

    snprintf(where, sizeof(where), "kill %d", i);
    crash_case_begin(t->run);
    if (!wait_for(t, at + (int)rng_below(&t->run->rng, RECORDS_PER_KILL / 2)))
        crash_problem(t->run, "%s: the import has ended already", where);
    crash_sleep_us(crash_between(&t->run->rng, 0, 3000));
    server_kill(&t->server);
    if (!start(t)) {
        crash_case_end(t->run);
        return false;
    }
    crash_times_add(&t->ready, t->server.ready_us);
    if (i % t->check_every == 0) {
        /* On a slow machine it would have ended before all kills. */
        importer_signal(t, SIGSTOP);
        check(t, where);
        importer_signal(t, SIGCONT);
    }
    return crash_case_end(t->run);
}

/* The import goes on to its end, all rows are there, and the server stops in order. */
static void finish(struct import_test *t)
{
    crash_case_begin(t->run);
    while (!importer_ended(t))
        crash_sleep_us(5000);
    if (!WIFEXITED(t->importer_status) || WEXITSTATUS(t->importer_status) != 0) {
        size_t size;
        char *text = file_read(t->log_file, &size);

        crash_problem(t->run, "the import failed: %s", text ? text : "");
        mem_free(text);
    }
    check(t, "at the end");
    if (t->acked != t->count)
        crash_problem(t->run, "%d rows were acknowledged, the sample has %d", t->acked, t->count);
    if (!server_stop(&t->server))
        crash_problem(t->run, "the server did not stop cleanly");
    crash_case_end(t->run);
}

void import_part(struct crash *run)
{
    struct import_test t = {.run = run,
                            .kills = run->nightly ? KILLS_NIGHTLY : KILLS,
                            .check_every = run->nightly ? CHECK_EVERY_NIGHTLY : 1};
    char dir[256];
    bool ok = true;

    if (run->count)
        t.kills = run->count;
    t.records = RECORDS_PER_KILL * (t.kills + 1);
    snprintf(dir, sizeof(dir), "%s/import", run->work);
    snprintf(t.acked_file, sizeof(t.acked_file), "%s/acked", run->work);
    snprintf(t.sample_file, sizeof(t.sample_file), "%s/sample.csv", run->work);
    snprintf(t.log_file, sizeof(t.log_file), "%s/import.log", run->work);
    unlink(t.acked_file);
    server_init(&t.server, run, dir);
    sample_make(&t);
    if (!start(&t))
        crash_give_up(run, "no server to kill");
    importer_start(&t);
    for (int i = 1; i <= t.kills && ok; i++)
        ok = one_kill(&t, i);
    if (ok)
        finish(&t);
    else
        importer_signal(&t, SIGKILL);
    server_kill(&t.server);
    printf("  %d kills, %d of %d rows acknowledged and found\n", t.kills, t.acked, t.count);
    crash_times_print(&t.ready, "ready again");
    mem_free(t.all);
    mem_free(t.sample);
}
