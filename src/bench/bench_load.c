#include "bench/bench_load.h"

#include <stdio.h>

#define TEXT_BYTES (64 * 1024)
#define SCAN_ROWS_MAX 100
#define SECOND_US 1000000

/* Of BENCH_TRANSACTION. */
enum bench_step {
    STEP_START,
    STEP_PUT, /* BENCH_GROUP_ROWS of them */
    STEP_GET = STEP_PUT + BENCH_GROUP_ROWS,
    STEP_COMMIT,
};

/* ---- workloads */

static const struct bench_mix mixes[] = {
    {"read", "GetRow", {[BENCH_READ] = 100}, BENCH_UNIFORM, BENCH_NEEDS_RECORDS},
    {"write",
     "PutRow over records that are there",
     {[BENCH_WRITE] = 100},
     BENCH_UNIFORM,
     BENCH_NEEDS_RECORDS},
    {"write-if",
     "PutRow on condition that the record is there",
     {[BENCH_WRITE_IF] = 100},
     BENCH_UNIFORM,
     BENCH_NEEDS_RECORDS},
    {"insert", "PutRow of new records", {[BENCH_INSERT] = 100}, BENCH_UNIFORM, BENCH_NEEDS_RECORDS},
    {"range", "GetRange, full pages", {[BENCH_PAGE] = 100}, BENCH_UNIFORM, BENCH_NEEDS_RECORDS},
    {"batch",
     "BatchWriteRow of 200 records",
     {[BENCH_BATCH] = 100},
     BENCH_UNIFORM,
     BENCH_NEEDS_RECORDS},
    {"hot", "increments of one row", {[BENCH_INCREMENT] = 100}, BENCH_UNIFORM, BENCH_NEEDS_RECORDS},
    {"increment",
     "increments of records",
     {[BENCH_COUNT] = 100},
     BENCH_UNIFORM,
     BENCH_NEEDS_RECORDS},
    {"ycsb-a",
     "half reads, half updates",
     {[BENCH_READ] = 50, [BENCH_UPDATE] = 50},
     BENCH_ZIPFIAN,
     BENCH_NEEDS_RECORDS},
    {"ycsb-b",
     "95 % reads, 5 % updates",
     {[BENCH_READ] = 95, [BENCH_UPDATE] = 5},
     BENCH_ZIPFIAN,
     BENCH_NEEDS_RECORDS},
    {"ycsb-c", "reads", {[BENCH_READ] = 100}, BENCH_ZIPFIAN, BENCH_NEEDS_RECORDS},
    {"ycsb-d",
     "95 % reads of what is new, 5 % inserts",
     {[BENCH_READ] = 95, [BENCH_INSERT] = 5},
     BENCH_LATEST,
     BENCH_NEEDS_RECORDS},
    {"ycsb-e",
     "95 % ranges of up to 100 records, 5 % inserts",
     {[BENCH_SCAN] = 95, [BENCH_INSERT] = 5},
     BENCH_ZIPFIAN,
     BENCH_NEEDS_RECORDS},
    {"ycsb-f",
     "half reads, half reads followed by an update",
     {[BENCH_READ] = 50, [BENCH_MODIFY] = 50},
     BENCH_ZIPFIAN,
     BENCH_NEEDS_RECORDS},
    {"narrow-read",
     "GetRow of one column of one 10-column row",
     {[BENCH_NARROW_READ] = 100},
     BENCH_UNIFORM,
     BENCH_NEEDS_RECORDS},
    {"narrow-update",
     "UpdateRow of one column of one 10-column row",
     {[BENCH_NARROW_UPDATE] = 100},
     BENCH_UNIFORM,
     BENCH_NEEDS_RECORDS},
    {"wide-read",
     "GetRow of one column of one row of --wide-columns",
     {[BENCH_WIDE_READ] = 100},
     BENCH_UNIFORM,
     BENCH_NEEDS_WIDE},
    {"wide-update",
     "UpdateRow of one column of that row",
     {[BENCH_WIDE_UPDATE] = 100},
     BENCH_UNIFORM,
     BENCH_NEEDS_WIDE},
    {"cell-read",
     "GetRow of one cell of --cell-bytes",
     {[BENCH_CELL_READ] = 100},
     BENCH_UNIFORM,
     BENCH_NEEDS_CELLS},
    {"cell-write",
     "PutRow of one cell of --cell-bytes",
     {[BENCH_CELL_WRITE] = 100},
     BENCH_UNIFORM,
     BENCH_NEEDS_CELLS},
    {"update-other",
     "UpdateRow of a column that no index has",
     {[BENCH_UPDATE_OTHER] = 100},
     BENCH_UNIFORM,
     BENCH_NEEDS_RECORDS},
    {"index-range",
     "GetRange of an index, full pages",
     {[BENCH_INDEX_PAGE] = 100},
     BENCH_UNIFORM,
     BENCH_NEEDS_INDEX},
    {"stream-read",
     "GetStreamRecord of one shard, full answers",
     {[BENCH_STREAM_PAGE] = 100},
     BENCH_UNIFORM,
     BENCH_NEEDS_STREAM},
    {"transaction",
     "local transactions of three PutRows and a GetRow",
     {[BENCH_TRANSACTION] = 100},
     BENCH_UNIFORM,
     BENCH_NEEDS_GROUPS},
    {"load", "only load the records", {[BENCH_LOAD] = 100}, BENCH_UNIFORM, BENCH_NEEDS_RECORDS},
};

