/* cmd_sizes.c: `widerow sizes`: the largest partition key values of a table. */
#include "cli/command.h"
#include "cli/console/heat_picture.h"
#include "cli/console/print.h"
#include "cli/console/records.h"
#include "cli/console/value.h"
#include "cli/console/progress.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#define POLL_US 200000

struct sizes_options {
    struct records_options print;
    uint64_t top;
    bool now, json;
};

static const struct option_row sizes_rows[] = {
    {"now", NULL, "count now, as fast as it goes, and wait for it", OPTION_FLAG,
     offsetof(struct sizes_options, now), 0, 0},
    {"top", "N", "how many values are shown (default 20)", OPTION_COUNT,
     offsetof(struct sizes_options, top), 1, WR_SIZES_MAX},
    {"json", NULL, "as JSON, all that are known", OPTION_FLAG, offsetof(struct sizes_options, json),
     0, 0},
    RECORDS_ROWS(struct sizes_options),
    {0},
};

static void sizes_defaults(void *options)
{
    *(struct sizes_options *)options = (struct sizes_options){.top = 20};
}

static int sizes_request(struct ctx *c, struct client *cl, const char *table, bool now,
                         struct wr_sizes_result *out)
{
    struct wr_request request = {.op = WR_OP_DESCRIBE_SIZES,
                                 .describe_sizes = {bytes_str(table), now}};
    struct wr_reply reply;

    TRY(client_exec(c, cl, &request, &reply));
    *out = reply.sizes;
    return 0;
}

/* Has the server begin a pass, and waits for its end. */
static int wait_pass(struct ctx *c, struct client *cl, struct cli *cli, const char *table,
                     struct wr_sizes_result *out)
{
    struct progress progress;
    uint64_t before, seen = 0;
    int code;

    TRY(sizes_request(c, cl, table, true, out));
    before = out->passes;
    progress_start(&progress, cli->clock, 0, !isatty(STDERR_FILENO));
    do {
        struct ctx poll; /* a long wait must not gather all answers */

        ctx_init(&poll, c->clock, NULL, NULL, 0);
        usleep(POLL_US);
        code = sizes_request(&poll, cl, table, false, out);
        if (code)
            fail(c, code, "%s", poll.text);
        else if (out->running_bytes > seen)
            atomic_fetch_add(&progress.bytes, out->running_bytes - seen);
        seen = out->running_bytes > seen ? out->running_bytes : seen;
        ctx_release(&poll);
    } while (!code && out->running && out->passes == before);
    progress_end(&progress);
    TRY(code);
    if (out->passes == before)
        return fail(c, E_UNAVAILABLE, "the pass could not be finished; the server's log says why");
    return sizes_request(c, cl, table, false, out);
}

static void print_json(struct ctx *c, const char *table, const struct wr_sizes_result *s)
{
    struct wr_value name = {.type = WR_VARCHAR, .bytes = bytes_str(table)};
    struct buf b;

    buf_init(&b, &c->arena, 4096);
    value_put(&b, &name);
    printf("{\"table\":%.*s,\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"passes\":%" PRIu64
           ",\"bytes\":%" PRIu64 ",\"rows\":%" PRIu64 ",\"values\":%" PRIu64 ",\"over\":%" PRIu64
           ",\"warn_bytes\":%" PRIu64 ",\"servers\":%u,\"silent\":%u,\n\"keys\":[",
           BYTES_FMT(buf_bytes(&b)), s->start_s, s->end_s, s->passes, s->bytes, s->rows, s->values,
           s->over, s->warn_bytes, s->servers, s->silent);
    for (size_t i = 0; i < s->key_count; i++) {
        const struct wr_size_key *k = &s->keys[i];

        b.len = 0;
        for (size_t j = 0; j < k->place.key.count; j++) {
            if (j)
                buf_put_u8(&b, ',');
            value_put(&b, &k->place.key.columns[j].value);
        }
        printf("%s\n  {\"bucket\":%u,\"key\":[%.*s],\"bytes\":%" PRIu64 ",\"rows\":%" PRIu64
               ",\"reads\":%" PRIu64 ",\"writes\":%" PRIu64 ",\"bytes_written\":%" PRIu64 "}",
               i ? "," : "", k->place.bucket, BYTES_FMT(buf_bytes(&b)), k->bytes, k->rows, k->reads,
               k->writes, k->bytes_written);
    }
    printf("]}\n");
}

