/* A stream that is switched on is whole when no server has a request under way that goes by the
 * table from before: two databases over a Ceph pool, if TEST_CEPH_CONF names the configuration of a
 * cluster with a pool `data`. While one of them holds the table as it was, the stream is not whole
 * for either; then it is for both, without waiting for the time that no request outlives. */
#include "table/catalog/catalog.h"
#include "table/core/db.h"
#include "table/stream/stream_settle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../servers.h"

#define INSTANCE BYTES_LIT("test")
#define TABLE BYTES_LIT("t")
#define LOOK_US 20000
#define HELD_LOOKS 100

static void create(void)
{
    static const struct wr_key_schema key[] = {{.name = BYTES_LIT("p"), .type = WR_BIGINT}};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    req.create_table = (struct wr_create_table){
        .table = TABLE,
        .key = key,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    assert_int_equal(database_run(servers[0], &req), 0);
}

static void switch_on(void)
{
    struct wr_request req = {.op = WR_OP_UPDATE_TABLE};

    req.update_table = (struct wr_update_table){
        .table = TABLE,
        .stream = {.given = true, .enable = true, .has_expiration = true, .expiration_h = 24}};
    assert_int_equal(database_run(servers[0], &req), 0);
}

static struct table *open_table(int server)
{
    struct ctx c;
    struct table *t;

    ctx_init(&c, &servers[server]->clock, &servers[server]->log, NULL, 0);
    assert_int_equal(catalog_find(&c, servers[server]->catalog, INSTANCE, TABLE, &t), 0);
    ctx_release(&c);
    return t;
}

static bool is_whole(int server, bool *by_time)
{
    struct table *t = open_table(server);
    bool whole = t->schema.stream.location && stream_is_whole(servers[server], t);

    *by_time = t->schema.stream.location && stream_settles_by_time(servers[server], t);
    table_release(t);
    return whole;
}

static void settles_when_all_say_so(void **state)
{
    struct table *held;
    bool by_time = false;

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    servers_open("rados", SERVERS_MAX, NULL);
    create();
    held = open_table(1);
    switch_on();
    for (int look = 0; look < HELD_LOOKS && !by_time; look++) {
        for (int i = 0; i < server_count; i++) {
            bool whole = is_whole(i, &by_time);

            assert_true(!whole || by_time);
        }
        usleep(LOOK_US);
    }
    table_release(held);
    for (int i = 0; i < server_count; i++) {
        while (!is_whole(i, &by_time))
            usleep(LOOK_US);
        assert_false(by_time); /* a minute has not passed; else this was no test */
    }
    servers_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(settles_when_all_say_so)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