/* By what they load; not to be asked for by name. */
static const struct bench_mix loaders[] = {
    [BENCH_NEEDS_RECORDS] = {"load", "", {[BENCH_LOAD] = 100}, BENCH_UNIFORM, BENCH_NEEDS_RECORDS},
    [BENCH_NEEDS_WIDE] =
        {"wide-load", "", {[BENCH_WIDE_LOAD] = 100}, BENCH_UNIFORM, BENCH_NEEDS_WIDE},
    [BENCH_NEEDS_CELLS] =
        {"cell-load", "", {[BENCH_CELL_WRITE] = 100}, BENCH_UNIFORM, BENCH_NEEDS_CELLS},
    [BENCH_NEEDS_INDEX] = {"load", "", {[BENCH_LOAD] = 100}, BENCH_UNIFORM, BENCH_NEEDS_INDEX},
    [BENCH_NEEDS_STREAM] = {"load", "", {[BENCH_LOAD] = 100}, BENCH_UNIFORM, BENCH_NEEDS_STREAM},
    [BENCH_NEEDS_GROUPS] = {"load", "", {[BENCH_LOAD] = 100}, BENCH_UNIFORM, BENCH_NEEDS_GROUPS},
};

const char *bench_table_name(enum bench_needs needs)
{
    switch (needs) {
    case BENCH_NEEDS_INDEX:
        return "bench_index";
    case BENCH_NEEDS_STREAM:
        return "bench_stream";
    case BENCH_NEEDS_GROUPS:
        return "bench_groups";
    default:
        return "bench";
    }
}

const struct bench_mix *bench_mix_loader(enum bench_needs needs)
{
    return &loaders[needs];
}

const struct bench_mix *bench_mix_find(const char *name)
{
    for (size_t i = 0; i < PORT_COUNT(mixes); i++)
        if (strcmp(mixes[i].name, name) == 0)
            return &mixes[i];
    return NULL;
}

const char *bench_kind_name(enum bench_kind kind)
{
    static const char *const names[BENCH_KINDS] = {
        [BENCH_READ] = "read",
        [BENCH_UPDATE] = "update",
        [BENCH_WRITE] = "write",
        [BENCH_WRITE_IF] = "write-if",
        [BENCH_INSERT] = "insert",
        [BENCH_SCAN] = "scan",
        [BENCH_MODIFY] = "modify",
        [BENCH_PAGE] = "page",
        [BENCH_BATCH] = "batch",
        [BENCH_LOAD] = "load",
        [BENCH_INCREMENT] = "hot",
        [BENCH_COUNT] = "increment",
        [BENCH_WIDE_READ] = "wide-read",
        [BENCH_WIDE_UPDATE] = "wide-update",
        [BENCH_WIDE_LOAD] = "wide-load",
        [BENCH_NARROW_READ] = "narrow-read",
        [BENCH_NARROW_UPDATE] = "narrow-update",
        [BENCH_CELL_READ] = "cell-read",
        [BENCH_CELL_WRITE] = "cell-write",
        [BENCH_UPDATE_OTHER] = "update-other",
        [BENCH_INDEX_PAGE] = "index-range",
        [BENCH_STREAM_PAGE] = "stream-read",
        [BENCH_TRANSACTION] = "transaction",
    };

    return names[kind];
}