static int print_records(struct ctx *c, const struct sizes_options *o,
                         const struct wr_sizes_result *s)
{
    struct records *r;
    int code = 0, more;

    TRY(records_open(c, &o->print, NULL, &r));
    for (size_t i = 0; i < s->key_count && i < o->top && code == 0; i++) {
        const struct wr_size_key *k = &s->keys[i];
        struct record record = {.count = 0};

        record_text(&record, "value", heat_place_text(&c->arena, &k->place, SIZE_MAX / 2));
        record_integer(&record, "bytes", (int64_t)k->bytes);
        record_integer(&record, "rows", (int64_t)k->rows);
        record_integer(&record, "reads", (int64_t)k->reads);
        record_integer(&record, "writes", (int64_t)k->writes);
        record_integer(&record, "bytes_written", (int64_t)k->bytes_written);
        code = records_put_record(c, r, &record);
    }
    more = records_close(c, r);
    return code ? code : more;
}

static void print_when(const struct wr_sizes_result *s)
{
    time_t t = (time_t)s->start_s;
    struct tm tm;
    char text[32];

    gmtime_r(&t, &tm);
    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
    printf("counted %s UTC in %" PRId64 " s", text, s->end_s - s->start_s);
}

static void print_keys(struct ctx *c, const struct wr_sizes_result *s, size_t top)
{
    char size[PROGRESS_TEXT], rows[PROGRESS_TEXT], reads[PROGRESS_TEXT], writes[PROGRESS_TEXT],
        more[PROGRESS_TEXT];

    printf("\n%12s %14s %8s  %s\n%12s %14s %8s  %s\n", "size", "rows", "of all",
           "partition key value", "", "", "",
           "(since then: rows read, rows written, bytes written, about)");
    for (size_t i = 0; i < s->key_count && i < top; i++) {
        const struct wr_size_key *k = &s->keys[i];
        bytes text = heat_place_text(&c->arena, &k->place, 48);

        printf("%12s %14s %7.2f%%  %.*s%s", progress_format_bytes(k->bytes, size),
               progress_format_count(k->rows, rows),
               s->bytes ? 100.0 * (double)k->bytes / (double)s->bytes : 0, BYTES_FMT(text),
               k->bytes > s->warn_bytes ? "  ABOVE THE THRESHOLD" : "");
        if (k->reads || k->writes)
            printf("  (%s, %s, %s)", progress_format_count(k->reads, reads),
                   progress_format_count(k->writes, writes),
                   progress_format_bytes(k->bytes_written, more));
        printf("\n");
    }
}

static void print_report(struct ctx *c, const char *table, const struct wr_sizes_result *s,
                         size_t top)
{
    char size[PROGRESS_TEXT], rows[PROGRESS_TEXT], values[PROGRESS_TEXT], over[PROGRESS_TEXT],
        warn[PROGRESS_TEXT];

    if (!s->end_s) {
        printf("%s has not been counted yet%s. `widerow sizes %s --now` does it at once.\n", table,
               s->running ? "; it is being counted" : "", table);
        return;
    }
    printf("%s: %s in %s rows of %s partition key values, ", table,
           progress_format_bytes(s->bytes, size), progress_format_count(s->rows, rows),
           progress_format_count(s->values, values));
    print_when(s);
    printf("\n");
    if (s->over)
        printf("WARNING: %s of them above %s (size_warn_bytes): the rows of one value cannot be "
               "divided (on a pool: no atomic batch reaches all of them).\n",
               progress_format_count(s->over, over), progress_format_bytes(s->warn_bytes, warn));
    if (s->key_count)
        print_keys(c, s, top);
    print_servers(s->servers, s->silent);
}

static int sizes(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct sizes_options *o = options;
    const char *table = cli->argv[0];
    struct wr_sizes_result result;

    if (o->now)
        TRY(wait_pass(c, cl, cli, table, &result));
    else
        TRY(sizes_request(c, cl, table, false, &result));
    if (o->print.format)
        return print_records(c, o, &result);
    if (o->json) {
        print_json(c, table, &result);
    } else {
        print_report(c, table, &result, o->top);
        print_source(cl, table);
    }
    return 0;
}

const struct command command_sizes = {
    .name = "sizes",
    .group = GROUP_LOAD,
    .args = "TABLE",
    .summary = "show the largest partition key values of a table",
    .text = "The server counts every table now and then (size_watch_pass_s_min); --now does it at\n"
            "once. Sizes are of keys and values as stored, before compression. doc/heat.md.",
    .example = "widerow sizes orders --now",
    .options = sizes_rows,
    .options_size = sizeof(struct sizes_options),
    .defaults = sizes_defaults,
    .argc_min = 1,
    .argc_max = 1,
    .run_connected = sizes,
};
