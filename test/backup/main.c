/* The client of test/backup/run.sh; the server is found as `widerow` finds it.
 *
 *   backup load STATE COMMAND...   writers run; meanwhile each COMMAND (a backup) is run by the
 *                                  shell, and STATE tells what each must and what it may hold
 *   backup check STATE N           the server was restored from backup N: is it that?
 *   backup serve                   one of each kind of request, with answers checked
 *
 * Writers. Four count up in "seq", one row a number. Two rewrite eight rows of "batch" over and
 * over, in one atomic batch, all with the same number. One writes row n of "first" and, when that
 * was answered, row n of "second". So of a copy as of one moment one can tell: of each counter it
 * holds exactly the numbers below some n, and n lies between what was answered before the backup
 * began and what was sent before it ended; the eight rows are equal; "second" has no row that
 * "first" has not. */
#include "client/client.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define COUNTERS 4
#define BATCHERS 2
#define WRITERS (COUNTERS + BATCHERS + 1)
#define BATCH_ROWS 8
#define VALUE_BYTES 3000
#define PAUSE_MS 700 /* between backups, of writing */

static struct target target;
static struct clock real_clock;
static atomic_bool stop;
static atomic_llong sent[WRITERS], answered[WRITERS];
static atomic_int failures;

static void failed(const char *what, const char *why)
{
    printf("FAILED %s: %s\n", what, why);
    atomic_fetch_add(&failures, 1);
}

static bool exec(struct ctx *c, struct client *cl, const struct wr_request *req,
                 struct wr_reply *reply, const char *what)
{
    int code = client_exec(c, cl, req, reply);

    if (code)
        failed(what, c->text);
    return code == 0;
}

/* ---- rows */

struct row {
    struct wr_key_column key[2];
    struct wr_cell cells[2];
    char value[VALUE_BYTES];
};

/* Row (a, n); its value can be told from n, and does not compress well. */
static struct wr_row row_make(struct row *r, int64_t a, int64_t n)
{
    struct rng rng;

    rng_init(&rng, (uint64_t)(a * 1000003 + n));
    for (size_t i = 0; i < VALUE_BYTES; i++)
        r->value[i] = (char)('!' + rng_below(&rng, 90));
    r->key[0] = (struct wr_key_column){BYTES_LIT("a"), {.type = WR_BIGINT, .integer = a}};
    r->key[1] = (struct wr_key_column){BYTES_LIT("n"), {.type = WR_BIGINT, .integer = n}};
    r->cells[0] = (struct wr_cell){.name = BYTES_LIT("number"),
                                   .value = {.type = WR_BIGINT, .integer = n},
                                   .timestamp_ms = WR_TIMESTAMP_NONE};
    r->cells[1] =
        (struct wr_cell){.name = BYTES_LIT("value"),
                         .value = {.type = WR_VARCHAR, .bytes = bytes_of(r->value, VALUE_BYTES)},
                         .timestamp_ms = WR_TIMESTAMP_NONE};
    return (struct wr_row){{r->key, 2}, r->cells, 2};
}

static bool put(struct client *cl, const char *table, int64_t a, int64_t n)
{
    struct row r;
    struct wr_request req = {.op = WR_OP_PUT_ROW,
                             .put_row = {.type = WR_PUT, .table = bytes_str(table)}};
    struct wr_reply reply;
    struct ctx c;
    bool well;

    ctx_init(&c, &real_clock, NULL, NULL, 0);
    req.put_row.row = row_make(&r, a, n);
    well = exec(&c, cl, &req, &reply, "put");
    ctx_release(&c);
    return well;
}