/* ---- which record */

static uint64_t choose_record(struct bench_load *l)
{
    uint64_t records = l->conf.records, back;

    switch (l->conf.choice) {
    case BENCH_ZIPFIAN:
        return bench_zipf_scatter(bench_zipf_next(&l->zipf, &l->rng)) % records;
    case BENCH_LATEST:
        /* Inserts that are still under way must not be asked for. */
        back = bench_zipf_next(&l->zipf, &l->rng);
        if (l->inserts > l->conf.connections)
            records += l->inserts - l->conf.connections;
        return records - 1 - back;
    case BENCH_UNIFORM:
        break;
    }
    return rng_below(&l->rng, records);
}

/* ---- the run */

void bench_load_init(struct bench_load *l, const struct bench_conf *conf, struct clock *clock)
{
    *l = (struct bench_load){.conf = *conf, .clock = clock};
    rng_init(&l->rng, (uint64_t)clock_wall_us(clock));
    l->text_bytes = TEXT_BYTES + conf->column_bytes;
    if (conf->mix->needs == BENCH_NEEDS_CELLS)
        l->text_bytes += conf->cell_bytes;
    l->text = mem_alloc(l->text_bytes);
    for (size_t i = 0; i < l->text_bytes; i++)
        l->text[i] = (char)('a' + rng_below(&l->rng, 26));
    if (conf->choice != BENCH_UNIFORM)
        bench_zipf_init(&l->zipf, conf->records);
    /* Each run's inserts are new, whatever ran before. */
    l->insert_first = (uint64_t)clock_wall_us(clock);
}

void bench_load_release(struct bench_load *l)
{
    mem_free(l->text);
    l->text = NULL;
}

void bench_load_start(struct bench_load *l)
{
    l->start_us = l->line_us = clock_mono_us(l->clock);
}

static void progress_line(struct bench_load *l, int64_t now_us)
{
    struct bench_hist *h = mem_zalloc(sizeof(*h));
    double seconds = (double)(now_us - l->line_us) / SECOND_US;

    for (int k = 0; k < BENCH_KINDS; k++)
        bench_hist_merge(h, &l->hist[k]);
    fprintf(stderr, "\r%4.0f s  %9.0f ops/s  p50 %.2f ms  p99 %.2f ms  errors %llu ",
            (double)(now_us - l->start_us) / SECOND_US,
            (double)(l->finished - l->line_finished) / seconds, (double)bench_hist_at(h, 0.5) / 1e3,
            (double)bench_hist_at(h, 0.99) / 1e3, (unsigned long long)l->errors);
    l->line_us = now_us;
    l->line_finished = l->finished;
    mem_free(h);
}

static enum bench_kind choose_kind(struct bench_load *l)
{
    unsigned n = (unsigned)rng_below(&l->rng, 100), k = 0;

    while (k + 1 < BENCH_KINDS && n >= l->conf.mix->share[k])
        n -= l->conf.mix->share[k++];
    return (enum bench_kind)k;
}

bool bench_load_next(struct bench_load *l, int64_t now_us, struct bench_job *job, int64_t *wait_us)
{
    const struct bench_conf *conf = &l->conf;
    int64_t due_us = now_us, end_us = l->start_us + (int64_t)conf->seconds * SECOND_US;

    if (conf->progress && now_us - l->line_us >= SECOND_US)
        progress_line(l, now_us);
    if (conf->rate)
        due_us = l->start_us + (int64_t)((double)l->started * SECOND_US / (double)conf->rate);
    *wait_us = -1;
    if (conf->ops ? l->started >= conf->ops : now_us >= end_us || due_us >= end_us)
        return false;
    if (due_us > now_us) {
        *wait_us = due_us - now_us;
        return false;
    }
    *job = (struct bench_job){.kind = choose_kind(l), .start_us = due_us};
    if (job->kind == BENCH_INSERT)
        job->record = conf->records + l->inserts++;
    else if (job->kind == BENCH_LOAD)
        job->record = l->started * bench_batch_rows(conf);
    else if (job->kind == BENCH_WIDE_LOAD)
        job->record = l->started * BENCH_WIDE_STEP;
    else if (job->kind == BENCH_WIDE_READ || job->kind == BENCH_WIDE_UPDATE)
        job->record = rng_below(&l->rng, conf->wide_columns);
    else if (job->kind == BENCH_CELL_WRITE)
        job->record = l->started % BENCH_CELLS;
    else if (job->kind == BENCH_CELL_READ)
        job->record = rng_below(&l->rng, BENCH_CELLS);
    else
        job->record = choose_record(l);
    job->limit = 1 + (uint32_t)rng_below(&l->rng, SCAN_ROWS_MAX);
    l->started++;
    return true;
}

