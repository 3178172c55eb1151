/* main.c: versions fill|change|check|insert|work, PORT first: what the suite `versions` asks
 * servers of any build, over HTTP.
 *
 *     fill                     makes the tables and their rows
 *     change                   changes some rows of each table: they are then of generation 1
 *     check GENERATION         reads every row; exit code 0: all as it must be, 3: some requests
 * were refused, 1: wrong insert                   more rows that the server numbers: their numbers
 * must be above all others work FILE SECONDS FROM   puts rows from number FROM on and appends each
 * acknowledged number to FILE worked FILE              reads them; exit codes as of check
 *
 * Folders are kept that this wrote years ago: what a row holds follows from its table, number and
 * generation, and must never change. A new form of row is another program's, or comes in a table
 * that only later folders have. */
#include "door.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS 40
#define WIDE_COLUMNS 600
#define BLOB_BYTES 300000
#define CHANGED_EVERY 3
#define EXIT_REFUSED 3

enum kind { SMALL, WIDE, BLOB, NUMBERED };

static const struct table {
    const char *name, *layout;
    enum kind kind;
    int rows, ttl_s, versions;
} tables[] = {
    {"plain", "plain", SMALL, ROWS * 10, -1, 1},       {"hash", "hash:16", SMALL, ROWS, -1, 1},
    {"reverse", "reverse:5", SMALL, ROWS, -1, 1},      {"random", "random:4", SMALL, ROWS, -1, 1},
    {"splice", "splice:2+hash:5", SMALL, ROWS, -1, 1}, {"kept", "plain", SMALL, ROWS, -1, 3},
    {"ages", "plain", SMALL, ROWS, 2147483647, 1},     {"wide", "plain", WIDE, 4, -1, 1},
    {"wide_hash", "hash:4", WIDE, 4, -1, 1},           {"blob", "plain", BLOB, 4, -1, 1},
    {"numbered", "plain", NUMBERED, ROWS, -1, 1},
};

static const char *const keys[2] = {"k", "id"};
static struct crash run;
static int refused, wrong;

void crash_problem(struct crash *r, const char *fmt, ...)
{
    va_list args;

    (void)r;
    if (++wrong > 20)
        return;
    printf("FAILED: ");
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\n");
}

void crash_give_up(struct crash *r, const char *fmt, ...)
{
    va_list args;

    (void)r;
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\n");
    exit(1);
}

static void was_refused(struct door *d, const char *what, int code)
{
    if (refused++ < 5)
        printf("refused: %s: %s %s\n", what, wr_error_name(code), d->c.text ? d->c.text : "");
}

/* ---- what rows hold */

static struct wr_value integer(int64_t n)
{
    return (struct wr_value){.type = WR_BIGINT, .integer = n};
}

/* Text that compresses, of which every byte counts. */
static bytes text(struct arena *a, int64_t seed, size_t n)
{
    char *p = arena_alloc(a, n + 32);

    for (size_t i = 0; i < n; i += 16)
        snprintf(p + i, 17, "%08x%08x", (uint32_t)(seed * 2654435761u), (uint32_t)i);
    return bytes_of(p, n);
}

static void put(struct wr_cell *out, bytes name, struct wr_value v)
{
    *out = (struct wr_cell){.name = name, .value = v, .timestamp_ms = WR_TIMESTAMP_NONE};
}

/* In the order of their names; *count of them. */
static struct wr_cell *cells_of(struct arena *a, const struct table *t, int64_t id, int generation,
                                size_t *count)
{
    struct wr_cell *c = ARENA_ARRAY(a, struct wr_cell, WIDE_COLUMNS + 8);
    int64_t seed = id * 10 + generation + t->name[0] * 1000;
    size_t n = 0;

    if (t->kind == BLOB)
        put(&c[n++], BYTES_LIT("blob"),
            (struct wr_value){.type = WR_VARBINARY, .bytes = text(a, seed, BLOB_BYTES)});
    if (t->kind == WIDE)
        for (int i = 0; i < WIDE_COLUMNS; i++)
            put(&c[n++], arena_printf(a, "c%03d", i), integer(seed * 1000 + i));
    if (t->kind == SMALL) {
        put(&c[n++], BYTES_LIT("binary"),
            (struct wr_value){.type = WR_VARBINARY, .bytes = text(a, seed, 5)});
        put(&c[n++], BYTES_LIT("boolean"),
            (struct wr_value){.type = WR_BOOLEAN, .boolean = seed & 1});
        put(&c[n++], BYTES_LIT("double"),
            (struct wr_value){.type = WR_DOUBLE, .real = (double)seed / 8});
    }
    put(&c[n++], BYTES_LIT("n"), integer(seed));
    put(&c[n++], BYTES_LIT("text"),
        (struct wr_value){.type = WR_VARCHAR, .bytes = text(a, seed, (size_t)(seed % 100))});
    *count = n;
    return c;
}

