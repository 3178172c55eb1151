/* key_holder.c: one client with a valid key who sends the dearest requests that are legal, one
 * after the other on each of its connections. */
#include "hostile.h"

#include "base/port.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LONG_TEXT_BYTES 200000
#define MANY_ROWS 2000
#define ENTRIES 20
#define DEEP 60
#define BIG_BODY_BYTES (3 << 20)

const char *const holder_names[HOLDER_KINDS] = {"regex-batch", "regex-range", "whole-range",
                                                "wide-batch",  "conditions",  "deep-filter",
                                                "big-body"};

static char long_text[LONG_TEXT_BYTES], big_value[1 << 20];
static bytes requests[HOLDER_KINDS];

static struct wr_filter regex_of(const char *pattern)
{
    struct wr_filter f = {.type = WR_FILTER_COLUMN};

    f.column = (struct wr_column_filter){.comparator = WR_EXIST,
                                         .column = BYTES_LIT("c"),
                                         .value = {.type = WR_VARCHAR, .bytes = BYTES_LIT("")},
                                         .regex = bytes_str(pattern),
                                         .cast_type = WR_VARCHAR};
    return f;
}

static struct wr_read_options read_with(const struct wr_filter *f)
{
    return (struct wr_read_options){.has_max_versions = true, .max_versions = 1, .filter = f};
}

/* ---- the rows */

static bool table_make(struct door *d, int fd, const char *name)
{
    static const struct wr_key_schema key = {.name = {"k", 1}, .type = WR_BIGINT};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};
    int status;

    req.create_table = (struct wr_create_table){
        .table = bytes_str(name),
        .key = &key,
        .key_count = 1,
        .reserved = {.has_read = true, .has_write = true},
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    for (int i = 0; i < 50; i++) { /* ten table operations a second */
        status = door_ask(fd, door_request(d, &req), NULL, 0);
        if (status == 200 || status == 409)
            return true;
        usleep(200000);
    }
    return false;
}

/* Rows [first, first + count) of `cells` in each, in one batch. */
static bool rows_put(struct door *d, int fd, const char *table, int first, int count,
                     const struct wr_cell *cells, size_t cell_count,
                     const struct wr_filter *only_if, bytes *made)
{
    struct wr_key_column *columns = ARENA_ARRAY(&d->arena, struct wr_key_column, (size_t)count);
    struct wr_row_change *changes = ARENA_ARRAY(&d->arena, struct wr_row_change, (size_t)count);
    struct wr_table_write write = {
        .table = bytes_str(table), .changes = changes, .change_count = (size_t)count};
    struct wr_request req = {.op = WR_OP_BATCH_WRITE_ROW,
                             .batch_write_row = {.tables = &write, .table_count = 1}};

    for (int i = 0; i < count; i++) {
        columns[i] =
            (struct wr_key_column){BYTES_LIT("k"), {.type = WR_BIGINT, .integer = first + i}};
        changes[i] = (struct wr_row_change){.type = WR_PUT,
                                            .row = {{&columns[i], 1}, cells, cell_count},
                                            .condition = {.column = only_if}};
    }
    if (made) {
        *made = door_request(d, &req);
        return true;
    }
    return door_ask(fd, door_request(d, &req), NULL, 0) == 200;
}

static struct wr_cell text_cell(const char *name, const char *text, size_t len)
{
    return (struct wr_cell){.name = bytes_str(name),
                            .value = {.type = WR_VARCHAR, .bytes = bytes_of(text, len)},
                            .timestamp_ms = WR_TIMESTAMP_NONE};
}

static bool rows_make(struct door *d, int fd)
{
    struct wr_cell small = text_cell("c", long_text, 1000),
                   large = text_cell("c", long_text, LONG_TEXT_BYTES);
    bool well = true;

    memset(long_text, 'a', sizeof(long_text));
    memset(big_value, 'b', sizeof(big_value));
    for (int i = 0; i < ENTRIES && well; i++) {
        char name[16];

        snprintf(name, sizeof(name), "dear%d", i);
        well = table_make(d, fd, name) && rows_put(d, fd, name, 0, 1, &large, 1, NULL, NULL);
    }
    well = well && table_make(d, fd, "many");
    for (int i = 0; i < MANY_ROWS && well; i += 200)
        well = rows_put(d, fd, "many", i, 200, &small, 1, NULL, NULL);
    return well;
}

/* ---- the requests */

static bytes batch_get(struct door *d, size_t tables, size_t rows, const struct wr_filter *f)
{
    struct wr_key_column key = {BYTES_LIT("k"), {.type = WR_BIGINT, .integer = 0}};
    struct wr_key keys[100];
    struct wr_table_get gets[ENTRIES];
    struct wr_request req = {.op = WR_OP_BATCH_GET_ROW};

    for (size_t i = 0; i < rows; i++)
        keys[i] = (struct wr_key){&key, 1};
    for (size_t i = 0; i < tables; i++)
        gets[i] = (struct wr_table_get){.table = arena_printf(&d->arena, "dear%zu", i),
                                        .keys = keys,
                                        .key_count = rows,
                                        .read = read_with(f)};
    req.batch_get_row = (struct wr_batch_get_row){gets, tables};
    return door_request(d, &req);
}

