/* cmd_stream.c: `widerow stream`: records of the changes of a table's rows. */
#include "cli/command.h"
#include "cli/console/change.h"
#include "cli/transfer/follow.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define HOURS_DEFAULT 24
#define WAIT_FIRST_MS 50 /* between two looks for changes, doubled while there are none */
#define WAIT_MAX_MS 500

struct stream_options {
    const char *from, *format;
    uint64_t hours;
    bool once;
};

static const struct option_row stream_rows[] = {
    {"from", "start|now|TIME",
     "tail: the first change: the oldest that is kept, none of before (default), or the first one "
     "since TIME: 30s, 10m, 2h or 1d ago, 2026-11-23T10:00:00 (UTC), or microseconds since 1970",
     OPTION_TEXT, offsetof(struct stream_options, from), 0, 0},
    {"format", "table|jsonl",
     "tail: how changes are printed (default: table on a terminal, else jsonl)", OPTION_TEXT,
     offsetof(struct stream_options, format), 0, 0},
    {"once", NULL, "tail: end when all that is there has been printed", OPTION_FLAG,
     offsetof(struct stream_options, once), 0, 0},
    {"hours", "N", "on: how long records are kept (default 24)", OPTION_COUNT,
     offsetof(struct stream_options, hours), 1, INT32_MAX},
    {0},
};

static void stream_defaults(void *options)
{
    ((struct stream_options *)options)->hours = HOURS_DEFAULT;
}

/* ---- list, on, off ---- */

static int stream_list(struct ctx *c, struct client *cl, struct cli *cli,
                       const struct stream_options *o)
{
    struct wr_request request = {.op = WR_OP_LIST_STREAM};
    struct wr_reply reply;

    (void)o;
    if (cli->argc == 2)
        request.list_stream.table = bytes_str(cli->argv[1]);
    TRY(client_exec(c, cl, &request, &reply));
    for (size_t i = 0; i < reply.streams.count; i++)
        printf("%.*s\t%.*s\n", BYTES_FMT(reply.streams.streams[i].table),
               BYTES_FMT(reply.streams.streams[i].id));
    return 0;
}

static int set_stream(struct ctx *c, struct client *cl, struct cli *cli,
                      const struct wr_stream_spec *spec)
{
    struct wr_request request = {
        .op = WR_OP_UPDATE_TABLE,
        .update_table = {.table = bytes_str(cli->argv[1]), .stream = *spec}};
    struct wr_reply reply;

    return client_exec(c, cl, &request, &reply);
}

static int stream_on(struct ctx *c, struct client *cl, struct cli *cli,
                     const struct stream_options *o)
{
    return set_stream(c, cl, cli,
                      &(struct wr_stream_spec){.given = true,
                                               .enable = true,
                                               .has_expiration = true,
                                               .expiration_h = (int32_t)o->hours});
}

static int stream_off(struct ctx *c, struct client *cl, struct cli *cli,
                      const struct stream_options *o)
{
    (void)o;
    return set_stream(c, cl, cli, &(struct wr_stream_spec){.given = true});
}

/* ---- tail: since when ---- */

/* "10m": before now. */
static bool read_ago(const char *text, int64_t now_us, int64_t *out)
{
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    char *end;
    unsigned long long n = strtoull(text, &end, 10);

    for (size_t i = 0; i < PORT_COUNT(units); i++)
        if (end != text && end[0] == units[i].unit && !end[1] && n <= 1000000) {
            *out = now_us - (int64_t)n * units[i].seconds * 1000000;
            return true;
        }
    return false;
}

static bool read_date(const char *text, int64_t *out)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

    *out = (int64_t)timegm(&tm) * 1000000;
    return end && (!*end || strcmp(end, "Z") == 0);
}

static bool read_microseconds(const char *text, int64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoll(text, &end, 10);
    return end != text && !*end && errno == 0 && *out > 0;
}

/* 0: from the oldest one on. */
static int read_from(struct ctx *c, const char *text, int64_t *out)
{
    int64_t now_us = clock_wall_us(c->clock);

    *out = text && strcmp(text, "start") == 0 ? 0 : now_us;
    if (!text || strcmp(text, "start") == 0 || strcmp(text, "now") == 0 ||
        read_ago(text, now_us, out) || read_date(text, out) || read_microseconds(text, out))
        return 0;
    return fail(c, E_PARAMETER,
                "--from is start, now, or a time: 10m (ago), 2026-11-23T10:00:00 (UTC) or "
                "microseconds since 1970, not '%s'",
                text);
}

/* ---- tail ---- */

struct change {
    const struct wr_stream_record *record;
    size_t shard, at; /* where it came from: keeps the order of a shard */
};

struct tail {
    bool json;
    struct change *changes; /* of a round, in its memory */
    size_t count;
};

/* Ctrl-C is how a tail ends; a second one ends it whatever it waits for. */
static atomic_bool stopped;

static void on_stop(int sig)
{
    (void)sig;
    atomic_store(&stopped, true);
}

