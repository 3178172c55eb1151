/* cmd_copy.c: `widerow copy`: tables from one server to another, over the front that clients use,
 * so that it does not matter which engine either has.
 *
 * A table is made there with the definition it has here, but for three options: any timestamp,
 * updates and large cells are let in until all rows are there. Then it gets its own options, and
 * both sides are read once more and compared by digest (digest.h). With --follow what is written
 * to it meanwhile comes in between (copy_follow.h). */
#include "cli/command.h"
#include "cli/sides.h"
#include "cli/transfer/base_tables.h"
#include "cli/transfer/copy_follow.h"
#include "cli/transfer/digest.h"
#include "cli/transfer/stop.h"
#include "cli/transfer/twin.h"
#include "client/walk.h"

#include "base/thread.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>

#define LOOK_EVERY_US 200000 /* for changes, while there are none */
#define LAG_EVERY_MS 5000    /* that one is told */

struct copy_options {
    struct target_conf from, to;
    uint64_t workers;
    bool follow, resume, no_verify, quiet;
};

#define ROW(name, value, help, kind, member, min, max)                                             \
    {                                                                                              \
        name, value, help, kind, offsetof(struct copy_options, member), min, max                   \
    }
static const struct option_row copy_option_rows[] = {
    SIDE_ROWS(struct copy_options, from, "has the tables"),
    SIDE_ROWS(struct copy_options, to, "gets them"),
    ROW("workers", "N", "pages under way at a time (default 8)", OPTION_COUNT, workers, 1,
        COPY_WORKERS_MAX),
    ROW("follow", NULL,
        "copy what is written meanwhile, too, until Ctrl-C says that the writers have stopped",
        OPTION_FLAG, follow, 0, 0),
    ROW("resume", NULL,
        "go on with tables that a copy has left unfinished: rows that are there are not written "
        "again",
        OPTION_FLAG, resume, 0, 0),
    ROW("no-verify", NULL, "do not read both sides again and compare", OPTION_FLAG, no_verify, 0,
        0),
    ROW("quiet", NULL, "no progress", OPTION_FLAG, quiet, 0, 0),
    {0},
};

struct copy_run {
    const struct copy_options *options;
    struct target source, target;
    struct client *from, *to;
};

/* ---- the table ---- */

static int note_row(struct ctx *c, void *arg, const struct wr_row *rows, size_t count)
{
    (void)c;
    (void)rows;
    *(bool *)arg |= count > 0;
    return WALK_ENOUGH;
}

/* A table of that name that is there already: the same, and empty or to be gone on with. */
static int check_present(struct ctx *c, struct copy_run *run, const struct wr_table_description *t,
                         const struct wr_table_description *there)
{
    const char *endpoint = run->target.endpoint;
    bool rows = false;

    if (!twin_same_key(t, there))
        return fail(c, WR_E_EXIST,
                    "%.*s is at %s already, with another key; drop it there, or copy the others",
                    BYTES_FMT(t->table), endpoint);
    if (!bytes_equal(t->layout, there->layout))
        return fail(c, WR_E_EXIST,
                    "%.*s is at %s already, with layout %.*s instead of %.*s; drop it there, or "
                    "rekey it first",
                    BYTES_FMT(t->table), endpoint, BYTES_FMT(there->layout), BYTES_FMT(t->layout));
    if (run->options->resume)
        return 0;
    TRY(walk_table(c, run->to, there, 1, note_row, &rows));
    if (rows)
        return fail(c, WR_E_EXIST,
                    "%.*s has rows at %s already; nothing was changed. Drop it there, or give "
                    "--resume if they are what a copy left unfinished",
                    BYTES_FMT(t->table), endpoint);
    return 0;
}

static int prepare_table(struct ctx *c, struct copy_run *run, const struct wr_table_description *t,
                         bool *present)
{
    struct wr_table_description there;
    int code = client_describe(c, run->to, t->table, &there);

    *present = code == 0;
    if (code == WR_E_NOT_EXIST) {
        ctx_clear(c);
        return twin_create(c, run->to, t);
    }
    TRY(code);
    TRY(check_present(c, run, t, &there));
    return twin_open(c, run->to, t, &there);
}

/* ---- both sides compared ---- */

struct side {
    struct target *target;
    struct clock *clock;
    bytes table;
    struct digest digest;
    char hex[DIGEST_TEXT];
    int code;
    char failure[512];
};

static int side_steps(struct ctx *c, struct side *s)
{
    struct client *cl = NULL;
    int code;

    TRY(client_open(c, s->target, &cl));
    code = digest_init(c, &s->digest);
    if (!code) {
        code = digest_table(c, cl, &s->digest, s->table);
        digest_finish(&s->digest, s->hex);
    }
    client_close(cl);
    return code;
}

static void *side_run(void *arg)
{
    struct side *s = arg;
    struct ctx c;

    ctx_init(&c, s->clock, NULL, NULL, 0);
    s->code = side_steps(&c, s);
    snprintf(s->failure, sizeof(s->failure), "%s", s->code ? c.text : "");
    ctx_release(&c);
    return NULL;
}

