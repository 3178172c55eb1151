#include "follow.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SHARDS_MAX 16
#define SERVERS_MAX 8
#define REST_NS 1000000
#define TRIES 600 /* with 50 ms between them: longer than any lease */
#define STRIKES_ONE_IN 100

/* A record, in the terms of the model. */
struct seen {
    struct change change;
    int16_t group;
    int64_t time_us;
};

/* So many records had been seen when a read that began then came to the end. */
struct end {
    int64_t call_ns;
    size_t count;
};

struct shard {
    char id[128];
    char iterator[256];
    struct seen *seen;
    size_t count, room;
    struct end *ends;
    size_t end_count, end_room;
    struct seen late; /* of the bug */
    bool has_late;
};

struct follower {
    struct workload *w;
    enum follow_bug bug;
    struct rng rng;
    pthread_t thread;
    atomic_bool stop;
    struct client *clients[SERVERS_MAX];
    int servers, turn;
    struct shard shards[SHARDS_MAX];
    size_t shard_count;
    struct followed *told;
};

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void PORT_PRINTF(2, 3) wrong(struct follower *f, const char *format, ...)
{
    va_list args;

    if (f->told->problem[0])
        return;
    va_start(args, format);
    vsnprintf(f->told->problem, sizeof(f->told->problem), format, args);
    va_end(args);
}

/* ---- requests ---- */

/* Of the next server. One that does not answer costs its connection. */
static int ask(struct follower *f, struct ctx *c, struct wr_request *req, struct wr_reply *reply)
{
    int i = f->turn++ % f->servers, code;

    if (!f->clients[i]) {
        code = client_open(c, &server_of(f->w->server, i)->target, &f->clients[i]);
        if (code)
            return code;
        f->clients[i]->retry_ms = 0;
    }
    code = client_exec(c, f->clients[i], req, reply);
    if (code && f->w->server->target.endpoint) {
        client_close(f->clients[i]);
        f->clients[i] = NULL;
    }
    return code;
}

static void keep_text(struct follower *f, char *to, size_t size, bytes text)
{
    if (text.len >= size)
        wrong(f, "an id of %zu bytes", text.len);
    else
        snprintf(to, size, "%.*s", BYTES_FMT(text));
}

static bool find_shards(struct follower *f, struct ctx *c, char *stream, size_t size)
{
    struct wr_request list = {.op = WR_OP_LIST_STREAM,
                              .list_stream.table = bytes_str(f->w->conf.table)};
    struct wr_request req = {.op = WR_OP_DESCRIBE_STREAM};
    struct wr_reply reply;

    if (ask(f, c, &list, &reply) || reply.streams.count != 1)
        return false;
    keep_text(f, stream, size, reply.streams.streams[0].id);
    req.describe_stream = (struct wr_describe_stream){.table = bytes_str(f->w->conf.table),
                                                      .stream = bytes_str(stream)};
    if (ask(f, c, &req, &reply) || reply.stream.shard_count > SHARDS_MAX)
        return false;
    f->shard_count = reply.stream.shard_count;
    for (size_t i = 0; i < f->shard_count; i++)
        keep_text(f, f->shards[i].id, sizeof(f->shards[i].id), reply.stream.shards[i].id);
    return true;
}

static bool find_places(struct follower *f)
{
    char stream[128];
    struct ctx c;
    bool ok;

    ctx_init(&c, &f->w->server->clock, NULL, NULL, 0);
    ok = find_shards(f, &c, stream, sizeof(stream));
    for (size_t i = 0; i < f->shard_count && ok; i++) {
        struct shard *s = &f->shards[i];
        struct wr_request req = {.op = WR_OP_GET_SHARD_ITERATOR,
                                 .get_shard_iterator = {.table = bytes_str(f->w->conf.table),
                                                        .stream = bytes_str(stream),
                                                        .shard = bytes_str(s->id)}};
        struct wr_reply reply;

        ok = ask(f, &c, &req, &reply) == 0;
        if (ok)
            keep_text(f, s->iterator, sizeof(s->iterator), reply.shard_iterator.iterator);
    }
    if (!ok)
        fprintf(stderr, "linear: no stream to follow: %s\n", c.text ? c.text : "");
    ctx_release(&c);
    return ok;
}

/* ---- records ---- */

static int column_of(bytes name)
{
    return bytes_equal(name, BYTES_LIT("v"))   ? COLUMN_V
           : bytes_equal(name, BYTES_LIT("w")) ? COLUMN_W
           : bytes_equal(name, BYTES_LIT("n")) ? COLUMN_N
                                               : -1;
}

/* An increment's record has the sum, so it is a change that sets n. False: the record is of
 * filling. */
