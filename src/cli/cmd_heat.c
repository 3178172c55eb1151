/* cmd_heat.c: `widerow heat`: the heat map of a table. */
#include "cli/command.h"
#include "cli/console/heat_picture.h"
#include "cli/console/print.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PNG_SCALE 4
#define MINUTES 60
#define NOT_SAID UINT64_MAX
#define COLUMNS_MIN 12    /* of what is left of an hour before which there was nothing */
#define COLUMNS_PLAIN 100 /* where there is no terminal to ask */
#define LABEL_COLUMNS 26  /* what stands beside the field */

struct heat_options {
    uint64_t minutes, rows, columns;
    const char *metric, *svg, *png, *json;
    bool color, plain;
};

static const struct option_row heat_rows[] = {
    {"minutes", "N", "of the last 1440 (default 60, from the first with anything in it)",
     OPTION_COUNT, offsetof(struct heat_options, minutes), 0, UINT64_MAX},
    {"metric", "NAME", "reads, writes, cu, refused or bytes (default: the busier of the first two)",
     OPTION_TEXT, offsetof(struct heat_options, metric), 0, 0},
    {"rows", "N", "ranges of keys (default 32; in pictures and JSON 256)", OPTION_COUNT,
     offsetof(struct heat_options, rows), 1, WR_HEAT_ROWS_MAX},
    {"columns", "N", "at most; each is of whole minutes (default: what fits)", OPTION_COUNT,
     offsetof(struct heat_options, columns), 1, WR_HEAT_MINUTES_MAX},
    {"svg", "FILE", "write a picture with axes", OPTION_TEXT, offsetof(struct heat_options, svg), 0,
     0},
    {"png", "FILE", "write a picture of the field alone", OPTION_TEXT,
     offsetof(struct heat_options, png), 0, 0},
    {"json", "FILE", "write all figures, of all metrics; - is standard output", OPTION_TEXT,
     offsetof(struct heat_options, json), 0, 0},
    {"color", NULL, "with colors, also where there is no terminal", OPTION_FLAG,
     offsetof(struct heat_options, color), 0, 0},
    {"plain", NULL, "without colors, also on a terminal", OPTION_FLAG,
     offsetof(struct heat_options, plain), 0, 0},
    {0},
};

static void heat_defaults(void *options)
{
    *(struct heat_options *)options = (struct heat_options){.minutes = NOT_SAID};
}

static bool has_file(const struct heat_options *o)
{
    return o->svg || o->png || o->json;
}

/* -1: it is not said. */
static int read_metric(struct ctx *c, const struct heat_options *o, int *out)
{
    const char *near;

    *out = -1;
    if (!o->metric)
        return 0;
    for (int m = 0; m < WR_HEAT_METRICS; m++)
        if (strcmp(o->metric, heat_metric_names[m]) == 0)
            *out = m;
    if (*out >= 0)
        return 0;
    near = option_nearest(o->metric, heat_metric_names, WR_HEAT_METRICS);
    return fail(c, E_PARAMETER, "no metric '%s'%s%s; there are reads, writes, cu, refused, bytes",
                o->metric, near ? "; did you mean " : "", near ? near : "");
}

static uint64_t terminal_columns(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > LABEL_COLUMNS + 10u)
        return size.ws_col - LABEL_COLUMNS;
    return COLUMNS_PLAIN;
}

static int write_file(struct ctx *c, const char *path, const struct buf *b)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *f = standard ? stdout : fopen(path, "wb");
    bool good;

    if (!f)
        return fail(c, E_NO_SPACE, "cannot write %s: %s", path, strerror(errno));
    good = fwrite(b->data, 1, b->len, f) == b->len && fflush(f) == 0;
    if (!standard)
        good = fclose(f) == 0 && good;
    return good ? 0 : fail(c, E_NO_SPACE, "cannot write %s: %s", path, strerror(errno));
}

static int write_files(struct ctx *c, const struct heat_options *o, const struct heat_picture *p)
{
    struct buf b;

    buf_init(&b, &c->arena, 1 << 16);
    if (o->svg) {
        heat_draw_svg(&b, p);
        TRY(write_file(c, o->svg, &b));
        b.len = 0;
    }
    if (o->png) {
        heat_draw_png(&b, p, PNG_SCALE);
        TRY(write_file(c, o->png, &b));
        b.len = 0;
    }
    if (o->json) {
        heat_write_json(&b, p);
        TRY(write_file(c, o->json, &b));
    }
    return 0;
}

static void heat_request(const struct heat_options *o, const char *table, int metric,
                         struct wr_request *request)
{
    struct wr_describe_heat *d = &request->describe_heat;

    *request = (struct wr_request){.op = WR_OP_DESCRIBE_HEAT};
    d->table = bytes_str(table);
    d->minutes = o->minutes == NOT_SAID   ? MINUTES
                 : o->minutes > INT32_MAX ? INT32_MAX
                                          : (int32_t)o->minutes;
    d->rows = (int32_t)(o->rows ? o->rows : has_file(o) ? 256 : 32);
    d->columns = (int32_t)(o->columns ? o->columns : has_file(o) ? 480 : terminal_columns());
    if (o->json)
        d->metrics = 0;
    else if (metric >= 0)
        d->metrics = 1u << metric;
    else
        d->metrics = 1u << WR_HEAT_READS | 1u << WR_HEAT_WRITES;
}

static int heat(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct heat_options *o = options;
    struct heat_picture p = {.table = cli->argv[0]};
    struct wr_request request;
    struct wr_reply reply;
    int metric;

    TRY(read_metric(c, o, &metric));
    heat_request(o, cli->argv[0], metric, &request);
    TRY(client_exec(c, cl, &request, &reply));
    if (o->minutes == NOT_SAID && !o->json)
        heat_trim(&c->arena, &reply.heat, COLUMNS_MIN);
    p.heat = &reply.heat;
    p.metric = (enum wr_heat_metric)(metric < 0 ? WR_HEAT_WRITES : metric);
    if (metric < 0) {
        struct heat_picture reads = p;

        reads.metric = WR_HEAT_READS;
        if (heat_sum(&reads) > heat_sum(&p))
            p.metric = WR_HEAT_READS;
    }
    if (has_file(o))
        return write_files(c, o, &p);
    heat_draw_text(stdout, &c->arena, &p, o->color || (!o->plain && isatty(STDOUT_FILENO)));
    print_servers(reply.heat.servers, reply.heat.silent);
    print_source(cl, cli->argv[0]);
    return 0;
}

const struct command command_heat = {
    .name = "heat",
    .group = GROUP_LOAD,
    .args = "TABLE",
    .summary = "show where and when a table is read and written",
    .text = "Rows are ranges of keys, chosen so that each takes about the same share of the\n"
            "traffic; columns are minutes; the lighter a cell (or the higher), the hotter.\n"
            "doc/heat.md says how to read it.",
    .example = "widerow heat orders --minutes 120\nwiderow heat orders --svg orders.svg",
    .options = heat_rows,
    .options_size = sizeof(struct heat_options),
    .defaults = heat_defaults,
    .argc_min = 1,
    .argc_max = 1,
    .run_connected = heat,
};
