/* How a table's bytes are spread over its keys (size_histogram.h), on an engine that forgets a partition as
 * soon as it is asked for another one, as the one on a pool does, and counts what it lists. */
#include "table/admin/size_histogram.h"

#include "table/catalog/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#undef fail

#include "../../context.h"

#define ROWS_MAX 8192
#define ROW_BYTES 1000
#define PARTITIONS_MAX 1100
#define PIECES 16 /* a piece is right to such a part */

struct bed {
    struct engine engine; /* first */
    struct {
        uint8_t bucket, kind;
        uint64_t key, bytes;
    } rows[ROWS_MAX];
    size_t row_count;
    partition_id seen;
    char question[64];
    size_t listed[PARTITIONS_MAX], listed_all;
    size_t probed;      /* asked for their first key */
    int64_t listing_us; /* it takes so long */
    struct schema_partition partitions[PARTITIONS_MAX];
    uint8_t bounds[PARTITIONS_MAX][9];
    size_t partition_count;
    struct partition_map map;
    struct wr_db db;
    struct table table;
    struct call call;
    struct size_histogram parts;
};

/* Is the stored key of a row below `end`? */
static bool is_below(uint8_t bucket, uint8_t kind, uint64_t key, bytes end)
{
    uint8_t stored[KEY_PREFIX_BYTES + 8] = {0, 0, 0, 7, bucket, kind};

    store_u64_be(stored + KEY_PREFIX_BYTES, key);
    return bytes_compare(bytes_of(stored, sizeof(stored)), end) < 0;
}

static int bed_size(struct ctx *asked, struct engine *e, const struct partition_spec *p,
                    uint64_t *out)
{
    struct bed *b = (struct bed *)e;
    char question[64];
    size_t len = 0;

    (void)asked;
    *out = 0;
    assert_int_equal(p->range_count, 1);
    for (size_t i = 0; i < p->ranges->start.len && len < 30; i++)
        len += (size_t)snprintf(question + len, 3, "%02x", bytes_u8(p->ranges->start)[i]);
    for (size_t i = 4; i < p->ranges->end.len && len < 60; i++)
        len += (size_t)snprintf(question + len, 3, "%02x", bytes_u8(p->ranges->end)[i]);
    if (p->id != b->seen || !strcmp(question, b->question)) {
        b->listed[p->id - 1]++;
        b->listed_all++;
        b->db.clock.set_us += b->listing_us;
        memcpy(b->question, question, sizeof(question));
    }
    b->seen = p->id;
    for (size_t i = 0; i < b->row_count; i++)
        if (!is_below(b->rows[i].bucket, b->rows[i].kind, b->rows[i].key, p->ranges->start) &&
            is_below(b->rows[i].bucket, b->rows[i].kind, b->rows[i].key, p->ranges->end))
            *out += b->rows[i].bytes;
    return E_OK;
}

/* The first key of a partition: whether there is one. */
static void *answer_main(void *arg)
{
    struct scan *s = arg;

    s->done(s);
    return NULL;
}

static int bed_scan(struct ctx *asked, struct engine *e, struct scan *s)
{
    struct bed *b = (struct bed *)e;
    const struct schema_partition *p = &b->partitions[s->partition - 1];
    pthread_t thread;
    bytes end = s->partition < b->partition_count ? p[1].start : BYTES_NONE;

    (void)asked;
    assert_int_equal(s->items_max, 1);
    b->probed++;
    s->code = E_OK;
    for (size_t i = 0; i < b->row_count; i++) {
        uint8_t at[9] = {b->rows[i].bucket};

        store_u64_be(at + 1, b->rows[i].key);
        if (bytes_compare(bytes_of(at, 9), p->start) >= 0 &&
            (!end.len || bytes_compare(bytes_of(at, 9), end) < 0))
            s->pages->count = 1;
    }
    if (s->partition % 3)
        return E_OK;
    assert_int_equal(pthread_create(&thread, NULL, answer_main, s), 0);
    pthread_detach(thread);
    return E_LATER;
}

static const struct engine_ops bed_ops = {.name = "bed", .size = bed_size, .scan = bed_scan};

static struct bed *bed_new(size_t buckets)
{
    struct bed *b = mem_zalloc(sizeof(*b));

    b->engine.ops = &bed_ops;
    b->db.engine = &b->engine;
    b->table.db = &b->db;
    b->table.schema.location.id = 7;
    b->table.schema.location.layout.buckets = (uint16_t)buckets;
    b->call.db = &b->db;
    clock_set_init(&b->db.clock, 1000000);
    ctx_init(&b->call.c, &b->db.clock, NULL, NULL, 0);
    return b;
}