static int compare_sides(struct ctx *c, struct copy_run *run, bytes table, struct side sides[2])
{
    pthread_t thread;
    bool beside;

    sides[0] = (struct side){.target = &run->source, .clock = c->clock, .table = table};
    sides[1] = (struct side){.target = &run->target, .clock = c->clock, .table = table};
    beside = thread_start(&thread, "wr-digest", side_run, &sides[0]);
    if (!beside)
        side_run(&sides[0]);
    side_run(&sides[1]);
    if (beside)
        pthread_join(thread, NULL);
    for (size_t i = 0; i < 2; i++)
        if (sides[i].code)
            return fail(c, sides[i].code, "%.*s: %s", BYTES_FMT(table), sides[i].failure);
    if (strcmp(sides[0].hex, sides[1].hex) == 0)
        return 0;
    return fail(c, WR_E_CORRUPT,
                "%.*s differs: %llu rows, %llu cells at %s, %llu rows, %llu cells at %s. Was it "
                "written to meanwhile, did rows expire, or were there other rows before? Stop the "
                "writers and copy again with --resume, or drop it there first",
                BYTES_FMT(table), (unsigned long long)sides[0].digest.rows,
                (unsigned long long)sides[0].digest.cells, run->source.endpoint,
                (unsigned long long)sides[1].digest.rows, (unsigned long long)sides[1].digest.cells,
                run->target.endpoint);
}

/* ---- a table ---- */

static int move_rows(struct ctx *c, struct copy_run *run, const struct wr_table_description *t,
                     bool present, struct table_copy *copy)
{
    struct progress progress;
    int code;

    *copy = (struct table_copy){.from = &run->source,
                                .to = &run->target,
                                .clock = c->clock,
                                .table = t,
                                .progress = &progress,
                                .worker_count = (size_t)run->options->workers,
                                .compare = present && run->options->resume};
    progress_start(&progress, c->clock, 0, run->options->quiet);
    code = copy_rows(c, run->from, copy);
    progress_end(&progress);
    copy->progress = NULL;
    return code;
}

/* What is left when all rows are there. */
static int finish_table(struct ctx *c, struct copy_run *run, const struct wr_table_description *t,
                        struct table_copy *copy)
{
    struct side sides[2];
    size_t left_out;

    TRY(twin_close(c, run->to, t));
    TRY(twin_create_indexes(c, run->to, t, &left_out));
    if (run->options->no_verify) {
        printf("%.*s: %llu rows written, not verified\n", BYTES_FMT(t->table),
               (unsigned long long)atomic_load(&copy->written));
        return 0;
    }
    TRY(compare_sides(c, run, t->table, sides));
    printf("%.*s: %llu rows, %llu cells, %llu rows written, same on both sides: %s\n",
           BYTES_FMT(t->table), (unsigned long long)sides[1].digest.rows,
           (unsigned long long)sides[1].digest.cells,
           (unsigned long long)atomic_load(&copy->written), sides[1].hex);
    fflush(stdout);
    return 0;
}

static int copy_table(struct ctx *c, struct copy_run *run, bytes name,
                      struct wr_table_description *t, struct table_copy *copy)
{
    bool present;

    TRY(client_describe(c, run->from, name, t));
    TRY(prepare_table(c, run, t, &present));
    return move_rows(c, run, t, present, copy);
}

/* ---- without following ---- */

static int copy_tables(struct ctx *c, struct copy_run *run, const bytes *names, size_t count)
{
    struct wr_table_description t;
    struct table_copy copy;

    for (size_t i = 0; i < count; i++) {
        TRY(copy_table(c, run, names[i], &t, &copy));
        TRY(finish_table(c, run, &t, &copy));
    }
    return 0;
}

/* ---- following ---- */

struct followed {
    struct wr_table_description table;
    struct copy_follow follow;
};

static int follow_begin(struct ctx *c, struct copy_run *run, bytes name, struct followed *f)
{
    int64_t since_us = run->options->resume ? 0 : clock_wall_us(c->clock);

    TRY(copy_follow_open(c, run->from, run->to, name, since_us, &f->follow));
    TRY(copy_table(c, run, name, &f->table, &f->follow.copy));
    f->follow.copy.compare = false;
    return 0;
}

static void tell_lag(struct ctx *c, const struct copy_run *run, const struct followed *all,
                     size_t count)
{
    uint64_t changes = 0;
    int64_t lag_us = 0, now_us = clock_wall_us(c->clock);

    for (size_t i = 0; i < count; i++) {
        const struct copy_follow *f = &all[i].follow;

        changes += f->changes;
        if (f->behind_us && now_us - f->behind_us > lag_us)
            lag_us = now_us - f->behind_us;
    }
    if (!run->options->quiet)
        fprintf(stderr, "following: %llu changes, lag %.1f s\n", (unsigned long long)changes,
                (double)lag_us / 1e6);
}