int bench_load_began(struct ctx *c, struct bench_job *job, const struct wr_reply *reply)
{
    bytes id = reply->transaction.id;

    if (id.len > sizeof(job->transaction))
        return fail(c, WR_E_UNSURE, "a transaction's id of %zu bytes", id.len);
    memcpy(job->transaction, id.ptr, id.len);
    job->transaction_bytes = id.len;
    return 0;
}

/* Has the job another request? A transaction whose value another one holds goes to another value:
 * to ask again and again would measure refusals. */
static bool has_more(struct bench_load *l, struct bench_job *job, int code)
{
    if (job->kind == BENCH_TRANSACTION && code == WR_E_CONFLICT && job->step == STEP_START) {
        job->record = choose_record(l);
        return true;
    }
    if (job->kind == BENCH_TRANSACTION)
        return code == 0 && job->step++ < STEP_COMMIT;
    return code == 0 && job->kind == BENCH_MODIFY && job->step++ == 0;
}

bool bench_load_done(struct bench_load *l, struct bench_job *job, int code, uint64_t rows,
                     int64_t now_us)
{
    l->rows += rows;
    if (has_more(l, job, code))
        return true;
    l->finished++;
    if (code)
        l->errors++;
    else
        bench_hist_add(&l->hist[job->kind], now_us - job->start_us);
    return false;
}

void bench_load_end(struct bench_load *l)
{
    uint64_t due;

    l->end_us = clock_mono_us(l->clock);
    due = l->conf.rate * l->conf.seconds;
    if (!l->conf.ops && due > l->started)
        l->late = due - l->started;
    if (l->conf.progress)
        fprintf(stderr, "\r%72s\r", "");
}

/* ---- requests */

static struct wr_key key_of_text(struct ctx *c, bytes text)
{
    struct wr_key_column *column = ARENA_NEW(&c->arena, struct wr_key_column);

    column->name = BYTES_LIT("id");
    column->value = (struct wr_value){.type = WR_VARCHAR, .bytes = text};
    return (struct wr_key){column, 1};
}

/* "user" and 20 digits. */
static struct wr_key key_of(struct ctx *c, uint64_t number)
{
    char *text = arena_alloc(&c->arena, BENCH_KEY_BYTES);

    memcpy(text, "user", 4);
    for (size_t i = BENCH_KEY_BYTES; i-- > 4; number /= 10)
        text[i] = (char)('0' + number % 10);
    return key_of_text(c, bytes_of(text, BENCH_KEY_BYTES));
}

/* Of a table whose rows share partition keys: the number of the group and that in it. */
static struct wr_key key_in_group(struct ctx *c, uint64_t record)
{
    struct wr_key_column *columns = ARENA_ARRAY(&c->arena, struct wr_key_column, 2);

    columns[0] = key_of(c, record / BENCH_GROUP_ROWS).columns[0];
    columns[1].name = BYTES_LIT("part");
    columns[1].value =
        (struct wr_value){.type = WR_BIGINT, .integer = (int64_t)(record % BENCH_GROUP_ROWS)};
    return (struct wr_key){columns, 2};
}

static struct wr_key key_of_record(const struct bench_load *l, struct ctx *c, uint64_t record)
{
    uint64_t records = l->conf.records;

    if (l->conf.mix->needs == BENCH_NEEDS_GROUPS)
        return key_in_group(c, record);
    return key_of(c, record < records ? record : record - records + l->insert_first);
}

