/* Tunnels of a database: requests that come at the same time lose nothing of one another, what has
 * expired says so, and nothing outlives its table. */
#include "table/core/db.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../../later.h"
#include "../database.h"

#include "base/fault.h"
#include "table/core/catalog_key.h"
#include "table/stream/stream_name.h"
#include "table/sync/wait.h"
#include "table/tunnel/tunnel_name.h"

#define TABLE BYTES_LIT("t")
#define THREADS 4
#define ROUNDS 100
#define HOUR_MS 3600000
#define SPACE_LOOK_US 250000 /* between two looks at how much is left of the disk, and more */

static const char *engine_name;
static char dir[FOLDER_BYTES];
static struct wr_db *db;

static const struct wr_stream_spec stream = {
    .given = true, .enable = true, .has_expiration = true, .expiration_h = 24};

static void open_again(void)
{
    static struct wr_setting settings[] = {{"table_ops_per_s_max", "0"}};
    struct wr_options options = {.version = WR_API_VERSION,
                                 .engine = engine_name,
                                 .dir = dir,
                                 .settings = settings,
                                 .setting_count = 1,
                                 .no_sync = true};

    db = database_open(&options);
}

static void begin_laid_out(const char *layout)
{
    static const struct wr_key_schema key[] = {{.name = BYTES_LIT("pk"), .type = WR_BIGINT}};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    folder_make(dir);
    open_again();
    req.create_table = (struct wr_create_table){
        .table = TABLE,
        .key = key,
        .key_count = 1,
        .stream = stream,
        .layout = bytes_str(layout),
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    assert_int_equal(database_run(db, &req), 0);
}

static void begin(void)
{
    begin_laid_out("plain");
}

/* ---- requests ---- */

struct asked {
    struct wr_request req;
    struct wr_reply *reply;
};

static int ask(struct asked *x)
{
    x->req.instance = BYTES_LIT("test");
    x->reply = wr_exec(db, &x->req);
    return x->reply->code;
}

/* Its id lives as long as the answer. */
static bytes create(struct asked *x, enum wr_tunnel_type type)
{
    *x = (struct asked){.req = {.op = WR_OP_CREATE_TUNNEL}};
    x->req.create_tunnel =
        (struct wr_create_tunnel){.table = TABLE, .name = BYTES_LIT("n"), .type = type};
    assert_int_equal(ask(x), 0);
    return x->reply->tunnel.id;
}

static int connect_client(bytes tunnel, char *id, size_t size)
{
    struct asked x = {.req = {.op = WR_OP_CONNECT_TUNNEL}};
    int code;

    x.req.connect_tunnel = (struct wr_connect_tunnel){
        .table = TABLE, .tunnel = tunnel, .tag = BYTES_LIT("w"), .timeout_s = 1000};
    code = ask(&x);
    if (!code)
        snprintf(id, size, "%.*s", BYTES_FMT(x.reply->tunnel_client.id));
    wr_reply_free(x.reply);
    return code;
}

/* The client's first heartbeat; *channels: so many it shall have. */
static int beat(bytes tunnel, const char *client, size_t *channels)
{
    struct asked x = {.req = {.op = WR_OP_HEARTBEAT_TUNNEL}};
    int code;

    x.req.heartbeat_tunnel =
        (struct wr_heartbeat_tunnel){.table = TABLE, .tunnel = tunnel, .client = bytes_str(client)};
    code = ask(&x);
    *channels = code ? 0 : x.reply->tunnel_channels.count;
    wr_reply_free(x.reply);
    return code;
}

/* ---- races ---- */

struct client {
    pthread_t thread;
    pthread_barrier_t *start;
    bytes tunnel;
    char ids[ROUNDS][64];
    int code;
};

static void *client_main(void *arg)
{
    struct client *client = arg;

    pthread_barrier_wait(client->start);
    for (int i = 0; i < ROUNDS && !client->code; i++)
        client->code = connect_client(client->tunnel, client->ids[i], sizeof(client->ids[i]));
    return NULL;
}

/* Each is known afterwards, under an id of its own, and one has the channel. */
static void test_race(void **state)
{
    static struct client clients[THREADS];
    pthread_barrier_t start;
    struct asked made;
    size_t owned = 0;
    bytes tunnel;

    (void)state;
    begin();
    tunnel = create(&made, WR_TUNNEL_STREAM);
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        clients[i] = (struct client){.tunnel = tunnel, .start = &start};
        assert_int_equal(pthread_create(&clients[i].thread, NULL, client_main, &clients[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(clients[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(clients[i].code, 0);
        for (int k = 0; k < ROUNDS; k++) {
            size_t channels;

            assert_int_equal(beat(tunnel, clients[i].ids[k], &channels), 0);
            owned += channels;
        }
    }
    assert_int_equal(owned, 1);
    pthread_barrier_destroy(&start);
    wr_reply_free(made.reply);
    database_remove(db, dir);
}

/* ---- rows ---- */

#define ROWS 2300 /* of more than two pages */

static void put_row(int64_t pk)
{
    struct wr_key_column column = {BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = pk}};
    struct wr_cell cell = {.name = BYTES_LIT("v"),
                           .value = {.type = WR_BIGINT, .integer = pk},
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request req = {.op = WR_OP_PUT_ROW};

    req.put_row =
        (struct wr_row_change){.table = TABLE, .type = WR_PUT, .row = {{&column, 1}, &cell, 1}};
    assert_int_equal(database_run(db, &req), 0);
}

/* One page from the token, which becomes that of the next; the rows go on behind *last. False: it
 * was the last page. */
static bool read_page(bytes tunnel, bytes channel, struct arena *a, bytes *token, int64_t *last)
{
    struct asked x = {.req = {.op = WR_OP_READ_TUNNEL}};
    const struct wr_tunnel_records *r;
    bool more;

    x.req.read_tunnel = (struct wr_tunnel_channel_of){
        .table = TABLE, .tunnel = tunnel, .channel = channel, .token = *token};
    assert_int_equal(ask(&x), 0);
    r = &x.reply->tunnel_records;
    assert_true(r->count <= 1000);
    for (size_t i = 0; i < r->count; i++) {
        const struct wr_row *row = &r->records[i].row;

        assert_int_equal(row->key.columns[0].value.integer, ++*last);
        assert_int_equal(row->cell_count, 1);
        assert_int_equal(row->cells[0].value.integer, *last);
    }
    *token = arena_copy(a, r->next);
    more = r->more;
    wr_reply_free(x.reply);
    return more;
}

/* The only channel, and where it begins. */
static void first_token(bytes tunnel, struct arena *a, bytes *channel, bytes *token)
{
    struct asked x = {.req = {.op = WR_OP_DESCRIBE_TUNNEL}};
    struct asked y = {.req = {.op = WR_OP_GET_TUNNEL_CHECKPOINT}};

    x.req.describe_tunnel = (struct wr_tunnel_name){TABLE, BYTES_LIT("n")};
    assert_int_equal(ask(&x), 0);
    assert_int_equal(x.reply->tunnel_description.channel_count, 1);
    *channel = arena_copy(a, x.reply->tunnel_description.channels[0].id);
    y.req.get_tunnel_checkpoint =
        (struct wr_tunnel_channel_of){.table = TABLE, .tunnel = tunnel, .channel = *channel};
    assert_int_equal(ask(&y), 0);
    *token = arena_copy(a, y.reply->tunnel_checkpoint.token);
    wr_reply_free(x.reply);
    wr_reply_free(y.reply);
}

/* Each once, in the order of the keys, however they are spread. */
static void test_rows(void **state)
{
    static const char *const layouts[] = {"plain", "hash:7"};

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(layouts); i++) {
        bytes tunnel, channel, token;
        struct asked made;
        struct arena a;
        int64_t last = -1;

        arena_init(&a, NULL, 0);
        begin_laid_out(layouts[i]);
        tunnel = create(&made, WR_TUNNEL_BASE_DATA);
        for (int64_t pk = 0; pk < ROWS; pk++)
            put_row(pk);
        first_token(tunnel, &a, &channel, &token);
        while (read_page(tunnel, channel, &a, &token, &last))
            ;
        assert_int_equal(last, ROWS - 1);
        assert_true(bytes_equal(token, BYTES_LIT("finished")));
        arena_release(&a);
        wr_reply_free(made.reply);
        database_remove(db, dir);
    }
}

/* ---- a channel that is quiet ---- */

/* Until when the only channel was read, by its last checkpoint. */
static int64_t consumed_us(void)
{
    struct asked x = {.req = {.op = WR_OP_DESCRIBE_TUNNEL}};
    int64_t us;

    x.req.describe_tunnel = (struct wr_tunnel_name){TABLE, BYTES_LIT("n")};
    assert_int_equal(ask(&x), 0);
    us = x.reply->tunnel_description.channels[0].consumed_us;
    wr_reply_free(x.reply);
    return us;
}

static int checkpoint(bytes tunnel, bytes channel, bytes token, int64_t number)
{
    struct asked x = {.req = {.op = WR_OP_TUNNEL_CHECKPOINT}};
    int code;

    x.req.tunnel_checkpoint = (struct wr_tunnel_channel_of){
        .table = TABLE, .tunnel = tunnel, .channel = channel, .token = token, .number = number};
    code = ask(&x);
    wr_reply_free(x.reply);
    return code;
}

/* Who finds nothing is not as far behind as the last change is old. */
static void test_quiet(void **state)
{
    static const char *const altered[] = {
        "s1@:", "s1@0:", "s1@07:", "s1@18446744073709551:", "s1@5"};
    bytes tunnel, channel, token, next;
    int64_t last = 0, read_us;
    struct asked made;
    struct arena a;

    (void)state;
    arena_init(&a, NULL, 0);
    begin();
    tunnel = create(&made, WR_TUNNEL_STREAM);
    first_token(tunnel, &a, &channel, &token);
    put_row(1);
    assert_false(read_page(tunnel, channel, &a, &token, &last));
    assert_int_equal(last, 1);
    next = token;
    assert_false(read_page(tunnel, channel, &a, &next, &last));
    assert_true(bytes_equal(next, token)); /* no other one so soon: clients would store it */
    assert_int_equal(checkpoint(tunnel, channel, token, 1), 0);
    read_us = consumed_us();
    step_wall(db, HOUR_MS);
    assert_false(read_page(tunnel, channel, &a, &token, &last));
    assert_false(bytes_equal(next, token));
    assert_int_equal(checkpoint(tunnel, channel, token, 2), 0);
    assert_true(consumed_us() >= read_us + HOUR_MS * 1000LL - 1000000);
    put_row(2);
    assert_false(read_page(tunnel, channel, &a, &token, &last));
    assert_int_equal(last, 2);
    for (size_t i = 0; i < PORT_COUNT(altered); i++)
        assert_int_equal(checkpoint(tunnel, channel,
                                    arena_printf(&a, "%s%.*s", altered[i],
                                                 BYTES_FMT(bytes_skip(next, strlen("s1:")))),
                                    3),
                         E_PARAMETER);
    arena_release(&a);
    wr_reply_free(made.reply);
    database_remove(db, dir);
}

/* ---- expiry ---- */

static void keep_hours(int32_t hours)
{
    struct wr_request req = {.op = WR_OP_UPDATE_TABLE};

    req.update_table = (struct wr_update_table){.table = TABLE, .stream = stream};
    req.update_table.stream.expiration_h = hours;
    assert_int_equal(database_run(db, &req), 0);
}

/* Rows that were not read before their changes went cannot be followed by these. */
static void test_expired(void **state)
{
    struct asked made, listed = {.req = {.op = WR_OP_LIST_TUNNEL, .list_tunnel.table = TABLE}};
    char client[64], other[64];
    size_t channels;
    bytes tunnel;

    (void)state;
    begin();
    step_wall(db, -3 * HOUR_MS);
    tunnel = create(&made, WR_TUNNEL_BASE_AND_STREAM);
    assert_int_equal(connect_client(tunnel, client, sizeof(client)), 0);
    assert_int_equal(beat(tunnel, client, &channels), 0);
    assert_int_equal(channels, 1);
    step_wall(db, 3 * HOUR_MS);
    keep_hours(1);
    assert_int_equal(connect_client(tunnel, other, sizeof(other)), E_TUNNEL_EXPIRED);
    assert_int_equal(beat(tunnel, client, &channels), E_TUNNEL_EXPIRED);
    assert_int_equal(ask(&listed), 0);
    assert_int_equal(listed.reply->tunnels.count, 1);
    assert_true(listed.reply->tunnels.tunnels[0].expired);
    wr_reply_free(listed.reply);
    keep_hours(24);
    assert_int_equal(connect_client(tunnel, other, sizeof(other)), 0);
    wr_reply_free(made.reply);
    database_remove(db, dir);
}

/* ---- a start of the server ---- */

/* A client could not be heard while no server ran, however long that was. */
static void test_closed_for_long(void **state)
{
    struct asked made;
    char client[64];
    size_t channels;
    bytes tunnel;

    (void)state;
    if (strcmp(engine_name, "mem") == 0)
        return; /* it keeps nothing */
    begin();
    step_wall(db, -3 * HOUR_MS);
    tunnel = create(&made, WR_TUNNEL_BASE_DATA);
    assert_int_equal(connect_client(tunnel, client, sizeof(client)), 0);
    assert_int_equal(beat(tunnel, client, &channels), 0);
    wr_close(db);
    open_again(); /* three hours later; the client's timeout is 1,000 s */
    assert_int_equal(beat(tunnel, client, &channels), 0);
    assert_int_equal(channels, 1);
    step_wall(db, 1001000);
    assert_int_equal(beat(tunnel, client, &channels), E_TUNNEL_GONE);
    wr_reply_free(made.reply);
    database_remove(db, dir);
}

/* A wall clock that is set back to before the server's start: who is silent from then on is so as
 * long as anybody else, not until the clock has come to the start again. */
static void test_set_back_to_before_the_start(void **state)
{
    struct asked made;
    char dead[64], alive[64];
    size_t channels;
    bytes tunnel;

    (void)state;
    begin();
    tunnel = create(&made, WR_TUNNEL_BASE_DATA);
    assert_int_equal(connect_client(tunnel, dead, sizeof(dead)), 0);
    assert_int_equal(beat(tunnel, dead, &channels), 0);
    assert_int_equal(channels, 1);
    step_wall(db, -3 * HOUR_MS);
    assert_int_equal(connect_client(tunnel, alive, sizeof(alive)), 0);
    for (int i = 0; i < 2; i++) { /* 600 and 1,200 s; the timeout is 1,000 s */
        assert_int_equal(beat(tunnel, alive, &channels), 0);
        assert_int_equal(channels, 0);
        step_wall(db, 600000);
    }
    assert_int_equal(beat(tunnel, alive, &channels), 0);
    assert_int_equal(channels, 1);
    assert_int_equal(beat(tunnel, dead, &channels), E_TUNNEL_GONE);
    wr_reply_free(made.reply);
    database_remove(db, dir);
}

/* ---- clients that lie ---- */

#define LIE_BYTES 100000

/* Who knows how tokens are made says what no server gave out: a row that no table has, of any size;
 * a place behind all that can come; more records than can have been. Each is refused or does no
 * harm, and what is kept with the tunnel stays small. */
static void test_lies(void **state)
{
    static const uint64_t numbers[] = {UINT64_MAX, UINT64_MAX - 1, (uint64_t)INT64_MAX + 1,
                                       INT64_MAX};
    struct wr_request drop = {.op = WR_OP_DELETE_TUNNEL};
    bytes tunnel, channel, token;
    struct tunnel_place row = {0};
    struct asked made;
    struct arena a;
    int64_t last = 0;

    (void)state;
    arena_init(&a, NULL, 0);
    begin();
    tunnel = create(&made, WR_TUNNEL_BASE_DATA);
    first_token(tunnel, &a, &channel, &token);
    row.at = bytes_of(arena_zalloc(&a, LIE_BYTES), LIE_BYTES);
    assert_int_equal(checkpoint(tunnel, channel, tunnel_token(&a, &row), 1), E_PARAMETER);
    row = (struct tunnel_place){.count = UINT64_MAX};
    assert_int_equal(checkpoint(tunnel, channel, tunnel_token(&a, &row), 1), E_PARAMETER);
    wr_reply_free(made.reply);
    drop.delete_tunnel = (struct wr_tunnel_name){TABLE, BYTES_LIT("n")};
    assert_int_equal(database_run(db, &drop), 0);

    tunnel = create(&made, WR_TUNNEL_STREAM);
    first_token(tunnel, &a, &channel, &token);
    put_row(1);
    for (size_t i = 0; i < PORT_COUNT(numbers); i++) {
        struct tunnel_place place = {.stream = true};
        struct stream_place at;
        struct ctx c;

        ctx_init(&c, NULL, NULL, NULL, 0);
        assert_int_equal(tunnel_token_read(&c, token, &place), 0);
        assert_int_equal(stream_place_read(&c, place.at, &at), 0);
        place.at = stream_iterator(&a, arena_copy(&a, at.stream), at.shard, numbers[i]);
        ctx_release(&c);
        token = tunnel_token(&a, &place);
        assert_false(read_page(tunnel, channel, &a, &token, &last));
        assert_int_equal(last, 0);
        assert_int_equal(checkpoint(tunnel, channel, token, (int64_t)i + 1), 0);
        assert_true(consumed_us() > 0);
        place.count = UINT64_MAX / 2;
        assert_int_equal(checkpoint(tunnel, channel, tunnel_token(&a, &place), (int64_t)i + 2),
                         E_PARAMETER);
    }
    arena_release(&a);
    wr_reply_free(made.reply);
    database_remove(db, dir);
}

/* A client that is never late would keep what it had when it died. */
static void test_timeout(void **state)
{
    static const int64_t timeouts[] = {INT64_MAX, 86401, 86400, 0, INT64_MIN};
    struct asked made;
    bytes tunnel;

    (void)state;
    begin();
    tunnel = create(&made, WR_TUNNEL_STREAM);
    for (size_t i = 0; i < PORT_COUNT(timeouts); i++) {
        struct asked x = {.req = {.op = WR_OP_CONNECT_TUNNEL}};

        x.req.connect_tunnel =
            (struct wr_connect_tunnel){.table = TABLE, .tunnel = tunnel, .timeout_s = timeouts[i]};
        assert_int_equal(ask(&x), timeouts[i] > 86400 ? E_PARAMETER : 0);
        wr_reply_free(x.reply);
    }
    wr_reply_free(made.reply);
    database_remove(db, dir);
}

/* ---- a full disk ---- */

#ifdef WR_FAULTS
static int shut_down(bytes tunnel, const char *client)
{
    struct wr_request req = {.op = WR_OP_SHUTDOWN_TUNNEL};

    req.shutdown_tunnel =
        (struct wr_shutdown_tunnel){.table = TABLE, .tunnel = tunnel, .client = bytes_str(client)};
    return database_run(db, &req);
}

/* Workers go on asking while the disk is nearly full: what they say is not kept, for it would take
 * what is left; they read and leave as ever. All goes on when there is space. */
static void test_full(void **state)
{
    char client[64], leaves[64], other[64];
    bytes tunnel, channel, token, next;
    struct asked made;
    int64_t last = 0;
    size_t channels;
    struct arena a;

    (void)state;
    if (strcmp(engine_name, "mem") == 0)
        return;
    arena_init(&a, NULL, 0);
    begin();
    tunnel = create(&made, WR_TUNNEL_STREAM);
    first_token(tunnel, &a, &channel, &token);
    assert_int_equal(connect_client(tunnel, leaves, sizeof(leaves)), 0);
    put_row(1);
    assert_true(fault_arm("rocks_disk_full:error:1+"));
    usleep(SPACE_LOOK_US);
    assert_int_equal(connect_client(tunnel, other, sizeof(other)), E_NO_SPACE);
    assert_int_equal(checkpoint(tunnel, channel, token, 1), E_NO_SPACE);
    assert_int_equal(beat(tunnel, leaves, &channels), E_NO_SPACE);
    next = token;
    assert_false(read_page(tunnel, channel, &a, &next, &last));
    assert_int_equal(last, 1);
    assert_int_equal(shut_down(tunnel, leaves), 0);
    fault_arm(NULL);
    usleep(SPACE_LOOK_US);
    assert_int_equal(connect_client(tunnel, client, sizeof(client)), 0);
    assert_int_equal(beat(tunnel, client, &channels), 0);
    assert_int_equal(channels, 1);
    assert_int_equal(beat(tunnel, leaves, &channels), E_TUNNEL_GONE);
    assert_int_equal(shut_down(tunnel, client), 0);
    assert_int_equal(checkpoint(tunnel, channel, next, 1), 0);
    arena_release(&a);
    wr_reply_free(made.reply);
    database_remove(db, dir);
}
#endif

/* ---- the end ---- */

static size_t stored_states(void)
{
    struct arena_scan {
        struct ctx c;
        struct scan scan;
        struct key_range range;
        struct page page;
    } s = {0};
    size_t n;

    ctx_init(&s.c, &db->clock, &db->log, NULL, 0);
    s.range = (struct key_range){catalog_tunnel_key(&s.c.arena, 0, 0),
                                 catalog_tunnel_key(&s.c.arena, UINT32_MAX, UINT64_MAX)};
    s.scan = (struct scan){.partition = PARTITION_SYSTEM,
                           .view = VIEW_LATEST,
                           .ranges = &s.range,
                           .range_count = 1,
                           .items_max = 100,
                           .bytes_max = 1 << 20,
                           .pages = &s.page};
    assert_int_equal(wait_scan(&s.c, db->engine, &s.scan), 0);
    n = s.page.count;
    ctx_release(&s.c);
    return n;
}

/* As many as a table may have; each goes, and nothing of it stays. */
static void test_many(void **state)
{
    size_t max = (size_t)32, made = 0;
    int code = 0;

    (void)state;
    begin();
    while (!code) {
        struct asked x = {.req = {.op = WR_OP_CREATE_TUNNEL}};
        char name[32];

        snprintf(name, sizeof(name), "n%zu", made);
        x.req.create_tunnel = (struct wr_create_tunnel){
            .table = TABLE, .name = bytes_str(name), .type = WR_TUNNEL_BASE_AND_STREAM};
        code = ask(&x);
        made += !code;
        wr_reply_free(x.reply);
    }
    assert_int_equal(code, E_QUOTA);
    assert_int_equal(made, max);
    assert_int_equal(stored_states(), max);
    for (size_t i = 0; i < made; i++) {
        struct wr_request drop = {.op = WR_OP_DELETE_TUNNEL};
        char name[32];

        snprintf(name, sizeof(name), "n%zu", i);
        drop.delete_tunnel = (struct wr_tunnel_name){TABLE, bytes_str(name)};
        assert_int_equal(database_run(db, &drop), 0);
        assert_int_equal(stored_states(), max - i - 1);
    }
    database_remove(db, dir);
}

static void test_goes_with_its_table(void **state)
{
    struct wr_request drop = {.op = WR_OP_DELETE_TABLE, .delete_table = {TABLE}};
    struct asked made;
    size_t channels;
    char client[64];
    bytes tunnel;

    (void)state;
    begin();
    tunnel = create(&made, WR_TUNNEL_BASE_DATA);
    assert_int_equal(connect_client(tunnel, client, sizeof(client)), 0);
    assert_int_equal(stored_states(), 1);
    assert_int_equal(database_run(db, &drop), 0);
    assert_int_equal(stored_states(), 0);
    assert_int_equal(beat(tunnel, client, &channels), E_PARAMETER);
    wr_reply_free(made.reply);
    database_remove(db, dir);
}

int main(void)
{
    static const char *const engines[] = {"mem", "rocks"};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_race),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_expired),
        cmocka_unit_test(test_closed_for_long),
        cmocka_unit_test(test_set_back_to_before_the_start),
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_timeout),
#ifdef WR_FAULTS
        cmocka_unit_test(test_full),
#endif
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_goes_with_its_table),
    };
    int failed = 0;

    for (size_t i = 0; i < PORT_COUNT(engines); i++) {
        engine_name = engines[i];
        failed += cmocka_run_group_tests_name(engines[i], tests, NULL, NULL);
    }
    return failed;
}