static void row(struct bed *b, size_t bucket, uint64_t key, uint64_t stored)
{
    assert_true(b->row_count < ROWS_MAX);
    b->rows[b->row_count].bucket = (uint8_t)bucket;
    b->rows[b->row_count].kind = b->row_count % 3 ? KIND_RECORD : KIND_CHUNK;
    b->rows[b->row_count].key = key;
    b->rows[b->row_count++].bytes = stored;
}

/* From there on the next partition, known to hold `stored` bytes. */
static void partition(struct bed *b, size_t bucket, uint64_t key, uint64_t stored)
{
    size_t i = b->partition_count++;

    assert_true(i < PARTITIONS_MAX);
    b->bounds[i][0] = (uint8_t)bucket;
    store_u64_be(b->bounds[i] + 1, key);
    b->partitions[i] = (struct schema_partition){.id = i + 1,
                                                 .start = bytes_of(b->bounds[i], !i    ? 0
                                                                                 : key ? 9
                                                                                       : 1),
                                                 .bytes = stored};
}

static void publish(struct bed *b)
{
    struct map_page *page = map_page_new(1, b->partitions, b->partition_count);

    partition_map_init(&b->map, &page, 1);
    b->table.partitions = b->map;
    b->table.traffic = traffic_new();
    traffic_reroute(b->table.traffic, &b->map);
}

/* So many rows, and a partition for each hundred, known to hold `stored` bytes. */
static struct bed *bed_even(size_t rows, size_t partitions, uint64_t stored)
{
    struct bed *b = bed_new(1);

    for (uint64_t k = 0; k < rows; k++)
        row(b, 0, k, ROW_BYTES);
    for (uint64_t i = 0; i < partitions; i++)
        partition(b, 0, i * 100, stored);
    publish(b);
    return b;
}

static void bed_free(struct bed *b)
{
    traffic_release(b->table.traffic);
    partition_map_release(&b->map);
    ctx_release(&b->call.c);
    mem_free(b);
}

/* How much the rows below `cols` hold, or all. */
static uint64_t below(const struct bed *b, bytes cols)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < b->row_count; i++) {
        uint8_t key[8];

        store_u64_be(key, b->rows[i].key);
        if (!cols.len || bytes_compare(bytes_of(key, 8), cols) < 0)
            sum += b->rows[i].bytes;
    }
    return sum;
}

static void find(struct bed *b, uint64_t piece)
{
    uint64_t least = UINT64_MAX, most = 0;
    uint8_t low[8], high[8];

    for (size_t i = 0; i < b->row_count; i++) {
        least = b->rows[i].key < least ? b->rows[i].key : least;
        most = b->rows[i].key > most ? b->rows[i].key : most;
    }
    store_u64_be(low, least);
    store_u64_be(high, most);
    b->listed_all = 0;
    b->seen = 0;
    memset(b->listed, 0, sizeof(b->listed));
    assert_int_equal(size_histogram_find(&b->call, &b->table, bytes_of(low, 8), bytes_of(high, 8), piece,
                                1000, &b->parts),
                     E_OK);
    for (size_t i = 0; i < b->partition_count; i++)
        assert_true(b->listed[i] <= 1);
}

/* The places where pieces end are right; how many there are. */
static size_t check(struct bed *b, uint64_t piece)
{
    uint64_t sum = 0, slack = piece / PIECES + ROW_BYTES * b->table.schema.location.layout.buckets;
    size_t ends = 0;

    for (size_t i = 0; i < b->parts.count; i++) {
        const struct size_bin *p = &b->parts.list[i];
        uint64_t next = sum - sum % piece + piece, real;

        sum += p->bytes;
        if (sum < next || !p->to.len)
            continue;
        real = below(b, p->to);
        assert_true(real + slack >= next && real <= next + slack);
        ends++;
    }
    assert_int_equal(sum, b->parts.total);
    return ends;
}

static void test_only_where_a_piece_ends(void **state)
{
    struct bed *b = bed_new(1);

    (void)state;
    for (uint64_t k = 0; k < 6400; k++)
        row(b, 0, k * k, ROW_BYTES);
    for (uint64_t i = 0; i < 64; i++)
        partition(b, 0, i * i * 10000, 100 * ROW_BYTES);
    publish(b);
    find(b, 1550 * ROW_BYTES);
    assert_int_equal(check(b, 1550 * ROW_BYTES), 4);
    assert_int_equal(b->listed_all, 4);
    assert_int_equal(b->parts.total, 6400 * ROW_BYTES);
    bed_free(b);
}

