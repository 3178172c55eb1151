#include "book.h"

#include <stdio.h>
#include <string.h>

#define TABLE "io"
#define REFUSED_PAUSE_US 3000
#define READER_PAUSE_US 3000
#define CHECK_PAUSE_US 100000
#define CHECK_TRIES_MAX 50
#define SLOW_US 8000000 /* a request that takes longer counts as hanging */

static const char *const keys[2] = {"owner", "id"};

struct book *book_new(struct crash *run, int row_count, size_t bytes_min, size_t bytes_max)
{
    struct book *b = mem_zalloc(sizeof(*b));

    b->run = run;
    b->row_count = row_count;
    b->bytes_min = bytes_min;
    b->bytes_max = bytes_max;
    for (int i = 0; i < BOOK_WRITERS; i++) {
        b->writers[i].b = b;
        b->writers[i].owner = i + 1;
        b->writers[i].rows = mem_zalloc((size_t)row_count * sizeof(struct book_row));
    }
    return b;
}

void book_free(struct book *b)
{
    for (int i = 0; i < BOOK_WRITERS; i++) {
        mem_free(b->writers[i].rows);
        mem_free(b->writers[i].acks);
    }
    mem_free(b);
}

void book_copy(struct book *b, const struct book *from)
{
    for (int i = 0; i < BOOK_WRITERS; i++) {
        memcpy(b->writers[i].rows, from->writers[i].rows,
               (size_t)b->row_count * sizeof(struct book_row));
        b->writers[i].version = from->writers[i].version;
        b->writers[i].next = from->writers[i].next;
    }
}

static void fill_key(struct wr_key_column columns[2], int owner, int id)
{
    int64_t numbers[2] = {owner, id};

    for (int i = 0; i < 2; i++)
        columns[i] =
            (struct wr_key_column){bytes_str(keys[i]), {.type = WR_BIGINT, .integer = numbers[i]}};
}

/* What the blob of a version is: no compression makes it smaller. */
static bytes blob_of(const struct book *b, struct arena *arena, int owner, int id, int64_t version)
{
    struct rng rng;
    size_t n;
    uint64_t *words;

    rng_init(&rng, (uint64_t)version ^ (uint64_t)owner << 56 ^ (uint64_t)id << 36);
    n = b->bytes_min + rng_below(&rng, b->bytes_max - b->bytes_min + 1);
    words = arena_alloc(arena, n + 8);
    for (size_t i = 0; i * 8 < n; i++)
        words[i] = rng_next(&rng);
    return bytes_of(words, n);
}

/* The version a row holds; 0: no row; -1: torn. */
static int64_t version_of(const struct book *b, struct arena *arena, const struct wr_row *row,
                          int owner, int id)
{
    const struct wr_cell *v = door_cell(row, "version"), *blob = door_cell(row, "blob");

    if (!row->key.count && !row->cell_count)
        return 0;
    if (!v || !blob || row->cell_count != 2 || v->value.type != WR_BIGINT ||
        blob->value.type != WR_VARBINARY || v->value.integer <= 0 ||
        !bytes_equal(blob->value.bytes, blob_of(b, arena, owner, id, v->value.integer)))
        return -1;
    return v->value.integer;
}

bool book_create_table(struct book *b)
{
    struct door d;
    int code;

    door_open(&d, b->run);
    code = door_create_table(&d, TABLE, keys, 2);
    if (code)
        crash_problem(b->run, "cannot make the table: %s", d.c.text);
    door_close(&d);
    return code == 0;
}

/* ---- writing */

static void raise(atomic_llong *max, long long n)
{
    long long old = atomic_load(max);

    while (old < n && !atomic_compare_exchange_weak(max, &old, n))
        ;
}

