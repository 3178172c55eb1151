#include "cli/transfer/import_check.h"

#include "cli/transfer/import_line.h"

#include <errno.h>
#include <stdio.h>

#define BAD_LINES_SAID 20 /* on stderr; a file of rejects gets all */

struct check {
    struct import *im;
    uint64_t good, bad;
};

static int reject(struct ctx *c, struct check *k, const struct csv_record *record,
                  const char *reason)
{
    struct import *im = k->im;

    if (++k->bad <= BAD_LINES_SAID && !im->options->rejects)
        progress_say(&im->progress, "line %llu: %s", (unsigned long long)record->line, reason);
    if (im->options->rejects && !rejects_put(&im->rejects, record->line, reason, record->raw))
        return fail(c, E_NO_SPACE, "cannot write %s: %s", im->rejects.path, strerror(errno));
    return 0;
}

static int check_line(struct ctx *c, struct check *k, enum csv_result result,
                      struct csv_record *record, import_check_fn *fn, void *arg)
{
    struct import_line line = import_line_read(k->im, result, record);

    atomic_fetch_add(&k->im->progress.bytes, record->size);
    if (!line.row)
        return reject(c, k, record, line.reason);
    mem_free(line.row);
    k->good++;
    atomic_fetch_add(&k->im->progress.records, 1);
    fn(arg, record);
    return 0;
}

static int check_lines(struct ctx *c, struct check *k, import_check_fn *fn, void *arg)
{
    struct import_source *s = &k->im->source;
    struct csv_record record;
    enum csv_result result;

    while ((result = import_source_next(s, &record)) != CSV_END && !*s->stop) {
        if (result == CSV_FAILED && import_source_is_idle(s))
            continue;
        if (result == CSV_FAILED)
            return fail(c, E_PARAMETER, "%s", import_source_message(s));
        TRY(check_line(c, k, result, &record, fn, arg));
    }
    return *s->stop ? fail(c, E_UNAVAILABLE, "interrupted") : 0;
}

static void say_result(const struct check *k)
{
    const char *rejects = k->im->options->rejects;
    char good[PROGRESS_TEXT], bad[PROGRESS_TEXT];

    printf("%s: %s %s would be loaded, %s would not%s%s%s; nothing was written\n",
           k->im->options->table, progress_format_count(k->good, good),
           k->good == 1 ? "line" : "lines", progress_format_count(k->bad, bad),
           k->bad && rejects ? " (" : "", k->bad && rejects ? rejects : "",
           k->bad && rejects ? ")" : "");
}

int import_check(struct ctx *c, struct import *im, import_check_fn *fn, void *arg)
{
    struct check k = {.im = im};
    int code;

    progress_start(&im->progress, c->clock, im->source.records.total_bytes, im->options->quiet);
    code = check_lines(c, &k, fn, arg);
    progress_end(&im->progress);
    /* What the command tells of rows that were written is none of a check's. */
    atomic_store(&im->progress.records, 0);
    say_result(&k);
    if (code)
        return code;
    return k.bad ? fail(c, E_PARAMETER, "some lines would not be loaded") : 0;
}
