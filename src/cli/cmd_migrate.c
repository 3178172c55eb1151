/* cmd_migrate.c: `widerow migrate`: all that an instance's tables are to another server, by the
 * operations that every server of the protocol has; several tables at a time, each step by step
 * (migrate_table.h), with notes in a file from which the next run goes on. */
#include "cli/command.h"
#include "cli/sides.h"
#include "cli/transfer/base_tables.h"
#include "cli/transfer/migrate_table.h"
#include "cli/transfer/stop.h"

#include "base/thread.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LOOK_EVERY_US 200000 /* for changes, while there are none */
#define LAG_EVERY_MS 5000    /* that one is told */
#define CREW_MAX 16          /* tables at a time */
#define TABLES_MAX 100000

struct migrate_options {
    struct target_conf from, to;
    const char *tables, *rate, *notes, *until_lag;
    uint64_t workers, retry_s;
    bool follow, resume, no_verify, quiet;
};

#define ROW(name, value, help, kind, member, min, max)                                             \
    {                                                                                              \
        name, value, help, kind, offsetof(struct migrate_options, member), min, max                \
    }

static const struct option_row migrate_rows[] = {
    SIDE_ROWS(struct migrate_options, from, "has the tables; it is only read"),
    SIDE_ROWS(struct migrate_options, to, "gets them"),
    ROW("tables", "TABLE,...", "only these (default: all of the instance)", OPTION_TEXT, tables, 0,
        0),
    ROW("workers", "N", "pages under way at a time, shared by up to 16 tables (default 8)",
        OPTION_COUNT, workers, 1, COPY_WORKERS_MAX),
    ROW("rate", "N|Ncu",
        "at each of the two servers at most so many rows a second, or as many as cost N capacity "
        "units (default: no limit)",
        OPTION_TEXT, rate, 0, 0),
    ROW("follow", NULL,
        "bring over what is written meanwhile, too, until Ctrl-C says that the writers have "
        "stopped; the tables have to have streams",
        OPTION_FLAG, follow, 0, 0),
    ROW("until-lag", "SECONDS",
        "with --follow: end as soon as no more than so much is missing; the run that finishes is "
        "another one, without --follow",
        OPTION_TEXT, until_lag, 0, 0),
    ROW("notes", "FILE",
        "how far it is, for the next run (default: migrate-INSTANCE-INSTANCE.notes, here)",
        OPTION_TEXT, notes, 0, 0),
    ROW("resume", NULL,
        "tables that are there are what a migration has left, though the notes are lost: rows "
        "that only they have are deleted",
        OPTION_FLAG, resume, 0, 0),
    ROW("retry", "SECONDS", "how long to try again when a server is busy or gone (default 60)",
        OPTION_COUNT, retry_s, 0, 86400),
    ROW("no-verify", NULL, "do not read both sides again and compare", OPTION_FLAG, no_verify, 0,
        0),
    ROW("quiet", NULL, "no progress", OPTION_FLAG, quiet, 0, 0),
    {0},
};

struct migrate_run {
    const struct migrate_options *options;
    struct target source, target;
    struct migrate_notes notes;
    struct rate from_rate, to_rate;
    struct progress progress;
    struct migration all;
    double until_lag_s; /* below 0: not given */
    struct migrate_table *tables;
    size_t count;
    struct migrate_clients clients[CREW_MAX]; /* of the tables at a time */
};

/* ---- connections ---- */

static int open_ends(struct ctx *c, struct migrate_run *run, struct migrate_clients *ends)
{
    TRY(client_open(c, &run->source, &ends->from));
    TRY(client_open(c, &run->target, &ends->to));
    ends->from->retry_ms = ends->to->retry_ms = run->all.retry_ms;
    ends->to->repeatable = true;
    return 0;
}

static void close_ends(struct migrate_clients *ends)
{
    client_close(ends->from);
    client_close(ends->to);
}

/* ---- the crew: a step of every table, several at a time ---- */

typedef int step_fn(struct migrate_table *m, const struct migrate_clients *clients);

struct crew {
    struct migrate_run *run;
    step_fn *step;
    atomic_size_t next_table, next_clients;
};

/* The reason names the table as a rule. */
static void say_failure(struct migrate_run *run, const struct migrate_table *m)
{
    if (bytes_starts(bytes_str(m->c.text), m->name))
        progress_say(&run->progress, "%s", m->c.text);
    else
        progress_say(&run->progress, "%.*s: %s", BYTES_FMT(m->name), m->c.text);
}

static void *crew_run(void *arg)
{
    struct crew *crew = arg;
    const struct migrate_clients *clients =
        &crew->run->clients[atomic_fetch_add(&crew->next_clients, 1)];
    size_t i;

    while ((i = atomic_fetch_add(&crew->next_table, 1)) < crew->run->count) {
        struct migrate_table *m = &crew->run->tables[i];

        if (m->code || crew->step(m, clients) == 0)
            continue;
        if (crew->run->count > 1) /* else it is told at the end */
            say_failure(crew->run, m);
    }
    return NULL;
}

