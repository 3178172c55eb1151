/* Pairs put in any order come out in the order of their keys, from memory and from runs. */
#include "engine/sorter.h"

#include "base/rng.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

struct sorted {
    struct ctx c;
    struct clock clock;
    char dir[64], path[96];
    struct sorter *s;
};

static int set_up(void **state)
{
    struct sorted *b = mem_zalloc(sizeof(*b));

    clock_real_init(&b->clock);
    ctx_init(&b->c, &b->clock, NULL, NULL, 0);
    strcpy(b->dir, "/tmp/widerow-sorter.XXXXXX");
    assert_non_null(mkdtemp(b->dir));
    snprintf(b->path, sizeof(b->path), "%s/sort", b->dir);
    b->s = sorter_new(b->path, SORTER_BYTES_MIN);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct sorted *b = *state;

    sorter_free(b->s);
    assert_int_not_equal(access(b->path, F_OK), 0); /* it had no name */
    rmdir(b->dir);
    ctx_release(&b->c);
    mem_free(b);
    return 0;
}

/* A number stands for its pair: keys begin alike, some end early, and differ early or late. */
static bytes key_of(struct arena *a, uint32_t n)
{
    return n % 3 ? arena_printf(a, "key%08x", n)
                 : arena_printf(a, "key%02x/long way to %08x", n % 7, n);
}

static bytes value_of(struct arena *a, uint32_t n, size_t size)
{
    uint8_t *p = arena_alloc(a, size + 4);

    memset(p, (int)n, size + 4);
    memcpy(p, &n, 4);
    return bytes_of(p, n % 5 ? size + 4 : 4);
}

static void put_all(struct sorted *b, uint32_t count, size_t size)
{
    uint32_t *order = mem_alloc(count * sizeof(*order));
    struct rng r;

    rng_init(&r, count);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t at = (uint32_t)rng_below(&r, i), n = order[at];

        order[at] = order[i - 1];
        order[i - 1] = n;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct arena a;

        arena_init(&a, NULL, 0);
        assert_int_equal(
            sorter_put(&b->c, b->s, key_of(&a, order[i]), value_of(&a, order[i], size)), E_OK);
        arena_release(&a);
    }
    mem_free(order);
}

static void take_all(struct sorted *b, uint32_t count, size_t size)
{
    uint8_t *seen = mem_zalloc(count);
    uint8_t before[64];
    size_t before_len = 0;
    bool ended = false;

    for (uint32_t i = 0; i < count; i++) {
        struct arena a;
        struct kv pair;
        uint32_t n;

        arena_init(&a, NULL, 0);
        assert_int_equal(sorter_take(&b->c, b->s, &pair, &ended), E_OK);
        assert_false(ended);
        memcpy(&n, pair.value.ptr, 4);
        assert_true(n < count && !seen[n]++);
        assert_true(bytes_equal(pair.key, key_of(&a, n)));
        assert_true(bytes_equal(pair.value, value_of(&a, n, size)));
        assert_true(bytes_compare(bytes_of(before, before_len), pair.key) < 0);
        before_len = pair.key.len;
        memcpy(before, pair.key.ptr, before_len);
        arena_release(&a);
    }
    assert_int_equal(sorter_take(&b->c, b->s, &(struct kv){.key = BYTES_NONE}, &ended), E_OK);
    assert_true(ended);
    mem_free(seen);
}

static void of_nothing(void **state)
{
    take_all(*state, 0, 0);
}

static void in_memory(void **state)
{
    put_all(*state, 5000, 20);
    take_all(*state, 5000, 20);
}

static void by_runs(void **state)
{
    put_all(*state, 40000, 40); /* six runs */
    take_all(*state, 40000, 40);
}

/* A pair that is larger than a block, and than all memory. */
static void of_large_values(void **state)
{
    put_all(*state, 7, 600000);
    take_all(*state, 7, 600000);
}

static void more_than_can_be_merged(void **state)
{
    struct sorted *b = *state;
    int code = E_OK;

    for (uint32_t n = 0; n < 100000 && !code; n++) {
        struct arena a;

        arena_init(&a, NULL, 0);
        code = sorter_put(&b->c, b->s, key_of(&a, n), value_of(&a, n, 200));
        arena_release(&a);
    }
    assert_int_equal(code, E_UNSUPPORTED);
}

static void without_a_folder(void **state)
{
    struct sorted *b = *state;
    int code = E_OK;

    sorter_free(b->s);
    b->s = sorter_new("/nowhere/at/all", SORTER_BYTES_MIN);
    for (uint32_t n = 0; n < 100000 && !code; n++) {
        struct arena a;

        arena_init(&a, NULL, 0);
        code = sorter_put(&b->c, b->s, key_of(&a, n), value_of(&a, n, 200));
        arena_release(&a);
    }
    assert_int_equal(code, E_UNAVAILABLE);
}

/* The file of the process's that has no name any more. */
static int hidden_file(const char *path)
{
    char link[64], name[160];

    for (int fd = 0; fd < 256; fd++) {
        ssize_t n;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, name, sizeof(name) - 1);
        if (n > 0 && !strncmp(name, path, strlen(path)))
            return fd;
    }
    return -1;
}

static void a_damaged_block(void **state)
{
    struct sorted *b = *state;
    bool ended = false;
    struct kv pair;
    uint8_t byte;
    int fd, code;

    put_all(b, 40000, 40);
    fd = hidden_file(b->path);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, 300000), 1);
    byte ^= 4;
    assert_int_equal(pwrite(fd, &byte, 1, 300000), 1);
    while (!(code = sorter_take(&b->c, b->s, &pair, &ended)) && !ended)
        ;
    assert_int_equal(code, E_CORRUPT);
}

/* Pairs of one key come in the order in which they were put, in memory and out of several runs. */
static void equal_keys(void **state)
{
    struct sorted *b = *state;
    uint32_t next[10] = {0};

    for (uint32_t i = 0; i < 6000; i++) {
        struct arena a;

        arena_init(&a, NULL, 0);
        assert_int_equal(
            sorter_put(&b->c, b->s, key_of(&a, i % 10), value_of(&a, 5 * (i / 10) + 1, 200)), E_OK);
        arena_release(&a);
    }
    for (uint32_t i = 0; i < 6000; i++) {
        bool ended, found = false;
        struct kv pair;
        struct arena a;
        uint32_t n;

        assert_int_equal(sorter_take(&b->c, b->s, &pair, &ended), E_OK);
        assert_false(ended);
        memcpy(&n, pair.value.ptr, 4);
        arena_init(&a, NULL, 0);
        for (uint32_t k = 0; k < 10 && !found; k++) {
            found = bytes_equal(pair.key, key_of(&a, k));
            if (found)
                assert_int_equal(n, 5 * next[k]++ + 1);
        }
        assert_true(found);
        arena_release(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(of_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(in_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(by_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(equal_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(of_large_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_than_can_be_merged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_block, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
