#include "cli/transfer/migrate_table.h"

#include "base/thread.h"
#include "cli/transfer/content.h"
#include "cli/transfer/twin.h"
#include "client/walk.h"

#include <stdio.h>

#define NOTE_EVERY_US (30 * (int64_t)1000000)
/* A place that is nearer than this to the end of what the stream keeps is not trusted: clocks
 * differ, and reading takes its time. */
#define KEPT_MARGIN_US (3600 * (int64_t)1000000)
#define COMPARE_ROUNDS 3
#define SLACK_MAX_MS (3600 * (int64_t)1000)

/* ---- begin and end ---- */

void migrate_table_init(struct migrate_table *m, const struct migration *all, bytes name)
{
    *m = (struct migrate_table){.migration = all, .name = name};
    ctx_init(&m->c, all->clock, NULL, NULL, 0);
}

void migrate_table_release(struct migrate_table *m)
{
    if (m->streams)
        copy_follow_release(&m->follow);
    ctx_release(&m->c);
}

static void take_clients(struct migrate_table *m, const struct migrate_clients *clients)
{
    m->from = m->follow.from = m->follow.stream.client = clients->from;
    m->to = m->follow.to = clients->to;
}

static int put_note(struct migrate_table *m, enum migrate_phase phase)
{
    struct ctx c;
    int code;

    ctx_init(&c, m->c.clock, NULL, NULL, 0);
    m->note.phase = phase;
    m->noted_us = clock_mono_us(m->c.clock);
    code = migrate_notes_put(&c, m->migration->notes, m->name, &m->note);
    if (code)
        fail(&m->c, code, "%s", c.text);
    ctx_release(&c);
    return code;
}

/* ---- looking at both sides ---- */

static int note_row(struct ctx *c, void *arg, const struct wr_row *rows, size_t count)
{
    (void)c;
    (void)rows;
    *(bool *)arg |= count > 0;
    return WALK_ENOUGH;
}

static bool same_columns(const struct wr_table_description *a, const struct wr_table_description *b)
{
    if (a->defined_count != b->defined_count)
        return false;
    for (size_t i = 0; i < a->defined_count; i++)
        if (!bytes_equal(a->defined[i].name, b->defined[i].name) ||
            a->defined[i].type != b->defined[i].type)
            return false;
    return true;
}

static int check_form(struct ctx *c, const struct migrate_table *m,
                      const struct wr_table_description *there)
{
    const char *endpoint = m->migration->to->endpoint, *other = NULL;

    if (m->here.creation_us && m->here.creation_us == there->creation_us)
        return fail(c, E_PARAMETER,
                    "--from and --to lead to the same instance of the same server, or to a copy of "
                    "its folder: %.*s was made at the same moment on both. Nothing was changed",
                    BYTES_FMT(m->name));
    if (!twin_same_key(&m->here, there))
        other = "another key";
    else if (!same_columns(&m->here, there))
        other = "other defined columns";
    else if (m->here.options.update_full_row != there->options.update_full_row)
        other = "update_full_row set otherwise";
    if (!other)
        return 0;
    return fail(c, WR_E_EXIST,
                "%.*s is at %s already, with %s; nothing was changed. Drop it there, or name the "
                "others with --tables",
                BYTES_FMT(m->name), endpoint, other);
}

/* Is what stands there what an earlier run has left? */
static int check_owner(struct ctx *c, struct migrate_table *m,
                       const struct wr_table_description *there)
{
    const struct migrate_note *note = &m->note;
    bool made_anew =
        note->created_us && there->creation_us && note->created_us != there->creation_us;
    bool rows = false;

    if (note->phase != MIGRATE_UNKNOWN && !made_anew)
        return 0;
    m->note = (struct migrate_note){.phase = MIGRATE_UNKNOWN};
    if (m->migration->resume)
        return 0;
    TRY(walk_table(c, m->to, there, 1, note_row, &rows));
    if (!rows)
        return 0;
    return fail(c, WR_E_EXIST,
                "%.*s has rows at %s already, and %s tells of none%s; nothing was changed. Drop it "
                "there, or give --resume if a migration has left it: then rows that only %s has "
                "are deleted",
                BYTES_FMT(m->name), m->migration->to->endpoint, m->migration->notes->path,
                made_anew ? " since the table was made anew" : "", m->migration->to->endpoint);
}