static size_t crew_size(const struct migrate_run *run)
{
    size_t n = run->count < CREW_MAX ? run->count : CREW_MAX;

    return n < run->options->workers ? n : (size_t)run->options->workers;
}

/* One step of all tables that have not failed. Returns how many have failed by then. */
static size_t all_tables(struct migrate_run *run, step_fn *step)
{
    struct crew crew = {.run = run, .step = step};
    size_t want = crew_size(run), n = 0, failed = 0;
    pthread_t threads[CREW_MAX];

    while (n + 1 < want && thread_start(&threads[n], "wr-migrate", crew_run, &crew))
        n++;
    crew_run(&crew); /* this thread is one of them */
    while (n)
        pthread_join(threads[--n], NULL);
    for (size_t i = 0; i < run->count; i++)
        failed += run->tables[i].code != 0;
    return failed;
}

/* ---- following ---- */

/* While others are filled the streams of those that are go on being read: what they keep may end
 * sooner than the last table is there. */
struct follower {
    struct migrate_run *run;
    struct migrate_clients clients;
    atomic_bool ended;
};

static void pause_us(int64_t us)
{
    nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

static void *follower_run(void *arg)
{
    struct follower *f = arg;

    while (!atomic_load(&f->ended)) {
        for (size_t i = 0; i < f->run->count && !atomic_load(&f->ended); i++) {
            struct migrate_table *m = &f->run->tables[i];

            if (atomic_load(&m->ready) && !m->code && migrate_table_follow(m, &f->clients))
                say_failure(f->run, m);
        }
        pause_us(LOOK_EVERY_US);
    }
    return NULL;
}

/* Fills all tables that are to be followed. Returns how many have failed by then. */
static size_t fill_tables(struct ctx *c, struct migrate_run *run)
{
    struct follower follower = {.run = run};
    size_t failed;
    pthread_t thread;
    bool beside = open_ends(c, run, &follower.clients) == 0 &&
                  thread_start(&thread, "wr-follow", follower_run, &follower);

    failed = all_tables(run, migrate_table_fill);
    atomic_store(&follower.ended, true);
    if (beside)
        pthread_join(thread, NULL);
    close_ends(&follower.clients);
    return failed;
}

static int fill_and_finish(struct migrate_table *m, const struct migrate_clients *clients)
{
    int code = migrate_table_fill(m, clients);

    return code ? code : migrate_table_finish(m, clients);
}

/* How far behind the last table is; *current: none is. */
static double find_lag(const struct migrate_run *run, uint64_t *changes, bool *current)
{
    int64_t now_us = clock_wall_us(run->all.clock), lag_us = 0;

    *changes = 0;
    *current = true;
    for (size_t i = 0; i < run->count; i++) {
        const struct copy_follow *f = &run->tables[i].follow;

        if (run->tables[i].code)
            continue;
        *changes += f->changes;
        *current &= f->current;
        if (!f->current && f->behind_us && now_us - f->behind_us > lag_us)
            lag_us = now_us - f->behind_us;
    }
    return (double)lag_us / 1e6;
}

static void say_current(const struct migrate_run *run)
{
    if (run->until_lag_s < 0)
        printf("up to date. To switch: stop the writers, press Ctrl-C here, and let them go on "
               "there when both sides were compared\n");
    fflush(stdout);
}

/* Until the writers have stopped, or little enough is missing. */
static void follow_tables(struct migrate_run *run)
{
    int64_t told_ms = clock_mono_ms(run->all.clock);
    bool said = false, current;
    uint64_t changes;
    double lag_s;

    for (;;) {
        bool stopped = stop_wanted();

        if (all_tables(run, migrate_table_follow) == run->count)
            return;
        lag_s = find_lag(run, &changes, &current);
        if (current && !said)
            say_current(run);
        said |= current;
        if (clock_mono_ms(run->all.clock) - told_ms >= LAG_EVERY_MS && !run->options->quiet) {
            told_ms = clock_mono_ms(run->all.clock);
            progress_say(&run->progress, "following: %llu changes, lag %.1f s",
                         (unsigned long long)changes, lag_s);
        }
        if (stopped || (run->until_lag_s >= 0 && said && lag_s <= run->until_lag_s))
            return;
        if (current) /* many tables are asked less often */
            pause_us(LOOK_EVERY_US + (int64_t)run->count * 2000);
    }
}

/* ---- all of it ---- */

static int first_failure(struct ctx *c, const struct migrate_run *run, size_t failed)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct migrate_table *m = &run->tables[i];

        if (!m->code)
            continue;
        return run->count == 1 ? fail(c, m->code, "%s", m->c.text)
                               : fail(c, m->code, "%zu of %zu tables failed, the first: %s", failed,
                                      run->count, m->c.text);
    }
    return 0;
}

