/* work.c: what a process does until it is killed. */
#include "base/rng.h"
#include "clock.h"
#include "life.h"

#include "base/bytes.h"
#include "base/err.h"
#include "table/core/db.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WRITERS 3
#define ROWS LIFE_ROWS /* a build takes a while */
#define HOT_ROWS 400
#define LOAD_ROWS 200 /* of an import */
#define CELLS LIFE_CELLS
#define TEXT "the quick brown fox jumps over the lazy dog and goes on its way for a while"

const struct wr_key_schema life_key[2] = {{.name = {"p", 1}, .type = WR_BIGINT},
                                          {.name = {"q", 1}, .type = WR_VARCHAR}};

static const struct wr_defined_column defined[] = {
    {{"a", 1}, WR_BIGINT}, {{"b", 1}, WR_VARCHAR}, {{"c", 1}, WR_BIGINT}};
static const struct wr_bytes of_a[] = {{"a", 1}}, of_b[] = {{"b", 1}}, of_q[] = {{"q", 1}},
                             of_bq[] = {{"b", 1}, {"q", 1}}, of_ca[] = {{"c", 1}, {"a", 1}},
                             of_pa[] = {{"p", 1}, {"a", 1}}, of_bc[] = {{"b", 1}, {"c", 1}};
/* The first comes with the table and stays. */
static const struct wr_index_meta indexes[LIFE_INDEXES] = {
    {{"by_a", 4}, of_a, 1, of_bc, 2, .type = 0},
    {{"by_b", 4}, of_bq, 2, NULL, 0, .type = 0},
    {{"by_q", 4}, of_q, 1, of_a, 1, .type = 0},
    {{"by_ca", 5}, of_ca, 2, of_b, 1, .type = 0},
    {{"by_pa", 5}, of_pa, 2, of_b, 1, .type = 1, .update_mode = 1}};

const struct wr_index_meta *life_index(size_t at)
{
    return &indexes[at];
}

void life_problem(struct life *l, const char *format, ...)
{
    va_list args;

    if (atomic_fetch_add(&l->counts->problems, 1) > 20)
        return;
    va_start(args, format);
    fputs("problem: ", stdout);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
    fflush(stdout);
}

static void quiet(void *arg, char level, const char *line)
{
    (void)arg;
    if (level == 'E')
        fprintf(stderr, "%s\n", line);
}

struct wr_db *life_open(struct life *l)
{
    struct wr_setting settings[] = {{"table_ops_per_s_max", "0"},
                                    {"partition_bytes_max", "65536"},
                                    {"partition_idle_s", "1"},
                                    {"indexes_max", "8"},
                                    {"wide_row_cells", l->wide ? "3" : "256"}};
    struct wr_setting pool[] = {
        {"ceph_conf", l->ceph_conf}, {"pool", "data"}, {"namespace", l->namespace}};
    struct wr_options o = {.version = WR_API_VERSION,
                           .engine = l->ceph_conf ? "rados"
                                     : l->ops     ? "mem"
                                                  : "rocks",
                           .dir = l->ceph_conf || l->ops ? NULL : l->dir,
                           .engine_settings = pool,
                           .engine_setting_count = l->ceph_conf ? PORT_COUNT(pool) : 0,
                           .no_sync = l->no_sync,
                           .memory_bytes = 32 << 20,
                           .settings = settings,
                           .setting_count = PORT_COUNT(settings),
                           .log = quiet};
    char message[256] = "";
    struct wr_db *db = NULL;

    if (l->clock)
        model_clock_set(l->seed);
    else if (l->skew_ms)
        model_clock_shift(l->skew_ms);
    if (wr_open(&o, &db, message, sizeof(message)))
        life_problem(l, "cannot open: %s", message);
    else if (l->plant)
        life_plant(db);
    return db;
}

static int run(struct wr_db *db, struct wr_request *req)
{
    struct wr_reply *reply;
    int code;

    req->instance = bytes_str(LIFE_INSTANCE);
    reply = wr_exec(db, req);
    code = reply->code;
    for (size_t i = 0; !code && req->op == WR_OP_BATCH_WRITE_ROW && i < reply->batch.table_count;
         i++)
        for (size_t k = 0; !code && k < reply->batch.tables[i].row_count; k++)
            code = reply->batch.tables[i].rows[k].code;
    wr_reply_free(reply);
    return code;
}

