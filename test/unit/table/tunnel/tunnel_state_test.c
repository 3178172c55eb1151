/* Channels of a tunnel: who has which, by the sequences that SDKs' workers were seen to follow. */

#include "table/tunnel/tunnel_state.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define CHANNELS 8
#define CLIENTS 64

/* A tunnel of stream channels c0, c1 … without parents. */
struct bed {
    struct tunnel_channel channels[CHANNELS];
    struct tunnel_client clients[CLIENTS];
    char names[CHANNELS][2];
    struct tunnel_state t;
};

static void bed_init(struct bed *b, size_t channels)
{
    *b = (struct bed){.t = {b->channels, channels, b->clients, 0, 0}};
    for (size_t i = 0; i < channels; i++) {
        b->names[i][0] = 'c';
        b->names[i][1] = (char)('0' + i);
        b->channels[i] = (struct tunnel_channel){
            .id = bytes_of(b->names[i], 2),
            .token = BYTES_LIT("start"),
            .parents = {TUNNEL_NO_PARENT, TUNNEL_NO_PARENT},
            .stream = true,
        };
    }
}

static enum tunnel_outcome say(struct bed *b, uint64_t client, int channel, int64_t version,
                               enum tunnel_channel_status status, int64_t now_ms)
{
    struct tunnel_report r = {b->channels[channel].id, version, status};

    return tunnel_heartbeat(&b->t, client, &r, 1, now_ms);
}

static enum tunnel_outcome beat(struct bed *b, uint64_t client, int64_t now_ms)
{
    return tunnel_heartbeat(&b->t, client, NULL, 0, now_ms);
}

static void assert_channel(const struct bed *b, int i, int64_t version,
                           enum tunnel_channel_status status, uint64_t owner)
{
    assert_int_equal(b->channels[i].version, version);
    assert_int_equal(b->channels[i].status, status);
    assert_int_equal(b->channels[i].owner, owner);
}

/* open, steady, read error, end */
static void test_one_client(void **state)
{
    struct bed b;
    uint64_t a;

    (void)state;
    bed_init(&b, 1);
    a = tunnel_connect(&b.t, BYTES_LIT("w"), 10, 0);
    assert_channel(&b, 0, 0, TUNNEL_WAIT, TUNNEL_NOBODY);
    assert_int_equal(beat(&b, a, 1), TUNNEL_OK);
    assert_channel(&b, 0, 1, TUNNEL_OPEN, a);
    assert_int_equal(say(&b, a, 0, 1, TUNNEL_OPEN, 2), TUNNEL_OK);
    assert_channel(&b, 0, 1, TUNNEL_OPEN, a);
    assert_int_equal(say(&b, a, 0, 2, TUNNEL_CLOSE, 3), TUNNEL_OK);
    assert_channel(&b, 0, 3, TUNNEL_OPEN, a);
    assert_int_equal(say(&b, a, 0, 3, TUNNEL_TERMINATED, 4), TUNNEL_OK);
    assert_channel(&b, 0, 3, TUNNEL_OPEN, a); /* not a higher version */
    assert_int_equal(say(&b, a, 0, 4, TUNNEL_TERMINATED, 5), TUNNEL_OK);
    assert_channel(&b, 0, 4, TUNNEL_TERMINATED, TUNNEL_NOBODY);
    assert_true(bytes_equal(b.channels[0].token, TUNNEL_FINISHED));
}

static void test_move(void **state)
{
    struct bed b;
    uint64_t one, two;

    (void)state;
    bed_init(&b, 2);
    one = tunnel_connect(&b.t, BYTES_LIT("w"), 10, 0);
    beat(&b, one, 0);
    two = tunnel_connect(&b.t, BYTES_LIT("w"), 10, 0);
    beat(&b, one, 1);
    assert_channel(&b, 0, 1, TUNNEL_OPEN, one); /* the second has sent no heartbeat yet */
    beat(&b, two, 2);
    assert_channel(&b, 0, 2, TUNNEL_CLOSING, one);
    assert_channel(&b, 1, 1, TUNNEL_OPEN, one);
    say(&b, one, 0, 2, TUNNEL_CLOSING, 3);
    beat(&b, two, 4);
    assert_channel(&b, 0, 2, TUNNEL_CLOSING, one); /* repeated, never taken back */
    say(&b, two, 0, 9, TUNNEL_CLOSE, 5);
    assert_channel(&b, 0, 2, TUNNEL_CLOSING, one); /* it is another's */
    say(&b, one, 0, 3, TUNNEL_CLOSE, 6);
    assert_channel(&b, 0, 4, TUNNEL_OPEN, two);
    assert_channel(&b, 1, 1, TUNNEL_OPEN, one);
}