static int put(struct door *d, const struct book *b, int owner, int id, int64_t version)
{
    struct wr_key_column columns[2];
    struct wr_cell cells[2] = {{.name = BYTES_LIT("version"),
                                .value = {.type = WR_BIGINT, .integer = version},
                                .timestamp_ms = WR_TIMESTAMP_NONE},
                               {.name = BYTES_LIT("blob"),
                                .value = {.type = WR_VARBINARY},
                                .timestamp_ms = WR_TIMESTAMP_NONE}};
    struct wr_request request = {
        .op = WR_OP_PUT_ROW,
        .put_row = {.type = WR_PUT, .table = BYTES_LIT(TABLE), .row = {{columns, 2}, cells, 2}}};
    struct wr_reply reply;

    door_clear(d);
    fill_key(columns, owner, id);
    cells[1].value.bytes = blob_of(b, &d->c.arena, owner, id, version);
    return door_exec(d, &request, &reply);
}

static int delete (struct door *d, int owner, int id)
{
    struct wr_key_column columns[2];
    struct wr_request request = {
        .op = WR_OP_DELETE_ROW,
        .delete_row = {.type = WR_DELETE, .table = BYTES_LIT(TABLE), .row = {.key = {columns, 2}}}};
    struct wr_reply reply;

    door_clear(d);
    fill_key(columns, owner, id);
    return door_exec(d, &request, &reply);
}

static void note_ack(struct book_writer *me, int64_t sent_us, int64_t answered_us)
{
    if (me->ack_count == me->ack_capacity) {
        me->ack_capacity = me->ack_capacity ? 2 * me->ack_capacity : 256;
        me->acks = mem_realloc(me->acks, (size_t)me->ack_capacity * sizeof(*me->acks));
    }
    me->acks[me->ack_count++] = (struct book_ack){sent_us, answered_us};
    raise(&me->b->last_acked_us, answered_us);
    atomic_fetch_add(&me->b->acked, 1);
}

static void note_maybe(struct book_row *row, int64_t version)
{
    if (row->maybe_count < BOOK_MAYBES_MAX)
        row->maybes[row->maybe_count++] = version;
}

/* A write that was not acknowledged: the code must be one that tells clients to come again. */
static void note_failure(struct book *b, struct door *d, int code, int64_t sent_us, int64_t took_us)
{
    long long none = 0;

    if (door_gone(d)) {
        atomic_fetch_add(&b->gone, 1);
        return;
    }
    if (code != WR_E_BUSY && code != WR_E_UNAVAILABLE && code != WR_E_UNSURE)
        crash_problem(b->run, "a write failed with a code that is not for trying again: %s",
                      d->c.text);
    if (code == WR_E_BUSY)
        atomic_fetch_add(&b->busy, 1);
    raise(&b->slowest_refusal_us, took_us);
    if (atomic_compare_exchange_strong(&b->first_refused_us, &none, sent_us + took_us)) {
        atomic_store(&b->first_refused_after_us, took_us);
        snprintf(b->refusal, sizeof(b->refusal), "%s", d->c.text ? d->c.text : "");
    }
}

static void write_one(struct book_writer *me, struct door *d)
{
    struct book *b = me->b;
    int id =
        b->in_order ? me->next++ % b->row_count : (int)rng_below(&me->rng, (uint64_t)b->row_count);
    struct book_row *row = &me->rows[id];
    int64_t version = me->version + 1, sent_us, took_us;
    int code;

    if (row->maybe_count == BOOK_MAYBES_MAX)
        return;
    me->version = version;
    sent_us = clock_mono_us(&b->run->clock);
    code = put(d, b, me->owner, id, version);
    took_us = clock_mono_us(&b->run->clock) - sent_us;
    raise(&b->slowest_write_us, took_us);
    if (took_us > SLOW_US)
        crash_problem(b->run, "a write took %lld ms", (long long)took_us / 1000);
    if (code == 0) {
        row->acked = version;
        row->maybe_count = 0;
        atomic_store(&row->floor, version);
        note_ack(me, sent_us, sent_us + took_us);
        return;
    }
    note_failure(b, d, code, sent_us, took_us);
    if (door_unsure(d, code)) {
        note_maybe(row, version);
        atomic_fetch_add(&b->unsure, 1);
    } else {
        atomic_fetch_add(&b->refused, 1);
    }
    crash_sleep_us(REFUSED_PAUSE_US);
}

static void *writer_main(void *arg)
{
    struct book_writer *me = arg;
    struct door d;

    door_open(&d, me->b->run);
    while (!atomic_load(&me->b->stop))
        write_one(me, &d);
    door_close(&d);
    return NULL;
}

