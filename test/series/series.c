#include "series.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSTANCE BYTES_LIT("series")
#define PAGE_ROWS 1000

void series_die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    printf("FAILED: ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
    exit(1);
}

static void quiet(void *arg, char level, const char *line)
{
    (void)arg;
    if (level == 'E' && !strstr(line, "wall clock"))
        fprintf(stderr, "%s\n", line);
}

struct wr_db *series_open_db(const char *dir, bool sync)
{
    struct wr_setting settings[] = {{"table_ops_per_s_max", "0"}};
    struct wr_options o = {WR_OPTIONS,
                           .engine = "rocks",
                           .dir = dir,
                           .no_sync = !sync,
                           .memory_bytes = 64 << 20,
                           .settings = settings,
                           .setting_count = 1,
                           .log = quiet};
    char message[256] = "";
    struct wr_db *db;

    if (wr_open(&o, &db, message, sizeof(message)))
        series_die("the database does not open: %s", message);
    return db;
}

static int finish(struct wr_reply *reply, char *message)
{
    int code = reply->code;

    if (message)
        snprintf(message, 256, "%s", reply->message);
    wr_reply_free(reply);
    return code;
}

int series_make(struct wr_db *db, int hot, int warm)
{
    static const struct wr_key_schema key[] = {{.name = BYTES_LIT("card"), .type = WR_BIGINT},
                                               {.name = BYTES_LIT("time"), .type = WR_VARCHAR}};
    struct wr_request r = {WR_REQUEST(CREATE_SERIES), .instance = INSTANCE};

    r.create_series = (struct wr_create_series){
        .table = {.table = BYTES_LIT(SERIES_NAME),
                  .key = key,
                  .key_count = 2,
                  .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS,
                              .ttl_s = -1,
                              .max_versions = 1}},
        .series = {
            .by = WR_SERIES_BY_MONTH, .column = BYTES_LIT("time"), .hot = hot, .warm = warm}};
    return finish(wr_exec(db, &r), NULL);
}

void series_month(int month, char out[SERIES_TEXT_BYTES])
{
    snprintf(out, SERIES_TEXT_BYTES, "%04d-%02d", SERIES_FIRST_YEAR + month / 12, month % 12 + 1);
}

/* ---- rows ---- */

struct key {
    struct wr_key_column columns[2];
    char time[SERIES_TEXT_BYTES];
};

static struct wr_key key_of(const struct series_row *row, struct key *k)
{
    char month[SERIES_TEXT_BYTES];

    series_month(row->month, month);
    snprintf(k->time, sizeof(k->time), "%.7s-%02dT%08d", month, row->number % 28 + 1,
             row->number % 100000000);
    k->columns[0] =
        (struct wr_key_column){BYTES_LIT("card"), {.type = WR_BIGINT, .integer = row->card}};
    k->columns[1] = (struct wr_key_column){BYTES_LIT("time"),
                                           {.type = WR_VARCHAR, .bytes = bytes_str(k->time)}};
    return (struct wr_key){k->columns, 2};
}

static int64_t value_of(const struct series_row *row)
{
    return (int64_t)((uint64_t)row->card * 1000003u + (uint64_t)row->month * 7919u +
                     (uint64_t)row->number);
}

