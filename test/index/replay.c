/* replay.c: the stream of the table: one who always reads to the end while others write and are
 * killed, and the table that its records make. */
#include "life.h"

#include "base/bytes.h"
#include "table/catalog/catalog.h"
#include "table/core/db.h"
#include "table/stream/stream_name.h"
#include "table/stream/stream_op.h"
#include "table/sync/reply_wait.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define REST_US 1000

/* ---- reading ---- */

struct reader_at {
    struct life *l;
    struct wr_db *db;
    struct life_seen at; /* what was read up to here */
    uint16_t shard;      /* that is read now */
};

static struct life_place *place_now(struct reader_at *r)
{
    return &r->at.shards[r->shard];
}

/* The next page, which the reply owns. */
static struct wr_reply *read_page(struct reader_at *r, struct wr_stream_records *out)
{
    struct wr_request req = {.op = WR_OP_LIST_TABLE, .instance = bytes_str(LIFE_INSTANCE)};
    struct wr_get_stream_record get = {.table = bytes_str(LIFE_TABLE)};
    struct reply_wait wait;
    struct call *call;
    struct table *t;

    *out = (struct wr_stream_records){.count = 0};
    reply_wait_init(&wait);
    call = call_new(r->db, &req, reply_wait_done, &wait);
    t = catalog_get(r->db->catalog, req.instance, get.table);
    get.iterator = stream_iterator(&call->c.arena, t->schema.d.stream_id, r->shard,
                                   place_now(r)->number ? place_now(r)->number + 1 : 0);
    table_release(t);
    if (stream_get_records(call, &get, out))
        call_finish(call);
    return reply_wait_end(&wait);
}

/* Number, kind and key of all records, one after the other. */
static void pass(struct life_place *at, const struct wr_stream_record *r)
{
    uint64_t parts[] = {at->hash, (uint64_t)r->timestamp_us, (uint64_t)r->type,
                        (uint64_t)r->row.key.columns[0].value.integer, r->row.cell_count};

    at->hash = XXH3_64bits(parts, sizeof(parts));
    at->number = (uint64_t)r->timestamp_us;
    at->count++;
}

/* Reads a shard to its end. */
static void read_shard(struct reader_at *r,
                       void (*each)(void *arg, const struct wr_stream_record *), void *arg)
{
    struct wr_stream_records page;

    do {
        struct wr_reply *reply = read_page(r, &page);

        if (reply->code)
            life_problem(r->l, "GetStreamRecord: %s", reply->message);
        for (size_t i = 0; i < page.count; i++) {
            if ((uint64_t)page.records[i].timestamp_us <= place_now(r)->number)
                life_problem(r->l, "record %" PRIu64 " comes after %" PRIu64,
                             (uint64_t)page.records[i].timestamp_us, place_now(r)->number);
            pass(place_now(r), &page.records[i]);
            each(arg, &page.records[i]);
        }
        wr_reply_free(reply);
    } while (page.more);
}

static void read_all(struct reader_at *r, void (*each)(void *arg, const struct wr_stream_record *),
                     void *arg)
{
    for (r->shard = 0; r->shard < LIFE_SHARDS; r->shard++)
        read_shard(r, each, arg);
}

/* ---- while others write ---- */

struct life_follower {
    struct reader_at reader;
    atomic_bool end;
    pthread_t thread;
};

static void ignore(void *arg, const struct wr_stream_record *r)
{
    (void)arg;
    (void)r;
}

/* A kill leaves the one or the other, whole. */
static void tell_seen(struct life_counts *counts, const struct life_seen *at)
{
    unsigned other = !atomic_load(&counts->seen_at);

    counts->seen[other] = *at;
    atomic_store(&counts->seen_at, other);
}

static void *follow_main(void *arg)
{
    struct life_follower *f = arg;
    struct reader_at *r = &f->reader;
    bool last;

    do {
        last = atomic_load(&f->end);
        read_all(r, ignore, NULL);
        tell_seen(r->l->counts, &r->at);
        if (!last)
            usleep(REST_US);
    } while (!last);
    return NULL;
}

struct life_follower *life_follow_start(struct life *l, struct wr_db *db)
{
    struct life_follower *f = mem_zalloc(sizeof(*f));

    f->reader = (struct reader_at){
        .l = l, .db = db, .at = l->counts->seen[atomic_load(&l->counts->seen_at)]};
    if (pthread_create(&f->thread, NULL, follow_main, f))
        life_problem(l, "no thread");
    return f;
}

void life_follow_end(struct life_follower *f)
{
    atomic_store(&f->end, true);
    pthread_join(f->thread, NULL);
    mem_free(f);
}

/* ---- from the start ---- */

struct model_cell {
    bool there;
    struct wr_value value;
    int64_t timestamp_ms;
    char text[40];
};

struct model_row {
    bool there;
    struct model_cell cells[LIFE_CELLS];
};

struct replay {
    struct reader_at reader;
    struct life_seen seen; /* by the one who followed */
    bool met[LIFE_SHARDS]; /* he was there */
    struct model_row rows[LIFE_ROWS];
};

static struct model_row *model_row(struct replay *p, const struct wr_key *key)
{
    int64_t at = (key->columns[0].value.integer + 20) * 4;

    at += *(const char *)key->columns[1].value.bytes.ptr - 'q';
    return at >= 0 && at < LIFE_ROWS ? &p->rows[at] : NULL;
}