static bool read_record(struct follower *f, const struct wr_stream_record *r, struct seen *out)
{
    const struct wr_key_column *key = r->row.key.columns;

    *out = (struct seen){.time_us = r->timestamp_us};
    out->group = (int16_t)key[0].value.integer;
    if (r->row.key.count != 2 || key[1].value.integer < 0 || key[1].value.integer >= GROUP_ROWS)
        wrong(f, "a record of a row that is none");
    else
        out->change.row = (uint8_t)key[1].value.integer;
    out->change.type = r->type == WR_PUT      ? CHANGE_PUT
                       : r->type == WR_UPDATE ? CHANGE_UPDATE
                                              : CHANGE_DELETE;
    for (size_t i = 0; i < r->row.cell_count; i++) {
        const struct wr_cell *cell = &r->row.cells[i];
        int at = column_of(cell->name);

        if (at < 0)
            return false;
        if (cell->op == WR_CELL_DELETE_ALL) {
            out->change.removes |= (uint8_t)(1u << at);
            continue;
        }
        out->change.sets |= (uint8_t)(1u << at);
        out->change.column[at] = (int32_t)cell->value.integer;
    }
    return true;
}

static void keep(struct shard *s, const struct seen *one)
{
    if (s->count == s->room) {
        s->room = s->room ? 2 * s->room : 1024;
        s->seen = mem_realloc(s->seen, s->room * sizeof(*s->seen));
    }
    s->seen[s->count++] = *one;
}

static void keep_end(struct shard *s, int64_t call_ns)
{
    if (s->end_count == s->end_room) {
        s->end_room = s->end_room ? 2 * s->end_room : 1024;
        s->ends = mem_realloc(s->ends, s->end_room * sizeof(*s->ends));
    }
    s->ends[s->end_count++] = (struct end){call_ns, s->count};
    if (s->has_late)
        keep(s, &s->late);
    s->has_late = false;
}

/* As the planted bug would have it. */
static void take(struct follower *f, struct shard *s, const struct seen *one)
{
    bool strikes =
        f->bug && f->bug != FOLLOW_DRAWN && rng_below(&f->rng, STRIKES_ONE_IN) == 0 && !s->has_late;

    f->told->records++;
    f->told->struck += strikes;
    if (!strikes || f->bug == FOLLOW_REPEATS)
        keep(s, one);
    if (strikes && f->bug == FOLLOW_REPEATS)
        keep(s, one);
    if (strikes && f->bug == FOLLOW_LATE) {
        s->late = *one;
        s->has_late = true;
    }
}

/* One page. *more: there may be another. False: it was refused. */
static bool read_page(struct follower *f, struct shard *s, bool *more)
{
    struct wr_request req = {.op = WR_OP_GET_STREAM_RECORD,
                             .get_stream_record = {.table = bytes_str(f->w->conf.table),
                                                   .iterator = bytes_str(s->iterator)}};
    int64_t call_ns = now_ns(), last = s->count ? s->seen[s->count - 1].time_us : 0;
    struct wr_reply reply;
    struct ctx c;
    int code;

    ctx_init(&c, &f->w->server->clock, NULL, NULL, 0);
    code = ask(f, &c, &req, &reply);
    f->told->reads++;
    f->told->refused += code != 0;
    if (code && wr_error_status(code) / 100 == 4)
        wrong(f, "GetStreamRecord was refused (%s: %s)", wr_error_name(code), c.text);
    for (size_t i = 0; i < reply.stream_records.count && !code; i++) {
        struct seen one;

        if (reply.stream_records.records[i].timestamp_us <= last &&
            (f->bug == FOLLOW_SOUND || f->bug == FOLLOW_DRAWN))
            wrong(f, "shard %s: a record of %lld comes behind one of %lld", s->id,
                  (long long)reply.stream_records.records[i].timestamp_us, (long long)last);
        last = reply.stream_records.records[i].timestamp_us;
        if (read_record(f, &reply.stream_records.records[i], &one))
            take(f, s, &one);
    }
    if (!code) {
        keep_text(f, s->iterator, sizeof(s->iterator), reply.stream_records.next);
        *more = reply.stream_records.more;
        if (!*more)
            keep_end(s, call_ns);
    }
    ctx_release(&c);
    return code == 0;
}

/* All shards to their ends. False: a read was refused. */
static bool read_round(struct follower *f)
{
    bool ok = true;

    for (size_t i = 0; i < f->shard_count; i++) {
        bool more = true;

        while (more && !f->told->problem[0] && read_page(f, &f->shards[i], &more))
            ;
        ok = ok && !more;
    }
    return ok;
}