static void catch_stop(struct client *cl)
{
    struct sigaction action = {.sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    cl->stop = &stopped;
}

static int keep_changes(struct ctx *c, void *arg, size_t shard, const struct wr_stream_records *r)
{
    struct tail *t = arg;
    struct change *all = ARENA_ARRAY(&c->arena, struct change, t->count + r->count);

    if (t->count)
        memcpy(all, t->changes, t->count * sizeof(*all));
    for (size_t i = 0; i < r->count; i++)
        all[t->count++] = (struct change){&r->records[i], shard, i};
    t->changes = all;
    return 0;
}

static int compare_size(size_t a, size_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    if (x->record->timestamp_us != y->record->timestamp_us)
        return x->record->timestamp_us < y->record->timestamp_us ? -1 : 1;
    if (x->shard != y->shard)
        return compare_size(x->shard, y->shard);
    return compare_size(x->at, y->at);
}

/* False: nobody reads them. */
static bool print_changes(struct ctx *c, struct tail *t)
{
    struct buf b;

    if (t->count)
        qsort(t->changes, t->count, sizeof(*t->changes), compare_changes);
    for (size_t i = 0; i < t->count; i++) {
        buf_init(&b, &c->arena, 256);
        if (t->json)
            change_put_json(&b, t->changes[i].record);
        else
            change_put_line(&b, t->changes[i].record);
        if (fwrite(b.data, 1, b.len, stdout) != b.len)
            return false;
    }
    return fflush(stdout) == 0;
}

/* One look at all shards. *more: another one finds some at once. *ended: nobody reads on. */
static int tail_round(struct ctx *outer, struct follow *f, struct tail *t, bool *more, bool *ended)
{
    struct ctx c;
    int code;

    ctx_init(&c, outer->clock, NULL, NULL, 0);
    t->count = 0;
    code = follow_round(&c, f, keep_changes, t, more);
    *ended = !print_changes(&c, t);
    if (code && !atomic_load(&stopped))
        fail(outer, code, "%s", c.text);
    ctx_release(&c);
    return atomic_load(&stopped) ? 0 : code;
}

/* Until it is time for another look. True: the reader of a pipe has gone, or Ctrl-C was pressed. */
static bool wait_ended(int ms)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return poll(&out, 1, ms) > 0 || atomic_load(&stopped);
}

static int tail_changes(struct ctx *c, struct follow *f, struct tail *t, bool once)
{
    int wait_ms = WAIT_FIRST_MS;
    bool more, ended;

    for (;;) {
        TRY(tail_round(c, f, t, &more, &ended));
        if (ended || atomic_load(&stopped) || (once && !more))
            return 0;
        wait_ms = t->count ? WAIT_FIRST_MS : 2 * wait_ms;
        if (wait_ms > WAIT_MAX_MS)
            wait_ms = WAIT_MAX_MS;
        if (!more && wait_ended(wait_ms))
            return 0;
    }
}

static int stream_tail(struct ctx *c, struct client *cl, struct cli *cli,
                       const struct stream_options *o)
{
    struct tail t = {.json = o->format ? strcmp(o->format, "jsonl") == 0 : !isatty(STDOUT_FILENO)};
    struct follow f;
    int64_t from_us;
    int code;

    if (o->format && !t.json && strcmp(o->format, "table") != 0)
        return fail(c, E_PARAMETER, "--format is table or jsonl, not '%s'", o->format);
    TRY(read_from(c, o->from, &from_us));
    catch_stop(cl);
    code = follow_open(c, cl, bytes_str(cli->argv[1]), from_us, &f);
    if (!code)
        code = tail_changes(c, &f, &t, o->once);
    follow_release(&f);
    cli->interrupted = atomic_load(&stopped);
    return code;
}

/* ---- the command ---- */

static const struct stream_action {
    const char *name, *words;
    int argc_min, argc_max;
    int (*run)(struct ctx *c, struct client *cl, struct cli *cli, const struct stream_options *o);
} actions[] = {
    {"list", "a TABLE or nothing", 1, 2, stream_list},
    {"tail", "TABLE", 2, 2, stream_tail},
    {"on", "TABLE", 2, 2, stream_on},
    {"off", "TABLE", 2, 2, stream_off},
};

static int stream_run(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    for (size_t i = 0; i < PORT_COUNT(actions); i++) {
        const struct stream_action *a = &actions[i];

        if (strcmp(cli->argv[0], a->name) != 0)
            continue;
        if (cli->argc < a->argc_min || cli->argc > a->argc_max)
            return fail(c, E_PARAMETER, "widerow stream %s is followed by %s", a->name, a->words);
        return a->run(c, cl, cli, options);
    }
    return fail(c, E_PARAMETER, "'%s' is none of list, tail, on and off", cli->argv[0]);
}

const struct command command_stream = {
    .name = "stream",
    .group = GROUP_TABLES,
    .args = "list [TABLE] | tail TABLE | on TABLE | off TABLE",
    .summary = "changes of a table's rows as they come",
    .text =
        "A table whose stream is on keeps a record of every change of its rows for some hours.\n"
        "tail prints them until Ctrl-C, those of one row always in their order, and goes on when\n"
        "a server comes back. As JSON Lines a change is\n"
        "  {\"time\":MICROSECONDS,\"action\":\"put|update|delete\",\"key\":{...},\"cells\":[...]}\n"
        "where a cell has a column, and a value and its time in milliseconds, or \"deleted\", "
        "which\n"
        "is all (versions) or one (of that time). A put replaces the row. Where the stream keeps\n"
        "values of before, they stand in \"before\". --from now goes by this machine's clock.",
    .example = "widerow stream on orders --hours 48\n"
               "widerow stream tail orders\n"
               "widerow stream tail orders --from start --once >changes.jsonl",
    .options = stream_rows,
    .options_size = sizeof(struct stream_options),
    .defaults = stream_defaults,
    .argc_min = 1,
    .argc_max = 2,
    .run_connected = stream_run,
};
