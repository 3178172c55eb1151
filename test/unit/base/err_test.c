#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#undef fail /* ctx.h has one of another meaning */

#include "base/ctx.h"
#include "widerow.h"

/* The public numbers are those of the table. */
#define ERR(number, name, applied, http, code, mysql, text, note)                                  \
    _Static_assert((int)E_##name == (int)WR_##E_##name, #name);
#define WR_E_OK WR_OK
#include "base/err.def"
#undef ERR

static void test_table(void **state)
{
    (void)state;
    assert_int_equal(E_OK, 0);
    for (int code = 1; code < E_COUNT; code++) {
        const struct err_info *e = err_info(code);

        assert_true(e->name[0] && e->code[0] && e->text[0]);
        assert_in_range(e->http_status, 400, 599);
        assert_true(e->mysql_code > 0);
        assert_true(strncmp(e->code, "OTS", 3) == 0);
    }
    assert_string_equal(err_info(E_PARAMETER)->code, "OTSParameterInvalid");
    assert_int_equal(err_info(E_CONDITION)->http_status, 403);
}

/* What may have been applied must not carry a code that SDKs retry for writes. */
static void test_unsure_codes(void **state)
{
    (void)state;
    for (int code = 1; code < E_COUNT; code++)
        if (err_info(code)->applied == APPLIED_MAYBE)
            assert_true(strcmp(err_info(code)->code, "OTSTimeout") == 0 ||
                        strcmp(err_info(code)->code, "OTSInternalServerError") == 0);
}

static void test_strange_codes_are_internal(void **state)
{
    (void)state;
    assert_ptr_equal(err_info(-1), err_info(E_INTERNAL));
    assert_ptr_equal(err_info(E_COUNT), err_info(E_INTERNAL));
    assert_ptr_equal(err_info(E_LATER), err_info(E_INTERNAL));
}

static int try_twice(struct ctx *c)
{
    TRY(0);
    TRY(fail(c, E_BUSY, "first of %d", 2));
    return fail(c, E_INTERNAL, "not reached");
}

static void test_the_first_failure_stays(void **state)
{
    struct ctx c;

    (void)state;
    ctx_init(&c, NULL, NULL, NULL, 0);
    assert_int_equal(c.code, 0);
    assert_int_equal(try_twice(&c), E_BUSY);
    assert_int_equal(fail(&c, E_QUOTA, "second"), E_QUOTA);
    assert_int_equal(c.code, E_BUSY);
    assert_string_equal(c.text, "first of 2");
    assert_true(c.line > 0 && strstr(c.file, "err_test.c"));
    ctx_clear(&c);
    assert_int_equal(c.code, 0);
    assert_int_equal(fail_code(&c, E_NOT_EXIST), E_NOT_EXIST);
    assert_string_equal(c.text, "Requested table does not exist.");
    ctx_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_unsure_codes),
        cmocka_unit_test(test_strange_codes_are_internal),
        cmocka_unit_test(test_the_first_failure_stays),
    };

    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
