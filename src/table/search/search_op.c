/* search_op.c: Search, ComputeSplits and ParallelScan, on threads of their own. */
#include "search/searcher.h"

#include "table/catalog/catalog.h"
#include "table/model/key.h"
#include "table/search/search_rows.h"
#include "table/search/search_table.h"

#include <inttypes.h>
#include <math.h>
#include <xxhash.h>

#define LIMIT_ALL 100 /* rows of a page that are read whole */
#define LIMIT_MAX 1000
#define SCAN_LIMIT_MAX 2000
#define ALIVE_S 60
#define COLLECT_SHARE 16 /* of --memory, for the aggregations of one search */
#define TOKEN_BYTES 25   /* without the key: index, time, alive, checksum */

/* A search under way: of the call's arena. */
struct search_run {
    struct call *call;
    struct table *table;
    const struct schema_search *search;
    struct search_index *index;
    uint64_t made; /* as of search_index_made() */
    struct view *view;
    struct pool_job job;
    int (*run)(struct search_run *r);
};

static int row_of_key(void *arg, bytes key, struct wr_row *out)
{
    struct search_run *r = arg;
    struct wr_key columns;

    TRY(search_key_columns(&r->call->c, r->table, key, &columns));
    *out = (struct wr_row){.key = key_copy(&r->call->c.arena, &columns)};
    return E_OK;
}

static struct search_job job_of(struct search_run *r)
{
    int64_t now_ms = clock_watch_ms(r->call->db);

    return (struct search_job){
        .c = &r->call->c,
        .schema = r->index->schema,
        .view = r->view,
        .now_ms = now_ms,
        .expired_ms = r->search->ttl_s < 0 ? INT64_MIN : now_ms - r->search->ttl_s * 1000ll,
        .collect_bytes = r->call->db->memory.total / COLLECT_SHARE,
        .gone = r->call->req->gone,
        .row = row_of_key,
        .row_arg = r,
    };
}

/* ---- rows ---- */

struct wanted {
    enum wr_search_columns columns;
    const struct wr_bytes *names;
    size_t count;
};

static bool is_key_column(const struct table *t, bytes name)
{
    for (size_t i = 0; i < t->schema.d.key_count; i++)
        if (bytes_equal(t->schema.d.key[i].name, name))
            return true;
    return false;
}

/* The columns that a row is asked for; *keys_only: none, and the row need not be read. */
static const struct wr_bytes *columns_of(struct search_run *r, const struct wanted *w,
                                         size_t *count, bool *keys_only)
{
    const struct search_schema *s = r->index->schema;
    struct wr_bytes *names =
        ARENA_ARRAY(&r->call->c.arena, struct wr_bytes, s->count + w->count + 1);
    size_t n = 0;

    *count = 0;
    *keys_only = w->columns == WR_SEARCH_COLUMNS_NONE;
    if (w->columns == WR_SEARCH_COLUMNS_ALL || *keys_only)
        return NULL;
    if (w->columns == WR_SEARCH_COLUMNS_NAMED) {
        for (size_t i = 0; i < w->count; i++)
            if (!is_key_column(r->table, w->names[i]))
                names[n++] = w->names[i];
    } else {
        for (size_t i = 0; i < s->count; i++)
            if (s->fields[i].stored && !is_key_column(r->table, s->fields[i].column))
                names[n++] = s->fields[i].column;
    }
    *keys_only = !n;
    if (n) /* rows that have none of them stay */
        names[n++] = r->table->schema.d.key[0].name;
    *count = n;
    return names;
}

/* The hits' rows, those that are gone meanwhile left out; *kept: the places of the others. */
static int make_rows(struct search_run *r, const struct wanted *w, const bytes *keys, size_t count,
                     struct wr_row **out, size_t **kept, size_t *out_count)
{
    struct ctx *c = &r->call->c;
    const struct wr_row **found = ARENA_ARRAY(&c->arena, const struct wr_row *, count);
    struct wr_row *rows = ARENA_ARRAY(&c->arena, struct wr_row, count);
    const struct wr_bytes *names;
    size_t name_count, n = 0;
    bool keys_only;

    *kept = ARENA_ARRAY(&c->arena, size_t, count);
    names = columns_of(r, w, &name_count, &keys_only);
    if (!keys_only)
        TRY(search_get_rows(c, r->table, keys, count, names, name_count, found));
    for (size_t i = 0; i < count; i++) {
        if (keys_only)
            TRY(row_of_key(r, keys[i], &rows[n]));
        else if (found[i])
            rows[n] = *found[i];
        else
            continue;
        (*kept)[n++] = i;
    }
    *out = rows;
    *out_count = n;
    return E_OK;
}