/* Which of the two servers it was that said so. */
static int at_target(struct ctx *c, const struct migrate_table *m, int code)
{
    const char *text = c->text;

    if (!code)
        return 0;
    ctx_clear(c);
    return fail(c, code, "%.*s: at %s: %s", BYTES_FMT(m->name), m->migration->to->endpoint, text);
}

static int check_steps(struct ctx *c, struct migrate_table *m)
{
    struct wr_table_description there;
    int code;

    TRY(client_describe(c, m->from, m->name, &m->here));
    TRY(twin_search_list(c, m->from, m->name, &m->searches, &m->search_count));
    if (m->migration->follow && !m->here.stream.enable)
        return fail(c, WR_E_NOT_EXIST,
                    "%.*s has no stream, so nobody could follow it; nothing was changed. `widerow "
                    "stream on %.*s` keeps one from then on",
                    BYTES_FMT(m->name), BYTES_FMT(m->name));
    m->note = migrate_notes_get(m->migration->notes, m->name);
    code = client_describe(c, m->to, m->name, &there);
    m->present = code == 0;
    if (code == WR_E_NOT_EXIST) {
        ctx_clear(c);
        m->note = (struct migrate_note){.phase = MIGRATE_UNKNOWN};
        return 0;
    }
    TRY(code);
    TRY(check_form(c, m, &there));
    TRY(check_owner(c, m, &there));
    m->note.created_us = there.creation_us;
    return 0;
}

int migrate_table_check(struct migrate_table *m, const struct migrate_clients *clients)
{
    take_clients(m, clients);
    return m->code = check_steps(&m->c, m);
}

/* ---- both sides compared ---- */

struct side {
    struct target *target;
    bytes table;
    struct clock *clock;
    struct content_options options;
    struct content content;
    int code;
    char failure[512];
};

static void *side_run(void *arg)
{
    struct side *s = arg;
    struct ctx c;

    ctx_init(&c, s->clock, NULL, NULL, 0);
    s->code = content_digest(&c, s->target, s->table, &s->options, &s->content);
    snprintf(s->failure, sizeof(s->failure), "%s", s->code ? c.text : "");
    ctx_release(&c);
    return NULL;
}

static void read_sides(struct side sides[2])
{
    pthread_t thread;
    bool beside = thread_start(&thread, "wr-digest", side_run, &sides[0]);

    if (!beside)
        side_run(&sides[0]);
    side_run(&sides[1]);
    if (beside)
        pthread_join(thread, NULL);
}

/* Cells that expire before both sides are read count on neither: only those that live on for
 * another `slack`. */
static int64_t first_living_ms(const struct migrate_table *m, int64_t *slack_ms)
{
    int64_t ttl_ms = (int64_t)m->here.options.ttl_s * 1000;

    if (ttl_ms <= 0)
        return 0;
    *slack_ms = ttl_ms / 4 < SLACK_MAX_MS ? ttl_ms / 4 : SLACK_MAX_MS;
    return clock_wall_us(m->c.clock) / 1000 - ttl_ms + *slack_ms;
}