static int pause_here(struct ctx *c, struct migrate_run *run)
{
    size_t failed;

    failed = all_tables(run, migrate_table_pause);
    if (failed == 0)
        printf("no more than %s s are missing. To switch: stop the writers and run this again "
               "without --follow\n",
               run->options->until_lag);
    return first_failure(c, run, failed);
}

static int migrate_steps(struct ctx *c, struct cli *cli, struct migrate_run *run)
{
    size_t failed = all_tables(run, migrate_table_check), left_out = 0;

    if (failed) /* nothing has been changed yet, and nothing is */
        return first_failure(c, run, failed);
    cli->partly = true;
    if (!run->options->follow) {
        failed = all_tables(run, fill_and_finish);
    } else {
        if (fill_tables(c, run) < run->count) {
            stop_catch();
            follow_tables(run);
            if (!stop_wanted() && run->until_lag_s >= 0)
                return pause_here(c, run);
        }
        failed = all_tables(run, migrate_table_finish);
    }
    for (size_t i = 0; i < run->count; i++)
        left_out += run->tables[i].left_out;
    if (failed)
        return first_failure(c, run, failed);
    return left_out
               ? fail(c, WR_E_UNSUPPORTED,
                      "%zu indexes were not made there; all else is there and the same", left_out)
               : 0;
}

/* ---- the command ---- */

static bool is_among(bytes name, const bytes *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes_equal(names[i], name))
            return true;
    return false;
}

static int parse_tables(struct ctx *c, const char *text, bytes *out, size_t *count)
{
    *count = 0;
    for (const char *p = text; p;) {
        size_t len = strcspn(p, ",");
        bytes name = bytes_of(p, len);

        if (len == 0)
            return fail(c, E_PARAMETER, "--tables '%s': a table between two commas has no name",
                        text);
        if (is_among(name, out, *count))
            return fail(c, E_PARAMETER, "--tables names %.*s twice", BYTES_FMT(name));
        out[(*count)++] = name;
        p = p[len] ? p + len + 1 : NULL;
    }
    return 0;
}

/* What is asked for must be no index: such a table is made with the one that it is of. Who may not
 * list tables may still name some. */
static int choose_tables(struct ctx *c, struct migrate_run *run, const bytes **names, size_t *count)
{
    const char *text = run->options->tables;
    struct wr_request request = {.op = WR_OP_LIST_TABLE};
    struct client *cl = run->clients[0].from;
    const bytes *bases;
    size_t base_count;
    struct wr_reply all;
    bytes *named;

    if (!text)
        return base_tables(c, cl, names, count);
    named = ARENA_ARRAY(&c->arena, bytes, strlen(text) + 1);
    TRY(parse_tables(c, text, named, count));
    *names = named;
    if (client_exec(c, cl, &request, &all) || base_tables(c, cl, &bases, &base_count)) {
        ctx_clear(c);
        return 0;
    }
    for (size_t i = 0; i < *count; i++)
        if (is_among(named[i], all.table_list.tables, all.table_list.count) &&
            !is_among(named[i], bases, base_count))
            return fail(c, E_PARAMETER,
                        "%.*s is an index: it is made anew with the table that it is of",
                        BYTES_FMT(named[i]));
    return 0;
}

static int parse_lag(struct ctx *c, struct migrate_run *run)
{
    const char *text = run->options->until_lag;
    char *end = NULL;

    run->until_lag_s = text ? strtod(text, &end) : -1;
    if (text && (*end || end == text || !(run->until_lag_s >= 0)))
        return fail(c, E_PARAMETER, "--until-lag is seconds, as in 2 or 0.5, not '%s'", text);
    if (text && !run->options->follow)
        return fail(c, E_PARAMETER, "--until-lag is for --follow");
    return 0;
}

static int open_run(struct ctx *c, struct migrate_run *run)
{
    const struct migrate_options *o = run->options;
    const char *path = o->notes;

    TRY(parse_lag(c, run));
    TRY(rate_parse(c, o->rate, &run->from_rate));
    TRY(rate_parse(c, o->rate, &run->to_rate));
    TRY(sides_open(c, &o->from, &o->to, &run->source, &run->target));
    if (!path)
        path = arena_printf(&c->arena, "migrate-%.*s-%.*s.notes", BYTES_FMT(run->source.instance),
                            BYTES_FMT(run->target.instance))
                   .ptr;
    return migrate_notes_open(c, path, &run->source, &run->target, &run->notes);
}

static int open_clients(struct ctx *c, struct migrate_run *run, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!run->clients[i].to)
            TRY(open_ends(c, run, &run->clients[i]));
    return 0;
}