/* ---- rows ---- */

struct change {
    struct wr_row_change change;
    struct wr_key_column key[2];
    struct wr_cell cells[CELLS];
};

static struct wr_cell cell_of(struct rng *r, int column)
{
    static const char names[] = LIFE_NAMES;
    struct wr_cell cell = {.name = bytes_of(&names[column], 1),
                           .value = {.type = WR_BIGINT, .integer = (int64_t)rng_below(r, 40)},
                           .op = WR_CELL_PUT,
                           .timestamp_ms = WR_TIMESTAMP_NONE};

    if (column == 1 || column == 3)
        cell.value = (struct wr_value){.type = WR_VARCHAR,
                                       .bytes = {TEXT + rng_below(r, 20), rng_below(r, 40)}};
    return cell;
}

/* Row `row`: most changes are updates of some columns. */
static void change_make(struct change *c, struct rng *r, size_t row)
{
    static const char names[] = "qrst";
    size_t kind = rng_below(r, 20), first = rng_below(r, CELLS),
           n = 1 + rng_below(r, CELLS - first);
    enum wr_change_type type = kind < 12 ? WR_UPDATE : kind < 17 ? WR_PUT : WR_DELETE;

    c->key[0] = (struct wr_key_column){life_key[0].name,
                                       {.type = WR_BIGINT, .integer = (int64_t)(row / 4) - 20}};
    c->key[1] = (struct wr_key_column){life_key[1].name,
                                       {.type = WR_VARCHAR, .bytes = {&names[row % 4], 1}}};
    for (size_t i = 0; i < n; i++) {
        struct wr_cell *cell = &c->cells[i];

        *cell = cell_of(r, (int)(first + i));
        if (type != WR_UPDATE)
            continue;
        if (rng_below(r, 5) == 0) {
            cell->op = WR_CELL_DELETE_ALL;
            cell->value = (struct wr_value){0};
        } else if (cell->value.type == WR_BIGINT && rng_below(r, 8) == 0) {
            cell->op = WR_CELL_INCREMENT;
        }
    }
    c->change = (struct wr_row_change){.type = type,
                                       .row = {{c->key, 2}, c->cells, type == WR_DELETE ? 0 : n}};
}

/* All rows. */
static int load(struct wr_db *db, uint64_t seed)
{
    struct change *made = mem_alloc(sizeof(*made) * LOAD_ROWS);
    struct wr_row_change *list = mem_alloc(sizeof(*list) * LOAD_ROWS);
    struct wr_request req = {.op = WR_OP_BULK_IMPORT};
    struct rng r;
    int code = 0;

    rng_init(&r, seed);
    for (size_t row = 0; row < ROWS && !code; row += LOAD_ROWS) {
        for (size_t i = 0; i < LOAD_ROWS; i++) {
            change_make(&made[i], &r, row + i);
            list[i] = made[i].change;
        }
        req.bulk_import.table = (struct wr_table_write){
            .table = bytes_str(LIFE_TABLE), .changes = list, .change_count = LOAD_ROWS};
        code = run(db, &req);
    }
    mem_free(list);
    mem_free(made);
    return code;
}

/* A shard of the stream for each. */
static void life_ranges(struct wr_partition_range *out)
{
    for (int64_t i = 0; i < LIFE_SHARDS; i++) {
        struct wr_value from = {.type = WR_BIGINT, .integer = i * (ROWS / 4 / LIFE_SHARDS)},
                        to = {.type = WR_BIGINT, .integer = (i + 1) * (ROWS / 4 / LIFE_SHARDS)};

        if (i == 0)
            from = (struct wr_value){.type = WR_INF_MIN};
        if (i == LIFE_SHARDS - 1)
            to = (struct wr_value){.type = WR_INF_MAX};
        out[i] = (struct wr_partition_range){from, to};
    }
}

