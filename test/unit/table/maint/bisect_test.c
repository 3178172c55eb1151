/* A key among others, found by bisecting (bisect.h). */
#include "table/maint/bisect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#undef fail

#include "../../context.h"

/* Keys that have a long text in common, all between two that have not. */
#define ROWS 1000
static char keys[ROWS + 2][128];

static void make_keys(void)
{
    strcpy(keys[0], "a");
    for (int i = 1; i <= ROWS; i++)
        snprintf(keys[i], sizeof(keys[i]), "log/%090d/%04d", 7, i);
    strcpy(keys[ROWS + 1], "z");
}

static int below(void *arg, bytes key, uint64_t *out)
{
    int *asked = arg;

    ++*asked;
    *out = 0;
    for (int i = 0; i < ROWS + 2 && bytes_compare(bytes_str(keys[i]), key) < 0; i++)
        *out += 100;
    return E_OK;
}

static void test_long_texts_in_common(void **state)
{
    uint64_t target = (ROWS + 2) * 50, size;
    int asked = 0;
    bytes place;

    (void)state;
    make_keys();
    assert_int_equal(bisect_find_about(&c.arena, BYTES_LIT("a"), BYTES_LIT("z"), target, target / 8,
                                      below, &asked, &place),
                     E_OK);
    below(&asked, place, &size);
    assert_in_range(size, target - target / 8, target + target / 8);
    assert_in_range(asked, 8 * 90, 8 * 110); /* it has gone through the text, and ended then */
}

/* The last row of many is most of it: nothing is near the middle. */
static int below_all_last(void *arg, bytes key, uint64_t *out)
{
    (void)arg;
    *out = bytes_compare(key, BYTES_LIT("y")) > 0 ? 1000 : 10;
    return E_OK;
}

static void test_nothing_is_near(void **state)
{
    bytes place;

    (void)state;
    assert_int_equal(bisect_find_about(&c.arena, BYTES_LIT("a"), BYTES_LIT("z"), 500, 100,
                                      below_all_last, NULL, &place),
                     E_OK);
    assert_true(bytes_compare(place, BYTES_LIT("y")) > 0);
    assert_true(bytes_compare(place, BYTES_LIT("y0")) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_long_texts_in_common), TEST(test_nothing_is_near)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