int series_put(struct wr_db *db, const struct series_row *row, char *message)
{
    struct wr_request r = {WR_REQUEST(PUT_ROW), .instance = INSTANCE};
    struct wr_cell cell = {.name = BYTES_LIT("a"),
                           .value = {.type = WR_BIGINT, .integer = value_of(row)},
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct key k;

    r.put_row = (struct wr_row_change){.type = WR_PUT, .table = BYTES_LIT(SERIES_NAME)};
    r.put_row.row = (struct wr_row){key_of(row, &k), &cell, 1};
    return finish(wr_exec(db, &r), message);
}

bool series_has(struct wr_db *db, const struct series_row *row)
{
    struct wr_request r = {WR_REQUEST(GET_ROW), .instance = INSTANCE};
    struct wr_reply *reply;
    struct key k;
    bool there;

    r.get_row = (struct wr_get_row){.table = BYTES_LIT(SERIES_NAME),
                                    .key = key_of(row, &k),
                                    .read = {.has_max_versions = true, .max_versions = 1}};
    reply = wr_exec(db, &r);
    if (reply->code)
        series_die("a read is answered %d: %s", reply->code, reply->message);
    there = reply->row.row.key.count != 0;
    if (there &&
        (reply->row.row.cell_count != 1 || reply->row.row.cells[0].value.integer != value_of(row)))
        series_die("row %lld %s has a wrong value", (long long)row->card, k.time);
    wr_reply_free(reply);
    return there;
}

void series_sums_add(struct series_sums *s, const struct series_row *row)
{
    s->rows++;
    s->sum += (uint64_t)value_of(row) * 0x9E3779B97F4A7C15u;
}

/* ---- scans ---- */

static int number_at(bytes text, size_t at, size_t count)
{
    int n = 0;

    for (size_t i = at; i < at + count && i < text.len; i++)
        n = n * 10 + bytes_u8(text)[i] - '0';
    return n;
}

static struct series_row row_of(const struct wr_row *r)
{
    bytes time = r->key.columns[1].value.bytes;

    return (struct series_row){.card = r->key.columns[0].value.integer,
                               .month = (number_at(time, 0, 4) - SERIES_FIRST_YEAR) * 12 +
                                        number_at(time, 5, 2) - 1,
                               .number = number_at(time, 11, 8)};
}

static void take_row(const struct wr_row *r, struct series_sums *months, int count)
{
    struct series_row row = row_of(r);

    if (row.month < 0 || row.month >= count)
        series_die("a scan gives a row of month %d", row.month);
    if (r->cell_count != 1 || r->cells[0].value.integer != value_of(&row))
        series_die("a scan gives a wrong value of month %d", row.month);
    series_sums_add(&months[row.month], &row);
}

/* Is it behind the last one? */
static void check_order(const struct wr_row *r, int64_t *card, char time[SERIES_TEXT_BYTES])
{
    bytes at = r->key.columns[1].value.bytes;
    int64_t this_card = r->key.columns[0].value.integer;

    if (this_card < *card || (this_card == *card && bytes_compare(at, bytes_str(time)) <= 0))
        series_die("a scan gives card %lld %.*s behind %lld %s", (long long)this_card,
                   BYTES_FMT(at), (long long)*card, time);
    *card = this_card;
    snprintf(time, SERIES_TEXT_BYTES, "%.*s", BYTES_FMT(at));
}

void series_scan(struct wr_db *db, struct series_sums *months, int count)
{
    struct wr_key_column low[2] = {{BYTES_LIT("card"), {.type = WR_INF_MIN}},
                                   {BYTES_LIT("time"), {.type = WR_INF_MIN}}};
    struct wr_key_column high[2] = {{BYTES_LIT("card"), {.type = WR_INF_MAX}},
                                    {BYTES_LIT("time"), {.type = WR_INF_MAX}}};
    struct wr_request r = {WR_REQUEST(GET_RANGE), .instance = INSTANCE};
    char time[SERIES_TEXT_BYTES] = "", next[SERIES_TEXT_BYTES];
    int64_t card = INT64_MIN;
    bool more = true;

    memset(months, 0, (size_t)count * sizeof(*months));
    r.get_range = (struct wr_get_range){.table = BYTES_LIT(SERIES_NAME),
                                        .start = {low, 2},
                                        .end = {high, 2},
                                        .has_limit = true,
                                        .limit = PAGE_ROWS,
                                        .read = {.has_max_versions = true, .max_versions = 1}};
    while (more) {
        struct wr_reply *reply = wr_exec(db, &r);

        if (reply->code)
            series_die("a page is answered %d: %s", reply->code, reply->message);
        for (size_t i = 0; i < reply->range.row_count; i++) {
            check_order(&reply->range.rows[i], &card, time);
            take_row(&reply->range.rows[i], months, count);
        }
        more = reply->range.next.count != 0;
        if (more) {
            low[0] = reply->range.next.columns[0];
            low[0].name = BYTES_LIT("card");
            snprintf(next, sizeof(next), "%.*s",
                     BYTES_FMT(reply->range.next.columns[1].value.bytes));
            low[1].value = (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_str(next)};
        }
        wr_reply_free(reply);
    }
}

/* ---- periods ---- */

int series_until(struct wr_db *db, enum wr_series_action action, int month)
{
    struct wr_request r = {WR_REQUEST(CHANGE_SERIES), .instance = INSTANCE};
    char text[SERIES_TEXT_BYTES];

    series_month(month, text);
    r.change_series = (struct wr_change_series){
        .table = BYTES_LIT(SERIES_NAME), .action = action, .period = bytes_str(text)};
    return finish(wr_exec(db, &r), NULL);
}

struct wr_reply *series_describe(struct wr_db *db)
{
    struct wr_request r = {WR_REQUEST(DESCRIBE_SERIES), .instance = INSTANCE};
    struct wr_reply *reply;

    r.describe_series.table = (bytes)BYTES_LIT(SERIES_NAME);
    reply = wr_exec(db, &r);
    if (reply->code)
        series_die("DescribeSeries is answered %d: %s", reply->code, reply->message);
    return reply;
}