static struct model_cell *model_cell(struct model_row *row, const struct wr_cell *cell)
{
    const char *at = strchr(LIFE_NAMES, *(const char *)cell->name.ptr);

    return &row->cells[at - LIFE_NAMES];
}

static void model_put(struct model_cell *to, const struct wr_cell *cell)
{
    if (to->there && to->timestamp_ms > cell->timestamp_ms)
        return;
    to->there = true;
    to->timestamp_ms = cell->timestamp_ms;
    to->value = cell->value;
    if (cell->value.type == WR_VARCHAR) {
        memcpy(to->text, cell->value.bytes.ptr, cell->value.bytes.len);
        to->value.bytes.ptr = to->text;
    }
}

static void replay_record(void *arg, const struct wr_stream_record *r)
{
    struct replay *p = arg;
    struct model_row *row = model_row(p, &r->row.key);
    uint16_t at = p->reader.shard;

    p->met[at] |= memcmp(place_now(&p->reader), &p->seen.shards[at], sizeof(*p->seen.shards)) == 0;
    if (!row) {
        life_problem(p->reader.l, "a record of a row that nobody wrote");
        return;
    }
    if (r->type != WR_UPDATE)
        *row = (struct model_row){.there = false};
    for (size_t i = 0; i < r->row.cell_count; i++) {
        const struct wr_cell *cell = &r->row.cells[i];

        if (cell->op == WR_CELL_DELETE_ALL)
            model_cell(row, cell)->there = false;
        else
            model_put(model_cell(row, cell), cell);
        row->there |= cell->op == WR_CELL_PUT;
    }
    row->there |= r->type == WR_PUT;
}

static bool equals(struct model_row *m, const struct wr_row *row)
{
    size_t cells = 0;

    for (size_t i = 0; i < LIFE_CELLS; i++)
        cells += m->cells[i].there;
    if (!m->there || cells != row->cell_count)
        return false;
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct wr_cell *cell = &row->cells[i];
        const struct model_cell *x = model_cell(m, cell);

        if (!x->there || x->timestamp_ms != cell->timestamp_ms || x->value.type != cell->value.type)
            return false;
        if (cell->value.type == WR_BIGINT ? x->value.integer != cell->value.integer
                                          : !bytes_equal(x->value.bytes, cell->value.bytes))
            return false;
    }
    return true;
}

static int replay_compare(void *arg, const struct wr_row *row)
{
    struct replay *p = arg;
    struct model_row *m = model_row(p, &row->key);

    if (!m || !equals(m, row))
        life_problem(p->reader.l, "row %" PRId64 " %.*s is not what its records make of it",
                     row->key.columns[0].value.integer, BYTES_FMT(row->key.columns[1].value.bytes));
    if (m)
        m->there = false;
    return 0;
}

static void compare_rows(struct replay *p)
{
    struct wr_key_column start[2], end[2];
    struct wr_key_column next[2];
    struct wr_request req = {.op = WR_OP_GET_RANGE, .instance = bytes_str(LIFE_INSTANCE)};
    bool more = true;

    for (int i = 0; i < 2; i++) {
        start[i] = (struct wr_key_column){life_key[i].name, {.type = WR_INF_MIN}};
        end[i] = (struct wr_key_column){life_key[i].name, {.type = WR_INF_MAX}};
    }
    req.get_range = (struct wr_get_range){.table = bytes_str(LIFE_TABLE),
                                          .start = {start, 2},
                                          .end = {end, 2},
                                          .read = {.has_max_versions = true, .max_versions = 1},
                                          .on_row = replay_compare,
                                          .on_row_arg = p};
    while (more) {
        struct wr_reply *reply = wr_exec(p->reader.db, &req);

        if (reply->code)
            life_problem(p->reader.l, "GetRange: %s", reply->message);
        more = !reply->code && reply->range.next.count > 0;
        if (more) {
            memcpy(next, reply->range.next.columns, sizeof(next));
            start[0].value = next[0].value;
            start[1].value = (struct wr_value){
                .type = WR_VARCHAR,
                .bytes = {strchr("qrst", *(const char *)next[1].value.bytes.ptr), 1}};
        }
        wr_reply_free(reply);
    }
}

/* Who followed has seen how the stream begins; all of it, if he was there to the end. */
static void compare_seen(struct replay *p)
{
    struct life *l = p->reader.l;

    for (size_t i = 0; i < LIFE_SHARDS; i++) {
        const struct life_place *seen = &p->seen.shards[i], *now = &p->reader.at.shards[i];

        atomic_fetch_add(&l->counts->replayed, now->count);
        if ((seen->count && !p->met[i]) || (l->ops && seen->count != now->count))
            life_problem(l,
                         "who followed shard %zu had seen %" PRIu64 " records up to %" PRIu64
                         ", which is not how its %" PRIu64 " begin now",
                         i, seen->count, seen->number, now->count);
    }
}

void life_replay(struct life *l, struct wr_db *db)
{
    struct replay *p = mem_zalloc(sizeof(*p));

    p->reader = (struct reader_at){.l = l, .db = db};
    p->seen = l->counts->seen[atomic_load(&l->counts->seen_at)];
    read_all(&p->reader, replay_record, p);
    compare_seen(p);
    compare_rows(p);
    for (size_t i = 0; i < LIFE_ROWS; i++)
        if (p->rows[i].there)
            life_problem(l, "row %zu is in the records alone", i);
    mem_free(p);
}