static void nap(long ns)
{
    nanosleep(&(struct timespec){0, ns}, NULL);
}

static void *follow_main(void *arg)
{
    struct follower *f = arg;

    while (!atomic_load(&f->stop) && !f->told->problem[0]) {
        read_round(f);
        nap(REST_NS);
    }
    return NULL;
}

struct follower *follow_start(struct workload *w)
{
    struct follower *f = mem_zalloc(sizeof(*f));

    f->w = w;
    f->told = &w->followed;
    f->bug = (enum follow_bug)w->conf.follow_bug;
    f->servers = w->conf.servers ? w->conf.servers : 1;
    rng_init(&f->rng, w->conf.seed);
    if (find_places(f) && !pthread_create(&f->thread, NULL, follow_main, f))
        return f;
    mem_free(f);
    return NULL;
}

/* ---- comparing ---- */

/* A write of v, by its value. */
struct write {
    int64_t call_ns, return_ns;
    int16_t group;
    uint8_t row;
    bool known, done, refused;
    size_t seen; /* how often */
};

struct writes {
    struct write *by_value;
    size_t count;
    /* Changes of a row by their type: so many were made, and perhaps others. */
    size_t (*made)[GROUP_ROWS][3], (*perhaps)[GROUP_ROWS][3], (*found)[GROUP_ROWS][3];
};

/* Where there was nothing, to take something away has no record. */
static bool tells(const struct change *c)
{
    return c->sets || c->increments || (c->type == CHANGE_DELETE && c->existence == EXIST_YES);
}

static void note_change(struct writes *all, const struct op *o, const struct change *c, bool whole)
{
    bool sure = whole && o->outcome == DONE && tells(c);
    struct write *w;

    if (o->outcome != REFUSED)
        ++(sure ? all->made : all->perhaps)[o->group][c->row][c->type];
    if (!(c->sets & 1u << COLUMN_V) || c->column[COLUMN_V] == LOCK_FREE)
        return;
    w = &all->by_value[c->column[COLUMN_V]];
    *w = (struct write){.call_ns = o->call_ns,
                        .return_ns = o->return_ns,
                        .group = (int16_t)o->group,
                        .row = c->row,
                        .known = true,
                        .done = whole && o->outcome == DONE,
                        .refused = o->outcome == REFUSED};
}

/* In a transaction the last change of a row counts, so each of its changes may have a record. */
static void note_op(struct writes *all, const struct op *o)
{
    if (o->type == OP_WRITE)
        for (int i = 0; i < o->change_count; i++)
            note_change(all, o, &o->changes[i], true);
    for (int i = 0; o->type == OP_TXN && i < o->step_count; i++) {
        struct op step = o->steps[i];

        step.call_ns = o->call_ns;
        step.return_ns = o->return_ns;
        if (step.outcome == DONE)
            step.outcome = o->outcome == DONE ? MAYBE : o->outcome;
        for (int j = 0; step.type == OP_WRITE && j < step.change_count; j++)
            note_change(all, &step, &step.changes[j], false);
    }
}

static void collect(struct follower *f, struct writes *all)
{
    const struct workload *w = f->w;
    size_t groups = (size_t)w->conf.groups;

    all->count = (size_t)atomic_load(&w->next_value) + 1;
    all->by_value = mem_zalloc(all->count * sizeof(*all->by_value));
    all->made = mem_zalloc(groups * sizeof(*all->made));
    all->perhaps = mem_zalloc(groups * sizeof(*all->perhaps));
    all->found = mem_zalloc(groups * sizeof(*all->found));
    for (int i = 0; i < w->conf.clients; i++)
        for (size_t j = 0; j < w->workers[i].op_count; j++)
            note_op(all, &w->workers[i].ops[j]);
}

static void release(struct writes *all)
{
    mem_free(all->by_value);
    mem_free(all->made);
    mem_free(all->perhaps);
    mem_free(all->found);
}

/* The first read to the end that began when the write had been acknowledged has its record. */
static void check_end(struct follower *f, const struct shard *s, size_t at, const struct write *w)
{
    size_t low = 0, high = s->end_count;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (s->ends[mid].call_ns >= w->return_ns)
            high = mid;
        else
            low = mid + 1;
    }
    if (low < s->end_count && at >= s->ends[low].count)
        wrong(f,
              "shard %s: a read to the end that began %lld us behind the acknowledgment did not "
              "show its record",
              s->id, (long long)(s->ends[low].call_ns - w->return_ns) / 1000);
}

