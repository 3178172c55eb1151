/* work.c: what a process does until it is killed. */
#include "life.h"

#include "base/bytes.h"
#include "base/rng.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WRITERS 3
#define BATCH 100
#define READY_LOOK_US 1000

const struct wr_bytes life_table = {"rows", 4}, life_index = {"by_all", 6};

static const struct wr_key_schema key_schema[] = {{.name = {"p", 1}, .type = WR_BIGINT}};
static const struct wr_field_schema fields[] = {
    {.name = {"n", 1}, .type = WR_FIELD_LONG, .index = true},
    {.name = {"k", 1}, .type = WR_FIELD_KEYWORD, .index = true},
    {.name = {"t", 1}, .type = WR_FIELD_TEXT, .index = true},
};

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

static void on_log(void *arg, char level, const char *line)
{
    struct life *l = arg;

    if (strstr(line, "is made again")) {
        atomic_fetch_add(&l->counts->made_again, 1);
        if (!l->comes_again)
            life_problem(l, "%s", line);
    } else if (level == 'E' && !l->comes_again) {
        fprintf(stderr, "%s\n", line);
    }
}

struct wr_db *life_open(struct life *l)
{
    struct wr_setting settings[] = {
        {"table_ops_per_s_max", "0"},
        {"scrub_bytes_per_s_max", "0"}}; /* storage tells what it comes upon */
    struct wr_options o = {.version = WR_API_VERSION,
                           .engine = "rocks",
                           .dir = l->dir,
                           .no_sync = l->no_sync,
                           .memory_bytes = l->memory,
                           .settings = settings,
                           .setting_count = PORT_COUNT(settings),
                           .log = on_log,
                           .log_arg = l};
    char message[256] = "";
    struct wr_db *db = NULL;

    if (wr_open(&o, &db, message, sizeof(message)))
        life_problem(l, "cannot open: %s", message);
    return db;
}

int life_run(struct wr_db *db, struct wr_request *req)
{
    struct wr_reply *reply;
    int code;

    req->instance = (struct wr_bytes){"search", 6};
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
    struct wr_key_column key;
    struct wr_cell cells[3];
    char keyword[8], text[64];
};

static void change_make(struct change *c, struct rng *r, int64_t row)
{
    enum wr_change_type type = rng_below(r, 4) == 0 ? WR_DELETE : WR_PUT;

    snprintf(c->keyword, sizeof(c->keyword), "k%d", (int)rng_below(r, LIFE_KEYWORDS));
    snprintf(c->text, sizeof(c->text), "row %s of word%d", c->keyword, (int)rng_below(r, 1000));
    c->key = (struct wr_key_column){{"p", 1}, {.type = WR_BIGINT, .integer = row}};
    c->cells[0] = (struct wr_cell){
        .name = {"n", 1}, .value = {.type = WR_BIGINT, .integer = (int64_t)rng_below(r, 5000)}};
    c->cells[1] = (struct wr_cell){.name = {"k", 1},
                                   .value = {.type = WR_VARCHAR, .bytes = bytes_str(c->keyword)}};
    c->cells[2] = (struct wr_cell){.name = {"t", 1},
                                   .value = {.type = WR_VARCHAR, .bytes = bytes_str(c->text)}};
    for (size_t i = 0; i < 3; i++)
        c->cells[i].timestamp_ms = WR_TIMESTAMP_NONE;
    c->change = (struct wr_row_change){
        .type = type, .table = life_table, .row = {{&c->key, 1}, c->cells, type == WR_PUT ? 3 : 0}};
}

