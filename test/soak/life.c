/* life.c: what happens to the server: one life after the other, and in each the disturbances of a
 * long one. */
#include "soak.h"
#include "writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_US 500000
#define STEP_SECONDS_MAX 600
#define OFFSET_SECONDS_MAX 1800
#define SHORT_LIVES 3 /* behind each long one */
#define SHORT_LIFE_US_MAX 2500000
#define BACKUP_EVERY_TICKS 40 /* on average, at first */
#define REKEY_EVERY_TICKS 24
#define STEP_EVERY_TICKS 12
#define PAUSE_EVERY_TICKS 60
#define DISK_EVERY_TICKS 20
#define REST_EVERY_TICKS 50
#define REST_US 4000000

/* ---- starting and ending a server */

static void flags_choose(struct soak *s)
{
    const char *flags[] = {
        "--admin",  "127.0.0.1:0",
        "--memory", MEMORY_MIB_TEXT "M",
        "--set",    "partition_bytes_max=65536",
        "--set",    rng_below(&s->run.rng, 2) ? "wide_row_cells=8" : "wide_row_cells=256",
        "--set",    "ttl_seconds_min=1",
        "--set",    "scrub_pass_s_min=5"};

    for (size_t i = 0; i < PORT_COUNT(flags); i++)
        s->server.flags[i] = flags[i];
    s->server.flags[PORT_COUNT(flags)] = NULL;
}

static bool start(struct soak *s)
{
    char *text;

    flags_choose(s);
    server_start(&s->server);
    if (server_wait_ready(&s->server))
        return true;
    text = server_output(&s->server);
    crash_problem(&s->run, "the server did not start: %s", text);
    mem_free(text);
    return false;
}

/* Perhaps a start that is killed half way. */
static void start_and_kill(struct soak *s)
{
    while (rng_below(&s->run.rng, 4) == 0) {
        flags_choose(s);
        server_start(&s->server);
        crash_sleep_us(crash_between(&s->run.rng, 0, 80000));
        if (server_ended(&s->server))
            crash_problem(&s->run, "the server ended by itself while it started");
        server_kill(&s->server);
        s->starts_killed++;
    }
}

static int create_table(struct door *d, const char *name, const char *const *keys, bool numbered,
                        int ttl_s)
{
    struct wr_key_schema schema[2] = {
        {.name = bytes_str(keys[0]), .type = WR_BIGINT},
        {.name = bytes_str(keys[1]), .type = WR_BIGINT, .auto_increment = numbered}};
    struct wr_request request = {
        .op = WR_OP_CREATE_TABLE,
        .create_table = {.table = bytes_str(name),
                         .key = schema,
                         .key_count = 2,
                         .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS,
                                     .ttl_s = ttl_s,
                                     .max_versions = 1},
                         .reserved = {.has_read = true, .has_write = true}}};
    struct wr_reply reply;

    door_clear(d);
    return door_exec(d, &request, &reply);
}

bool life_begin(struct soak *s)
{
    struct door d;
    int code = 0;

    if (!start(s))
        return false;
    door_open(&d, &s->run);
    for (enum table t = 0; t < TABLES && !code; t++)
        code = create_table(&d, tables[t].name, book_keys, false, -1);
    if (!code)
        code = create_table(&d, "numbered", numbered_keys, true, -1);
    if (code)
        crash_problem(&s->run, "the tables cannot be made: %s", d.c.text);
    door_close(&d);
    return code == 0;
}

/* ---- disturbances */

static void step_clock(struct soak *s)
{
    int64_t now = atomic_load(s->clock_us), most = (int64_t)OFFSET_SECONDS_MAX * 1000000;
    int64_t by = crash_between(&s->run.rng, -(int64_t)STEP_SECONDS_MAX * 1000000,
                               (int64_t)STEP_SECONDS_MAX * 1000000);

    if (s->steady)
        return;
    if (rng_below(&s->run.rng, 3) == 0)
        by /= 200; /* seconds */
    if (now + by > most || now + by < -most)
        by = -by;
    atomic_store(s->clock_us, now + by);
    s->clock_steps++;
    s->clock_back += by < 0;
}