static bytes range_all(struct door *d, const struct wr_filter *f)
{
    struct wr_key_column from = {BYTES_LIT("k"), {.type = WR_INF_MIN}};
    struct wr_key_column to = {BYTES_LIT("k"), {.type = WR_INF_MAX}};
    struct wr_request req = {.op = WR_OP_GET_RANGE};

    req.get_range = (struct wr_get_range){
        .table = BYTES_LIT("many"), .start = {&from, 1}, .end = {&to, 1}, .read = read_with(f)};
    return door_request(d, &req);
}

static bytes deep_get(struct door *d)
{
    struct wr_key_column key = {BYTES_LIT("k"), {.type = WR_BIGINT, .integer = 0}};
    struct wr_filter *f = ARENA_ARRAY(&d->arena, struct wr_filter, DEEP);
    struct wr_request req = {.op = WR_OP_GET_ROW};

    f[0] = regex_of("(a)");
    for (int i = 1; i < DEEP; i++) {
        f[i].type = WR_FILTER_COMPOSITE;
        f[i].composite = (struct wr_composite_filter){WR_NOT, &f[i - 1], 1};
    }
    req.get_row = (struct wr_get_row){
        .table = BYTES_LIT("many"), .key = {&key, 1}, .read = read_with(&f[DEEP - 1])};
    return door_request(d, &req);
}

bool holder_prepare(struct door *d)
{
    static const char dear[] = "a{1,45000}[xy]";
    static struct wr_filter dear_regex, cheap_regex;
    struct wr_cell small = text_cell("c", long_text, 1000);
    struct wr_cell big[3] = {text_cell("x", big_value, sizeof(big_value)),
                             text_cell("y", big_value, sizeof(big_value)),
                             text_cell("z", big_value, sizeof(big_value))};
    int fd = door_connect(d, true);
    bool well = fd >= 0 && rows_make(d, fd);

    dear_regex = regex_of(dear);
    cheap_regex = regex_of("([a-z]+)9");
    if (well) {
        requests[HOLD_REGEX_BATCH] = batch_get(d, ENTRIES, 1, &dear_regex);
        requests[HOLD_REGEX_RANGE] = range_all(d, &cheap_regex);
        requests[HOLD_WHOLE_RANGE] = range_all(d, NULL);
        requests[HOLD_WIDE_BATCH] = batch_get(d, 1, 100, NULL);
        rows_put(d, fd, "many", 0, 200, &small, 1, &dear_regex, &requests[HOLD_CONDITIONS]);
        requests[HOLD_DEEP_FILTER] = deep_get(d);
        rows_put(d, fd, "many", MANY_ROWS, 1, big, 3, NULL, &requests[HOLD_BIG_BODY]);
    }
    close(fd);
    return well;
}

/* ---- running */

struct holder_conn {
    struct holder *holder;
    pthread_t thread;
    int number;
    int fd;
};

struct holder {
    struct door *door;
    atomic_bool stop;
    atomic_long asked[HOLDER_KINDS];
    struct holder_conn conns[HOLDER_CONNECTIONS];
};

static void *conn_run(void *arg)
{
    struct holder_conn *c = arg;
    struct holder *h = c->holder;

    for (int i = c->number; !atomic_load(&h->stop); i++) {
        int kind = i % HOLDER_KINDS;

        if (door_ask(c->fd, requests[kind], NULL, 0) < 0)
            usleep(10000);
        else
            atomic_fetch_add(&h->asked[kind], 1);
    }
    return NULL;
}

struct holder *holder_start(struct door *d)
{
    struct holder *h = mem_zalloc(sizeof(*h));

    h->door = d;
    for (int i = 0; i < HOLDER_CONNECTIONS; i++) {
        h->conns[i] = (struct holder_conn){.holder = h, .number = i, .fd = door_connect(d, true)};
        pthread_create(&h->conns[i].thread, NULL, conn_run, &h->conns[i]);
    }
    return h;
}

void holder_stop(struct holder *h, long asked[HOLDER_KINDS])
{
    atomic_store(&h->stop, true);
    for (int i = 0; i < HOLDER_CONNECTIONS; i++)
        shutdown(h->conns[i].fd, SHUT_RDWR); /* the answer it waits for may be seconds away */
    for (int i = 0; i < HOLDER_CONNECTIONS; i++) {
        pthread_join(h->conns[i].thread, NULL);
        close(h->conns[i].fd);
    }
    for (int i = 0; i < HOLDER_KINDS; i++)
        asked[i] = atomic_load(&h->asked[i]);
    mem_free(h);
}