static int compare_sides(struct ctx *c, struct migrate_table *m, struct side sides[2])
{
    const struct migration *all = m->migration;

    for (int round = 0; round < COMPARE_ROUNDS; round++) {
        int64_t slack_ms = 0, begun_ms = clock_mono_ms(c->clock);
        struct content_options o = {.versions = true,
                                    .worker_count = all->worker_count,
                                    .retry_ms = all->retry_ms,
                                    .from_ms = first_living_ms(m, &slack_ms)};

        sides[0] = (struct side){.target = all->from, .table = m->name, .clock = c->clock};
        sides[1] = (struct side){.target = all->to, .table = m->name, .clock = c->clock};
        sides[0].options = sides[1].options = o;
        sides[0].options.rate = all->from_rate;
        sides[1].options.rate = all->to_rate;
        read_sides(sides);
        for (size_t i = 0; i < 2; i++)
            if (sides[i].code)
                return fail(c, sides[i].code, "%s", sides[i].failure);
        if (strcmp(sides[0].content.hex, sides[1].content.hex) == 0)
            return 0;
        if (slack_ms == 0 || clock_mono_ms(c->clock) - begun_ms < slack_ms)
            break; /* no cell has expired between the two */
    }
    return fail(c, WR_E_CORRUPT,
                "%.*s differs: %llu rows, %llu cells at %s, %llu rows, %llu cells at %s. Was it "
                "written to meanwhile? Stop the writers and run this again, which makes both the "
                "same",
                BYTES_FMT(m->name), (unsigned long long)sides[0].content.rows,
                (unsigned long long)sides[0].content.cells, all->from->endpoint,
                (unsigned long long)sides[1].content.rows,
                (unsigned long long)sides[1].content.cells, all->to->endpoint);
}

static void tell(const struct migrate_table *m, const struct side *side)
{
    const struct table_copy *copy = &m->follow.copy;
    unsigned long long written = atomic_load(&copy->written), deleted = atomic_load(&copy->deleted);

    if (m->migration->no_verify)
        printf("%.*s: %llu rows written, %llu deleted, not verified\n", BYTES_FMT(m->name), written,
               deleted);
    else
        printf("%.*s: %llu rows, %llu cells, %llu rows written, %llu deleted, same on both sides: "
               "%s\n",
               BYTES_FMT(m->name), (unsigned long long)side->content.rows,
               (unsigned long long)side->content.cells, written, deleted, side->content.hex);
    fflush(stdout);
}

/* ---- filling ---- */

/* What the notes say is enough: the stream has all that came since. */
static bool stream_suffices(const struct migrate_table *m, int64_t now_us)
{
    int64_t kept_us = (int64_t)m->here.stream.expiration_h * 3600 * 1000000;

    return m->present && m->note.place_us && m->note.phase >= MIGRATE_FOLLOWS &&
           m->note.stream_us == m->here.stream_enable_us && m->here.stream.enable &&
           now_us >= m->note.place_us && now_us - m->note.place_us < kept_us - KEPT_MARGIN_US;
}

static int make_twin(struct ctx *c, struct migrate_table *m)
{
    struct wr_table_description there;

    /* First the note: a table that was made and of which nothing is known would be refused. */
    TRY(put_note(m, m->filled ? MIGRATE_FOLLOWS : MIGRATE_FILLING));
    if (!m->present)
        TRY(at_target(c, m, twin_create(c, m->to, &m->here)));
    TRY(client_describe(c, m->to, m->name, &there));
    if (m->present) {
        TRY(twin_search_drop(c, m->to, m->name));
        TRY(at_target(c, m, twin_open(c, m->to, &m->here, &there)));
    } else if (!bytes_equal(there.layout, m->here.layout)) {
        printf("%.*s: layout %.*s is not kept there\n", BYTES_FMT(m->name),
               BYTES_FMT(m->here.layout));
    }
    m->note.created_us = there.creation_us;
    return put_note(m, m->note.phase);
}

static int open_stream(struct ctx *c, struct migrate_table *m)
{
    if (!m->here.stream.enable)
        return 0;
    m->streams = true;
    return copy_follow_open(c, m->from, m->to, m->name, m->note.place_us, &m->follow);
}

static struct table_copy copy_of(const struct migrate_table *m)
{
    return (struct table_copy){.from = m->migration->from,
                               .to = m->migration->to,
                               .clock = m->migration->clock,
                               .table = &m->here,
                               .progress = m->migration->progress,
                               .worker_count = m->migration->worker_count,
                               .compare = m->present,
                               .exact = m->present,
                               .retry_ms = m->migration->retry_ms,
                               .from_rate = m->migration->from_rate,
                               .to_rate = m->migration->to_rate};
}