static struct wr_capacity capacity_of(const struct wr_row *rows, size_t count)
{
    size_t size = 0;

    for (size_t i = 0; i < count; i++) {
        size += key_size(&rows[i].key);
        for (size_t k = 0; k < rows[i].cell_count; k++)
            size += rows[i].cells[k].name.len + 8;
    }
    return (struct wr_capacity){.read = size ? (int32_t)((size + 4095) / 4096) : 1};
}

static int made_again(struct search_run *r)
{
    return fail(&r->call->c, E_BUSY,
                "The search index [%.*s] is made again from its table; try again.",
                BYTES_FMT(r->search->name));
}

/* What a search has come to. Damage is of the index, for rows have not been read yet. */
static int searched(struct search_run *r, int rc)
{
    if (rc != E_CORRUPT)
        return rc;
    search_index_damaged(r->index, r->made, r->call->c.text);
    ctx_clear(&r->call->c);
    return made_again(r);
}

/* ---- Search ---- */

static int run_search(struct search_run *r)
{
    const struct wr_search *req = &r->call->req->search;
    struct wr_search_result *out = &r->call->reply.search;
    struct wanted wanted = {req->columns, req->names, req->name_count};
    struct search_job job = job_of(r);
    struct search_hits hits;
    struct wr_row *rows;
    bytes *keys;
    double *scores;
    size_t *kept, count;

    TRY(searched(r,
                 search_run(&job, req,
                            req->columns == WR_SEARCH_COLUMNS_ALL ? LIMIT_ALL : LIMIT_MAX, &hits)));
    keys = ARENA_ARRAY(&r->call->c.arena, bytes, hits.count);
    for (size_t i = 0; i < hits.count; i++)
        keys[i] = hits.hits[i].key;
    TRY(make_rows(r, &wanted, keys, hits.count, &rows, &kept, &count));
    scores = ARENA_ARRAY(&r->call->c.arena, double, count);
    for (size_t i = 0; i < count; i++)
        scores[i] = hits.scored ? (double)hits.hits[kept[i]].score : (double)NAN;
    *out = (struct wr_search_result){
        .total = hits.total,
        .rows = rows,
        .scores = scores,
        .count = count,
        .next_token = hits.next_token,
        .aggregations = hits.aggregations,
        .aggregation_count = req->aggregation_count,
        .group_bys = hits.group_bys,
        .group_by_count = req->group_by_count,
        .consumed = capacity_of(rows, count),
    };
    return E_OK;
}

/* ---- ParallelScan ---- */

/* index number, when it was given, how long it lives, the key, a checksum. */
static bytes scan_token(struct search_run *r, int32_t alive_s, bytes key)
{
    struct buf b;

    buf_init(&b, &r->call->c.arena, key.len + TOKEN_BYTES);
    buf_put_u64(&b, r->search->number);
    buf_put_u64(&b, (uint64_t)clock_watch_ms(r->call->db));
    buf_put_u32(&b, (uint32_t)alive_s);
    buf_put_bytes(&b, key);
    buf_put_u32(&b, (uint32_t)XXH3_64bits(b.data, b.len));
    return buf_bytes(&b);
}

static int expired(struct ctx *c)
{
    return fail(c, E_SEARCH_SESSION,
                "ScanQuery'session is expired, please retry ComputeSplitsRequest and ScanQuery.");
}

static int read_scan_token(struct search_run *r, bytes token, bytes *after)
{
    struct ctx *c = &r->call->c;
    struct reader t = reader_of(token);
    uint64_t number, given_ms;
    uint32_t alive_s;

    *after = BYTES_NONE;
    if (!token.ptr || !token.len)
        return E_OK;
    if (token.len < 24 || load_u32(t.end - 4) != (uint32_t)XXH3_64bits(token.ptr, token.len - 4))
        return fail(c, E_PARAMETER, "Invalid token of a ParallelScan: it is not as it was given.");
    t.end -= 4;
    number = read_u64(&t);
    given_ms = read_u64(&t);
    alive_s = read_u32(&t);
    *after = read_bytes(&t, reader_left(&t));
    if (number != r->search->number)
        return fail(c, E_PARAMETER, "Invalid token of a ParallelScan: it is of another index.");
    return clock_watch_ms(r->call->db) > (int64_t)given_ms + alive_s * 1000ll ? expired(c) : E_OK;
}

