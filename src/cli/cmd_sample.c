/* cmd_sample.c: `widerow sample`: example data as CSV. */
#include "cli/command.h"
#include "cli/transfer/sample.h"

#include <errno.h>
#include <stdio.h>

#define OUT_BYTES (256 << 10)

struct sample_options {
    uint64_t records, seed;
};

static const struct option_row sample_rows[] = {
    {"records", "N", "how many (default 1000000)", OPTION_COUNT,
     offsetof(struct sample_options, records), 0, 1000000000000},
    {"seed", "S", "the same seed gives the same records (default 1)", OPTION_COUNT,
     offsetof(struct sample_options, seed), 0, UINT64_MAX},
    {0},
};

static void sample_defaults(void *options)
{
    *(struct sample_options *)options = (struct sample_options){1000000, 1};
}

static bool write_campus(const struct sample_options *o)
{
    struct sample_campus campus;
    struct sample_record record;
    char *out = mem_alloc(OUT_BYTES);
    size_t len = strlen(SAMPLE_CAMPUS_HEADER);
    bool good = true;

    memcpy(out, SAMPLE_CAMPUS_HEADER, len);
    sample_campus_init(&campus, o->records, o->seed);
    while (good && sample_campus_next(&campus, &record)) {
        len += sample_format(&record, out + len);
        if (len > OUT_BYTES - SAMPLE_LINE_BYTES_MAX) {
            good = fwrite(out, 1, len, stdout) == len;
            len = 0;
        }
    }
    good = good && fwrite(out, 1, len, stdout) == len && fflush(stdout) == 0;
    sample_campus_release(&campus);
    mem_free(out);
    return good;
}

static int sample_run(struct ctx *c, struct cli *cli, void *options)
{
    static const char *const names[] = {"campus"};

    if (strcmp(cli->argv[0], names[0]) != 0) {
        const char *near = option_nearest(cli->argv[0], names, 1);

        return fail(c, E_PARAMETER, "no sample '%s'%s; there is: campus", cli->argv[0],
                    near ? " (did you mean campus?)" : "");
    }
    if (!write_campus(options))
        return fail(c, E_NO_SPACE, "cannot write: %s", strerror(errno));
    return 0;
}

const struct command command_sample = {
    .name = "sample",
    .group = GROUP_OTHER,
    .args = "campus",
    .summary = "print example data as CSV",
    .text =
        "campus: one year of purchases with student cards, in time order. Cards and devices are\n"
        "used evenly, sellers are few and of very different size; order numbers count up within a\n"
        "device, and a device stands at one seller.",
    .example = "widerow sample campus --records 100000 >campus.csv",
    .options = sample_rows,
    .options_size = sizeof(struct sample_options),
    .defaults = sample_defaults,
    .argc_min = 1,
    .argc_max = 1,
    .run = sample_run,
};
