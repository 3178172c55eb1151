/* run.c: a database and an oracle side by side. */
#include "run.h"

#include "clock.h"
#include "compare.h"
#include "show.h"
#include "table/core/db.h"

#include <ftw.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define INSTANCE bytes_str("model")
#define STARTS_MAX 10000 /* of transactions: a run has no more requests */

int64_t run_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- open and close ---- */

static const struct wr_setting common_settings[] = {
    {"table_ops_per_s_max", "0"}, {"partition_bytes_max", "4096"}, {"partition_idle_s", "1"}};
static const struct wr_setting wide_settings[] = {{"wide_row_cells", "4"},
                                                  {"wide_row_bytes", "1024"}};
static const struct wr_setting tight_settings[] = {
    {"cell_bytes_max", "3000"},        {"row_change_cells_max", "6"},
    {"columns_to_get_max", "12"},      {"batch_get_rows_max", "10"},
    {"batch_write_rows_max", "11"},    {"row_change_bytes_max", "3500"},
    {"batch_write_bytes_max", "8000"}, {"range_rows_max", "7"},
    {"range_bytes_max", "3000"},       {"filters_max", "20"}};

static bool on_pool(const struct run_conf *conf)
{
    return strcmp(conf->engine, "mem") != 0 && strcmp(conf->engine, "rocks") != 0;
}

static size_t settings(const struct run_conf *conf, struct wr_setting *out)
{
    size_t n = 0;

    for (size_t i = 0; i < PORT_COUNT(common_settings); i++)
        out[n++] = common_settings[i];
    for (size_t i = 0; conf->wide && i < PORT_COUNT(wide_settings); i++)
        out[n++] = wide_settings[i];
    if (conf->txns) /* on a pool, or a slow machine, requests take long */
        out[n++] = (struct wr_setting){"transaction_ms_max", "86400000"};
    for (size_t i = 0; conf->tight && i < PORT_COUNT(tight_settings); i++)
        out[n++] = tight_settings[i];
    return n;
}

static void quiet(void *arg, char level, const char *line)
{
    (void)arg;
    if (level == 'E')
        fprintf(stderr, "%s\n", line);
}

/* Only an engine on a pool needs any: its place is told as to the server, the namespace is ours. */
static size_t engine_settings(const struct run *r, struct wr_setting *out)
{
    const char *conf = getenv("WIDEROW_CEPH_CONF"), *pool = getenv("WIDEROW_POOL");

    if (!on_pool(&r->conf))
        return 0;
    out[0] = (struct wr_setting){"ceph_conf", conf ? conf : ""};
    out[1] = (struct wr_setting){"pool", pool ? pool : ""};
    out[2] = (struct wr_setting){"namespace", strrchr(r->dir, '/') + 1};
    return 3;
}

static bool open_db(struct run *r)
{
    struct wr_setting list[16], own[3];
    struct wr_options o = {.version = WR_API_VERSION,
                           .engine = r->conf.engine,
                           .dir = r->dir[0] ? r->dir : NULL,
                           .engine_settings = own,
                           .engine_setting_count = engine_settings(r, own),
                           .no_sync = r->conf.no_sync,
                           .memory_bytes = 32 << 20,
                           .settings = list,
                           .setting_count = settings(&r->conf, list),
                           .log = quiet};

    if (wr_open(&o, &r->db, r->why, sizeof(r->why)) != WR_OK)
        return false;
    if (r->conf.sql)
        r->sql = by_sql_open(r->db, "model");
    return true;
}

static void close_db(struct run *r)
{
    by_sql_close(r->sql);
    r->sql = NULL;
    wr_close(r->db);
}

/* A table as clients cannot make it, of another instance: from then on keys of as many columns are
 * looked at by their tables. */