static void rekey(struct soak *s)
{
    static const char *const layouts[] = {"hash:16", "plain", "random:5", "reverse:3", "hash:64"};
    enum table t = (enum table)rng_below(&s->run.rng, TABLES);
    struct wr_request request = {
        .op = WR_OP_REKEY_TABLE,
        .rekey_table = {.table = bytes_str(tables[t].name),
                        .action = rng_below(&s->run.rng, 8) ? WR_REKEY_START : WR_REKEY_CANCEL,
                        .layout = bytes_str(layouts[rng_below(&s->run.rng, PORT_COUNT(layouts))])}};
    struct wr_reply reply;
    struct door d;

    door_open(&d, &s->run);
    s->rekeys += door_exec(&d, &request, &reply) == 0;
    door_close(&d);
}

/* Runs words of the shell's, in which w is `widerow` and $dir the folder of backups; true if they
 * went well. */
static bool command(struct soak *s, const char *words)
{
    char line[3000], output[1000];
    size_t n;
    FILE *f;

    snprintf(line, sizeof(line),
             "exec 2>&1; export CRASH_CLOCK_FILE='%s' WIDEROW_ENDPOINT=http://127.0.0.1:%d "
             "dir='%s/backup'; w() { LD_PRELOAD='%s' timeout 300 '%s' \"$@\"; }; %s",
             s->clock_file, s->run.port, s->run.work, s->run.preload, s->run.widerow, words);
    f = popen(line, "r");
    if (!f)
        return false;
    n = fread(output, 1, sizeof(output) - 1, f);
    output[n] = 0;
    if (pclose(f) == 0)
        return true;
    crash_problem(&s->run, "%s: %s", words, output);
    return false;
}

/* A backup while writers work, verified. */
static void backup(struct soak *s)
{
    s->backups += command(s, "w backup $dir && w restore $dir --check && w digest --dir $dir && "
                             "rm -rf $dir");
}

/* Adds up what was split and merged in this life of the server, shortly before its end. */
static void count_splits(struct soak *s)
{
    struct door d;

    door_open(&d, &s->run);
    for (enum table t = 0; t < TABLES; t++) {
        struct wr_request request = {.op = WR_OP_DESCRIBE_PARTITIONS,
                                     .describe_partitions.table = bytes_str(tables[t].name)};
        struct wr_reply reply;

        door_clear(&d);
        if (door_exec(&d, &request, &reply) == 0) {
            s->splits += reply.partitions.splits;
            s->merges += reply.partitions.merges;
        }
    }
    door_close(&d);
}

static bool once_in(struct soak *s, uint64_t ticks)
{
    return rng_below(&s->run.rng, ticks) == 0;
}

/* Stopped for a moment, as a machine that swaps stops it. */
static void freeze(struct soak *s)
{
    kill(s->server.pid, SIGSTOP);
    crash_sleep_us(crash_between(&s->run.rng, 100000, 2500000));
    kill(s->server.pid, SIGCONT);
}

/* Lets partitions be idle for long enough to be merged. */
static void rest(struct soak *s)
{
    atomic_store(&s->book->rest, true);
    crash_sleep_us(REST_US);
    atomic_store(&s->book->rest, false);
}

/* Lets the writers work for so long; false if the server has ended by itself. */
static bool disturb(struct soak *s, int64_t us)
{
    int64_t until_us = clock_mono_us(&s->run.clock) + us;

    while (clock_mono_us(&s->run.clock) < until_us && !s->run.broken) {
        crash_sleep_us(us < TICK_US ? us : TICK_US);
        if (server_ended(&s->server)) {
            crash_problem(&s->run, "the server ended by itself, status %d", s->server.status);
            return false;
        }
        watch_sample(&s->watch, s->server.pid);
        if (once_in(s, STEP_EVERY_TICKS))
            step_clock(s);
        if (once_in(s, REKEY_EVERY_TICKS))
            rekey(s);
        if (us > SHORT_LIFE_US_MAX && once_in(s, BACKUP_EVERY_TICKS))
            backup(s);
        if (us > SHORT_LIFE_US_MAX && once_in(s, PAUSE_EVERY_TICKS))
            freeze(s);
        if (us > SHORT_LIFE_US_MAX && once_in(s, REST_EVERY_TICKS))
            rest(s);
        if (once_in(s, DISK_EVERY_TICKS))
            watch_disk(&s->watch, s->server.dir);
    }
    return true;
}