/* "field" and a number. */
static bytes column_name(struct ctx *c, uint64_t number)
{
    char digits[20], *text;
    size_t n = 0;

    do
        digits[n++] = (char)('0' + number % 10);
    while (number /= 10);
    text = arena_alloc(&c->arena, 5 + n);
    memcpy(text, "field", 5);
    for (size_t i = 0; i < n; i++)
        text[5 + i] = digits[n - 1 - i];
    return bytes_of(text, 5 + n);
}

static void fill_text(struct bench_load *l, struct wr_cell *cell, bytes name, size_t size)
{
    size_t at = rng_below(&l->rng, l->text_bytes - size + 1);

    *cell = (struct wr_cell){.name = name, .timestamp_ms = WR_TIMESTAMP_NONE};
    cell->value.type = WR_VARCHAR;
    cell->value.bytes = bytes_of(l->text + at, size);
}

static void fill_cell(struct bench_load *l, struct ctx *c, struct wr_cell *cell, uint64_t column)
{
    fill_text(l, cell, column_name(c, column), l->conf.column_bytes);
}

/* All columns of a record. */
static void fill_put(struct bench_load *l, struct ctx *c, uint64_t record,
                     struct wr_row_change *out)
{
    uint32_t count = l->conf.columns;
    struct wr_cell *cells = ARENA_ARRAY(&c->arena, struct wr_cell, count);

    for (uint32_t i = 0; i < count; i++)
        fill_cell(l, c, &cells[i], i);
    *out = (struct wr_row_change){.type = WR_PUT, .table = l->conf.table};
    out->row = (struct wr_row){key_of_record(l, c, record), cells, count};
}

static struct wr_key wide_key(struct ctx *c)
{
    return key_of_text(c, BYTES_LIT("wide"));
}

static struct wr_key cell_key(struct ctx *c, uint64_t number)
{
    return key_of_text(c, arena_printf(&c->arena, "cell%llu", (unsigned long long)number));
}

/* Some columns of the wide row. */
static void fill_wide(struct bench_load *l, const struct bench_job *job, struct ctx *c,
                      struct wr_row_change *out)
{
    uint64_t left = l->conf.wide_columns - job->record;
    size_t count = left < BENCH_WIDE_STEP ? (size_t)left : BENCH_WIDE_STEP;
    struct wr_cell *cells = ARENA_ARRAY(&c->arena, struct wr_cell, count);

    for (size_t i = 0; i < count; i++)
        fill_cell(l, c, &cells[i], job->record + i);
    *out = (struct wr_row_change){.type = WR_UPDATE, .table = l->conf.table};
    out->row = (struct wr_row){wide_key(c), cells, count};
}

static void fill_big_cell(struct bench_load *l, const struct bench_job *job, struct ctx *c,
                          struct wr_row_change *out)
{
    struct wr_cell *cell = ARENA_NEW(&c->arena, struct wr_cell);

    fill_text(l, cell, BYTES_LIT("data"), l->conf.cell_bytes);
    *out = (struct wr_row_change){.type = WR_PUT, .table = l->conf.table};
    out->row = (struct wr_row){cell_key(c, job->record), cell, 1};
}

static void fill_update(struct bench_load *l, const struct bench_job *job, struct ctx *c,
                        struct wr_row_change *out)
{
    struct wr_cell *cell = ARENA_NEW(&c->arena, struct wr_cell);

    *out = (struct wr_row_change){.type = WR_UPDATE, .table = l->conf.table};
    if (job->kind == BENCH_INCREMENT || job->kind == BENCH_COUNT) {
        *cell = (struct wr_cell){.name = BYTES_LIT("hits"), .op = WR_CELL_INCREMENT};
        cell->timestamp_ms = WR_TIMESTAMP_NONE;
        cell->value = (struct wr_value){.type = WR_BIGINT, .integer = 1};
        out->row.key = job->kind == BENCH_COUNT ? key_of_record(l, c, job->record)
                                                : key_of_text(c, BYTES_LIT("hot"));
    } else if (job->kind == BENCH_WIDE_UPDATE) {
        fill_cell(l, c, cell, job->record);
        out->row.key = wide_key(c);
    } else if (job->kind == BENCH_UPDATE_OTHER) {
        fill_cell(l, c, cell,
                  l->conf.columns > BENCH_INDEXES_MAX
                      ? BENCH_INDEXES_MAX + rng_below(&l->rng, l->conf.columns - BENCH_INDEXES_MAX)
                      : l->conf.columns);
        out->row.key = key_of_record(l, c, job->record);
    } else {
        fill_cell(l, c, cell, rng_below(&l->rng, l->conf.columns));
        out->row.key = key_of_record(l, c, job->kind == BENCH_NARROW_UPDATE ? 0 : job->record);
    }
    out->row.cells = cell;
    out->row.cell_count = 1;
}

