/* The two levels of a table's map as stored bytes: a description that names pages, and a page. */
#include "../../../golden/golden.h"
#include "../../context.h"

#include "schema_sample.h"

/* Bounds in bucket 0. */
#define BOUND_1 BYTES_LIT("\0\x45\x80\0\0\0\0\0\0\1")
#define BOUND_2 BYTES_LIT("\0\x45\x80\0\0\0\0\0\0\2")
#define BOUND_3 BYTES_LIT("\0\x45\x80\0\0\0\0\0\0\3")

static const struct schema_partition partitions[] = {{.id = 5, .created_us = 1, .bytes = 100},
                                                     {9 << 10, BOUND_1, 2, 200},
                                                     {10 << 10, BOUND_2, 3, 0}};

static uint64_t next_id(void *last)
{
    return ++*(uint64_t *)last;
}

static struct schema schema_of(const struct schema_page *pages, size_t count)
{
    struct schema s = schema_sample();

    s.pages = pages;
    s.page_count = count;
    return s;
}

static bytes encode(const struct schema *s)
{
    struct buf b;

    buf_init(&b, &c.arena, 256);
    schema_encode(&b, s);
    return buf_bytes(&b);
}

static void test_comes_back(void **state)
{
    struct schema s = schema_of(NULL, 0), back;
    struct schema_partition *list;
    uint64_t id = 70;

    (void)state;
    s.partitions = partitions;
    s.partition_count = 3;
    schema_paginate(&c.arena, &s, 2, next_id, &id);
    assert_int_equal(s.page_count, 2);
    struct golden goldens[] = {
        {"schema-pages", "A table description that names two pages.", encode(&s)},
        {"page-first", "The page of its first partition.",
         schema_page_encode(&c.arena, &s.pages[0])},
        {"page-second", "The page of its other two.", schema_page_encode(&c.arena, &s.pages[1])}};

    assert_int_equal(*bytes_u8(goldens[0].value), 5); /* an older server must refuse it */
    assert_int_equal(schema_decode(&c, goldens[0].value, &back), E_OK);
    assert_int_equal(back.page_count, 2);
    assert_int_equal(back.partition_count, 3);
    assert_null(back.partitions);
    assert_int_equal(back.pages[0].id, 71);
    assert_int_equal(back.pages[1].id, 72);
    assert_int_equal(back.pages[1].count, 2);
    assert_true(bytes_equal(back.pages[1].start, BOUND_1));
    assert_null(back.pages[1].list);
    assert_int_equal(schema_page_decode(&c, goldens[2].value, &back.pages[1], &list), E_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(list[i].id, partitions[i + 1].id);
        assert_int_equal(list[i].created_us, partitions[i + 1].created_us);
        assert_int_equal(list[i].bytes, partitions[i + 1].bytes);
        assert_true(bytes_equal(list[i].start, partitions[i + 1].start));
    }
    golden_check("page.hex", "Tables' maps in two levels.", goldens, PORT_COUNT(goldens));
}

static void test_even_pages(void **state)
{
    struct schema_partition list[100];
    struct schema_page pages[8];
    uint64_t id = 0;
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(list); i++)
        list[i] = (struct schema_partition){.id = i + 1};
    assert_int_equal(schema_pages_make(list, 100, 100, next_id, &id, pages), 1);
    assert_int_equal(schema_pages_make(list, 100, 16, next_id, &id, pages), 7);
    for (size_t i = 0; i < 7; i++) {
        assert_ptr_equal(pages[i].list, list + n);
        assert_in_range(pages[i].count, 14, 15);
        n += pages[i].count;
    }
    assert_int_equal(n, 100);
    assert_int_equal(id, 8);
}

static void refused(const struct schema_page *pages, size_t count, struct schema_repartition cut)
{
    struct schema s = schema_of(pages, count), back;

    s.repartition = cut;
    assert_int_equal(schema_decode(&c, encode(&s), &back), E_CORRUPT);
    ctx_clear(&c);
}

static void test_what_does_not_fit(void **state)
{
    const struct schema_page good[] = {{.id = 71, .count = 1}, {.id = 72, BOUND_1, 2, NULL}};
    const struct schema_page late[] = {{.id = 71, BOUND_1, 1, NULL}};
    const struct schema_page turned[] = {
        {.id = 71, .count = 1}, {.id = 72, BOUND_2, 2, NULL}, {.id = 73, BOUND_1, 2, NULL}};
    const struct schema_page empty[] = {{.id = 71, .count = 1}, {.id = 72, BOUND_1, 0, NULL}};
    const struct schema_page large[] = {{.id = 71, .count = SIZE_MAX},
                                        {.id = 72, BOUND_1, 2, NULL}};
    const struct schema_page nameless[] = {{.count = 1}};
    const struct schema_partition made[] = {{.id = 90, .start = BOUND_1}};
    struct schema s = schema_of(good, 2), back;

    (void)state;
    s.repartition = (struct schema_repartition){1, 2, made, 1};
    assert_int_equal(schema_decode(&c, encode(&s), &back), E_OK);
    assert_int_equal(back.repartition.count, 2);
    refused(late, 1, (struct schema_repartition){0});
    refused(turned, 3, (struct schema_repartition){0});
    refused(empty, 2, (struct schema_repartition){0});
    refused(large, 2, (struct schema_repartition){0});
    refused(nameless, 1, (struct schema_repartition){0});
    refused(good, 2, (struct schema_repartition){1, 3, made, 1}); /* of more than there are */
    refused(good, 2, (struct schema_repartition){3, 1, made, 1});
}

static int decode(bytes stored, struct schema_page p)
{
    struct schema_partition *list;
    int code = schema_page_decode(&c, stored, &p, &list);

    ctx_clear(&c);
    return code;
}

static void test_damaged_page(void **state)
{
    struct schema_page p = {.id = 71, .start = BOUND_1, .count = 2, .list = partitions + 1};
    struct schema_partition turned[] = {{.id = 1, .start = BOUND_2}, {.id = 2, .start = BOUND_1}};
    bytes stored = schema_page_encode(&c.arena, &p), copy;
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    assert_int_equal(decode(stored, p), E_OK);
    for (size_t n = 0; n < stored.len; n++)
        assert_int_equal(decode(bytes_of(stored.ptr, n), p), E_CORRUPT);
    for (int i = 0; i < 1000; i++) { /* an error or a list, never a crash */
        copy = arena_copy(&c.arena, stored);
        ((uint8_t *)copy.ptr)[rng_below(&rng, stored.len)] ^= 1 << rng_below(&rng, 8);
        decode(copy, p);
    }
    copy = arena_copy(&c.arena, stored);
    *(uint8_t *)copy.ptr = 2;
    assert_int_equal(decode(copy, p), E_FORMAT);
    p.count = 3;
    assert_int_equal(decode(stored, p), E_CORRUPT);
    p.count = 1;
    assert_int_equal(decode(stored, p), E_CORRUPT);
    p.count = 2;
    p.start = BOUND_3;
    assert_int_equal(decode(stored, p), E_CORRUPT);
    p = (struct schema_page){71, BOUND_2, 2, turned};
    assert_int_equal(decode(schema_page_encode(&c.arena, &p), p), E_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_comes_back), TEST(test_even_pages),
                                       TEST(test_what_does_not_fit), TEST(test_damaged_page)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
