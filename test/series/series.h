/* series.h: what the tests of series of tables share: a database of their own, a series by month,
 * and what is known of its rows. */
#ifndef TEST_SERIES_H
#define TEST_SERIES_H

#include "base/ctx.h"
#include "widerow.h"

#include <stdbool.h>
#include <stdint.h>

#define SERIES_NAME "purchases"
#define SERIES_FIRST_YEAR 2025
#define SERIES_TEXT_BYTES 32

/* A row: its key says the value it must have. */
struct series_row {
    int64_t card;
    int month; /* from January of the first year on */
    int number;
};

/* Ends the test with a line that says what is wrong. */
_Noreturn void series_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

struct wr_db *series_open_db(const char *dir, bool sync);

/* As in `widerow series create --by month --column time`; 0 or a code. */
int series_make(struct wr_db *db, int hot, int warm);

/* 2025-03 */
void series_month(int month, char out[SERIES_TEXT_BYTES]);

/* The code; with WR_OK the row is there. `message` (if not NULL) has 256 bytes. */
int series_put(struct wr_db *db, const struct series_row *row, char *message);

/* Is it there, with its value? Any other answer than yes and no ends the test. */
bool series_has(struct wr_db *db, const struct series_row *row);

/* All rows in key order, twice a key or with a wrong value ends the test: how many a month, and a
 * sum over their keys. Rows of months outside [0, months) end it, too. */
struct series_sums {
    uint64_t rows, sum;
};
void series_scan(struct wr_db *db, struct series_sums *months, int count);
void series_sums_add(struct series_sums *s, const struct series_row *row);

/* Freezes, or drops, all up to that month; the code. */
int series_until(struct wr_db *db, enum wr_series_action action, int month);

/* The description; free it with wr_reply_free(). */
struct wr_reply *series_describe(struct wr_db *db);

#endif
