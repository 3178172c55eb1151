/* When what is cached of tables may be used: over an engine in memory with a bus that says what the
 * tests want, whose clock they set. */
#include "table/catalog/catalog_own.h"

#include "table/core/jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */
#include <unistd.h>

struct bed {
    struct wr_db db;
    struct engine_ops ops; /* the memory's, with a bus */
    struct ctx c;
    atomic_bool listens;
    _Atomic int subscribed, read; /* so often; read: all that is stored */
    _Atomic int refused;          /* of two questions in each of these, so many */
};

static struct bed *bed; /* the bus is given no argument of ours */

static int check(struct bed *b)
{
    struct ctx c;
    int code;

    ctx_init(&c, &b->db.clock, &b->db.log, NULL, 0);
    code = catalog_check(&c, b->db.catalog);
    ctx_release(&c);
    return code;
}

/* As tasks in the background and clients do, whatever the catalog is at. */
static void ask_meanwhile(struct bed *b)
{
    for (int i = 0; i < 2; i++)
        b->refused += check(b) == E_UNAVAILABLE;
}

static int subscribe(struct ctx *c, struct engine *e,
                     void (*on_notification)(void *arg, struct notification *n), void *arg)
{
    (void)c;
    (void)e;
    (void)arg;
    bed->listens = false;
    if (!on_notification)
        return E_OK;
    ask_meanwhile(bed);
    bed->subscribed++;
    bed->listens = true;
    return E_OK;
}

static int64_t lease_age_ms(struct engine *e)
{
    (void)e;
    return bed->listens ? 0 : INT64_MAX;
}

static int texts_changed(struct wr_db *db)
{
    (void)db;
    ask_meanwhile(bed);
    bed->read++;
    return E_OK;
}

static int set_up(void **state)
{
    static const struct bus_ops bus = {.subscribe = subscribe, .lease_age_ms = lease_age_ms};
    static const struct catalog_listener listener = {.texts_changed = texts_changed};
    struct bed *b = bed = *state = mem_zalloc(sizeof(*b));
    struct engine_conf conf = {
        .dir = "", .memory_bytes = 1 << 20, .clock = &b->db.clock, .log = &b->db.log};

    clock_set_init(&b->db.clock, 1700000000ll * 1000000);
    b->db.log = (struct log){.level = 'E', .clock = &b->db.clock};
    ctx_init(&b->c, &b->db.clock, &b->db.log, NULL, 0);
    assert_int_equal(engine_open(&b->c, "mem", &conf, &b->db.engine), E_OK);
    b->ops = *b->db.engine->ops;
    b->ops.bus = &bus;
    b->db.engine->ops = &b->ops;
    b->db.jobs = jobs_start(true);
    assert_non_null(b->db.jobs);
    assert_int_equal(catalog_open(&b->c, &b->db, &listener, &b->db.catalog), E_OK);
    return 0;
}

static int tear_down(void **state)
{
    struct bed *b = *state;

    catalog_stop(b->db.catalog);
    jobs_stop(b->db.jobs);
    catalog_close(b->db.catalog);
    engine_close(b->db.engine);
    ctx_release(&b->c);
    mem_free(b);
    return 0;
}

/* Whoever asks while it opens is refused; the first one afterwards is not. */
static void test_asked_while_it_opens(void **state)
{
    struct bed *b = *state;

    assert_int_equal(check(b), E_UNAVAILABLE);
    assert_false(catalog_is_fresh(b->db.catalog));
    assert_int_equal(catalog_start(&b->c, b->db.catalog), E_OK);
    assert_int_equal(b->refused, 4); /* also while it read what may be new */
    assert_int_equal(check(b), E_OK);
    assert_true(catalog_is_fresh(b->db.catalog));
    assert_int_equal(b->subscribed, 1);
    assert_int_equal(b->read, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_asked_while_it_opens, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