uint64_t bench_batch_rows(const struct bench_conf *conf)
{
    uint64_t rows = BENCH_BATCH_BYTES / ((uint64_t)conf->columns * conf->column_bytes + 1) + 1;

    rows = rows < BENCH_BATCH_ROWS ? rows : BENCH_BATCH_ROWS;
    return rows < conf->records ? rows : conf->records;
}

static void fill_batch(struct bench_load *l, const struct bench_job *job, struct ctx *c,
                       struct wr_batch_write_row *out)
{
    struct wr_table_write *table = ARENA_NEW(&c->arena, struct wr_table_write);
    uint64_t count = bench_batch_rows(&l->conf);
    struct wr_row_change *changes = ARENA_ARRAY(&c->arena, struct wr_row_change, count);
    uint64_t first = job->record, n = 0;

    /* A batch names a row once: records in a run, from anywhere; at the end it begins earlier. */
    if (first + count > l->conf.records)
        first = l->conf.records - count;
    for (; n < count; n++)
        fill_put(l, c, first + n, &changes[n]);
    *table = (struct wr_table_write){l->conf.table, changes, n};
    *out = (struct wr_batch_write_row){.tables = table, .table_count = 1};
}

static void fill_range(struct bench_load *l, const struct bench_job *job, struct ctx *c,
                       struct wr_get_range *out)
{
    struct wr_key_column *end = ARENA_NEW(&c->arena, struct wr_key_column);

    *end = (struct wr_key_column){BYTES_LIT("id"), {.type = WR_INF_MAX}};
    *out = (struct wr_get_range){.table = l->conf.table};
    out->start = key_of_record(l, c, job->record);
    out->end = (struct wr_key){end, 1};
    out->read.has_max_versions = true;
    out->read.max_versions = 1;
    out->has_limit = job->kind == BENCH_SCAN;
    out->limit = (int32_t)job->limit;
}

static bytes index_name(struct ctx *c, bytes table, uint32_t index)
{
    return arena_printf(&c->arena, "%.*s_field%u", BYTES_FMT(table), index);
}

/* Of the first index, from anywhere: its entries' values begin with any letters. */
static void fill_index_range(struct bench_load *l, struct ctx *c, struct wr_get_range *out)
{
    struct wr_key_column *start = ARENA_ARRAY(&c->arena, struct wr_key_column, 2);
    struct wr_key_column *end = ARENA_ARRAY(&c->arena, struct wr_key_column, 2);

    start[0] = (struct wr_key_column){column_name(c, 0), {.type = WR_VARCHAR}};
    start[0].value.bytes = bytes_of(l->text + rng_below(&l->rng, TEXT_BYTES - 4), 4);
    start[1] = (struct wr_key_column){BYTES_LIT("id"), {.type = WR_INF_MIN}};
    end[0] = (struct wr_key_column){start[0].name, {.type = WR_INF_MAX}};
    end[1] = (struct wr_key_column){start[1].name, {.type = WR_INF_MAX}};
    *out = (struct wr_get_range){.table = index_name(c, l->conf.table, 0)};
    out->start = (struct wr_key){start, 2};
    out->end = (struct wr_key){end, 2};
    out->read.has_max_versions = true;
    out->read.max_versions = 1;
}

static void fill_get(bytes table, struct wr_key key, struct wr_get_row *out)
{
    *out = (struct wr_get_row){.table = table, .key = key};
    out->read.has_max_versions = true;
    out->read.max_versions = 1;
}

static void fill_get_column(bytes table, struct wr_key key, bytes column, struct ctx *c,
                            struct wr_get_row *out)
{
    bytes *name = ARENA_NEW(&c->arena, bytes);

    *name = column;
    fill_get(table, key, out);
    out->read.columns = name;
    out->read.column_count = 1;
}

