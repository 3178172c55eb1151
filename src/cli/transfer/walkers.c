#include "cli/transfer/walkers.h"

#include "base/thread.h"
#include "client/walk.h"

#include <stdio.h>

#define PIECES_MAX 4096

/* ---- pieces */

static int compare_values(const struct wr_value *a, const struct wr_value *b)
{
    int at = (a->type == WR_INF_MAX) - (a->type == WR_INF_MIN);
    int to = (b->type == WR_INF_MAX) - (b->type == WR_INF_MIN);

    if (at || to)
        return (at > to) - (at < to);
    if (a->type == WR_BIGINT)
        return (a->integer > b->integer) - (a->integer < b->integer);
    return bytes_compare(a->bytes, b->bytes);
}

static int compare_keys(const struct wr_key *a, const struct wr_key *b)
{
    int r = 0;

    for (size_t i = 0; i < a->count && i < b->count && r == 0; i++)
        r = compare_values(&a->columns[i].value, &b->columns[i].value);
    return r;
}

static size_t ask_points(struct ctx *c, struct client *cl, bytes table, uint64_t piece_bytes,
                         const struct wr_key **points)
{
    struct wr_request request = {.op = WR_OP_COMPUTE_SPLIT_POINTS,
                                 .compute_split_points = {.table = table,
                                                          .split_size = 1,
                                                          .has_unit = true,
                                                          .unit_bytes = (int64_t)piece_bytes,
                                                          .has_limit = true,
                                                          .limit = PIECES_MAX,
                                                          .estimated = true}};
    struct wr_reply reply;

    if (client_exec(c, cl, &request, &reply)) {
        ctx_clear(c); /* one piece will do */
        return 0;
    }
    *points = reply.splits.points;
    return reply.splits.point_count;
}

/* A point as a whole key: columns that it leaves out begin at their beginning. */
static struct wr_key whole_key(struct arena *a, const struct wr_table_description *t,
                               const struct wr_key *point)
{
    struct wr_key key = walk_bound(a, t, WR_INF_MIN);
    struct wr_key_column *columns = (struct wr_key_column *)(uintptr_t)key.columns;

    for (size_t i = 0; i < point->count && i < key.count; i++)
        columns[i].value = point->columns[i].value;
    return key;
}

void walkers_cut(struct ctx *c, struct client *cl, const struct wr_table_description *table,
                 const struct wr_get_range *range, uint64_t piece_bytes, struct walkers_pieces *out)
{
    const struct wr_key *points;
    size_t count = ask_points(c, cl, table->table, piece_bytes, &points);

    while (count == PIECES_MAX && piece_bytes < INT64_MAX / 16)
        count = ask_points(c, cl, table->table, piece_bytes *= 16, &points);
    *out = (struct walkers_pieces){.bounds = ARENA_ARRAY(&c->arena, struct wr_key, count + 1)};
    for (size_t i = 0; i < count; i++) {
        struct wr_key key = whole_key(&c->arena, table, &points[i]);

        if (compare_keys(&key, &range->start) > 0 && compare_keys(&key, &range->end) < 0 &&
            (!out->count || compare_keys(&key, &out->bounds[out->count - 1]) > 0))
            out->bounds[out->count++] = key;
    }
}

/* ---- the walk */

struct walk_state {
    const struct walkers *conf;
    struct clock *clock;
    atomic_size_t next; /* piece */
    atomic_bool stopped;
    pthread_mutex_t mutex; /* over what follows */
    int code;
    char text[512];
};

struct walker {
    struct walk_state *state;
    pthread_t thread;
    size_t number, piece;
};

static void end_walk(struct walk_state *s, int code, const char *text)
{
    pthread_mutex_lock(&s->mutex);
    if (code != WALK_ENOUGH && !s->code) {
        s->code = code;
        snprintf(s->text, sizeof(s->text), "%s", text ? text : "ended");
    }
    pthread_mutex_unlock(&s->mutex);
    atomic_store(&s->stopped, true);
    if (s->conf->stop)
        s->conf->stop(s->conf->arg);
}

static int take_rows(struct ctx *c, void *arg, const struct wr_row *rows, size_t count)
{
    struct walker *w = arg;
    const struct walkers *conf = w->state->conf;
    int code = conf->rows(c, conf->arg, w->number, w->piece, rows, count);

    if (code == WALK_ENOUGH)
        end_walk(w->state, code, NULL);
    return code || !atomic_load(&w->state->stopped) ? code : WALK_ENOUGH;
}

static int walk_piece(struct ctx *c, struct client *cl, struct walker *w)
{
    const struct walkers *conf = w->state->conf;
    struct wr_get_range range = conf->range;

    if (w->piece > 0)
        range.start = conf->pieces->bounds[w->piece - 1];
    if (w->piece < conf->pieces->count)
        range.end = conf->pieces->bounds[w->piece];
    TRY(walk_range(c, cl, &range, take_rows, w));
    if (atomic_load(&w->state->stopped) || !conf->end)
        return 0;
    return conf->end(c, conf->arg, w->number, w->piece);
}

static int walk_pieces(struct ctx *c, struct walker *w)
{
    struct walk_state *s = w->state;
    struct client *cl;
    int code;

    TRY(client_open(c, s->conf->target, &cl));
    do {
        w->piece = atomic_fetch_add(&s->next, 1);
        code = w->piece <= s->conf->pieces->count && !atomic_load(&s->stopped)
                   ? walk_piece(c, cl, w)
                   : WALK_ENOUGH;
    } while (!code);
    client_close(cl);
    return code == WALK_ENOUGH ? 0 : code;
}

static void *walker_run(void *arg)
{
    struct walker *w = arg;
    struct ctx c;
    int code;

    ctx_init(&c, w->state->clock, NULL, NULL, 0);
    code = walk_pieces(&c, w);
    if (code)
        end_walk(w->state, code, c.text);
    ctx_release(&c);
    return NULL;
}

int walkers_run(struct ctx *c, const struct walkers *conf)
{
    struct walk_state s = {.conf = conf, .clock = c->clock};
    size_t wanted = conf->count <= conf->pieces->count ? conf->count : conf->pieces->count + 1;
    struct walker *walkers = ARENA_ARRAY(&c->arena, struct walker, wanted);
    size_t n = 0;

    pthread_mutex_init(&s.mutex, NULL);
    for (; n < wanted; n++) {
        walkers[n] = (struct walker){.state = &s, .number = n};
        if (!thread_start(&walkers[n].thread, "wr-walk", walker_run, &walkers[n]))
            break;
    }
    if (!n)
        end_walk(&s, E_UNAVAILABLE, "the system gives no thread");
    while (n)
        pthread_join(walkers[--n].thread, NULL);
    pthread_mutex_destroy(&s.mutex);
    return s.code ? fail(c, s.code, "%s", s.text) : 0;
}