static void make_long_table(struct run *r)
{
    static const char names[] = "abcdefghijklmnopqrstuvwxyz";
    struct wr_request req = {.op = WR_OP_CREATE_TABLE, .instance = {"long", 4}};
    struct wr_key_schema key[WR_KEY_COLUMNS_MAX] = {0};
    struct wr_reply *reply;

    for (size_t i = 0; i < PORT_COUNT(key); i++)
        key[i] = (struct wr_key_schema){.name = {&names[i], 1}, .type = WR_BIGINT};
    req.create_table = (struct wr_create_table){
        .table = {"t", 1},
        .key = key,
        .key_count = PORT_COUNT(key),
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    reply = db_exec_internal(r->db, &req);
    if (reply->code) {
        fprintf(stderr, "cannot make a table of %zu key columns: %s\n", PORT_COUNT(key),
                reply->message);
        exit(2);
    }
    wr_reply_free(reply);
}

void run_open(struct run *r, const struct run_conf *conf)
{
    struct wr_setting list[16];
    const char *parent = getenv("TMPDIR");
    char message[200];
    size_t n;

    *r = (struct run){.conf = *conf};
    limits_init(&r->limits, false);
    n = settings(conf, list);
    for (size_t i = 0; i < n; i++)
        limits_set(&r->limits, list[i].name, list[i].value, message, sizeof(message));
    if (strcmp(conf->engine, "mem") != 0) {
        snprintf(r->dir, sizeof(r->dir), "%s/widerow-model-XXXXXX", parent ? parent : "/tmp");
        if (!mkdtemp(r->dir)) {
            perror(r->dir);
            exit(2);
        }
    }
    if (!open_db(r)) {
        fprintf(stderr, "cannot open: %s\n", r->why);
        exit(2);
    }
    make_long_table(r);
    r->o = oracle_new(&r->limits, INSTANCE);
    r->o->parts_values = on_pool(&r->conf);
}

void run_share(struct run *r, const struct run *owner)
{
    *r = (struct run){.conf = owner->conf, .limits = owner->limits, .db = owner->db};
    r->shared = true;
    r->o = oracle_new(&r->limits, INSTANCE);
    r->o->parts_values = on_pool(&r->conf);
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *ftw)
{
    (void)s;
    (void)type;
    (void)ftw;
    return remove(path);
}

void run_close(struct run *r)
{
    oracle_free(r->o);
    if (r->shared)
        return;
    model_clock_true();
    close_db(r);
    for (size_t i = 0; r->txn_ids && i < STARTS_MAX; i++)
        mem_free(r->txn_ids[i]);
    mem_free(r->txn_ids);
    if (r->dir[0])
        nftw(r->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- indexes on a pool follow their tables ---- */

static bool may_lag(const struct run *r, bytes table)
{
    const struct oracle_index *x = oracle_index_find(r->o, table);

    return x && !x->meta.type; /* a global one */
}

static bool reads_late(const struct run *r, const struct wr_request *req)
{
    bool late = false;

    switch (req->op) {
    case WR_OP_GET_ROW:
        return may_lag(r, req->get_row.table);
    case WR_OP_GET_RANGE:
        return may_lag(r, req->get_range.table);
    case WR_OP_BULK_EXPORT:
        return may_lag(r, req->bulk_export.table);
    case WR_OP_BATCH_GET_ROW:
        for (size_t i = 0; i < req->batch_get_row.table_count; i++)
            late |= may_lag(r, req->batch_get_row.tables[i].table);
        return late;
    default:
        return false;
    }
}

/* Until all that was written is in its indexes. */
static void await_indexes(const struct run *r)
{
    struct wr_status status;

    if (!r->conf.indexes || !on_pool(&r->conf))
        return;
    for (wr_status(r->db, &status, sizeof(status)); status.index_waiting;
         wr_status(r->db, &status, sizeof(status)))
        usleep(500);
}

/* ---- open again ---- */

static void set_clock(struct run *r, uint64_t n)
{
    if (run_now_ms() > r->latest_ms)
        r->latest_ms = run_now_ms();
    model_clock_set(n);
}

bool run_reopen(struct run *r)
{
    if (!r->dir[0])
        return true;
    await_indexes(r); /* what is left by then is found ten seconds later */
    close_db(r);
    if (!on_pool(&r->conf)) /* there they are in no server's memory */
        oracle_txns_end(r->o, NULL);
    if (r->conf.clock)
        set_clock(r, r->passed + r->mix.count[WR_OP_PUT_ROW][0]);
    return open_db(r);
}

/* ---- a request ---- */

/* The whole row as the database has it now. */
static void report_row(const struct run *r, FILE *out, bytes table, const struct wr_key *key)
{
    struct wr_request req = {.op = WR_OP_GET_ROW, .instance = r->o->instance};
    struct wr_reply *reply;

    req.get_row = (struct wr_get_row){
        .table = table, .key = *key, .read = {.has_max_versions = true, .max_versions = INT32_MAX}};
    reply = wr_exec(r->db, &req);
    fputs("  ", out);
    if (reply->code)
        fprintf(out, "code %d", reply->code);
    else
        show_row(out, &reply->row.row);
    fputc('\n', out);
    wr_reply_free(reply);
}

static void report_rows(const struct run *r, FILE *out, const struct wr_request *req)
{
    fputs("rows now:\n", out);
    if (req->op == WR_OP_PUT_ROW || req->op == WR_OP_UPDATE_ROW || req->op == WR_OP_DELETE_ROW)
        report_row(r, out, req->put_row.table, &req->put_row.row.key);
    if (req->op == WR_OP_GET_ROW)
        report_row(r, out, req->get_row.table, &req->get_row.key);
    for (size_t i = 0; req->op == WR_OP_BATCH_WRITE_ROW && i < req->batch_write_row.table_count;
         i++)
        for (size_t k = 0; k < req->batch_write_row.tables[i].change_count; k++)
            report_row(r, out, req->batch_write_row.tables[i].table,
                       &req->batch_write_row.tables[i].changes[k].row.key);
    for (size_t i = 0; req->op == WR_OP_BATCH_GET_ROW && i < req->batch_get_row.table_count; i++)
        for (size_t k = 0; k < req->batch_get_row.tables[i].key_count; k++)
            report_row(r, out, req->batch_get_row.tables[i].table,
                       &req->batch_get_row.tables[i].keys[k]);
}

static void report_difference(const struct run *r, FILE *out, const struct wr_request *req,
                              const struct wr_reply *expected, const struct wr_reply *actual)
{
    if (!out)
        return;
    fprintf(out, "difference: %s\nrequest:\n", r->why);
    show_request(out, req);
    fputs("expected:\n", out);
    show_reply(out, expected);
    fputs("actual:\n", out);
    show_reply(out, actual);
    report_rows(r, out, req);
}

/* An index is being built: clients come again. */
static bool is_unfinished(const struct wr_reply *reply)
{
    return reply->code == WR_E_PARAMETER && strstr(reply->message, "building base state");
}

/* ---- transactions: requests name one by the number of its start ---- */

#define NO_TRANSACTION "0f8fad5b-d9cb-469f-a165-70867728950e"

static void put_true_id(const struct run *r, bytes *named)
{
    uint64_t number = oracle_txn_number(*named);
    bool known = r->txn_ids && number < STARTS_MAX && r->txn_ids[number];

    *named = bytes_str(known ? r->txn_ids[number] : NO_TRANSACTION);
}

/* The request as it is sent. */
static struct wr_request with_true_id(const struct run *r, const struct wr_request *req)
{
    struct wr_request sent = *req;

    if (!oracle_txn_named(req).ptr)
        return sent;
    switch (req->op) {
    case WR_OP_GET_ROW:
        put_true_id(r, &sent.get_row.transaction);
        break;
    case WR_OP_GET_RANGE:
        put_true_id(r, &sent.get_range.transaction);
        break;
    case WR_OP_BATCH_WRITE_ROW:
        put_true_id(r, &sent.batch_write_row.transaction);
        break;
    case WR_OP_COMMIT_TRANSACTION:
    case WR_OP_ABORT_TRANSACTION:
        put_true_id(r, &sent.commit_transaction.id);
        break;
    default:
        put_true_id(r, &sent.put_row.transaction);
    }
    return sent;
}

/* Before the oracle counts the start. */
static void keep_true_id(struct run *r, const struct wr_reply *reply)
{
    uint64_t number = r->o->starts + 1;

    if (!r->txn_ids)
        r->txn_ids = mem_zalloc(STARTS_MAX * sizeof(*r->txn_ids));
    if (number < STARTS_MAX) {
        char *id = mem_zalloc(reply->transaction.id.len + 1);

        mem_free(r->txn_ids[number]); /* of a start that the oracle did not count */
        r->txn_ids[number] = memcpy(id, reply->transaction.id.ptr, reply->transaction.id.len);
    }
}

/* ---- by SQL ---- */

static bool goes_by_sql(const struct run *r)
{
    return r->sql && (r->passed * 2654435761u >> 16) % 100 < (uint64_t)r->conf.sql;
}

/* As wr_exec(); where SQL gives other rows, `why` says so. */
static struct wr_reply *say(struct run *r, const struct wr_request *req)
{
    uint64_t before = by_sql_count(r->sql);
    struct by_sql_answer a;
    struct ctx c;

    ctx_init(&c, NULL, NULL, NULL, 0);
    a = by_sql_exec(r->sql, &c, req);
    r->mix.by_sql += by_sql_count(r->sql) - before;
    if (a.fault)
        snprintf(r->why, sizeof(r->why), "%s", a.fault);
    ctx_release(&c);
    if (a.owned)
        return a.owned;
    r->sql_said = a.reply;
    return &r->sql_said;
}

static struct wr_reply *execute_once(struct run *r, const struct wr_request *req)
{
    if (req->op == WR_OP_CREATE_TABLE)
        return db_exec_internal(r->db, req);
    return goes_by_sql(r) ? say(r, req) : wr_exec(r->db, req);
}

static void reply_free(struct run *r, struct wr_reply *reply)
{
    if (reply != &r->sql_said)
        wr_reply_free(reply);
}

/* Who reads an index that is being built waits for its end, and, where a global one follows, until
 * it has. A local one is never behind. */
static struct wr_reply *execute(struct run *r, const struct wr_request *asked)
{
    struct wr_request sent = with_true_id(r, asked);
    const struct wr_request *req = &sent;
    struct wr_reply *reply;

    if (reads_late(r, req))
        await_indexes(r);
    reply = execute_once(r, req);
    while (is_unfinished(reply)) {
        reply_free(r, reply);
        usleep(1000);
        reply = execute_once(r, req);
    }
    return reply;
}

/* One exchange. *reply is the caller's to free, also at a difference. */
static bool exchange(struct run *r, const struct wr_request *req, struct arena *a,
                     struct wr_reply **reply, FILE *report)
{
    struct wr_reply expected;
    int64_t now_ms = run_now_ms();
    bool same;

    r->why[0] = 0;
    *reply = execute(r, req);
    if (r->why[0]) { /* both ways gave an answer, and not the same */
        report_difference(r, report, req, *reply, *reply);
        return false;
    }
    if (req->op == WR_OP_START_LOCAL_TRANSACTION && !(*reply)->code)
        keep_true_id(r, *reply);
    oracle_answer(r->o, req, *reply, now_ms, a, &expected);
    same = compare_replies(&expected, *reply, r->why, sizeof(r->why));
    if (same && r->o->complaint[0]) {
        snprintf(r->why, sizeof(r->why), "%s", r->o->complaint);
        same = false;
    }
    if (!same)
        report_difference(r, report, req, &expected, *reply);
    return same;
}

/* ---- what an answer left open ---- */

static bool fail_probe(struct run *r, FILE *report, const char *what, const struct wr_row *row)
{
    snprintf(r->why, sizeof(r->why), "%s", what);
    if (report) {
        fprintf(report, "difference in what the write left: %s\n", what);
        show_row(report, row);
        fputc('\n', report);
    }
    return false;
}

/* Reads a row with open stamps in full. */
static bool probe_row(struct run *r, struct oracle_table *t, struct oracle_row *row,
                      bytes transaction, const int64_t times[2], FILE *report)
{
    struct wr_request req = {.op = WR_OP_GET_ROW, .instance = r->o->instance};
    struct wr_reply *reply;
    struct arena a;
    bool good;

    req.get_row = (struct wr_get_row){.table = t->name,
                                      .key = {row->key, t->key_count},
                                      .read = {.has_max_versions = true, .max_versions = INT32_MAX},
                                      .transaction = transaction};
    arena_init(&a, NULL, 0);
    good = exchange(r, &req, &a, &reply, report);
    if (good && !oracle_learn(r->o, row, &reply->row.row, times[0], times[1]))
        good = fail_probe(r, report, r->o->complaint, &reply->row.row);
    reply_free(r, reply);
    arena_release(&a);
    return good;
}

/* True if the oracle has the row. */
static bool is_known(struct oracle_table *t, const struct wr_row *row)
{
    return row->key.count == t->key_count && oracle_row_find(t, row->key.columns) != NULL;
}

/* Finds the row whose auto-increment value was not told: the one that was not there before. */
static bool probe_key(struct run *r, struct oracle_table *t, struct oracle_row *row,
                      bytes transaction, FILE *report)
{
    struct wr_key_column start[ORACLE_KEY_MAX], end[ORACLE_KEY_MAX];
    struct wr_request req = {.op = WR_OP_GET_RANGE, .instance = r->o->instance};
    struct wr_get_range *g = &req.get_range;
    struct wr_reply *reply = NULL;
    bool found = false, more = true;
    int64_t value = 0;

    for (size_t i = 0; i < t->key_count; i++) {
        start[i] = end[i] = row->key[i];
        if ((int)i >= t->auto_column) {
            start[i].value = (struct wr_value){.type = WR_INF_MIN};
            end[i].value = (struct wr_value){.type = WR_INF_MAX};
        }
    }
    *g = (struct wr_get_range){.table = t->name,
                               .start = {start, t->key_count},
                               .end = {end, t->key_count},
                               .read = {.has_max_versions = true, .max_versions = 1},
                               .transaction = transaction};
    while (more && !found) {
        struct wr_reply *last = reply;

        reply = execute(r, &req);
        reply_free(r, last);
        if (reply->code)
            break;
        for (size_t i = 0; i < reply->range.row_count && !found; i++)
            if (!is_known(t, &reply->range.rows[i])) {
                value = reply->range.rows[i].key.columns[t->auto_column].value.integer;
                found = true;
            }
        more = reply->range.next.count > 0;
        g->start = reply->range.next;
    }
    reply_free(r, reply);
    if (!found)
        return fail_probe(r, report, "a row with a generated key is not to be found",
                          &(struct wr_row){0});
    if (!oracle_learn_key(r->o, t, row, value))
        return fail_probe(r, report, r->o->complaint, &(struct wr_row){0});
    return true;
}

static bool probe_table(struct run *r, bytes name, bytes transaction, const int64_t times[2],
                        FILE *report)
{
    struct oracle_txn *x = transaction.ptr ? oracle_txn_find(r->o, transaction) : NULL;
    struct oracle_table *t = x ? &x->view : oracle_find(r->o, name);

    for (size_t i = 0; t && i < t->row_count; i++)
        if (t->rows[i]->key_open) {
            if (!probe_key(r, t, t->rows[i], transaction, report))
                return false;
            i = (size_t)-1; /* the order has changed */
        }
    for (size_t i = 0; t && i < t->row_count; i++)
        if (t->rows[i]->unsure && !probe_row(r, t, t->rows[i], transaction, times, report))
            return false;
    return true;
}

static bool probe(struct run *r, const struct wr_request *req, const int64_t times[2], FILE *report)
{
    bytes x = oracle_txn_named(req);

    switch (req->op) {
    case WR_OP_PUT_ROW:
    case WR_OP_UPDATE_ROW:
        return probe_table(r, req->put_row.table, x, times, report);
    case WR_OP_BULK_IMPORT:
        return probe_table(r, req->bulk_import.table.table, x, times, report);
    case WR_OP_BATCH_WRITE_ROW:
        for (size_t i = 0; i < req->batch_write_row.table_count; i++)
            if (!probe_table(r, req->batch_write_row.tables[i].table, x, times, report))
                return false;
        return true;
    default:
        return true;
    }
}

static void mix_add(struct run_mix *mix, const struct wr_reply *reply)
{
    bool batch = reply->op == WR_OP_BATCH_GET_ROW || reply->op == WR_OP_BATCH_WRITE_ROW ||
                 reply->op == WR_OP_BULK_IMPORT;

    if (reply->code || !batch)
        mix->count[reply->op][reply->code]++;
    for (size_t i = 0; !reply->code && batch && i < reply->batch.table_count; i++)
        for (size_t k = 0; k < reply->batch.tables[i].row_count; k++)
            mix->count[reply->op][reply->batch.tables[i].rows[k].code]++;
}

/* ---- key layouts: nobody but the clock may notice them ---- */

#define REKEY_EVERY 200 /* requests */

/* The one that the nth table or rekeying gets. */
static bytes layout_of(uint64_t n)
{
    static const char *const layouts[] = {"hash:16", "random:7", "plain", "reverse:5", "hash:256"};

    return bytes_str(layouts[n % PORT_COUNT(layouts)]);
}

/* Asks for another layout; that one is under way already, or is there, is as good. */
static void rekey(struct run *r, bytes table)
{
    struct wr_request req = {.op = WR_OP_REKEY_TABLE, .instance = r->o->instance};
    bool cancel = r->passed / REKEY_EVERY % 8 == 7;

    req.rekey_table = (struct wr_rekey_table){table, cancel ? WR_REKEY_CANCEL : WR_REKEY_START,
                                              layout_of(r->passed / REKEY_EVERY)};
    wr_reply_free(wr_exec(r->db, &req));
}

/* Stamps never go back: whatever the clock says now, they are not below the latest that was given,
 * but for the second that versions within one millisecond may run ahead of it. What the clock said
 * while nothing was stamped, the database need not have seen. */
static void bound_stamps(const struct run *r, int64_t times[2])
{
    if (times[0] < r->o->given_ms - 1000)
        times[0] = r->o->given_ms - 1000;
    if (times[1] < r->latest_ms + 60000) /* it goes on while the wall clock catches up */
        times[1] = r->latest_ms + 60000;
}

/* On a pool a server that meets a stamp less than a second ahead takes its time over
 * (doc/scale-out.md), and a client's own stamp may be one: so one row's stamp goes into the others.
 */
#define MET_MS 1000

bool run_exchange(struct run *r, const struct wr_request *req, FILE *report)
{
    int64_t times[2] = {0, 0};
    struct wr_request laid_out;
    struct wr_reply *reply;
    struct arena a;
    bool good;

    if (r->conf.clock && r->passed % 7 == 0)
        set_clock(r, r->passed);
    times[0] = run_now_ms();
    if (r->conf.layouts && req->op == WR_OP_CREATE_TABLE) {
        laid_out = *req;
        laid_out.create_table.layout = layout_of(r->passed);
        req = &laid_out;
    }
    if (r->conf.layouts && req->op == WR_OP_PUT_ROW && r->passed % REKEY_EVERY < 20)
        rekey(r, req->put_row.table);
    arena_init(&a, NULL, 0);
    good = exchange(r, req, &a, &reply, report);
    mix_add(&r->mix, reply);
    reply_free(r, reply);
    arena_release(&a);
    times[1] = run_now_ms() + (on_pool(&r->conf) ? MET_MS : 0);
    if (r->conf.clock)
        bound_stamps(r, times);
    if (good && !probe(r, req, times, report)) {
        good = false;
        if (report) {
            fputs("after:\n", report);
            show_request(report, req);
        }
    }
    r->passed += good;
    return good;
}

static bool check_table(struct run *r, struct oracle_table *t, FILE *report)
{
    struct wr_key_column start[ORACLE_KEY_MAX], end[ORACLE_KEY_MAX];
    struct wr_request req = {.op = WR_OP_GET_RANGE, .instance = r->o->instance};
    struct wr_get_range *g = &req.get_range;
    struct wr_reply *reply = NULL;
    bool good = true, more = true;

    for (size_t i = 0; i < t->key_count; i++) {
        start[i] = (struct wr_key_column){t->key[i].name, {.type = WR_INF_MIN}};
        end[i] = (struct wr_key_column){t->key[i].name, {.type = WR_INF_MAX}};
    }
    *g = (struct wr_get_range){.table = t->name,
                               .start = {start, t->key_count},
                               .end = {end, t->key_count},
                               .read = {.has_max_versions = true, .max_versions = INT32_MAX}};
    while (good && more) {
        struct wr_reply *last = reply;
        struct arena a;

        arena_init(&a, NULL, 0);
        good = exchange(r, &req, &a, &reply, report);
        reply_free(r, last);
        more = good && reply->range.next.count > 0;
        if (more)
            g->start = reply->range.next;
        arena_release(&a);
    }
    reply_free(r, reply);
    return good;
}

bool run_check_all(struct run *r, FILE *report)
{
    for (struct oracle_table *t = r->o->tables; t; t = t->next) {
        if (!check_table(r, t, report))
            return false;
        for (struct oracle_index *x = t->indexes; x; x = x->next)
            if (!check_table(r, &x->view, report))
                return false;
    }
    return true;
}
