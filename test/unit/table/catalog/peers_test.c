/* What passes between processes over the same data: servers of several builds may hear each other.
 */
#include "table/catalog/peers.h"

#include "table/catalog/catalog_own.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

/* Written by servers that are in use. */
#define COUNT_QUESTION BYTES_LIT("\0\1\0")

/* A build that knows only tables reads each as one of a name that no table has. */
static void test_kinds_of_news(void **state)
{
    struct ctx c;
    bytes table, texts, instance, name;

    (void)state;
    ctx_init(&c, NULL, NULL, NULL, 0);
    table = catalog_notification_text(&c.arena, BYTES_LIT("main"), BYTES_LIT("t"));
    texts = catalog_notification_of_texts(&c.arena);
    assert_true(bytes_equal(table, BYTES_LIT("\4maint")));
    assert_true(bytes_equal(texts, BYTES_LIT("\0")));
    assert_int_equal(catalog_notice_of(table, &instance, &name), NOTICE_TABLE);
    assert_true(bytes_equal(instance, BYTES_LIT("main")));
    assert_true(bytes_equal(name, BYTES_LIT("t")));
    assert_int_equal(catalog_notice_of(texts, &instance, &name), NOTICE_TEXTS);
    assert_int_equal(catalog_notice_of(COUNT_QUESTION, &instance, &name), NOTICE_QUESTION);
    assert_int_equal(catalog_notice_of(BYTES_NONE, &instance, &name), NOTICE_DAMAGED);
    assert_int_equal(catalog_notice_of(BYTES_LIT("\7short"), &instance, &name), NOTICE_DAMAGED);
    ctx_release(&c);
}

static void test_answers(void **state)
{
    struct wr_options o = {.version = WR_API_VERSION, .engine = "mem"};
    struct wr_db *db;
    struct ctx c;

    (void)state;
    assert_int_equal(wr_open(&o, &db, NULL, 0), 0);
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    assert_true(bytes_equal(peers_answer(&c, db, COUNT_QUESTION), BYTES_LIT("\1")));
    assert_int_equal(peers_answer(&c, db, BYTES_LIT("\0\1\0clock of")).len, 9); /* with the answerer's */
    assert_int_equal(peers_answer(&c, db, BYTES_LIT("\0\2\0")).len, 0); /* a later version */
    assert_int_equal(peers_answer(&c, db, BYTES_LIT("\0\1\1\7\1i\1t")).len, 0); /* no such table */
    assert_int_equal(peers_answer(&c, db, BYTES_LIT("\0\1\1\7\1i\7t")).len, 0);
    assert_int_equal(peers_answer(&c, db, BYTES_LIT("\0\1")).len, 0);
    ctx_release(&c);
    wr_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_of_news),
        cmocka_unit_test(test_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
