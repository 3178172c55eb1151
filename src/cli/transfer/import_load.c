#include "cli/transfer/import_load.h"

#include "cli/transfer/import_line.h"

#include <stdio.h>

#define EMBEDDED_BYTES ((size_t)64 << 20) /* for sorting */
#define BATCH_BYTES (4u << 20)
#define HANDFUL 64
#define BATCH_SPARE_BYTES (256u << 10) /* for what the limits do not count */

/* Rows on their way into the buffer, which takes some at a time. */
struct handful {
    struct import_row *rows[HANDFUL];
    size_t count;
};

static void hand_over(struct import *im, struct handful *h)
{
    shuffle_buffer_put(&im->shuffle, h->rows, h->count);
    h->count = 0;
}

/* One line: to the others, or told as bad. */
static void feed_line(struct import *im, struct handful *h, enum csv_result result,
                      struct csv_record *record)
{
    struct resume_part *part = resume_line(&im->resume, record->offset, record->line);
    struct import_line line = import_line_read(im, result, record);

    if (!line.row) {
        loader_reject(&im->loader,
                      &(struct loader_reject){record->line, line.reason, record->raw, part});
        return;
    }
    line.row->part = part;
    h->rows[h->count++] = line.row;
    if (h->count == HANDFUL)
        hand_over(im, h);
}

/* Reads the file into the buffer. Returns lines read, bad ones included. */
static uint64_t feed(struct ctx *c, struct import *im)
{
    struct loader *l = &im->loader;
    struct csv_record record;
    enum csv_result result;
    struct handful h;
    uint64_t lines = 0;

    h.count = 0;
    while ((result = import_source_next(&im->source, &record)) != CSV_END && !*im->source.stop) {
        if (result == CSV_FAILED && import_source_is_idle(&im->source)) {
            hand_over(im, &h);
            shuffle_buffer_flush(&im->shuffle);
            continue;
        }
        if (result == CSV_FAILED) {
            loader_end_early(l, E_PARAMETER, import_source_message(&im->source));
            break;
        }
        if (record.offset < im->resume.offset)
            continue; /* settled by an earlier run */
        lines++;
        feed_line(im, &h, result, &record);
        if (resume_note(c, &im->resume))
            loader_give_up(l, c->code, c->text);
        if (atomic_load(&l->stopped))
            break;
    }
    hand_over(im, &h);
    if (*im->source.stop)
        loader_give_up(l, E_UNAVAILABLE, "interrupted");
    return lines;
}

static void say_result(const struct import *im, uint64_t lines)
{
    uint64_t done = atomic_load(&im->progress.records), errors = atomic_load(&im->loader.errors);
    double seconds = progress_seconds(&im->progress);
    char count[PROGRESS_TEXT], rate[PROGRESS_TEXT], more[PROGRESS_TEXT];

    printf("%s: %s rows acknowledged in %.1f s (%s rows/s)", im->options->table,
           progress_format_count(done, count), seconds,
           progress_format_count((uint64_t)((double)done / seconds), rate));
    if (errors)
        printf(", %s %s not loaded", progress_format_count(errors, more),
               errors == 1 ? "line" : "lines");
    if (lines > done + errors)
        printf(", %s more read and not acknowledged",
               progress_format_count(lines - done - errors, more));
    if (errors && im->options->rejects)
        printf(" (%s)", im->options->rejects);
    printf("\n");
}

/* An import that has done nothing leaves no notes. */
static int end_notes(struct ctx *c, struct import *im)
{
    bool failed = im->loader.failure[0] != 0;
    bool began = im->resume.offset || atomic_load(&im->progress.records);

    TRY(resume_end(c, &im->resume, !failed || !began));
    if (failed && began && im->resume.path)
        fprintf(stderr, "How far it is stands in %s: the same command goes on there.\n",
                im->resume.path);
    return 0;
}

/* A batch is no more than what a second allows: so what is sent comes evenly. */
static uint64_t batch_rows(const struct import *im)
{
    uint64_t batch = im->options->batch;

    return im->rate.per_s > 0 && im->rate.per_s < (double)batch ? (uint64_t)im->rate.per_s : batch;
}

/* ---- past the log */

static int begin_embedded(struct ctx *c, struct import *im)
{
    struct target *t = im->client->target;
    char message[512];
    int code = wr_load_open(t->db, t->instance, bytes_str(im->options->table), im->dir,
                            EMBEDDED_BYTES, &im->loader.load, message, sizeof(message));

    return code ? fail(c, (enum err)code, "%s", message) : 0;
}

/* All rows, or none. */
static int end_embedded(struct ctx *c, struct import *im)
{
    struct loader *l = &im->loader;
    char message[512];
    uint64_t rows;
    int code = l->failure[0] ? 0 : wr_load_finish(l->load, &rows, message, sizeof(message));

    if (!l->failure[0] && !code)
        atomic_store(&im->progress.records, atomic_load(&l->loaded));
    wr_load_free(l->load);
    l->load = NULL;
    return code ? fail(c, (enum err)code, "%s", message) : 0;
}

/* Rows of a window go by their keys where the table stores them so. */
static enum row_order order_of(const struct import *im)
{
    bool by_key = !im->layout.len || bytes_equal(im->layout, BYTES_LIT("plain"));

    if (im->options->shuffle)
        return ROWS_SHUFFLED;
    return by_key && !im->options->embedded ? ROWS_BY_KEY : ROWS_AS_THEY_COME;
}

int import_load(struct ctx *c, struct import *im)
{
    const struct import_options *o = im->options;
    struct loader *l = &im->loader;
    uint64_t seed = o->seed ? o->seed : (uint64_t)clock_wall_us(c->clock);
    uint64_t lines;
    int code;

    if (o->embedded)
        TRY(begin_embedded(c, im));
    shuffle_buffer_init(&im->shuffle, o->window, batch_rows(im), BATCH_BYTES - BATCH_SPARE_BYTES,
                        order_of(im), seed);
    im->shuffle.key_count = im->plan.key_count;
    progress_start(&im->progress, c->clock, im->source.records.total_bytes, o->quiet);
    l->target = im->client->target;
    l->clock = c->clock;
    l->plan = &im->plan;
    l->table = bytes_str(o->table);
    l->shuffle = &im->shuffle;
    l->progress = &im->progress;
    l->retry_ms = (int64_t)o->retry_s * 1000;
    l->errors_max = o->max_errors;
    atomic_store(&l->errors, im->resume.errors);
    l->worker_count = o->embedded ? 1 : o->workers;
    l->rejects = o->rejects ? &im->rejects : NULL;
    l->rate = &im->rate;
    rate_init(&im->rate, c->clock);
    code = loader_start(c, l);
    if (code == 0) {
        lines = feed(c, im);
        shuffle_buffer_close(&im->shuffle);
        loader_finish(l);
        if (o->embedded)
            code = end_embedded(c, im);
        progress_end(&im->progress);
        say_result(im, lines);
        code = code ? code : end_notes(c, im);
        if (!code && l->failure[0])
            code = fail(c, (enum err)l->failure_code, "%s", l->failure);
        else if (!code && atomic_load(&l->errors))
            code = fail(c, E_PARAMETER, "some lines were not loaded");
    } else {
        progress_end(&im->progress);
        wr_load_free(l->load);
    }
    shuffle_buffer_release(&im->shuffle);
    rate_release(&im->rate);
    return code;
}
