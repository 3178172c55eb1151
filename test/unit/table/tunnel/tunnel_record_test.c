/* The state of a tunnel, and a description with tunnels, as stored bytes. */
#include "../../../golden/golden.h"
#include "../../context.h"

#include "table/tunnel/tunnel_record.h"

#include "../model/schema_sample.h"

static struct tunnel_client clients[] = {
    {.tag = BYTES_LIT("worker"),
     .number = 3,
     .timeout_s = 300,
     .heard_ms = 1700000000000,
     .active = true},
    {.tag = BYTES_LIT(""), .number = 4, .timeout_s = 5, .heard_ms = -1},
};

static struct tunnel_channel channels[] = {
    {.id = BYTES_LIT("BaseData_1"),
     .token = TUNNEL_FINISHED,
     .number = 7,
     .version = 2,
     .parents = {TUNNEL_NO_PARENT, TUNNEL_NO_PARENT},
     .status = TUNNEL_TERMINATED,
     .done = true},
    {.id = BYTES_LIT("000000070000_1"),
     .token = BYTES_LIT("token"),
     .version = 5,
     .owner = 3,
     .parents = {0, TUNNEL_NO_PARENT},
     .status = TUNNEL_CLOSING,
     .stream = true},
};

static struct tunnel_state sample(void)
{
    return (struct tunnel_state){channels, 2, clients, 2, 4};
}

static const struct schema_tunnel tunnels[] = {
    {.number = 9,
     .name = BYTES_LIT("base"),
     .type = WR_TUNNEL_BASE_DATA,
     .creation_us = 1700000000000000},
    {.number = 10,
     .name = BYTES_LIT("both"),
     .type = WR_TUNNEL_BASE_AND_STREAM,
     .config = {.earliest = true, .start_ns = 1, .end_ns = UINT64_MAX}},
};

static bytes description(void)
{
    static const struct schema_partition partition = {.id = 5, .created_us = 1};
    struct schema s = schema_sample();
    struct buf b;

    s.partitions = &partition;
    s.partition_count = 1;
    s.tunnels = tunnels;
    s.tunnel_count = 2;
    buf_init(&b, &c.arena, 256);
    schema_encode(&b, &s);
    return buf_bytes(&b);
}

static void test_golden(void **state)
{
    struct tunnel_state t = sample();
    struct golden goldens[] = {
        {"state", "The state of a tunnel.", tunnel_record_encode(&c.arena, &t)},
        {"schema-tunnels", "A table with tunnels.", description()},
    };

    (void)state;
    assert_int_equal(*bytes_u8(goldens[1].value), 10); /* an older server must refuse it */
    golden_check("tunnel.hex", "Tunnels.", goldens, 2);
}

static void test_description(void **state)
{
    struct schema back;

    (void)state;
    assert_int_equal(schema_decode(&c, description(), &back), E_OK);
    assert_int_equal(back.tunnel_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(back.tunnels[i].number, tunnels[i].number);
        assert_true(bytes_equal(back.tunnels[i].name, tunnels[i].name));
        assert_int_equal(back.tunnels[i].type, tunnels[i].type);
        assert_int_equal(back.tunnels[i].config.earliest, tunnels[i].config.earliest);
        assert_int_equal(back.tunnels[i].config.start_ns, tunnels[i].config.start_ns);
        assert_true(back.tunnels[i].config.end_ns == tunnels[i].config.end_ns);
        assert_int_equal(back.tunnels[i].creation_us, tunnels[i].creation_us);
    }
}

static void test_comes_back(void **state)
{
    struct tunnel_state t = sample(), back;

    (void)state;
    assert_int_equal(tunnel_record_decode(&c, tunnel_record_encode(&c.arena, &t), &back), E_OK);
    assert_int_equal(back.last_client, 4);
    assert_int_equal(back.client_count, 2);
    assert_int_equal(back.channel_count, 2);
    assert_true(bytes_equal(back.clients[0].tag, clients[0].tag));
    assert_int_equal(back.clients[1].heard_ms, -1);
    assert_true(back.clients[0].active && !back.clients[1].active);
    assert_int_equal(back.channels[1].owner, 3);
    assert_int_equal(back.channels[1].parents[0], 0);
    assert_int_equal(back.channels[1].parents[1], TUNNEL_NO_PARENT);
    assert_int_equal(back.channels[1].status, TUNNEL_CLOSING);
    assert_true(back.channels[0].done && !back.channels[1].done);
    assert_true(bytes_equal(back.channels[0].token, TUNNEL_FINISHED));
    assert_int_equal(tunnel_connect(&back, BYTES_LIT("new"), 0, 1700000000001), 5); /* has room */
}

static void test_damaged(void **state)
{
    struct tunnel_state t = sample(), back;
    bytes value = tunnel_record_encode(&c.arena, &t);
    uint8_t *changed = (uint8_t *)arena_copy(&c.arena, value).ptr;
    struct rng rng;

    (void)state;
    for (size_t cut = 0; cut < value.len; cut++) {
        assert_int_equal(tunnel_record_decode(&c, bytes_of(value.ptr, cut), &back), E_CORRUPT);
        ctx_clear(&c);
    }
    changed[0] = 2;
    assert_int_equal(tunnel_record_decode(&c, bytes_of(changed, value.len), &back), E_FORMAT);
    ctx_clear(&c);
    rng_init(&rng, 1);
    for (int i = 0; i < 20000; i++) {
        memcpy(changed, value.ptr, value.len);
        changed[1 + rng_next(&rng) % (value.len - 1)] ^= (uint8_t)(1 << rng_next(&rng) % 8);
        tunnel_record_decode(&c, bytes_of(changed, value.len), &back); /* an error or a value */
        ctx_clear(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_golden, setup, teardown),
        cmocka_unit_test_setup_teardown(test_description, setup, teardown),
        cmocka_unit_test_setup_teardown(test_comes_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