/* One round of each table. *current: all were read to their ends. */
static int follow_rounds(struct ctx *c, struct followed *all, size_t count, bool *current)
{
    *current = true;
    for (size_t i = 0; i < count; i++) {
        TRY(copy_follow_round(c, &all[i].follow));
        *current &= all[i].follow.current;
    }
    return 0;
}

/* Until the writers have stopped and all is there that they wrote. */
static int follow_changes(struct ctx *c, struct copy_run *run, struct followed *all, size_t count)
{
    int64_t told_ms = clock_mono_ms(c->clock);
    bool stopped, current, said = false;

    do {
        stopped = stop_wanted();
        TRY(follow_rounds(c, all, count, &current));
        if (current && !said)
            printf("the copy is up to date. To switch: stop the writers, press Ctrl-C here, and "
                   "let them go on there when both sides were compared\n");
        said |= current;
        fflush(stdout);
        if (clock_mono_ms(c->clock) - told_ms >= LAG_EVERY_MS) {
            told_ms = clock_mono_ms(c->clock);
            tell_lag(c, run, all, count);
        }
        if (current && !stopped)
            nanosleep(&(struct timespec){.tv_nsec = LOOK_EVERY_US * 1000}, NULL);
    } while (!stopped || !current);
    return 0;
}

static int follow_steps(struct ctx *c, struct copy_run *run, const bytes *names, size_t count,
                        struct followed *all)
{
    for (size_t i = 0; i < count; i++)
        TRY(follow_begin(c, run, names[i], &all[i]));
    stop_catch();
    TRY(follow_changes(c, run, all, count));
    for (size_t i = 0; i < count; i++)
        TRY(finish_table(c, run, &all[i].table, &all[i].follow.copy));
    return 0;
}

static int follow_tables(struct ctx *c, struct copy_run *run, const bytes *names, size_t count)
{
    struct followed *all = mem_zalloc(count * sizeof(*all) + 1);
    int code = follow_steps(c, run, names, count, all);

    for (size_t i = 0; i < count; i++)
        copy_follow_release(&all[i].follow);
    mem_free(all);
    return code;
}

/* ---- the command ---- */

static int copy_named(struct ctx *c, struct copy_run *run, struct cli *cli)
{
    bytes *named = ARENA_ARRAY(&c->arena, bytes, (size_t)cli->argc + 1);
    const bytes *names = named;
    size_t count = (size_t)cli->argc;

    for (size_t i = 0; i < count; i++)
        named[i] = bytes_str(cli->argv[i]);
    if (count == 0)
        TRY(base_tables(c, run->from, &names, &count));
    return run->options->follow ? follow_tables(c, run, names, count)
                                : copy_tables(c, run, names, count);
}

static int copy_open(struct ctx *c, struct copy_run *run)
{
    TRY(sides_open(c, &run->options->from, &run->options->to, &run->source, &run->target));
    TRY(client_open(c, &run->source, &run->from));
    return client_open(c, &run->target, &run->to);
}

static int copy_command(struct ctx *c, struct cli *cli, void *options)
{
    struct copy_run run = {.options = options};
    int code;

    signal(SIGPIPE, SIG_IGN);
    code = copy_open(c, &run);
    if (!code)
        code = copy_named(c, &run, cli);
    client_close(run.from);
    client_close(run.to);
    target_release(&run.source);
    target_release(&run.target);
    return code;
}

static void copy_defaults(void *options)
{
    ((struct copy_options *)options)->workers = 8;
}

const struct command command_copy = {
    .name = "copy",
    .group = GROUP_FILES,
    .args = "--from URL --to URL [TABLE...]",
    .summary = "copy tables from one server to another, whatever their engines, and verify",
    .text =
        "Definitions, layouts, options and all versions of all rows; all tables of the\n"
        "instance when none is named. At the end both sides are read again and their digests\n"
        "(`widerow digest`) compared, so nobody should write to the tables meanwhile. A table\n"
        "that has rows at the target is refused; --resume goes on after a copy that ended\n"
        "early. Until a table is complete it takes any timestamp, and has no indexes: they are\n"
        "made anew of its rows then. Values above 64 MiB are not copied: the copy ends and says\n"
        "where one is.\n"
        "\n"
        "With --follow the tables may be written to. Each needs a stream (`widerow stream on`):\n"
        "its place is taken before the rows are copied, and from there on every row that was\n"
        "changed is copied again. When the copy is up to date, that is printed, and its lag\n"
        "from time to time. Stop the writers then and press Ctrl-C (or send SIGTERM) once: what "
        "is\n"
        "left comes over, both sides are compared, and the clients may switch. After a kill, or a\n"
        "second Ctrl-C, --resume goes on, from the oldest change that the stream keeps.",
    .example = "widerow copy --from http://127.0.0.1:8600 --to http://127.0.0.1:8700 orders",
    .options = copy_option_rows,
    .options_size = sizeof(struct copy_options),
    .defaults = copy_defaults,
    .argc_min = 0,
    .argc_max = 1000,
    .run = copy_command,
};