/* Of four channels two are asked back, however often both send heartbeats. */
static void test_asked_back_once(void **state)
{
    struct bed b;
    uint64_t one, two;

    (void)state;
    bed_init(&b, 4);
    one = tunnel_connect(&b.t, BYTES_LIT("w"), 2, 0);
    beat(&b, one, 0);
    two = tunnel_connect(&b.t, BYTES_LIT("w"), 2, 0);
    for (int64_t now = 0; now <= 6000; now += 1500) { /* each one keeps its client */
        assert_int_equal(beat(&b, two, now), TUNNEL_OK);
        assert_int_equal(beat(&b, one, now), TUNNEL_OK);
    }
    for (int i = 0; i < 4; i++)
        assert_channel(&b, i, i < 2 ? 2 : 1, i < 2 ? TUNNEL_CLOSING : TUNNEL_OPEN, one);
}

static void test_lost_client(void **state)
{
    struct tunnel_channel *c;
    struct bed b;
    uint64_t lost, heir;

    (void)state;
    bed_init(&b, 1);
    lost = tunnel_connect(&b.t, BYTES_LIT("w"), 2, 0);
    beat(&b, lost, 0);
    heir = tunnel_connect(&b.t, BYTES_LIT("w"), 0, 0);
    assert_int_equal(beat(&b, heir, 2000), TUNNEL_OK);
    assert_channel(&b, 0, 1, TUNNEL_OPEN, lost);
    assert_int_equal(tunnel_channel_for(&b.t, heir, b.channels[0].id, &c), TUNNEL_GONE);
    assert_int_equal(beat(&b, heir, 2001), TUNNEL_OK);
    assert_channel(&b, 0, 3, TUNNEL_OPEN, heir);
    assert_int_equal(beat(&b, lost, 2002), TUNNEL_GONE);
    assert_int_equal(tunnel_channel_for(&b.t, lost, b.channels[0].id, &c), TUNNEL_GONE);
    assert_int_equal(tunnel_channel_for(&b.t, heir, BYTES_LIT("no"), &c), TUNNEL_NO_CHANNEL);
    tunnel_shutdown(&b.t, lost);
    tunnel_shutdown(&b.t, heir);
    assert_channel(&b, 0, 4, TUNNEL_CLOSE, TUNNEL_NOBODY);
    assert_int_equal(tunnel_channel_for(&b.t, lost, b.channels[0].id, &c), TUNNEL_OK);
    assert_int_equal(b.t.client_count, 0);
}

/* Base before stream, both parents before their child. */
static void test_order(void **state)
{
    struct bed b;
    uint64_t a;

    (void)state;
    bed_init(&b, 4);
    b.channels[0].stream = false;
    b.channels[3].parents[0] = 1;
    b.channels[3].parents[1] = 2;
    a = tunnel_connect(&b.t, BYTES_LIT("w"), 10, 0);
    beat(&b, a, 0);
    assert_false(tunnel_base_done(&b.t));
    assert_channel(&b, 0, 1, TUNNEL_OPEN, a);
    assert_channel(&b, 1, 0, TUNNEL_WAIT, TUNNEL_NOBODY);
    assert_int_equal(tunnel_checkpoint(&b.channels[0], TUNNEL_FINISHED, 1), TUNNEL_OK);
    assert_true(tunnel_base_done(&b.t)); /* without TERMINATED, which may come late */
    beat(&b, a, 1);
    assert_channel(&b, 0, 1, TUNNEL_OPEN, a);
    assert_channel(&b, 2, 1, TUNNEL_OPEN, a);
    say(&b, a, 1, 2, TUNNEL_TERMINATED, 2);
    assert_channel(&b, 3, 0, TUNNEL_WAIT, TUNNEL_NOBODY);
    say(&b, a, 2, 2, TUNNEL_TERMINATED, 3);
    assert_channel(&b, 3, 1, TUNNEL_OPEN, a);
}