/* ---- reading */

static void read_one(struct book *b, struct door *d)
{
    int owner = (int)rng_below(&b->reader_rng, BOOK_WRITERS) + 1;
    int id = (int)rng_below(&b->reader_rng, (uint64_t)b->row_count);
    struct book_row *row = &b->writers[owner - 1].rows[id];
    struct wr_key_column columns[2];
    struct wr_request request = {
        .op = WR_OP_GET_ROW,
        .get_row = {.table = BYTES_LIT(TABLE),
                    .key = {columns, 2},
                    .read = {.max_versions = 1, .has_max_versions = true}}};
    int64_t floor = atomic_load(&row->floor), sent_us = clock_mono_us(&b->run->clock), took_us, v;
    struct wr_reply reply;
    int code;

    door_clear(d);
    fill_key(columns, owner, id);
    code = door_exec(d, &request, &reply);
    took_us = clock_mono_us(&b->run->clock) - sent_us;
    atomic_fetch_add(&b->reads, 1);
    raise(&b->slowest_read_us, took_us);
    if (took_us > SLOW_US)
        crash_problem(b->run, "a read took %lld ms", (long long)took_us / 1000);
    if (code) {
        if (!door_gone(d) && atomic_fetch_add(&b->reads_refused, 1) == 0)
            snprintf(b->read_refusal, sizeof(b->read_refusal), "%s", d->c.text ? d->c.text : "");
        return;
    }
    if (b->read_us)
        raise(&b->longest_unread_us, sent_us + took_us - b->read_us);
    b->read_us = sent_us + took_us;
    v = version_of(b, &d->c.arena, &reply.row.row, owner, id);
    if (v < 0)
        crash_problem(b->run, "a read showed row (%d, %d) torn", owner, id);
    else if (v < floor)
        crash_problem(b->run, "a read showed version %lld of row (%d, %d); acknowledged: %lld",
                      (long long)v, owner, id, (long long)floor);
    else
        raise(&row->seen, v);
}

static void *reader_main(void *arg)
{
    struct book *b = arg;
    struct door d;

    door_open(&d, b->run);
    while (!atomic_load(&b->stop)) {
        read_one(b, &d);
        crash_sleep_us(READER_PAUSE_US);
    }
    door_close(&d);
    return NULL;
}

void book_start(struct book *b)
{
    atomic_store(&b->stop, false);
    b->acked = b->refused = b->busy = b->unsure = b->reads = b->reads_refused = b->gone = 0;
    b->first_refused_us = b->first_refused_after_us = b->last_acked_us = 0;
    b->slowest_refusal_us = b->slowest_write_us = b->slowest_read_us = 0;
    b->read_us = b->longest_unread_us = 0;
    b->refusal[0] = b->read_refusal[0] = 0;
    rng_init(&b->reader_rng, rng_next(&b->run->rng));
    for (int i = 0; i < BOOK_WRITERS; i++) {
        b->writers[i].ack_count = 0;
        rng_init(&b->writers[i].rng, rng_next(&b->run->rng));
        if (pthread_create(&b->writers[i].thread, NULL, writer_main, &b->writers[i]) != 0)
            crash_give_up(b->run, "no thread for a writer");
    }
    if (pthread_create(&b->reader, NULL, reader_main, b) != 0)
        crash_give_up(b->run, "no thread for the reader");
}

void book_stop(struct book *b)
{
    atomic_store(&b->stop, true);
    for (int i = 0; i < BOOK_WRITERS; i++)
        pthread_join(b->writers[i].thread, NULL);
    pthread_join(b->reader, NULL);
}

/* True: it is deleted for sure. */
static bool delete_row(struct book *b, struct door *d, int owner, int id, int64_t ms_max)
{
    struct book_row *row = &b->writers[owner - 1].rows[id];
    int64_t until_ms = clock_mono_ms(&b->run->clock) + ms_max;
    int code;

    atomic_store(&row->floor, 0);
    atomic_store(&row->seen, 0);
    while ((code = delete (d, owner, id)) != 0) {
        if (door_unsure(d, code))
            note_maybe(row, -1);
        if (clock_mono_ms(&b->run->clock) >= until_ms)
            return false;
        crash_sleep_us(REFUSED_PAUSE_US);
    }
    row->acked = 0;
    row->maybe_count = 0;
    return true;
}