/* Its rows are those of the group that the job's record is in. */
static void fill_transaction(struct bench_load *l, const struct bench_job *job, struct ctx *c,
                             struct wr_request *out)
{
    uint64_t first = job->record - job->record % BENCH_GROUP_ROWS;
    bytes id = bytes_of(job->transaction, job->transaction_bytes);

    switch (job->step) {
    case STEP_START:
        out->op = WR_OP_START_LOCAL_TRANSACTION;
        out->start_local_transaction.table = l->conf.table;
        out->start_local_transaction.key = key_of(c, first / BENCH_GROUP_ROWS);
        break;
    case STEP_GET:
        out->op = WR_OP_GET_ROW;
        fill_get(l->conf.table, key_of_record(l, c, first), &out->get_row);
        out->get_row.transaction = id;
        break;
    case STEP_COMMIT:
        out->op = WR_OP_COMMIT_TRANSACTION;
        out->commit_transaction.id = id;
        break;
    default:
        out->op = WR_OP_PUT_ROW;
        fill_put(l, c, first + job->step - STEP_PUT, &out->put_row);
        out->put_row.transaction = id;
    }
}

void bench_load_request(struct bench_load *l, const struct bench_job *job, struct ctx *c,
                        struct wr_request *out)
{
    enum bench_kind kind = job->kind;
    bytes table = l->conf.table;

    *out = (struct wr_request){0};
    if (kind == BENCH_MODIFY)
        kind = job->step ? BENCH_UPDATE : BENCH_READ;
    switch (kind) {
    case BENCH_READ:
        out->op = WR_OP_GET_ROW;
        fill_get(table, key_of_record(l, c, job->record), &out->get_row);
        break;
    case BENCH_WRITE:
    case BENCH_INSERT:
    case BENCH_WRITE_IF:
        out->op = WR_OP_PUT_ROW;
        fill_put(l, c, job->record, &out->put_row);
        if (kind == BENCH_WRITE_IF)
            out->put_row.condition.existence = WR_EXPECT_EXIST;
        break;
    case BENCH_UPDATE:
    case BENCH_INCREMENT:
    case BENCH_COUNT:
    case BENCH_WIDE_UPDATE:
    case BENCH_NARROW_UPDATE:
    case BENCH_UPDATE_OTHER:
        out->op = WR_OP_UPDATE_ROW;
        fill_update(l, job, c, &out->update_row);
        break;
    case BENCH_WIDE_LOAD:
        out->op = WR_OP_UPDATE_ROW;
        fill_wide(l, job, c, &out->update_row);
        break;
    case BENCH_WIDE_READ:
        out->op = WR_OP_GET_ROW;
        fill_get_column(table, wide_key(c), column_name(c, job->record), c, &out->get_row);
        break;
    case BENCH_NARROW_READ:
        out->op = WR_OP_GET_ROW;
        fill_get_column(table, key_of(c, 0), column_name(c, rng_below(&l->rng, l->conf.columns)), c,
                        &out->get_row);
        break;
    case BENCH_CELL_READ:
        out->op = WR_OP_GET_ROW;
        fill_get(table, cell_key(c, job->record), &out->get_row);
        break;
    case BENCH_CELL_WRITE:
        out->op = WR_OP_PUT_ROW;
        fill_big_cell(l, job, c, &out->put_row);
        break;
    case BENCH_SCAN:
    case BENCH_PAGE:
        out->op = WR_OP_GET_RANGE;
        fill_range(l, job, c, &out->get_range);
        break;
    case BENCH_INDEX_PAGE:
        out->op = WR_OP_GET_RANGE;
        fill_index_range(l, c, &out->get_range);
        break;
    case BENCH_STREAM_PAGE:
        out->op = WR_OP_GET_STREAM_RECORD;
        out->get_stream_record.table = table;
        out->get_stream_record.iterator =
            l->conf.iterators[rng_below(&l->rng, l->conf.iterator_count)];
        break;
    case BENCH_TRANSACTION:
        fill_transaction(l, job, c, out);
        break;
    case BENCH_BATCH:
    case BENCH_LOAD:
        out->op = WR_OP_BATCH_WRITE_ROW;
        fill_batch(l, job, c, &out->batch_write_row);
        break;
    case BENCH_MODIFY:
    case BENCH_KINDS:
        break;
    }
}

