/* The state of a search index and the pieces of its segments, as stored bytes. */
#include "table/search/search_state.h"

#include "table/search/search_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../../../golden/golden.h"
#include "../../context.h"

#define INDEX 77

static const struct search_state_segment segments[] = {{1000, 70000, 500, 0}, {1234567, 300, 4, 3}};
static const struct search_state walking = {
    .phase = 1, .hidden = true, .position = 99, .walked = BYTES_LIT("\x44key")};
static const struct search_state following = {
    .phase = 2, .position = 1234567890123, .segments = segments, .count = 2};

static void test_golden(void **state)
{
    struct golden cases[] = {
        {"walking", "a build under way, hidden", search_state_encode(&c.arena, INDEX, &walking)},
        {"following", "two segments", search_state_encode(&c.arena, INDEX, &following)},
        {"piece", "a piece of a segment",
         search_piece_seal(&c.arena, BYTES_LIT("bytes of an image"), 1000, 2)},
    };

    (void)state;
    golden_check("search-state.hex", "States of search indexes, and a piece of a segment.", cases,
                 PORT_COUNT(cases));
}

static void test_read(void **state)
{
    struct search_state s;

    (void)state;
    assert_int_equal(
        search_state_decode(&c, INDEX, search_state_encode(&c.arena, INDEX, &walking), &s), 0);
    assert_true(s.hidden && bytes_equal(s.walked, walking.walked) && s.position == 99);
    assert_int_equal(
        search_state_decode(&c, INDEX, search_state_encode(&c.arena, INDEX, &following), &s), 0);
    assert_int_equal(s.count, 2);
    assert_memory_equal(s.segments, segments, sizeof(segments));
    assert_null(s.walked.ptr);
    /* Another index's is none of its. */
    assert_int_equal(
        search_state_decode(&c, INDEX + 1, search_state_encode(&c.arena, INDEX, &following), &s),
        E_CORRUPT);
    ctx_clear(&c);
}

static void read_damaged(bytes damaged, void *arg)
{
    bytes whole = *(bytes *)arg;
    struct search_state s;

    if (damaged.len == whole.len && memcmp(damaged.ptr, whole.ptr, whole.len) == 0)
        return; /* two flips of one bit */
    assert_int_equal(search_state_decode(&c, INDEX, damaged, &s), E_CORRUPT);
    ctx_clear(&c);
}

static void piece_damaged(bytes damaged, void *arg)
{
    bytes whole = *(bytes *)arg, data;

    if (damaged.len == whole.len && memcmp(damaged.ptr, whole.ptr, whole.len) == 0)
        return;
    assert_non_null(search_piece_open(damaged, 1000, 2, &data));
}

static void test_damaged(void **state)
{
    bytes stored = search_state_encode(&c.arena, INDEX, &following), data,
          piece = search_piece_seal(&c.arena, BYTES_LIT("bytes of an image"), 1000, 2);

    (void)state;
    golden_damage(stored, 2000, read_damaged, &stored);
    golden_damage(piece, 2000, piece_damaged, &piece);
    assert_null(search_piece_open(piece, 1000, 2, &data));
    assert_true(bytes_equal(data, BYTES_LIT("bytes of an image")));
    assert_non_null(search_piece_open(piece, 1000, 3, &data)); /* another's */
    assert_non_null(search_piece_open(piece, 1001, 2, &data));
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_golden), TEST(test_read), TEST(test_damaged)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
