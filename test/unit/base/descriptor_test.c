#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#undef fail /* ctx.h has one of another meaning */

#include "base/descriptor.h"
#include "base/port.h"

/* Whatever the limit, two ports together take no file of storage, and neither is left without one.
 */
static void test_ports_leave_storage_its_files(void **state)
{
    static const int limits[] = {64, 128, 256, 1024, 20000, 1048576, INT_MAX};
    static const int wanted[] = {1, 8, 1000, 10000, 1000000};

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(limits); i++)
        for (size_t j = 0; j < PORT_COUNT(wanted); j++)
            for (size_t k = 0; k < PORT_COUNT(wanted); k++) {
                int most = descriptor_connections(limits[i]), first = wanted[j], second = wanted[k];

                descriptor_share(most, &first, &second);
                assert_in_range(first, 1, wanted[j]);
                assert_in_range(second, 1, wanted[k]);
                assert_in_range(first + second, 2, most);
                /* nothing is left over that one of them was set to */
                assert_true(first + second == most || (first == wanted[j] && second == wanted[k]));
            }
}

static void test_a_port_that_is_off_takes_nothing(void **state)
{
    int first = 10000, second = 0;

    (void)state;
    descriptor_share(48, &first, &second);
    assert_int_equal(first, 48);
    assert_int_equal(second, 0);
}

static void test_shares(void **state)
{
    int first = 10000, second = 1000;

    (void)state;
    descriptor_share(48, &first, &second);
    assert_int_equal(first, 32);
    assert_int_equal(second, 16);
    first = 10;
    second = 1000;
    descriptor_share(48, &first, &second);
    assert_int_equal(first, 10);
    assert_int_equal(second, 38);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ports_leave_storage_its_files),
        cmocka_unit_test(test_a_port_that_is_off_takes_nothing),
        cmocka_unit_test(test_shares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