/* Of the first columns, a global index each. */
static void fill_indexes(const struct bench_conf *conf, struct ctx *c, struct wr_create_table *out)
{
    uint32_t count = conf->indexes;
    struct wr_index_meta *indexes = ARENA_ARRAY(&c->arena, struct wr_index_meta, count);
    struct wr_defined_column *defined = ARENA_ARRAY(&c->arena, struct wr_defined_column, count);

    for (uint32_t i = 0; i < count; i++) {
        defined[i] = (struct wr_defined_column){column_name(c, i), WR_VARCHAR};
        indexes[i] = (struct wr_index_meta){.name = index_name(c, conf->table, i)};
        indexes[i].key_columns = &defined[i].name;
        indexes[i].key_column_count = 1;
    }
    out->defined = defined;
    out->indexes = indexes;
    out->defined_count = out->index_count = count;
}

void bench_table_request(const struct bench_conf *conf, struct ctx *c, struct wr_request *out)
{
    struct wr_key_schema *key = ARENA_ARRAY(&c->arena, struct wr_key_schema, 2);
    struct wr_create_table *create = &out->create_table;

    key[0] = (struct wr_key_schema){.name = BYTES_LIT("id"), .type = WR_VARCHAR};
    key[1] = (struct wr_key_schema){.name = BYTES_LIT("part"), .type = WR_BIGINT};
    *out = (struct wr_request){.op = WR_OP_CREATE_TABLE};
    create->table = conf->table;
    create->key = key;
    create->local_transactions = conf->mix->needs == BENCH_NEEDS_GROUPS;
    create->key_count = create->local_transactions ? 2 : 1;
    create->options.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS;
    create->options.ttl_s = -1;
    create->options.max_versions = 1;
    create->reserved = (struct wr_throughput){.has_read = true, .has_write = true};
    if (conf->indexes)
        fill_indexes(conf, c, create);
    if (conf->stream)
        create->stream = (struct wr_stream_spec){
            .given = true, .enable = true, .has_expiration = true, .expiration_h = 24};
}

void bench_probe_request(const struct bench_conf *conf, struct ctx *c, struct wr_request *out)
{
    *out = (struct wr_request){.op = WR_OP_GET_ROW};
    switch (conf->mix->needs) {
    case BENCH_NEEDS_GROUPS:
        fill_get(conf->table, key_in_group(c, conf->records - 1), &out->get_row);
        break;
    case BENCH_NEEDS_INDEX:
    case BENCH_NEEDS_STREAM:
    case BENCH_NEEDS_RECORDS:
        fill_get(conf->table, key_of(c, conf->records - 1), &out->get_row);
        break;
    case BENCH_NEEDS_WIDE:
        fill_get_column(conf->table, wide_key(c), column_name(c, conf->wide_columns - 1), c,
                        &out->get_row);
        break;
    case BENCH_NEEDS_CELLS:
        fill_get(conf->table, cell_key(c, BENCH_CELLS - 1), &out->get_row);
        break;
    }
}

uint64_t bench_loader_ops(const struct bench_conf *conf)
{
    uint64_t rows = bench_batch_rows(conf);

    switch (conf->mix->needs) {
    case BENCH_NEEDS_WIDE:
        return (conf->wide_columns + BENCH_WIDE_STEP - 1) / BENCH_WIDE_STEP;
    case BENCH_NEEDS_CELLS:
        return BENCH_CELLS;
    default:
        break;
    }
    return (conf->records + rows - 1) / rows;
}

bool bench_load_fits(const struct bench_load *l, const struct bench_job *job, size_t cells)
{
    size_t loaded = bench_load_cells(l, job);
    bool whole = job->kind == BENCH_READ || job->kind == BENCH_MODIFY;

    return cells == loaded || (whole && cells == loaded + 1);
}

size_t bench_load_cells(const struct bench_load *l, const struct bench_job *job)
{
    switch (job->kind) {
    case BENCH_READ:
    case BENCH_MODIFY:
        return l->conf.columns;
    case BENCH_TRANSACTION:
        return job->step == STEP_GET ? l->conf.columns : 0;
    case BENCH_WIDE_READ:
    case BENCH_NARROW_READ:
    case BENCH_CELL_READ:
        return 1;
    default:
        return 0;
    }
}