void life_create(struct life *l, struct wr_db *db)
{
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};
    struct wr_partition_range ranges[LIFE_SHARDS];
    int code;

    life_ranges(ranges);
    req.create_table = (struct wr_create_table){
        .table = bytes_str(LIFE_TABLE),
        .key = life_key,
        .key_count = PORT_COUNT(life_key),
        .defined = defined,
        .defined_count = PORT_COUNT(defined),
        .indexes = indexes,
        .index_count = 1,
        .partitions = ranges,
        .partition_count = LIFE_SHARDS,
        .local_transactions = !l->ceph_conf,
        .stream = {.given = !l->ceph_conf,
                   .enable = !l->ceph_conf,
                   .has_expiration = true,
                   .expiration_h = 168},
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    code = run(db, &req);
    if (!code)
        code = load(db, l->seed);
    if (code)
        life_problem(l, "the table cannot be made: %s", wr_error_name(code));
}

static enum wr_op op_of(const struct wr_row_change *change)
{
    return change->type == WR_PUT      ? WR_OP_PUT_ROW
           : change->type == WR_UPDATE ? WR_OP_UPDATE_ROW
                                       : WR_OP_DELETE_ROW;
}

/* Each change by itself, then all at once, or, one time in four, none. */
static int write_in_transaction(struct life *l, struct wr_db *db, struct rng *r,
                                const struct wr_table_write *write)
{
    struct wr_request start = {.op = WR_OP_START_LOCAL_TRANSACTION,
                               .instance = bytes_str(LIFE_INSTANCE)};
    bool commits = rng_below(r, 4) > 0;
    struct wr_request end = {.op = commits ? WR_OP_COMMIT_TRANSACTION : WR_OP_ABORT_TRANSACTION};
    struct wr_reply *begun;
    int code;

    start.start_local_transaction =
        (struct wr_start_transaction){write->table, {write->changes[0].row.key.columns, 1}};
    begun = wr_exec(db, &start);
    code = begun->code;
    for (size_t i = 0; i < write->change_count && !code; i++) {
        struct wr_request req = {.op = op_of(&write->changes[i]), .put_row = write->changes[i]};

        req.put_row.table = write->table;
        req.put_row.transaction = begun->transaction.id;
        code = run(db, &req);
    }
    if (code)
        end.op = WR_OP_ABORT_TRANSACTION;
    end.commit_transaction.id = begun->transaction.id;
    if (!begun->code) {
        int ended = run(db, &end);

        code = code ? code : ended;
        if (ended && end.op == WR_OP_COMMIT_TRANSACTION) {
            end.op = WR_OP_ABORT_TRANSACTION;
            run(db, &end);
        }
    }
    atomic_fetch_add(&l->counts->committed, !code && commits);
    wr_reply_free(begun);
    return code;
}

/* One row, or up to four of one partition key as a batch, an atomic one, an import, or a
 * transaction. */
static int write_some(struct life *l, struct wr_db *db, struct rng *r)
{
    struct change made[4];
    struct wr_row_change list[4];
    size_t group = rng_below(r, (rng_below(r, 2) ? HOT_ROWS : ROWS) / 4), at = rng_below(r, 4),
           n = 1 + rng_below(r, 4);
    size_t way = rng_below(r, l->ceph_conf ? 5 : 6);
    struct wr_table_write write = {
        .table = bytes_str(LIFE_TABLE), .changes = list, .change_count = n};
    struct wr_request req = {.op = WR_OP_BATCH_WRITE_ROW};

    for (size_t i = 0; i < n; i++) {
        change_make(&made[i], r, group * 4 + (at + i) % 4);
        list[i] = made[i].change;
    }
    if (way < 2) {
        req.op = op_of(list);
        req.put_row = list[0];
        req.put_row.table = write.table;
    } else if (way == 2) {
        req.op = WR_OP_BULK_IMPORT;
        req.bulk_import.table = write;
    } else if (way == 5) {
        return write_in_transaction(l, db, r, &write);
    } else {
        req.batch_write_row.tables = &write;
        req.batch_write_row.table_count = 1;
        req.batch_write_row.atomic = way == 3;
    }
    return run(db, &req);
}