static void check_shard(struct follower *f, struct writes *all, const struct shard *s)
{
    int64_t(*row_call)[GROUP_ROWS] = mem_zalloc((size_t)f->w->conf.groups * sizeof(*row_call));
    int64_t shard_call = 0;

    for (size_t i = 0; i < s->count; i++) {
        const struct change *c = &s->seen[i].change;
        int group = s->seen[i].group;
        int32_t v = c->column[COLUMN_V];
        struct write *w;

        ++all->found[group][c->row][c->type];
        if (!(c->sets & 1u << COLUMN_V) || v == LOCK_FREE)
            continue;
        w = v > 0 && (size_t)v < all->count ? &all->by_value[v] : NULL;
        if (!w || !w->known || w->refused || w->group != group || w->row != c->row) {
            wrong(f, "a record of a write that was refused, or never made: v = %d", v);
            continue;
        }
        if (w->seen++)
            wrong(f, "shard %s: v = %d has two records", s->id, v);
        if (w->done)
            check_end(f, s, i, w);
        if (w->return_ns < row_call[group][c->row] ||
            (!f->w->conf.servers && w->return_ns < shard_call))
            wrong(f, "shard %s: v = %d comes behind what was written after it", s->id, v);
        if (w->call_ns > row_call[group][c->row])
            row_call[group][c->row] = w->call_ns;
        if (w->call_ns > shard_call)
            shard_call = w->call_ns;
    }
    mem_free(row_call);
}

static size_t sum(const size_t counts[3])
{
    return counts[0] + counts[1] + counts[2];
}

static void check_count(struct follower *f, const struct writes *all, int g, int row)
{
    size_t *made = all->made[g][row], *perhaps = all->perhaps[g][row], *found = all->found[g][row];
    bool fits = sum(found) >= sum(made) && sum(found) <= sum(made) + sum(perhaps);

    /* What a transaction does to a row one after the other may be one change of another type. */
    for (int i = 0; i < 3 && !f->w->conf.txns; i++)
        fits = fits && found[i] >= made[i] && found[i] <= made[i] + perhaps[i];
    if (!fits)
        wrong(f,
              "row %d of group %d: %zu, %zu, %zu puts, updates, deletes were made, and %zu, %zu, "
              "%zu perhaps; there are records of %zu, %zu, %zu",
              row, g, made[0], made[1], made[2], perhaps[0], perhaps[1], perhaps[2], found[0],
              found[1], found[2]);
}

static void check_missing(struct follower *f, const struct writes *all)
{
    for (size_t v = 0; v < all->count; v++)
        if (all->by_value[v].done && !all->by_value[v].seen)
            wrong(f, "v = %zu was acknowledged and has no record", v);
    for (int g = 0; g < f->w->conf.groups; g++)
        for (int row = 0; row < GROUP_ROWS; row++)
            check_count(f, all, g, row);
}

/* What the records make of the rows. */
static struct state *replay(const struct follower *f)
{
    struct state *states = mem_zalloc((size_t)f->w->conf.groups * sizeof(*states));

    for (size_t i = 0; i < f->shard_count; i++)
        for (size_t j = 0; j < f->shards[i].count; j++) {
            const struct seen *s = &f->shards[i].seen[j];

            model_change(&s->change, &states[s->group].rows[s->change.row]);
        }
    return states;
}

static bool rows_agree(struct follower *f)
{
    struct state *states = replay(f);
    bool agree = true;

    for (int g = 0; g < f->w->conf.groups && agree; g++) {
        struct row_state rows[GROUP_ROWS];

        agree = workload_read_group(&f->w->workers[0], g, rows);
        for (int i = 0; i < GROUP_ROWS && agree; i++)
            agree = model_equal(&rows[i], &states[g].rows[i]);
    }
    mem_free(states);
    return agree;
}

/* A write that was never answered may land yet. */
static void read_last(struct follower *f)
{
    int tries = 0;

    while (!f->told->problem[0] && !(read_round(f) && rows_agree(f)) && ++tries < TRIES)
        nap(50000000);
    if (tries == TRIES)
        wrong(f, "the rows are not what their records make of them, or cannot be read");
}

void follow_end(struct follower *f)
{
    struct writes all;

    atomic_store(&f->stop, true);
    pthread_join(f->thread, NULL);
    if (f->bug == FOLLOW_SOUND)
        read_last(f);
    else
        read_round(f);
    collect(f, &all);
    for (size_t i = 0; i < f->shard_count && !f->told->problem[0]; i++)
        check_shard(f, &all, &f->shards[i]);
    if (!f->told->problem[0])
        check_missing(f, &all);
    release(&all);
    for (size_t i = 0; i < f->shard_count; i++) {
        mem_free(f->shards[i].seen);
        mem_free(f->shards[i].ends);
    }
    for (int i = 0; i < f->servers; i++)
        client_close(f->clients[i]);
    mem_free(f);
}
