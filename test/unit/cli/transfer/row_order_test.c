/* Batches of rows in the order of their keys: neighbours of the window go together, rows of one key
 * as they came, and one batch goes elsewhere than the next. */
#include "cli/transfer/row_order.h"

#include "base/port.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define ROWS 5000
#define BATCH 20
#define KEYS 2

static struct import_row *rows[ROWS];
static char texts[ROWS][32];

/* A number, then a text whose first bytes are alike; each key comes about four times. */
static void make_rows(void)
{
    for (uint64_t i = 0; i < ROWS; i++) {
        uint64_t r = i * UINT64_C(0x9E3779B97F4A7C15) >> 40;
        int len =
            snprintf(texts[i], sizeof(texts[i]), "2025-01-%llu", (unsigned long long)(r / 61 % 40));

        rows[i] = mem_zalloc(sizeof(*rows[i]) + KEYS * sizeof(rows[i]->values[0]));
        rows[i]->line = i + 1;
        rows[i]->values[0] =
            (struct wr_value){.type = WR_BIGINT, {.integer = (int64_t)(r % 61) - 30}};
        rows[i]->values[1] =
            (struct wr_value){.type = WR_VARCHAR, {.bytes = bytes_of(texts[i], (size_t)len)}};
    }
}

static void free_rows(void)
{
    for (size_t i = 0; i < ROWS; i++)
        mem_free(rows[i]);
}

static int compare_keys(const struct import_row *a, const struct import_row *b)
{
    int64_t m = a->values[0].integer, n = b->values[0].integer;

    return m != n ? (m > n) - (m < n) : bytes_compare(a->values[1].bytes, b->values[1].bytes);
}

static size_t key_number(const struct import_row *row)
{
    const char *text = row->values[1].bytes.ptr;

    return (size_t)(row->values[0].integer + 30) * 40 + strtoul(text + 8, NULL, 10);
}

static void test_batches(void **state)
{
    static bool seen[ROWS + 1];
    static uint64_t last[61 * 40]; /* line, by key */
    size_t far = 0, near = 0;

    (void)state;
    make_rows();
    row_order_arrange(rows, ROWS, KEYS, BATCH);
    for (size_t i = 0; i < ROWS; i++) {
        assert_false(seen[rows[i]->line]);
        seen[rows[i]->line] = true;
        assert_true(last[key_number(rows[i])] < rows[i]->line);
        last[key_number(rows[i])] = rows[i]->line;
        if (i % BATCH) {
            /* The places' last batches are shorter, so that one may begin within these. */
            far += compare_keys(rows[i - 1], rows[i]) > 0;
        } else if (i && i < ROWS - 8 * BATCH) {
            near += abs((int)(rows[i]->values[0].integer - rows[i - 1]->values[0].integer)) <= 2;
        }
    }
    assert_true(far <= 16 && near <= 16);
    free_rows();
}

static void test_few(void **state)
{
    (void)state;
    make_rows();
    for (size_t n = 0; n <= 3; n++) {
        row_order_arrange(rows, n, KEYS, BATCH);
        for (size_t i = 1; i < n; i++)
            assert_true(compare_keys(rows[i - 1], rows[i]) <= 0);
    }
    free_rows();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_few),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
