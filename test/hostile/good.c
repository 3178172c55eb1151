/* Good clients: a few threads that send signed requests one after the other, one write for every
 * 15 reads. */
#include "hostile.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS 8
#define ROWS 256
#define VALUE_BYTES 4000
#define TIME_US 50
#define TIMES 4096

static char value[VALUE_BYTES];
static bytes gets[ROWS], puts_[ROWS];

static struct wr_request request_of(enum wr_op op, struct wr_key_column *key, struct wr_cell *cell)
{
    struct wr_request req = {.op = op};

    if (op == WR_OP_GET_ROW) {
        req.get_row.table = BYTES_LIT("hostile");
        req.get_row.key = (struct wr_key){key, 1};
        req.get_row.read.has_max_versions = true;
        req.get_row.read.max_versions = 1;
    } else {
        req.put_row.type = WR_PUT;
        req.put_row.table = BYTES_LIT("hostile");
        req.put_row.row = (struct wr_row){{key, 1}, cell, 1};
    }
    return req;
}

static bool table_make(struct door *d)
{
    static const struct wr_key_schema key = {.name = {"k", 1}, .type = WR_BIGINT};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};
    int fd = door_connect(d, true), status;

    req.create_table = (struct wr_create_table){
        .table = BYTES_LIT("hostile"),
        .key = &key,
        .key_count = 1,
        .reserved = {.has_read = true, .has_write = true},
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    status = fd < 0 ? -1 : door_ask(fd, door_request(d, &req), NULL, 0);
    close(fd);
    return status == 200 || status == 409; /* there from a run before */
}

bool good_prepare(struct door *d)
{
    bool well = table_make(d);
    int fd = door_connect(d, true);

    memset(value, 'v', sizeof(value));
    for (int i = 0; i < ROWS && well; i++) {
        struct wr_key_column key = {BYTES_LIT("k"), {.type = WR_BIGINT, .integer = i}};
        struct wr_cell cell = {.name = BYTES_LIT("c"), .timestamp_ms = WR_TIMESTAMP_NONE};
        struct wr_request req;

        cell.value = (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_of(value, VALUE_BYTES)};
        req = request_of(WR_OP_PUT_ROW, &key, &cell);
        puts_[i] = door_request(d, &req);
        req = request_of(WR_OP_GET_ROW, &key, &cell);
        gets[i] = door_request(d, &req);
        well = door_ask(fd, puts_[i], NULL, 0) == 200;
    }
    close(fd);
    return well;
}

bool good_put_large(struct door *d, int number, size_t size)
{
    struct wr_key_column key = {BYTES_LIT("k"), {.type = WR_BIGINT, .integer = number}};
    struct wr_cell cell = {.name = BYTES_LIT("c"), .timestamp_ms = WR_TIMESTAMP_NONE};
    char *large = mem_alloc(size);
    int fd = door_connect(d, true), status;
    struct wr_request req;

    memset(large, 'l', size);
    cell.value = (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_of(large, size)};
    req = request_of(WR_OP_PUT_ROW, &key, &cell);
    status = door_ask(fd, door_request(d, &req), NULL, 0);
    mem_free(large);
    close(fd);
    return status == 200;
}

bytes good_get(struct door *d, int number)
{
    struct wr_key_column key = {BYTES_LIT("k"), {.type = WR_BIGINT, .integer = number}};
    struct wr_request req = request_of(WR_OP_GET_ROW, &key, NULL);

    return door_request(d, &req);
}

bytes good_long_request(struct door *d)
{
    struct wr_key_column from = {BYTES_LIT("k"), {.type = WR_INF_MIN}};
    struct wr_key_column to = {BYTES_LIT("k"), {.type = WR_INF_MAX}};
    struct wr_request req = {.op = WR_OP_GET_RANGE};

    req.get_range =
        (struct wr_get_range){.table = BYTES_LIT("hostile"), .start = {&from, 1}, .end = {&to, 1}};
    req.get_range.read.has_max_versions = true;
    req.get_range.read.max_versions = 1;
    return door_request(d, &req);
}

/* ---- running */

struct client {
    struct door *door;
    pthread_t thread;
    int64_t end_ms;
    int number;
    long answered, failed, slowest_ms;
    uint32_t times[TIMES]; /* requests by how long they took, in TIME_US; the last: longer */
};

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static long p99_of(const struct client *clients)
{
    long all = 0, left;
    int i = TIMES;

    for (int k = 0; k < CLIENTS; k++)
        for (int t = 0; t < TIMES; t++)
            all += clients[k].times[t];
    for (left = all / 100; i > 1 && left >= 0; i--)
        for (int k = 0; k < CLIENTS; k++)
            left -= clients[k].times[i - 1];
    return (long)i * TIME_US + TIME_US;
}

static void *client_run(void *arg)
{
    struct client *c = arg;
    int fd = door_connect(c->door, true);
    int64_t before = now_ms(), after, from = now_us(), took;

    for (int i = c->number * 31; before < c->end_ms; i++) {
        bytes request = i % 16 ? gets[i % ROWS] : puts_[i % ROWS];
        int status = fd < 0 ? -1 : door_ask(fd, request, NULL, 0);

        after = now_ms();
        took = now_us() - from;
        c->times[took / TIME_US < TIMES ? took / TIME_US : TIMES - 1]++;
        from += took;
        if (after - before > c->slowest_ms)
            c->slowest_ms = after - before;
        before = after;
        if (status == 200)
            c->answered++;
        else
            c->failed++;
        if (status < 0) {
            close(fd);
            fd = door_connect(c->door, true);
        }
    }
    close(fd);
    return NULL;
}

static struct good good_sum(const struct door_time *from, const struct door_time *to,
                            double attack_ms, long answered)
{
    double n = (double)answered + 1;

    return (struct good){.server_us = (to->server - from->server) * 1000 / n,
                         .client_us = (to->clients - from->clients - attack_ms) * 1000 / n,
                         .attack_us = attack_ms * 1000 / n,
                         .others = (to->others - from->others) / (to->all - from->all + 1)};
}

struct good good_run(struct door *d, const struct attack *a, int milliseconds)
{
    static struct client clients[CLIENTS];
    struct door_time from = door_time(d), to;
    double attack_ms = a ? attack_time(a) : 0;
    int64_t start = now_ms();
    long answered = 0;
    struct good sum;

    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.door = d, .end_ms = start + milliseconds, .number = i};
        pthread_create(&clients[i].thread, NULL, client_run, &clients[i]);
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(clients[i].thread, NULL);
        answered += clients[i].answered;
    }
    to = door_time(d);
    sum = good_sum(&from, &to, a ? attack_time(a) - attack_ms : 0, answered);
    for (int i = 0; i < CLIENTS; i++) {
        sum.failed += clients[i].failed;
        if (clients[i].slowest_ms > sum.slowest_ms)
            sum.slowest_ms = clients[i].slowest_ms;
    }
    sum.p99_us = p99_of(clients);
    sum.per_s = (double)answered * 1000 / (double)(now_ms() - start);
    return sum;
}
