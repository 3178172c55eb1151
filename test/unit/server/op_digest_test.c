/* Digests of large answers: who comes first takes those of others along, each is there once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/port.h"
#include "server/op_digest.h"

#include <openssl/evp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LONG_BYTES 100000

static uint8_t content[LONG_BYTES];

struct answer {
    struct digest_wait wait;
    struct digest_turn *turn;
    bool enough, own;
    atomic_int done;
    bool right;
};

static void on_done(struct digest_wait *self, bool own)
{
    struct answer *a = PORT_CONTAINER(self, struct answer, wait);
    uint8_t expected[MD5_BYTES];

    EVP_Digest(self->text.ptr, self->text.len, expected, NULL, EVP_md5(), NULL);
    a->right = memcmp(expected, self->sum, MD5_BYTES) == 0;
    a->own = own;
    atomic_fetch_add(&a->done, 1);
}

static void put(struct digest_line *d, struct answer *a, size_t len)
{
    *a = (struct answer){.wait = {.text = bytes_of(content, len), .done = on_done}};
    a->turn = digest_put(d, &a->wait, &a->enough);
}

static size_t in_line(const struct digest_line *d)
{
    size_t n = 0;

    for (const struct digest_wait *w = d->head; w; w = w->next)
        n++;
    return n;
}

static void test_others_go_along(void **state)
{
    struct answer a[MD5_MANY + 2];
    struct digest_line d;

    (void)state;
    digest_line_init(&d);
    for (size_t i = 0; i < PORT_COUNT(a); i++) {
        put(&d, &a[i], LONG_BYTES - 1000 * i);
        assert_int_equal(a[i].enough, i + 1 >= MD5_MANY);
    }
    digest_turn(a[0].turn);
    assert_int_equal(in_line(&d), 2);
    assert_true(a[0].done == 1 && a[0].own);
    for (size_t i = 1; i < PORT_COUNT(a); i++) {
        digest_turn(a[i].turn);
        assert_true(a[i].done == 1 && a[i].right);
    }
    assert_int_equal(in_line(&d), 0);
    digest_line_destroy(&d);
}

/* A turn comes when the text and what it belonged to are gone. */
static void test_turn_without_text(void **state)
{
    struct answer *gone = calloc(MD5_MANY, sizeof(*gone)), later;
    struct digest_turn *turns[MD5_MANY];
    struct digest_line d;

    (void)state;
    digest_line_init(&d);
    for (size_t i = 0; i < MD5_MANY; i++) {
        put(&d, &gone[i], 70000);
        turns[i] = gone[i].turn;
    }
    digest_turn(turns[0]);
    for (size_t i = 0; i < MD5_MANY; i++)
        assert_true(gone[i].done == 1 && gone[i].own == (i == 0));
    free(gone);
    put(&d, &later, 70000);
    for (size_t i = 1; i < MD5_MANY; i++)
        digest_turn(turns[i]);
    assert_true(later.done == 0 && in_line(&d) == 1);
    digest_turn(later.turn);
    assert_true(later.done == 1 && later.right);
    digest_line_destroy(&d);
}

/* Nobody waits for an answer that is much longer than its own; and few are taken one by one. */
static void test_who_does_not(void **state)
{
    struct answer big, a[MD5_MANY], few[MD5_MANY];
    size_t count = md5_many_least() - 1;
    struct digest_line d;

    (void)state;
    digest_line_init(&d);
    put(&d, &big, LONG_BYTES);
    for (size_t i = 0; i < PORT_COUNT(a); i++)
        put(&d, &a[i], LONG_BYTES / 2 - 1);
    digest_turn(a[0].turn);
    assert_int_equal(in_line(&d), 1);
    digest_turn(big.turn);
    assert_true(big.done == 1 && big.right);
    for (size_t i = 1; i < PORT_COUNT(a); i++)
        digest_turn(a[i].turn);
    for (size_t i = 0; i < count; i++)
        put(&d, &few[i], 70000);
    for (size_t i = 0; i < count; i++) {
        digest_turn(few[i].turn);
        assert_int_equal(in_line(&d), count - 1 - i);
        assert_true(few[i].done == 1 && few[i].right);
    }
    digest_line_destroy(&d);
}

#define THREADS 4
#define EACH 400

struct crowd {
    struct digest_line d;
    struct answer a[THREADS][EACH];
    atomic_size_t put[THREADS];
};

struct member {
    struct crowd *crowd;
    size_t number;
};

/* Puts its answers, some at a time, and takes the turns of those of the thread behind it, too. */
static void *run_member(void *arg)
{
    struct member *m = arg;
    struct crowd *c = m->crowd;
    size_t other = (m->number + 1) % THREADS, turns = 0;

    for (size_t i = 0; i < EACH || turns < EACH;) {
        for (size_t k = 0; k < 7 && i < EACH; k++, i++) {
            put(&c->d, &c->a[m->number][i], 2000 + (i * 37 + m->number) % 1500);
            atomic_store(&c->put[m->number], i + 1);
        }
        while (turns < atomic_load(&c->put[other]))
            digest_turn(c->a[other][turns++].turn);
    }
    return NULL;
}

static void test_threads(void **state)
{
    static struct crowd c;
    struct member m[THREADS];
    pthread_t threads[THREADS];

    (void)state;
    digest_line_init(&c.d);
    for (size_t i = 0; i < THREADS; i++) {
        m[i] = (struct member){&c, i};
        assert_int_equal(pthread_create(&threads[i], NULL, run_member, &m[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < THREADS; i++)
        for (size_t k = 0; k < EACH; k++)
            assert_true(c.a[i][k].done == 1 && c.a[i][k].right);
    digest_line_destroy(&c.d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_others_go_along), cmocka_unit_test(test_turn_without_text),
        cmocka_unit_test(test_who_does_not), cmocka_unit_test(test_threads)};

    for (size_t i = 0; i < sizeof(content); i++)
        content[i] = (uint8_t)(i * 2654435761u >> 13);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