static void test_checkpoints(void **state)
{
    struct tunnel_channel c = {.token = BYTES_LIT("start")};

    (void)state;
    assert_int_equal(tunnel_checkpoint(&c, BYTES_LIT("start"), 0), TUNNEL_NOT_NEXT);
    assert_int_equal(tunnel_checkpoint(&c, BYTES_LIT("a"), 2), TUNNEL_NOT_NEXT);
    assert_int_equal(tunnel_checkpoint(&c, BYTES_LIT("b"), 1), TUNNEL_OK);
    assert_int_equal(tunnel_checkpoint(&c, BYTES_LIT("b"), 1), TUNNEL_OK); /* a lost answer */
    assert_int_equal(tunnel_checkpoint(&c, BYTES_LIT("a"), 1), TUNNEL_NOT_NEXT);
    assert_int_equal(tunnel_checkpoint(&c, BYTES_LIT("a"), 2), TUNNEL_OK); /* may go back */
    assert_true(bytes_equal(c.token, BYTES_LIT("a")));
    assert_int_equal(tunnel_checkpoint(&c, TUNNEL_FINISHED, 3), TUNNEL_OK);
    assert_int_equal(tunnel_checkpoint(&c, BYTES_LIT("a"), 4), TUNNEL_OK);
    assert_true(c.done && bytes_equal(c.token, TUNNEL_FINISHED));
    c.number = INT64_MAX;
    assert_int_equal(tunnel_checkpoint(&c, BYTES_LIT("a"), INT64_MIN), TUNNEL_NOT_NEXT);
}

static void test_extremes(void **state)
{
    struct bed b;
    uint64_t a;

    (void)state;
    bed_init(&b, 1);
    a = tunnel_connect(&b.t, BYTES_LIT("w"), INT64_MAX, 0);
    assert_int_equal(beat(&b, a, INT64_MAX / 2), TUNNEL_OK);
    assert_int_equal(say(&b, a, 0, INT64_MAX, TUNNEL_CLOSE, INT64_MAX / 2), TUNNEL_OK);
    assert_channel(&b, 0, 1, TUNNEL_OPEN, a);
    assert_int_equal(say(&b, a, 0, INT64_MAX / 2, TUNNEL_OPEN, INT64_MAX / 2), TUNNEL_OK);
    assert_channel(&b, 0, 1, TUNNEL_OPEN, a);
    tunnel_shutdown(&b.t, a);
    a = tunnel_connect(&b.t, BYTES_LIT("w"), INT64_MIN, 0);
    assert_int_equal(b.clients[0].timeout_s, TUNNEL_TIMEOUT_S);
    assert_int_equal(beat(&b, a, TUNNEL_TIMEOUT_S * 1000 + 1), TUNNEL_GONE);
}

/* Every client answers CLOSING with CLOSE, as it should. */
static void obey(struct bed *b, int64_t now_ms)
{
    for (size_t i = 0; i < b->t.channel_count; i++)
        if (b->channels[i].status == TUNNEL_CLOSING)
            say(b, b->channels[i].owner, (int)i, b->channels[i].version + 1, TUNNEL_CLOSE, now_ms);
}

static void assert_even(const struct bed *b)
{
    size_t least = CHANNELS, most = 0;

    for (size_t i = 0; i < b->t.client_count; i++) {
        size_t n = 0;

        for (size_t k = 0; k < b->t.channel_count; k++) {
            assert_int_equal(b->channels[k].status, TUNNEL_OPEN);
            n += b->channels[k].owner == b->clients[i].number;
        }
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    assert_true(most <= least + 1);
}

/* Clients come, leave and die in any order: once they rest, every channel is read and the spread is
 * even; no version ever falls and no channel has an owner that is not there. */
static void test_any_order(void **state)
{
    struct rng rng;
    struct bed b;
    int64_t now = 0, versions[CHANNELS] = {0};

    (void)state;
    rng_init(&rng, 7);
    bed_init(&b, CHANNELS);
    for (int round = 0; round < 2000; round++) {
        size_t n = b.t.client_count;
        uint64_t turn = rng_next(&rng) % 4;

        if (n == 0 || (turn == 0 && n < 12))
            beat(&b, tunnel_connect(&b.t, BYTES_LIT("w"), 5, now), now);
        else if (turn == 1 && n > 1)
            tunnel_shutdown(&b.t, b.clients[rng_next(&rng) % n].number);
        else if (turn == 2)
            beat(&b, b.clients[rng_next(&rng) % n].number, now += 1000);
        else
            obey(&b, now);
        for (int i = 0; i < CHANNELS; i++) {
            assert_true(b.channels[i].version >= versions[i]);
            versions[i] = b.channels[i].version;
        }
        if (round % 10 || b.t.client_count == 0)
            continue;
        for (size_t i = 0; i < b.t.client_count; i++)
            b.clients[i].heard_ms = now;
        for (int rest = 0; rest < CHANNELS; rest++) {
            beat(&b, b.clients[0].number, now);
            obey(&b, now);
        }
        for (int i = 0; i < CHANNELS; i++)
            versions[i] = b.channels[i].version;
        assert_even(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_client),      cmocka_unit_test(test_move),
        cmocka_unit_test(test_asked_back_once), cmocka_unit_test(test_lost_client),
        cmocka_unit_test(test_order),           cmocka_unit_test(test_checkpoints),
        cmocka_unit_test(test_extremes),        cmocka_unit_test(test_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
