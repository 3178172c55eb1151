/* cmd_rekey.c: `widerow rekey`: gives a table another key layout while it is used. */
#include "cli/command.h"

#include <stdio.h>
#include <unistd.h>

#define LOOK_EVERY_US 500000

struct rekey_options {
    const char *layout;
    bool status, cancel, detach;
};

static const struct option_row rekey_rows[] = {
    {"layout", "LAYOUT", "the layout it shall have; `widerow create --help` lists them",
     OPTION_TEXT, offsetof(struct rekey_options, layout), 0, 0},
    {"status", NULL, "only say how far it has come", OPTION_FLAG,
     offsetof(struct rekey_options, status), 0, 0},
    {"cancel", NULL, "give it up; the table stays as it is", OPTION_FLAG,
     offsetof(struct rekey_options, cancel), 0, 0},
    {"detach", NULL, "do not wait for the end", OPTION_FLAG, offsetof(struct rekey_options, detach),
     0, 0},
    {0},
};

static int rekey_request(struct ctx *c, struct client *cl, const char *table,
                         enum wr_rekey_action action, const char *layout,
                         struct wr_rekey_result *out)
{
    struct wr_request request = {
        .op = WR_OP_REKEY_TABLE,
        .rekey_table = {bytes_str(table), action, layout ? bytes_str(layout) : BYTES_NONE}};
    struct wr_reply reply;

    TRY(client_exec(c, cl, &request, &reply));
    *out = reply.rekey;
    return 0;
}

static void say(const struct wr_rekey_result *r)
{
    if (r->target.ptr)
        printf("%.*s to %.*s: %lld rows copied, about %d %%\n", BYTES_FMT(r->layout),
               BYTES_FMT(r->target), (long long)r->rows, r->percent);
    else
        printf("%.*s; not being rekeyed\n", BYTES_FMT(r->layout));
}

/* Follows it to the end. Ending this program does not end the rekeying. */
static int follow(struct ctx *c, struct client *cl, const char *table, const char *layout)
{
    bool live = isatty(STDERR_FILENO);
    struct wr_rekey_result r;

    for (;;) {
        struct ctx step;
        int code;

        ctx_init(&step, c->clock, c->log, NULL, 0);
        code = rekey_request(&step, cl, table, WR_REKEY_STATUS, NULL, &r);
        if (code)
            fail(c, code, "%s", step.text);
        else if (r.target.ptr && live)
            fprintf(stderr, "\r%lld rows copied, about %d %% ", (long long)r.rows, r.percent);
        if (code || !r.target.ptr) {
            if (live)
                fprintf(stderr, "\n");
            if (!code && !bytes_equal(r.layout, bytes_str(layout)))
                code = fail(c, E_PARAMETER, "it was cancelled: the layout is still %.*s",
                            BYTES_FMT(r.layout));
            ctx_release(&step);
            return code;
        }
        ctx_release(&step);
        usleep(LOOK_EVERY_US);
    }
}

static int rekey(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct rekey_options *o = options;
    const char *table = cli->argv[0];
    struct wr_rekey_result r;
    const char *target;

    if ((o->layout != NULL) + o->status + o->cancel != 1)
        return fail(c, E_PARAMETER, "one of --layout, --status and --cancel is wanted");
    TRY(rekey_request(c, cl, table,
                      o->layout   ? WR_REKEY_START
                      : o->cancel ? WR_REKEY_CANCEL
                                  : WR_REKEY_STATUS,
                      o->layout, &r));
    if (!o->layout || o->detach) {
        say(&r);
        return 0;
    }
    target = arena_printf(&c->arena, "%.*s", BYTES_FMT(r.target)).ptr;
    TRY(follow(c, cl, table, target));
    printf("%s has the layout %s\n", table, target);
    return 0;
}

const struct command command_rekey = {
    .name = "rekey",
    .group = GROUP_TABLES,
    .args = "TABLE --layout LAYOUT | --status | --cancel",
    .summary = "give a table another key layout while it is used",
    .text =
        "The server copies the rows while reads and writes go on, and then switches. It goes on "
        "after a\nrestart, and when this program ends. Meanwhile the table takes its space "
        "twice, and every write\nis done twice.",
    .example = "widerow rekey orders --layout hash:16\nwiderow rekey orders --status",
    .options = rekey_rows,
    .options_size = sizeof(struct rekey_options),
    .argc_min = 1,
    .argc_max = 1,
    .run_connected = rekey,
};