static bool same_value(const struct wr_value *x, const struct wr_value *y)
{
    if (x->type != y->type)
        return false;
    if (x->type == WR_VARCHAR || x->type == WR_VARBINARY)
        return bytes_equal(x->bytes, y->bytes);
    if (x->type == WR_BOOLEAN)
        return x->boolean == y->boolean;
    return x->type == WR_DOUBLE ? x->real == y->real : x->integer == y->integer;
}

/* ---- writing */

static int64_t partition_of(const struct table *t, int64_t id)
{
    return t->kind == NUMBERED ? 1 : id / 4;
}

static int put_row(struct door *d, const struct table *t, int64_t id, int generation)
{
    struct wr_key_column key[2] = {{bytes_str(keys[0]), integer(partition_of(t, id))},
                                   {bytes_str(keys[1]), integer(id)}};
    struct wr_request request = {.op = generation ? WR_OP_UPDATE_ROW : WR_OP_PUT_ROW};
    struct wr_row_change change = {.type = generation ? WR_UPDATE : WR_PUT,
                                   .table = bytes_str(t->name)};
    struct wr_reply reply;
    size_t count;

    door_clear(d);
    if (t->kind == NUMBERED)
        key[1].value = (struct wr_value){.type = WR_AUTO_INCREMENT};
    change.row.cells = cells_of(&d->c.arena, t, id, generation, &count);
    change.row.cell_count = count;
    change.row.key = (struct wr_key){key, 2};
    if (generation)
        request.update_row = change;
    else
        request.put_row = change;
    return door_exec(d, &request, &reply);
}

static int make_table(struct door *d, const struct table *t)
{
    struct wr_key_schema schema[2] = {
        {.name = bytes_str(keys[0]), .type = WR_BIGINT},
        {.name = bytes_str(keys[1]), .type = WR_BIGINT, .auto_increment = t->kind == NUMBERED}};
    struct wr_request request = {
        .op = WR_OP_CREATE_TABLE,
        .create_table = {.table = bytes_str(t->name),
                         .key = schema,
                         .key_count = 2,
                         .layout = bytes_str(t->layout),
                         .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS,
                                     .ttl_s = t->ttl_s,
                                     .max_versions = t->versions},
                         .reserved = {.has_read = true, .has_write = true}}};
    struct wr_reply reply;

    door_clear(d);
    return door_exec(d, &request, &reply);
}

static void fill(struct door *d)
{
    for (size_t i = 0; i < PORT_COUNT(tables); i++) {
        int code = make_table(d, &tables[i]);

        for (int id = 0; id < tables[i].rows && !code; id++)
            code = put_row(d, &tables[i], id, 0);
        if (code)
            crash_problem(&run, "%s cannot be filled: %s", tables[i].name, d->c.text);
    }
}

static void change(struct door *d)
{
    for (size_t i = 0; i < PORT_COUNT(tables); i++)
        for (int id = 0; id < tables[i].rows && tables[i].kind != NUMBERED; id += CHANGED_EVERY) {
            int code = put_row(d, &tables[i], id, 1);

            if (code)
                was_refused(d, tables[i].name, code);
        }
}

/* ---- checking */

struct look {
    struct door *d;
    const struct table *t;
    int generation;
    int seen;
    int64_t number_last;
};

static bool check_row(void *arg, const struct wr_row *row)
{
    struct look *l = arg;
    int64_t id = row->key.columns[1].value.integer;
    struct wr_cell *expected;
    struct arena a;
    size_t count;

    if (l->t->kind == NUMBERED) { /* in the order in which they were inserted */
        l->number_last = id;
        id = l->seen;
    }
    if (id >= l->t->rows) /* of `insert` and `work` */
        return true;
    l->seen++;
    arena_init(&a, NULL, 0);
    expected = cells_of(&a, l->t, id,
                        l->generation && l->t->kind != NUMBERED && id % CHANGED_EVERY == 0, &count);
    if (row->cell_count != count)
        crash_problem(&run, "%s %lld has %zu cells, not %zu", l->t->name, (long long)id,
                      row->cell_count, count);
    for (size_t i = 0; i < count && i < row->cell_count; i++)
        if (!bytes_equal(row->cells[i].name, expected[i].name) ||
            !same_value(&row->cells[i].value, &expected[i].value))
            crash_problem(&run, "%s %lld: column %.*s is another", l->t->name, (long long)id,
                          BYTES_FMT(row->cells[i].name));
    arena_release(&a);
    return true;
}

/* Of a table that keeps several versions the old one is there too. */
static void check_versions(struct door *d, const struct table *t)
{
    struct wr_key_column key[2] = {{bytes_str(keys[0]), integer(0)},
                                   {bytes_str(keys[1]), integer(0)}};
    struct wr_request request = {
        .op = WR_OP_GET_ROW,
        .get_row = {.table = bytes_str(t->name),
                    .key = {key, 2},
                    .read = {.max_versions = 3, .has_max_versions = true}}};
    struct wr_reply reply;
    size_t count;
    int code;

    door_clear(d);
    code = door_exec(d, &request, &reply);
    if (code) {
        was_refused(d, t->name, code);
        return;
    }
    cells_of(&d->c.arena, t, 0, 0, &count);
    if (reply.row.row.cell_count < 2 * count)
        crash_problem(&run, "%s 0 has %zu cells in its versions, fewer than %zu", t->name,
                      reply.row.row.cell_count, 2 * count);
}