static void release_tables(struct migrate_run *run)
{
    for (size_t i = 0; run->tables && i < run->count; i++)
        migrate_table_release(&run->tables[i]);
    mem_free(run->tables);
    for (size_t i = 0; i < CREW_MAX; i++)
        close_ends(&run->clients[i]);
}

static int run_tables(struct ctx *c, struct cli *cli, struct migrate_run *run)
{
    const struct migrate_options *o = run->options;
    const bytes *names;
    size_t crew;
    int code;

    run->all.retry_ms = (int64_t)o->retry_s * 1000;
    TRY(open_clients(c, run, 1));
    TRY(choose_tables(c, run, &names, &run->count));
    if (run->count == 0 || run->count > TABLES_MAX)
        return fail(c, E_NOT_EXIST, "%s has %s tables", run->source.endpoint,
                    run->count ? "too many" : "no");
    run->tables = mem_zalloc(run->count * sizeof(*run->tables));
    crew = crew_size(run);
    run->all = (struct migration){.from = &run->source,
                                  .to = &run->target,
                                  .clock = c->clock,
                                  .notes = &run->notes,
                                  .from_rate = &run->from_rate,
                                  .to_rate = &run->to_rate,
                                  .progress = &run->progress,
                                  .worker_count = (size_t)o->workers / crew,
                                  .retry_ms = (int64_t)o->retry_s * 1000,
                                  .follow = o->follow,
                                  .resume = o->resume,
                                  .no_verify = o->no_verify};
    for (size_t i = 0; i < run->count; i++)
        migrate_table_init(&run->tables[i], &run->all, names[i]);
    progress_start(&run->progress, c->clock, 0, o->quiet);
    code = open_clients(c, run, crew);
    if (code == 0)
        code = migrate_steps(c, cli, run);
    progress_end(&run->progress);
    return code;
}

static int migrate(struct ctx *c, struct cli *cli, void *options)
{
    struct migrate_run run = {.options = options, .notes = {.fd = -1}};
    int code;

    signal(SIGPIPE, SIG_IGN);
    code = open_run(c, &run);
    rate_init(&run.from_rate, c->clock);
    rate_init(&run.to_rate, c->clock);
    if (code == 0)
        code = run_tables(c, cli, &run);
    release_tables(&run);
    rate_release(&run.from_rate);
    rate_release(&run.to_rate);
    migrate_notes_release(&run.notes);
    target_release(&run.source);
    target_release(&run.target);
    return code;
}

static void migrate_defaults(void *options)
{
    struct migrate_options *o = options;

    o->workers = 8;
    o->retry_s = 60;
}

const struct command command_migrate = {
    .name = "migrate",
    .group = GROUP_FILES,
    .args = "--from URL --to URL [--tables TABLE,...]",
    .summary = "move tables with all they have to another server of the protocol, and verify",
    .text =
        "Between any two servers that speak Tablestore's protocol, Alibaba Cloud's included: "
        "keys,\n"
        "defined columns, options, throughput, streams and layouts, all versions of all rows with\n"
        "their timestamps, secondary indexes and search indexes. Several tables at a time, and\n"
        "several ranges of each. At the end both sides are read again and compared (`widerow\n"
        "digest --content --versions`). The source is only read.\n"
        "\n"
        "Killed, interrupted or refused half-way, it is run again and goes on, by its notes: in\n"
        "the end the rows are exactly the source's. So rows that only the target has are deleted,\n"
        "but only in tables that the notes say a migration has made. All is looked at before\n"
        "anything is changed; then a table that fails does not end the others. Until a table is\n"
        "complete it takes any timestamp, and has no indexes.\n"
        "\n"
        "A table that has a stream may be written to while its rows are read. With --follow it "
        "may\n"
        "be written to until you switch: when all is up to date, that is printed, and the lag now\n"
        "and then. Stop the writers then and press Ctrl-C (or send SIGTERM) once: what is left\n"
        "comes over, indexes are made, both sides are compared, and the clients may switch. For\n"
        "scripts --until-lag ends when little is missing; a run without --follow then finishes\n"
        "from there, in the time that the rest takes.\n"
        "\n"
        "Not moved: how SQL maps a table's columns, tunnels, users and grants, heat maps, and the\n"
        "age of a row without cells. A series becomes one ordinary table.",
    .example =
        "widerow migrate --from https://prod.cn-hangzhou.ots.aliyuncs.com --from-instance prod \\\n"
        "    --from-key-id ID --from-key-secret SECRET --to http://127.0.0.1:8600 --follow",
    .options = migrate_rows,
    .options_size = sizeof(struct migrate_options),
    .defaults = migrate_defaults,
    .argc_min = 0,
    .argc_max = 0,
    .run = migrate,
};