void book_delete_half(struct book *b, int64_t ms_max, int *deleted, int *refused)
{
    struct door d;

    door_open(&d, b->run);
    for (int i = 0; i < BOOK_WRITERS; i++) {
        for (int id = 0; id < b->row_count; id += 2) {
            struct book_row *row = &b->writers[i].rows[id];

            if (!row->acked && !row->maybe_count)
                continue;
            if (delete_row(b, &d, i + 1, id, ms_max))
                ++*deleted;
            else
                ++*refused;
        }
    }
    door_close(&d);
}

/* ---- checking */

struct found {
    struct book *b;
    int64_t *versions; /* of all writers' rows */
    struct arena arena;
};

static bool on_row(void *arg, const struct wr_row *row)
{
    struct found *f = arg;
    int64_t owner = row->key.columns[0].value.integer, id = row->key.columns[1].value.integer;

    if (owner < 1 || owner > BOOK_WRITERS || id < 0 || id >= f->b->row_count) {
        crash_problem(f->b->run, "a row that nobody wrote: (%lld, %lld)", (long long)owner,
                      (long long)id);
        return true;
    }
    arena_init(&f->arena, NULL, 0);
    f->versions[(owner - 1) * f->b->row_count + id] =
        version_of(f->b, &f->arena, row, (int)owner, (int)id);
    arena_release(&f->arena);
    return true;
}

static bool is_allowed(const struct book_row *row, int64_t version)
{
    if (version == row->acked)
        return true;
    for (int i = 0; i < row->maybe_count; i++)
        if (version == row->maybes[i] || (version == 0 && row->maybes[i] == -1))
            return true;
    return false;
}

static void check_row(struct book *b, int owner, int id, int64_t version, const char *where)
{
    struct book_row *row = &b->writers[owner - 1].rows[id];

    if (version < 0)
        crash_problem(b->run, "%s: row (%d, %d) is torn", where, owner, id);
    else if (!is_allowed(row, version))
        crash_problem(b->run, "%s: row (%d, %d) has version %lld; acknowledged: %lld, maybes: %d",
                      where, owner, id, (long long)version, (long long)row->acked,
                      row->maybe_count);
    else if (version < atomic_load(&row->seen))
        crash_problem(b->run, "%s: row (%d, %d) has version %lld; a reader saw %lld before", where,
                      owner, id, (long long)version, (long long)atomic_load(&row->seen));
    row->acked = version < 0 ? 0 : version;
    row->maybe_count = 0;
    atomic_store(&row->floor, row->acked);
    atomic_store(&row->seen, row->acked);
}

void book_check(struct book *b, const char *where)
{
    struct found f = {.b = b};
    struct door d;
    int code, tries = 0;

    f.versions = mem_zalloc((size_t)(BOOK_WRITERS * b->row_count) * sizeof(*f.versions));
    door_open(&d, b->run);
    do /* storage may just be reopening */
        code = door_scan(&d, TABLE, keys, 2, 0, INT64_MAX, on_row, &f);
    while (code && wr_error_applied(code) == 0 && ++tries < CHECK_TRIES_MAX &&
           (crash_sleep_us(CHECK_PAUSE_US), true));
    if (code)
        crash_problem(b->run, "%s: the rows cannot be read: %s", where, d.c.text);
    for (int i = 0; !code && i < BOOK_WRITERS * b->row_count; i++)
        check_row(b, i / b->row_count + 1, i % b->row_count, f.versions[i], where);
    door_close(&d);
    mem_free(f.versions);
}

int book_acked_between(const struct book *b, int64_t from_us, int64_t to_us)
{
    int count = 0;

    for (int i = 0; i < BOOK_WRITERS; i++)
        for (int j = 0; j < b->writers[i].ack_count; j++)
            count += b->writers[i].acks[j].sent_us > from_us &&
                     b->writers[i].acks[j].answered_us < to_us;
    return count;
}