struct writer {
    struct life *l;
    struct wr_db *db;
    uint64_t seed;
    pthread_t thread;
};

static bool work_ends(const struct life *l)
{
    return l->ops && atomic_load(&l->counts->writes) >= l->ops;
}

static void *writer_run(void *arg)
{
    struct writer *w = arg;
    struct rng r;

    rng_init(&r, w->seed);
    while (!work_ends(w->l)) {
        int code = write_some(w->l, w->db, &r);
        /* Its partition key may be another one's, who is in a transaction. */
        bool busy = code == WR_E_BUSY || code == WR_E_CONFLICT;

        /* Where others write too, and are killed, any of it may happen. */
        busy |= w->l->ceph_conf && code && err_info(code)->http_status >= 409;
        atomic_fetch_add(busy ? &w->l->counts->busy : &w->l->counts->writes, 1);
        /* An increment may meet a cell that is no number: none is here. */
        if (code && !busy)
            life_problem(w->l, "a write failed: %s", wr_error_name(code));
    }
    return NULL;
}

/* ---- indexes ---- */

/* The table may have it already. */
static void index_create(struct life *l, struct wr_db *db, size_t at)
{
    struct wr_request req = {.op = WR_OP_CREATE_INDEX, .instance = bytes_str(LIFE_INSTANCE)};
    struct wr_reply *reply;

    req.create_index = (struct wr_create_index){
        .table = bytes_str(LIFE_TABLE), .index = indexes[at], .include_base_data = true};
    reply = wr_exec(db, &req);
    if (!reply->code)
        atomic_fetch_add(&l->counts->created, 1);
    else if (reply->code != WR_E_EXIST && !l->ceph_conf &&
             !strstr(reply->message, "Duplicated index name"))
        life_problem(l, "CreateIndex: %s", reply->message);
    wr_reply_free(reply);
}

static void index_drop(struct life *l, struct wr_db *db, size_t at)
{
    struct wr_request req = {.op = WR_OP_DROP_INDEX};
    int code;

    req.drop_index =
        (struct wr_drop_index){.table = bytes_str(LIFE_TABLE), .index = indexes[at].name};
    code = run(db, &req);
    if (!code)
        atomic_fetch_add(&l->counts->dropped, 1);
    else if (code != WR_E_NOT_EXIST && !l->ceph_conf)
        life_problem(l, "DropIndex: %s", wr_error_name(code));
}

static void rekey(struct life *l, struct wr_db *db, size_t n)
{
    static const char *const layouts[] = {"hash:8", "plain", "reverse:5"};
    struct wr_request req = {.op = WR_OP_REKEY_TABLE};

    req.rekey_table = (struct wr_rekey_table){bytes_str(LIFE_TABLE), WR_REKEY_START,
                                              bytes_str(layouts[n % PORT_COUNT(layouts)])};
    if (!run(db, &req)) /* else one is under way */
        atomic_fetch_add(&l->counts->rekeyed, 1);
}

void life_work(struct life *l, struct wr_db *db)
{
    struct writer writers[WRITERS];
    struct life_follower *follower = NULL;
    struct rng r;

    rng_init(&r, l->seed);
    if (!l->ceph_conf)
        follower = life_follow_start(l, db);
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.l = l, .db = db, .seed = rng_next(&r)};
        if (pthread_create(&writers[i].thread, NULL, writer_run, &writers[i]))
            life_problem(l, "no thread");
    }
    for (size_t at = 1; l->builds && at < LIFE_INDEXES; at++)
        index_drop(l, db, at);
    while (!work_ends(l)) {
        size_t at = 1 + rng_below(&r, LIFE_INDEXES - 1), kind = rng_below(&r, 10);

        if (l->builds || kind < 5)
            index_create(l, db, at);
        else if (kind < 8)
            index_drop(l, db, at);
        else if (!l->ceph_conf)
            rekey(l, db, rng_below(&r, 3));
        if (l->clock && rng_below(&r, 4) == 0)
            model_clock_set(rng_next(&r));
        usleep((useconds_t)rng_below(&r, 60000));
    }
    for (size_t i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
    if (follower)
        life_follow_end(follower);
}