static bool put_batch(struct client *cl, int64_t a, int64_t n)
{
    static const size_t count = BATCH_ROWS;
    struct row *rows = mem_alloc(count * sizeof(*rows));
    struct wr_row_change changes[BATCH_ROWS] = {0};
    struct wr_table_write table = {BYTES_LIT("batch"), changes, count};
    struct wr_request req = {
        .op = WR_OP_BATCH_WRITE_ROW,
        .batch_write_row = {.tables = &table, .table_count = 1, .atomic = true}};
    struct wr_reply reply;
    struct ctx c;
    bool well;

    for (size_t i = 0; i < count; i++) {
        changes[i].type = WR_PUT;
        changes[i].row = row_make(&rows[i], a, n);
        rows[i].key[1].value.integer = (int64_t)i;
    }
    ctx_init(&c, &real_clock, NULL, NULL, 0);
    well = exec(&c, cl, &req, &reply, "atomic batch");
    for (size_t i = 0; well && i < reply.batch.tables[0].row_count; i++)
        if (reply.batch.tables[0].rows[i].code) {
            failed("row of an atomic batch", reply.batch.tables[0].rows[i].message);
            well = false;
        }
    ctx_release(&c);
    mem_free(rows);
    return well;
}

static void make_tables(struct client *cl)
{
    static const char *const names[] = {"seq", "batch", "first", "second"};
    static const struct wr_key_schema key[] = {{.name = {"a", 1}, .type = WR_BIGINT},
                                               {.name = {"n", 1}, .type = WR_BIGINT}};

    for (size_t i = 0; i < PORT_COUNT(names); i++) {
        struct wr_request req = {.op = WR_OP_CREATE_TABLE};
        struct wr_reply reply;
        struct ctx c;

        req.create_table = (struct wr_create_table){
            .table = bytes_str(names[i]),
            .key = key,
            .key_count = 2,
            .reserved = {.has_read = true, .has_write = true},
            .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
        ctx_init(&c, &real_clock, NULL, NULL, 0);
        exec(&c, cl, &req, &reply, "create a table");
        ctx_release(&c);
    }
}

static struct client *connect_to(void)
{
    struct client *cl = NULL;
    struct ctx c;

    ctx_init(&c, &real_clock, NULL, NULL, 0);
    if (client_open(&c, &target, &cl)) {
        failed("connect", c.text);
        exit(1);
    }
    cl->repeatable = true;
    ctx_release(&c);
    return cl;
}

/* ---- load */

static void *writer_main(void *arg)
{
    int w = (int)(intptr_t)arg;
    struct client *cl = connect_to();

    for (int64_t n = 0; !atomic_load(&stop); n++) {
        bool well;

        atomic_store(&sent[w], n + 1);
        if (w < COUNTERS)
            well = put(cl, "seq", w, n);
        else if (w < COUNTERS + BATCHERS)
            well = put_batch(cl, w, n);
        else
            well = put(cl, "first", 0, n) && put(cl, "second", 0, n);
        if (!well)
            break;
        atomic_store(&answered[w], n + 1);
    }
    client_close(cl);
    return NULL;
}

static void write_for_a_while(void)
{
    struct timespec ts = {PAUSE_MS / 1000, PAUSE_MS % 1000 * 1000000};

    nanosleep(&ts, NULL);
}

static void load(const char *state_file, int count, char **commands)
{
    pthread_t threads[WRITERS];
    struct client *cl = connect_to();
    FILE *state = fopen(state_file, "w");
    long long total = 0;

    make_tables(cl);
    client_close(cl);
    for (intptr_t w = 0; w < WRITERS; w++)
        pthread_create(&threads[w], NULL, writer_main, (void *)w);
    for (int i = 0; i < count; i++) {
        long long low[WRITERS];

        write_for_a_while();
        for (int w = 0; w < WRITERS; w++)
            low[w] = atomic_load(&answered[w]);
        if (system(commands[i]) != 0)
            failed("command", commands[i]);
        for (int w = 0; w < WRITERS; w++)
            fprintf(state, "%d %d %lld %lld\n", i + 1, w, low[w], (long long)atomic_load(&sent[w]));
    }
    write_for_a_while();
    atomic_store(&stop, true);
    for (int w = 0; w < WRITERS; w++) {
        pthread_join(threads[w], NULL);
        total += atomic_load(&answered[w]);
    }
    fclose(state);
    printf("%lld writes answered while %d backups were made\n", total, count);
}

/* ---- check */

/* Calls fn for each row of (table, a, *) in order. Returns how many there are. */
static int64_t walk(struct client *cl, const char *table, int64_t a,
                    void (*fn)(void *arg, int64_t at, const struct wr_row *row), void *arg)
{
    struct wr_key_column start[2] = {{BYTES_LIT("a"), {.type = WR_BIGINT, .integer = a}},
                                     {BYTES_LIT("n"), {.type = WR_BIGINT, .integer = INT64_MIN}}};
    struct wr_key_column end[2] = {{BYTES_LIT("a"), {.type = WR_BIGINT, .integer = a}},
                                   {BYTES_LIT("n"), {.type = WR_INF_MAX}}};
    struct wr_request req = {.op = WR_OP_GET_RANGE,
                             .get_range = {.table = bytes_str(table),
                                           .start = {start, 2},
                                           .end = {end, 2},
                                           .read = {.has_max_versions = true, .max_versions = 1}}};
    int64_t count = 0;
    bool more = true;

    while (more) {
        struct wr_reply reply;
        struct ctx c;

        ctx_init(&c, &real_clock, NULL, NULL, 0);
        more = exec(&c, cl, &req, &reply, "get a range");
        for (size_t i = 0; more && i < reply.range.row_count; i++)
            fn(arg, count++, &reply.range.rows[i]);
        more = more && reply.range.next.count;
        if (more)
            start[1].value = reply.range.next.columns[1].value;
        ctx_release(&c);
    }
    return count;
}

struct seen {
    int64_t a;
    int64_t number; /* of the first row */
    int bad;
};

static bool row_is(const struct wr_row *row, int64_t a, int64_t n)
{
    struct row r;
    struct wr_row want = row_make(&r, a, n);

    return row->cell_count == 2 && row->cells[0].value.integer == n &&
           bytes_equal(row->cells[1].value.bytes, want.cells[1].value.bytes);
}

static void see_counter(void *arg, int64_t at, const struct wr_row *row)
{
    struct seen *s = arg;

    s->bad += row->key.columns[1].value.integer != at || !row_is(row, s->a, at);
}

static void see_batch(void *arg, int64_t at, const struct wr_row *row)
{
    struct seen *s = arg;

    if (at == 0)
        s->number = row->cells[0].value.integer;
    s->bad += row->key.columns[1].value.integer != at || !row_is(row, s->a, s->number);
}

static void check_count(int w, long long found, int bad, long long low, long long high)
{
    char text[200];

    printf("writer %d: %lld, at least %lld, at most %lld, %d wrong\n", w, found, low, high, bad);
    if (!bad && found >= low && found <= high)
        return;
    snprintf(text, sizeof(text), "writer %d: %lld found, at least %lld, at most %lld, %d wrong", w,
             found, low, high, bad);
    failed("content", text);
}

static void check_writer(struct client *cl, int w, long long low, long long high)
{
    struct seen s = {.a = w};
    int64_t n, second;

    if (w < COUNTERS) {
        n = walk(cl, "seq", w, see_counter, &s);
        check_count(w, n, s.bad, low, high);
    } else if (w < COUNTERS + BATCHERS) {
        n = walk(cl, "batch", w, see_batch, &s);
        check_count(w, n ? s.number + 1 : 0, s.bad + (n != 0 && n != BATCH_ROWS), low, high);
    } else {
        s.a = 0;
        n = walk(cl, "first", 0, see_counter, &s);
        second = walk(cl, "second", 0, see_counter, &s);
        check_count(w, second, s.bad + (n != second && n != second + 1), low, high);
    }
}

static void check(const char *state_file, int which)
{
    struct client *cl = connect_to();
    FILE *state = fopen(state_file, "r");
    long long low, high;
    int i, w, writers = 0;

    while (state && fscanf(state, "%d %d %lld %lld", &i, &w, &low, &high) == 4) {
        if (i != which)
            continue;
        check_writer(cl, w, low, high);
        writers++;
    }
    if (writers != WRITERS)
        failed("state", "not all writers are in it");
    if (state)
        fclose(state);
    client_close(cl);
}

/* ---- serve */

static int64_t number_at(struct client *cl, int64_t n)
{
    struct row r;
    struct wr_request req = {.op = WR_OP_GET_ROW, .get_row = {.table = BYTES_LIT("seq")}};
    struct wr_reply reply;
    struct ctx c;
    int64_t number = -1;

    ctx_init(&c, &real_clock, NULL, NULL, 0);
    req.get_row.key = row_make(&r, 99, n).key;
    req.get_row.read.has_max_versions = true;
    req.get_row.read.max_versions = 1;
    if (exec(&c, cl, &req, &reply, "get") && reply.row.row.cell_count)
        number = reply.row.row.cells[0].value.integer;
    ctx_release(&c);
    return number;
}

static void change(struct client *cl, enum wr_op op, enum wr_change_type type, int64_t n)
{
    struct row r;
    struct wr_request req = {.op = op, .put_row = {.type = type, .table = BYTES_LIT("seq")}};
    struct wr_reply reply;
    struct ctx c;

    ctx_init(&c, &real_clock, NULL, NULL, 0);
    req.put_row.row = row_make(&r, 99, n);
    if (type == WR_DELETE) {
        req.put_row.row.cell_count = 0;
    } else {
        req.put_row.row.cell_count = 1;
        r.cells[0].op = WR_CELL_INCREMENT;
        r.cells[0].value.integer = 5;
    }
    exec(&c, cl, &req, &reply, type == WR_DELETE ? "delete" : "increment");
    ctx_release(&c);
}

static void expect(int64_t got, int64_t wanted, const char *what)
{
    char text[100];

    snprintf(text, sizeof(text), "%lld instead of %lld", (long long)got, (long long)wanted);
    if (got != wanted)
        failed(what, text);
}

static void serve(void)
{
    struct client *cl = connect_to();
    struct seen s = {.a = 99};

    put(cl, "seq", 99, 0);
    expect(number_at(cl, 0), 0, "row after put");
    put(cl, "seq", 99, 1);
    expect(walk(cl, "seq", 99, see_counter, &s), 2, "rows in range");
    expect(s.bad, 0, "wrong rows in range");
    change(cl, WR_OP_UPDATE_ROW, WR_UPDATE, 1);
    expect(number_at(cl, 1), 6, "row after increment");
    change(cl, WR_OP_DELETE_ROW, WR_DELETE, 1);
    expect(number_at(cl, 1), -1, "row after delete");
    put_batch(cl, 99, 7);
    s = (struct seen){.a = 99};
    expect(walk(cl, "batch", 99, see_batch, &s), BATCH_ROWS, "rows after an atomic batch");
    expect(s.bad, 0, "wrong rows after an atomic batch");
    client_close(cl);
}

int main(int argc, char **argv)
{
    struct target_conf conf = {0};
    struct ctx c;

    clock_real_init(&real_clock);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    ctx_init(&c, &real_clock, NULL, NULL, 0);
    if (target_open(&c, &conf, &target)) {
        failed("the server", c.text);
        return 1;
    }
    if (argc > 3 && strcmp(argv[1], "load") == 0)
        load(argv[2], argc - 3, argv + 3);
    else if (argc == 4 && strcmp(argv[1], "check") == 0)
        check(argv[2], (int)strtol(argv[3], NULL, 10));
    else if (argc == 2 && strcmp(argv[1], "serve") == 0)
        serve();
    else
        failed("usage", "load STATE COMMAND... | check STATE N | serve");
    target_release(&target);
    ctx_release(&c);
    curl_global_cleanup();
    return atomic_load(&failures) ? 1 : 0;
}