/* Rows one after the other from `first` on (random ones if it is negative). */
static int write_batch(struct life *l, struct wr_db *db, struct rng *r, int64_t first, size_t count)
{
    struct change changes[BATCH];
    struct wr_row_change list[BATCH];
    struct wr_table_write of = {life_table, list, count};
    struct wr_request req = {WR_REQUEST(BATCH_WRITE_ROW)};
    int code;

    for (size_t i = 0; i < count; i++) {
        change_make(&changes[i], r,
                    first < 0 ? l->rows + (int64_t)rng_below(r, LIFE_ROWS) : first + (int64_t)i);
        if (first >= 0) { /* it is put */
            changes[i].change.type = WR_PUT;
            changes[i].change.row.cell_count = 3;
        }
        list[i] = changes[i].change;
    }
    req.batch_write_row = (struct wr_batch_write_row){.tables = &of, .table_count = 1};
    code = life_run(db, &req);
    if (!code)
        atomic_fetch_add(&l->counts->writes, count);
    return code;
}

struct writer {
    struct life *l;
    struct wr_db *db;
    uint64_t seed;
};

/* The rows in front are written anew now and then, so that their large segments lose some. */
static void *write_rows(void *arg)
{
    struct writer *w = arg;
    struct rng r;

    rng_init(&r, w->seed);
    for (;;) {
        size_t count = 1 + rng_below(&r, BATCH);
        int64_t first = -1;

        if (w->l->rows && rng_below(&r, 20) == 0)
            first = (int64_t)rng_below(&r, (uint64_t)w->l->rows - BATCH);
        write_batch(w->l, w->db, &r, first, count);
        if (rng_below(&r, 4) == 0)
            usleep((useconds_t)rng_below(&r, 20000));
    }
    return NULL;
}

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int search_once(struct life *l, struct wr_db *db, struct rng *r)
{
    char k[8];
    struct wr_search_condition query = {.type = WR_SEARCH_TERM, .weight = 1, .field = {"k", 1}};
    struct wr_sorter by = {.type = WR_SORTER_FIELD, .field = {"n", 1}, .order = WR_ORDER_DESC};
    struct wr_request req = {WR_REQUEST(SEARCH)};
    int code;

    snprintf(k, sizeof(k), "k%d", (int)rng_below(r, LIFE_KEYWORDS));
    query.term = (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_str(k)};
    req.search = (struct wr_search){.table = life_table,
                                    .index = life_index,
                                    .query = &query,
                                    .sort = {.given = true, .sorters = &by, .count = 1},
                                    .has_limit = true,
                                    .limit = 20,
                                    .track_total = INT32_MAX,
                                    .columns = WR_SEARCH_COLUMNS_NONE};
    code = life_run(db, &req);
    atomic_fetch_add(code ? &l->counts->refused : &l->counts->searches, 1);
    return code;
}

void life_work(struct life *l, struct wr_db *db)
{
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    int64_t began = now_us(), took;
    bool ready = false;
    struct rng r;

    rng_init(&r, l->seed);
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){l, db, rng_next(&r)};
        pthread_create(&threads[i], NULL, write_rows, &writers[i]);
    }
    for (;;) {
        int code = search_once(l, db, &r);

        if (code && code != WR_E_BUSY)
            life_problem(l, "a search: code %d", code);
        if (!code && !ready) {
            ready = true;
            took = now_us() - began;
            if (took > atomic_load(&l->counts->ready_us))
                atomic_store(&l->counts->ready_us, took);
        }
        usleep(READY_LOOK_US);
    }
}

void life_create(struct life *l, struct wr_db *db)
{
    struct wr_request req = {WR_REQUEST(CREATE_TABLE)};
    struct rng r;

    rng_init(&r, l->seed);
    req.create_table = (struct wr_create_table){
        .table = life_table,
        .key = key_schema,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    if (life_run(db, &req))
        life_problem(l, "CreateTable failed");
    for (int64_t row = 0; row < l->rows; row += BATCH)
        if (write_batch(l, db, &r, row, BATCH))
            life_problem(l, "a first row cannot be written");
    req = (struct wr_request){WR_REQUEST(CREATE_SEARCH_INDEX)};
    req.create_search_index = (struct wr_create_search_index){
        .table = life_table, .index = life_index, .schema = {.fields = fields, .field_count = 3}};
    if (life_run(db, &req))
        life_problem(l, "CreateSearchIndex failed");
}