static int check_parallel(struct ctx *c, const struct wr_parallel_scan *req)
{
    int32_t max = req->max_parallel ? req->max_parallel : 1;

    if (req->columns == WR_SEARCH_COLUMNS_ALL)
        return fail(c, E_PARAMETER,
                    "A ParallelScan gives columns of the index only: name them, or ask for "
                    "RETURN_ALL_FROM_INDEX.");
    if (max < 1 || max > 1)
        return fail(c, E_PARAMETER,
                    "[parallel_scan.max_parallel_id] must in (0 ,1], current max_parallel_id is %d",
                    max);
    if (req->parallel_id < 0 || req->parallel_id >= max)
        return fail(c, E_PARAMETER,
                    "[parallel_scan.current_parallel_id] must in [0, max_parallel), current "
                    "max_parallel is %d, current_parallel_id is %d",
                    max, req->parallel_id);
    return E_OK;
}

static int run_scan(struct search_run *r)
{
    const struct wr_parallel_scan *req = &r->call->req->parallel_scan;
    struct wanted wanted = {req->columns, req->names, req->name_count};
    size_t limit = req->has_limit && req->limit > 0 && req->limit < SCAN_LIMIT_MAX
                       ? (size_t)req->limit
                       : SCAN_LIMIT_MAX;
    struct search_job job = job_of(r);
    const bytes *keys;
    struct wr_row *rows;
    size_t count, *kept, n;
    bytes after;

    TRY(check_parallel(&r->call->c, req));
    TRY(read_scan_token(r, req->token, &after));
    TRY(searched(r, search_scan(&job, req->query, after, limit, &keys, &count)));
    TRY(make_rows(r, &wanted, keys, count, &rows, &kept, &n));
    r->call->reply.scan = (struct wr_scan_result){.rows = rows, .count = n};
    if (count) /* clients go on until a page has no token: an empty one */
        r->call->reply.scan.next_token =
            scan_token(r, req->alive_s > 0 ? req->alive_s : ALIVE_S, keys[count - 1]);
    return E_OK;
}

/* ---- on a thread for searches ---- */

/* Nothing is stored of an index that was made since the start: it is not hidden, and tells what it
 * has so far. */
static int check_ready(struct search_run *r)
{
    bool building, loading;

    pthread_mutex_lock(&r->index->lock);
    loading = r->index->phase == SEARCH_LOADING && r->index->hidden;
    building = r->index->damaged || (r->index->hidden && r->index->phase != SEARCH_FOLLOWING);
    pthread_mutex_unlock(&r->index->lock);
    if (loading)
        return fail(&r->call->c, E_BUSY,
                    "The server has just started and looks for the search index [%.*s]; try again.",
                    BYTES_FMT(r->search->name));
    return building ? made_again(r) : E_OK;
}

static void run(struct pool_job *job)
{
    struct search_run *r = PORT_CONTAINER(job, struct search_run, job);
    struct call *call = r->call;

    if (!call_check_deadline(call) && !check_ready(r)) {
        r->made = search_index_made(r->index);
        r->view = search_index_view(r->index);
        r->run(r);
        view_release(r->view);
    }
    search_index_release(r->index);
    table_release(r->table);
    call_finish(call);
}

static int begin(struct call *call, bytes table, bytes index, int (*work)(struct search_run *r))
{
    struct search_run *r = ARENA_NEW(&call->c.arena, struct search_run);
    int rc;

    TRY(search_open(call, table, index, &r->table, &r->search));
    rc = searches_find(&call->c, call->db, r->search, &r->index);
    if (rc) {
        table_release(r->table);
        return rc;
    }
    r->call = call;
    r->run = work;
    r->job.run = run;
    searches_count(call->db->searches);
    pool_submit(searches_pool(call->db->searches), call->req->client, &r->job, false);
    return E_OK;
}

int search_start(struct call *call)
{
    return begin(call, call->req->search.table, call->req->search.index, run_search);
}

int parallel_scan_start(struct call *call)
{
    return begin(call, call->req->parallel_scan.table, call->req->parallel_scan.index, run_scan);
}

/* One split: a segment is no place for a client to go on at, as it may be merged away. */
int compute_splits_start(struct call *call)
{
    const struct wr_compute_splits *req = &call->req->compute_splits;
    const struct schema_search *s;
    struct table *t;

    if (!req->has_options)
        return fail(&call->c, E_PARAMETER, "[search index splits options] must not be null");
    TRY(search_open(call, req->table, req->index, &t, &s));
    call->reply.search_splits = (struct wr_search_splits){
        .session = arena_printf(&call->c.arena, "%016" PRIx64 "-%016" PRIx64, s->number,
                                catalog_next_number(call->db->catalog)),
        .splits = 1,
    };
    table_release(t);
    call_finish(call);
    return E_OK;
}