/* A table that an earlier run has finished stays as it is if nothing has changed since. */
static int check_done(struct ctx *c, struct migrate_table *m)
{
    struct side sides[2];
    int code;

    if (m->note.phase != MIGRATE_DONE || m->migration->follow || m->migration->no_verify)
        return 0;
    code = compare_sides(c, m, sides);
    m->done = code == 0;
    if (m->done)
        tell(m, &sides[1]);
    else if (code == WR_E_CORRUPT)
        ctx_clear(c);
    return code == WR_E_CORRUPT ? 0 : code;
}

static int fill_steps(struct ctx *c, struct migrate_table *m)
{
    TRY(check_done(c, m));
    if (m->done)
        return 0;
    m->filled = stream_suffices(m, clock_wall_us(c->clock));
    if (!m->filled)
        m->note.place_us = m->here.stream.enable ? clock_wall_us(c->clock) : 0;
    m->note.stream_us = m->here.stream_enable_us;
    TRY(make_twin(c, m));
    TRY(open_stream(c, m));
    m->follow.copy = copy_of(m);
    if (!m->filled)
        TRY(copy_rows(c, m->from, &m->follow.copy));
    m->filled = true;
    return put_note(m, MIGRATE_FOLLOWS);
}

int migrate_table_fill(struct migrate_table *m, const struct migrate_clients *clients)
{
    take_clients(m, clients);
    m->code = fill_steps(&m->c, m);
    atomic_store(&m->ready, m->code == 0);
    return m->code;
}

/* ---- following ---- */

/* One round. A place that the server does not give any more is of no use to the next run either:
 * that one compares row by row. */
static int read_stream(struct ctx *c, struct migrate_table *m)
{
    int64_t begun_us = clock_wall_us(c->clock);
    int code = copy_follow_round(c, &m->follow);

    if (code && !client_may_retry(code, true))
        (void)put_note(m, MIGRATE_FILLING);
    if (code == 0 && m->follow.current)
        m->read_us = begun_us;
    return code;
}

static int note_place(struct migrate_table *m)
{
    if (m->read_us)
        m->note.place_us = m->read_us;
    return put_note(m, MIGRATE_FOLLOWS);
}

static int follow_steps(struct ctx *c, struct migrate_table *m)
{
    if (!m->streams) {
        m->follow.current = true;
        return 0;
    }
    TRY(read_stream(c, m));
    if (!m->follow.current || clock_mono_us(c->clock) - m->noted_us < NOTE_EVERY_US)
        return 0;
    return note_place(m);
}

int migrate_table_follow(struct migrate_table *m, const struct migrate_clients *clients)
{
    take_clients(m, clients);
    return m->code = follow_steps(&m->c, m);
}

/* ---- the end ---- */

/* The stream to its end. */
static int drain(struct ctx *c, struct migrate_table *m)
{
    if (!m->streams)
        return 0;
    do
        TRY(read_stream(c, m));
    while (!m->follow.current);
    return note_place(m);
}

static int finish_steps(struct ctx *c, struct migrate_table *m)
{
    struct side sides[2];
    size_t left_out;
    int code;

    if (m->done)
        return 0;
    TRY(drain(c, m));
    TRY(at_target(c, m, twin_close(c, m->to, &m->here)));
    TRY(at_target(c, m, twin_create_indexes(c, m->to, &m->here, &m->left_out)));
    TRY(at_target(c, m,
                  twin_search_create(c, m->to, m->name, m->searches, m->search_count, &left_out)));
    m->left_out += left_out;
    if (!m->migration->no_verify) {
        code = compare_sides(c, m, sides);
        if (code == WR_E_CORRUPT) /* the next run compares row by row */
            (void)put_note(m, MIGRATE_FILLING);
        TRY(code);
    }
    TRY(put_note(m, MIGRATE_DONE));
    tell(m, &sides[1]);
    return 0;
}

int migrate_table_pause(struct migrate_table *m, const struct migrate_clients *clients)
{
    (void)clients;
    return m->streams ? m->code = note_place(m) : 0;
}

int migrate_table_finish(struct migrate_table *m, const struct migrate_clients *clients)
{
    take_clients(m, clients);
    return m->code = finish_steps(&m->c, m);
}