/* What nobody has the time to list stays as it is. */
static void test_no_time(void **state)
{
    struct bed *b = bed_even(6400, 64, 100 * ROW_BYTES);

    (void)state;
    b->listing_us = SIZE_HISTOGRAM_MS * 1000 / 2;
    find(b, 1550 * ROW_BYTES);
    assert_true(b->listed_all >= 2 && b->listed_all <= 3);
    assert_int_equal(b->parts.total, 6400 * ROW_BYTES);
    assert_true(b->parts.count >= 64);
    bed_free(b);
}

/* What was known is not so any more: twice as much, in the lower half. */
static void test_old_figures(void **state)
{
    struct bed *b = bed_new(1);

    (void)state;
    for (uint64_t k = 0; k < 6400; k++)
        row(b, 0, k, ROW_BYTES);
    for (uint64_t i = 0; i < 64; i++)
        partition(b, 0, i * 100, (i < 32 ? 50 : 100) * ROW_BYTES);
    publish(b);
    find(b, 1000 * ROW_BYTES);
    assert_true(b->listed_all < 20);
    assert_true(b->parts.total >= 4800 * ROW_BYTES && b->parts.total <= 6400 * ROW_BYTES);
    bed_free(b);
}

/* Eight days, each in a bucket of its own. */
static void test_days(void **state)
{
    struct bed *b = bed_new(8);

    (void)state;
    for (uint64_t k = 0; k < 4000; k++)
        row(b, k / 500, 1000 * (k / 500) + k % 500, ROW_BYTES);
    for (size_t i = 0; i < 8; i++)
        partition(b, i, 0, 0);
    publish(b);
    find(b, 490 * ROW_BYTES);
    assert_int_equal(check(b, 490 * ROW_BYTES), 8);
    assert_int_equal(b->listed_all, 8);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(atomic_load(&partition_at(&b->map, i)->partition->bytes), 500 * ROW_BYTES);
    bed_free(b);
}

/* A quarter of all is one key's, in one bucket; the other keys' rows are everywhere. */
static void test_a_hot_key(void **state)
{
    struct bed *b = bed_new(4);

    (void)state;
    for (uint64_t k = 0; k < 6000; k++)
        row(b, k % 4, k * 1000, ROW_BYTES);
    for (uint64_t k = 0; k < 2000; k++)
        row(b, 2, 1000000 + k % 999 + 1, ROW_BYTES);
    for (size_t i = 0; i < 4; i++)
        for (uint64_t k = 0; k < 6; k++)
            partition(b, i, k * 1000000, (k == 1 && i == 2 ? 2250 : 250) * ROW_BYTES);
    publish(b);
    find(b, 1600 * ROW_BYTES);
    assert_int_equal(check(b, 1600 * ROW_BYTES), 4);
    bed_free(b);
}

/* One partition of eight buckets, of which two hold something. */
static void test_a_merged_partition(void **state)
{
    struct bed *b = bed_new(8);

    (void)state;
    for (uint64_t k = 0; k < 2000; k++)
        row(b, 3 + k / 1000, 1000000 + k, ROW_BYTES);
    partition(b, 0, 0, 5);
    publish(b);
    find(b, 400 * ROW_BYTES);
    assert_int_equal(check(b, 400 * ROW_BYTES), 4);
    assert_int_equal(b->listed_all, 1);
    assert_int_equal(b->parts.total, 2000 * ROW_BYTES);
    bed_free(b);
}

/* Partitions that nobody has measured are, but of many only those that are not empty are listed,
 * and the empty ones are remembered while nobody writes.
 */
static void test_unknown(void **state)
{
    struct bed *b = bed_even(1000, PARTITIONS_MAX, 0);

    (void)state;
    find(b, 2000 * ROW_BYTES);
    assert_int_equal(b->probed, PARTITIONS_MAX);
    assert_int_equal(b->listed_all, 10);
    assert_int_equal(b->parts.total, 1000 * ROW_BYTES);
    row(b, 0, PARTITIONS_MAX * 100, ROW_BYTES);
    atomic_store(&partition_at(&b->map, PARTITIONS_MAX - 1)->partition->shards[1].write_bytes, 1);
    find(b, 2000 * ROW_BYTES);
    assert_int_equal(b->listed_all, 1);
    assert_int_equal(b->parts.total, 1001 * ROW_BYTES);
    bed_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_only_where_a_piece_ends),
                                       TEST(test_no_time),
                                       TEST(test_old_figures),
                                       TEST(test_days),
                                       TEST(test_a_hot_key),
                                       TEST(test_a_merged_partition),
                                       TEST(test_unknown)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