/* ---- a life */

static void writers_start(struct soak *s, struct writer *writers, atomic_bool *stop)
{
    for (int i = 0; i < OWNERS; i++) {
        writers[i] = (struct writer){.book = s->book, .owner = i, .stop = stop};
        rng_init(&writers[i].rng, rng_next(&s->run.rng));
        writer_start(&writers[i]);
    }
}

static void writers_join(struct soak *s, struct writer *writers)
{
    for (int i = 0; i < OWNERS; i++) {
        writer_join(&writers[i]);
        s->acked += writers[i].acked;
        s->unsure += writers[i].unsure;
        s->refused += writers[i].refused;
        s->reads += writers[i].reads;
    }
}

/* Ends the server in the midst of it, or in order, and starts it again. */
static bool start_anew(struct soak *s, struct writer *writers, atomic_bool *stop)
{
    if (rng_below(&s->run.rng, 4)) {
        server_kill(&s->server);
        s->kills++;
    } else {
        atomic_store(stop, true);
        if (!server_stop(&s->server))
            crash_problem(&s->run, "the server did not stop in order");
        s->stops++;
    }
    atomic_store(stop, true);
    writers_join(s, writers);
    if (rng_below(&s->run.rng, 2))
        step_clock(s);
    start_and_kill(s);
    return start(s);
}

static bool live(struct soak *s, int64_t us)
{
    struct writer writers[OWNERS];
    atomic_bool stop = false;
    char where[32];
    bool well;

    snprintf(where, sizeof(where), "life %d", ++s->lives);
    crash_case_begin(&s->run);
    watch_begin(&s->watch);
    writers_start(s, writers, &stop);
    well = disturb(s, us);
    if (well)
        count_splits(s);
    watch_end(&s->watch, where);
    if (!start_anew(s, writers, &stop)) {
        crash_case_end(&s->run);
        return false;
    }
    book_compare(s->book, where, true);
    return crash_case_end(&s->run);
}

bool life_run(struct soak *s, int64_t us)
{
    if (!live(s, us))
        return false;
    for (int i = 0; i < SHORT_LIVES && clock_mono_us(&s->run.clock) < s->end_us; i++)
        if (!live(s, crash_between(&s->run.rng, 1000, SHORT_LIFE_US_MAX)))
            return false;
    return true;
}

/* ---- the end */

/* Nobody writes any more: a backup has the server's digest. */
static void compare_backup(struct soak *s)
{
    s->backups += command(s, "w backup $dir && a=$(w digest) && b=$(w digest --dir $dir) && "
                             "{ [ \"$a\" = \"$b\" ] || { echo \"$a is not $b\"; false; }; }");
}

void life_end(struct soak *s)
{
    char model[BOOK_DIGEST_TEXT + 1], stored[BOOK_DIGEST_TEXT + 1];

    crash_case_begin(&s->run);
    book_compare(s->book, "at the end", true);
    book_digest(s->book, model);
    if (!book_digest_stored(s->book, stored))
        crash_problem(&s->run, "at the end: the tables cannot be read");
    else if (strcmp(model, stored) != 0)
        crash_problem(&s->run, "at the end: the digest of what is stored is %s, of the model %s",
                      stored, model);
    else
        printf("  digest %s, of the model and of what is stored\n", model);
    crash_case_end(&s->run);
    crash_case_begin(&s->run);
    compare_backup(s);
    crash_case_end(&s->run);
    crash_case_begin(&s->run);
    if (!server_stop(&s->server))
        crash_problem(&s->run, "the server did not stop in order");
    crash_case_end(&s->run);
}