static int64_t check(struct door *d, int generation)
{
    struct look l = {.d = d, .generation = generation};

    for (size_t i = 0; i < PORT_COUNT(tables); i++) {
        int code;

        l.t = &tables[i];
        l.seen = 0;
        code = door_scan(d, l.t->name, keys, 2, INT64_MIN, INT64_MAX, check_row, &l);
        if (code)
            was_refused(d, l.t->name, code);
        else if (l.seen != l.t->rows)
            crash_problem(&run, "%s has %d rows, not %d", l.t->name, l.seen, l.t->rows);
        else if (l.t->versions > 1 && generation)
            check_versions(d, l.t);
    }
    return l.number_last;
}

static void insert(struct door *d, int64_t last)
{
    const struct table *t = &tables[PORT_COUNT(tables) - 1];
    struct wr_key_column key[2] = {{bytes_str(keys[0]), integer(1)},
                                   {bytes_str(keys[1]), {.type = WR_AUTO_INCREMENT}}};
    struct wr_cell cell;
    struct wr_request request = {.op = WR_OP_PUT_ROW,
                                 .put_row = {.type = WR_PUT,
                                             .table = bytes_str(t->name),
                                             .return_type = WR_RETURN_KEY,
                                             .row = {{key, 2}, &cell, 1}}};
    struct wr_reply reply;
    int code;

    put(&cell, BYTES_LIT("n"), integer(0));
    door_clear(d);
    code = door_exec(d, &request, &reply);
    if (code)
        was_refused(d, "an insert", code);
    else if (reply.row.row.key.columns[1].value.integer <= last)
        crash_problem(&run, "number %lld was given after %lld",
                      (long long)reply.row.row.key.columns[1].value.integer, (long long)last);
}

/* ---- work beside another server */

static void work(struct door *d, const char *file, int64_t seconds, int64_t id)
{
    int64_t until = clock_mono_us(&run.clock) + seconds * 1000000, from = id;
    int fd = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
    char line[32];

    while (clock_mono_us(&run.clock) < until) {
        int code = put_row(d, &tables[0], id, 0);

        if (code == 0) {
            int n = snprintf(line, sizeof(line), "%lld\n", (long long)id);

            if (write(fd, line, (size_t)n) != n)
                crash_give_up(&run, "cannot write %s: %s", file, strerror(errno));
            id++;
        } else if (door_gone(d)) {
            break;
        } else {
            was_refused(d, "a put", code);
            usleep(20000);
        }
    }
    close(fd);
    printf("%lld rows acknowledged\n", (long long)(id - from));
}

static void worked(struct door *d, const char *file)
{
    FILE *f = fopen(file, "r");
    char line[32];
    int n = 0;

    while (f && fgets(line, sizeof(line), f)) {
        int64_t id = strtoll(line, NULL, 10);
        struct wr_key_column key[2] = {{bytes_str(keys[0]), integer(partition_of(&tables[0], id))},
                                       {bytes_str(keys[1]), integer(id)}};
        struct wr_request request = {
            .op = WR_OP_GET_ROW,
            .get_row = {.table = bytes_str(tables[0].name),
                        .key = {key, 2},
                        .read = {.max_versions = 1, .has_max_versions = true}}};
        struct wr_reply reply;
        int code;

        door_clear(d);
        code = door_exec(d, &request, &reply);
        n++;
        if (code)
            was_refused(d, "a read", code);
        else if (!reply.row.row.key.count)
            crash_problem(&run, "row %lld was acknowledged and is lost", (long long)id);
    }
    if (f)
        fclose(f);
    if (!n)
        crash_problem(&run, "no row was acknowledged in %s", file);
}

int main(int argc, char **argv)
{
    struct door d;

    if (argc < 3) {
        fprintf(stderr, "usage: versions PORT fill|change|check|insert|work|worked ...\n");
        return 2;
    }
    clock_real_init(&run.clock);
    curl_global_init(CURL_GLOBAL_ALL);
    run.port = atoi(argv[1]);
    door_open(&d, &run);
    if (strcmp(argv[2], "fill") == 0)
        fill(&d);
    else if (strcmp(argv[2], "change") == 0)
        change(&d);
    else if (strcmp(argv[2], "check") == 0 && argc == 4)
        check(&d, atoi(argv[3]));
    else if (strcmp(argv[2], "insert") == 0)
        insert(&d, check(&d, 1));
    else if (strcmp(argv[2], "work") == 0 && argc == 6)
        work(&d, argv[3], atoll(argv[4]), atoll(argv[5]));
    else if (strcmp(argv[2], "worked") == 0 && argc == 4)
        worked(&d, argv[3]);
    else
        return 2;
    door_close(&d);
    return wrong ? 1 : refused ? EXIT_REFUSED : 0;
}
