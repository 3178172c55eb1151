/* cmd_index.c: `widerow index`: secondary indexes of a table, and what one would cost. */
#include "advisor/index_plan.h"
#include "cli/command.h"
#include "cli/console/print.h"
#include "client/walk.h"
#include "record/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LOOK_EVERY_US 100000
#define HOT_SHARE 0.1     /* of the entries with one value: one partition has them all */
#define FEW_VALUES 64     /* values of the first column: entries lie in as many heaps */
#define RISING_SHARE 0.95 /* of neighbours: all writes go to the end of the index */

struct index_options {
    const char *with, *file, *key, *input, *delimiter;
    uint64_t hash;
    bool local, new_rows, detach;
};

static const struct option_row index_rows[] = {
    {"with", "COL,...", "create, plan: columns that entries have besides their key", OPTION_TEXT,
     offsetof(struct index_options, with), 0, 0},
    {"local", NULL, "create: a local index; it begins with the table's first key column",
     OPTION_FLAG, offsetof(struct index_options, local), 0, 0},
    {"hash", "N", "create: the first N columns are hashed, so that neighbours spread", OPTION_COUNT,
     offsetof(struct index_options, hash), 0, WR_KEY_COLUMNS_MAX},
    {"new-rows", NULL, "create: only for rows that are written from now on", OPTION_FLAG,
     offsetof(struct index_options, new_rows), 0, 0},
    {"detach", NULL, "create: do not wait until rows that are there are indexed", OPTION_FLAG,
     offsetof(struct index_options, detach), 0, 0},
    {"file", "FILE", "plan: the records of a file instead of a table's rows", OPTION_TEXT,
     offsetof(struct index_options, file), 0, 0},
    {"key", "COL,...", "plan --file: the columns that are the table's key", OPTION_TEXT,
     offsetof(struct index_options, key), 0, 0},
    {"input", "FORM", "plan --file: csv or jsonl (default: told from its first byte)", OPTION_TEXT,
     offsetof(struct index_options, input), 0, 0},
    {"delimiter", "CHAR",
     "plan --file: between the fields of a CSV (default: told from its first line)", OPTION_TEXT,
     offsetof(struct index_options, delimiter), 0, 0},
    {0},
};

/* Names between commas, views of the text. */
static int split_names(struct ctx *c, const char *text, bytes *names, size_t *count)
{
    for (const char *p = text; p;) {
        size_t len = strcspn(p, ",");

        if (len == 0)
            return fail(c, E_PARAMETER, "'%s': a column between two commas has no name", text);
        if (*count == INDEX_PLAN_COLUMNS_MAX)
            return fail(c, E_PARAMETER, "more than %d columns", INDEX_PLAN_COLUMNS_MAX);
        names[(*count)++] = bytes_of(p, len);
        p = p[len] ? p + len + 1 : NULL;
    }
    return 0;
}

/* ---- list, create, drop ---- */

static void print_names(const bytes *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%s%.*s", i ? "," : "", BYTES_FMT(names[i]));
}

static int index_list(struct ctx *c, struct client *cl, struct cli *cli,
                      const struct index_options *o)
{
    struct wr_table_description t;

    (void)o;
    TRY(cli_describe(c, cl, bytes_str(cli->argv[1]), &t));
    for (size_t i = 0; i < t.index_count; i++) {
        const struct wr_index_meta *x = &t.indexes[i];

        printf("%.*s\t%s\ton ", BYTES_FMT(x->name), x->type ? "local" : "global");
        print_index_key(&t, x, "");
        printf("\twith ");
        print_names(x->defined_columns, x->defined_column_count);
        printf("\t%s\n", x->sync_phase == 1 ? "being built" : "complete");
    }
    return 0;
}

/* Ending this program does not end the build. */
static int await_build(struct ctx *c, struct client *cl, bytes table, bytes index)
{
    for (;;) {
        struct wr_table_description t;
        bool building = false, there = false;
        struct ctx step;
        int code;

        ctx_init(&step, c->clock, c->log, NULL, 0);
        code = client_describe(&step, cl, table, &t);
        if (code)
            fail(c, code, "%s", step.text);
        for (size_t i = 0; !code && i < t.index_count; i++)
            if (bytes_equal(t.indexes[i].name, index)) {
                there = true;
                building = t.indexes[i].sync_phase == 1;
            }
        ctx_release(&step);
        if (code || !building)
            return code || there
                       ? code
                       : fail(c, E_NOT_EXIST, "index %.*s was dropped meanwhile", BYTES_FMT(index));
        usleep(LOOK_EVERY_US);
    }
}

/* Takes ":desc" from the ends of names. A column that the table's key has in that order already is
 * left as it is. */
static void take_descending(const struct wr_table_description *t, bytes *names,
                            struct wr_index_meta *index)
{
    bytes word = BYTES_LIT(":desc");

    for (size_t i = 0; i < index->key_column_count; i++) {
        bytes *n = &names[i];
        size_t len = n->len < word.len ? 0 : n->len - word.len;
        bool descends = len && bytes_equal(bytes_skip(*n, len), word);

        if (descends)
            n->len = len;
        for (size_t k = 0; k < t->key_count; k++)
            if (bytes_equal(t->key[k].name, *n))
                descends = descends && !t->key[k].descending;
        index->descending = (uint16_t)(index->descending | descends << i);
    }
}

static int index_create(struct ctx *c, struct client *cl, struct cli *cli,
                        const struct index_options *o)
{
    bytes on[INDEX_PLAN_COLUMNS_MAX], with[INDEX_PLAN_COLUMNS_MAX];
    struct wr_request request = {.op = WR_OP_CREATE_INDEX,
                                 .create_index = {.table = bytes_str(cli->argv[1]),
                                                  .index = {.name = bytes_str(cli->argv[2]),
                                                            .key_columns = on,
                                                            .defined_columns = with,
                                                            .type = o->local,
                                                            .hashed = (uint8_t)o->hash,
                                                            .update_mode = o->local},
                                                  .include_base_data = !o->new_rows}};
    struct wr_index_meta *index = &request.create_index.index;
    struct wr_table_description t;
    struct wr_reply reply;

    TRY(split_names(c, cli->argv[3], on, &index->key_column_count));
    if (strstr(cli->argv[3], ":desc")) {
        TRY(cli_describe(c, cl, request.create_index.table, &t));
        take_descending(&t, on, index);
    }
    TRY(split_names(c, o->with, with, &index->defined_column_count));
    TRY(client_exec(c, cl, &request, &reply));
    if (o->new_rows || o->detach)
        return 0;
    return await_build(c, cl, request.create_index.table, index->name);
}

static int index_drop(struct ctx *c, struct client *cl, struct cli *cli,
                      const struct index_options *o)
{
    struct wr_request request = {.op = WR_OP_DROP_INDEX,
                                 .drop_index = {bytes_str(cli->argv[1]), bytes_str(cli->argv[2])}};
    struct wr_reply reply;

    (void)o;
    return client_exec(c, cl, &request, &reply);
}

/* ---- plan: reading ---- */

/* The columns given, the table's key behind them as far as it is not among them, then `with`. */
static int plan_columns(struct ctx *c, struct index_plan *p, const char *on, const char *with,
                        const bytes *key, size_t key_count)
{
    struct index_plan_columns *k = &p->columns;
    size_t n = 0;

    TRY(split_names(c, on, k->names, &n));
    k->on = n;
    for (size_t i = 0; i < key_count; i++) {
        bool given = false;

        for (size_t j = 0; j < k->on; j++)
            given |= bytes_equal(k->names[j], key[i]);
        if (given)
            continue;
        if (n == INDEX_PLAN_COLUMNS_MAX)
            return fail(c, E_PARAMETER, "more than %d columns", INDEX_PLAN_COLUMNS_MAX);
        k->names[n++] = key[i];
    }
    k->completed = n - k->on;
    TRY(split_names(c, with, k->names, &n));
    k->covered = n - k->on - k->completed;
    index_plan_init(p);
    return 0;
}

static int plan_rows(struct ctx *c, void *arg, const struct wr_row *rows, size_t count)
{
    struct index_plan *p = arg;
    size_t columns = index_plan_column_count(&p->columns);

    (void)c;
    for (size_t r = 0; r < count; r++) {
        struct wr_value values[INDEX_PLAN_COLUMNS_MAX] = {0};
        bool is_cell[INDEX_PLAN_COLUMNS_MAX] = {0};
        int64_t written = 0;

        for (size_t i = 0; i < columns; i++) {
            values[i].type = WR_NULL;
            for (size_t k = 0; k < rows[r].key.count; k++)
                if (bytes_equal(rows[r].key.columns[k].name, p->columns.names[i]))
                    values[i] = rows[r].key.columns[k].value;
            for (size_t k = 0; k < rows[r].cell_count; k++)
                if (bytes_equal(rows[r].cells[k].name, p->columns.names[i])) {
                    values[i] = rows[r].cells[k].value;
                    is_cell[i] = true;
                }
        }
        for (size_t k = 0; k < rows[r].cell_count; k++)
            if (rows[r].cells[k].timestamp_ms > written)
                written = rows[r].cells[k].timestamp_ms;
        index_plan_add(p, values, is_cell, written);
    }
    return 0;
}

static int plan_table(struct ctx *c, struct client *cl, struct cli *cli,
                      const struct index_options *o, struct index_plan *p)
{
    struct wr_table_description t;
    bytes key[WR_KEY_COLUMNS_MAX];

    TRY(cli_describe(c, cl, bytes_str(cli->argv[1]), &t));
    for (size_t i = 0; i < t.key_count; i++)
        key[i] = t.key[i].name;
    TRY(plan_columns(c, p, cli->argv[2], o->with, key, t.key_count));
    p->cell_bytes = t.options.ttl_s != -1 ? 8 : 0;
    return walk_table(c, cl, &t, 1, plan_rows, p);
}

/* A field as a table would have it: a number if it looks like one. */
static struct wr_value value_of(const struct csv_field *f)
{
    struct wr_value v = {.type = f->text.ptr && (f->text.len || f->quoted) ? WR_VARCHAR : WR_NULL,
                         .bytes = f->text};
    char text[24], *end;

    if (v.type == WR_NULL || f->quoted || f->text.len == 0 || f->text.len >= sizeof(text))
        return v;
    memcpy(text, f->text.ptr, f->text.len);
    text[f->text.len] = 0;
    errno = 0;
    v.integer = strtoll(text, &end, 10);
    if (*end || errno)
        return (struct wr_value){.type = WR_VARCHAR, .bytes = f->text};
    v.type = WR_BIGINT;
    return v;
}

static int plan_records(struct ctx *c, struct record_reader *r, struct index_plan *p,
                        const bool *is_cell)
{
    size_t columns = index_plan_column_count(&p->columns);

    for (;;) {
        struct wr_value values[INDEX_PLAN_COLUMNS_MAX];

        switch (record_next(r)) {
        case RECORD_OK:
            for (size_t i = 0; i < columns; i++) {
                size_t at = record_column(r, p->columns.names[i]);

                values[i] =
                    at == SIZE_MAX ? (struct wr_value){.type = WR_NULL} : value_of(&r->fields[at]);
            }
            index_plan_add(p, values, is_cell, (int64_t)r->line);
            break;
        case RECORD_END:
            return 0;
        default:
            return fail(c, E_PARAMETER, "line %llu: %s", (unsigned long long)r->line, r->message);
        }
    }
}

static int plan_file(struct ctx *c, const char *on, const struct index_options *o,
                     struct index_plan *p)
{
    struct record_reader *r = arena_alloc(&c->arena, sizeof(*r));
    bytes key[INDEX_PLAN_COLUMNS_MAX];
    bool is_cell[INDEX_PLAN_COLUMNS_MAX];
    size_t key_count = 0;
    int code;

    if (!o->key)
        return fail(c, E_PARAMETER, "--key says which columns of the file are the table's key");
    TRY(split_names(c, o->key, key, &key_count));
    TRY(plan_columns(c, p, on, o->with, key, key_count));
    for (size_t i = 0; i < index_plan_column_count(&p->columns); i++) {
        is_cell[i] = true;
        for (size_t k = 0; k < key_count; k++)
            is_cell[i] &= !bytes_equal(p->columns.names[i], key[k]);
    }
    code = record_open(c, r, o->file, &(struct record_form){o->input, o->delimiter});
    if (!code)
        code = plan_records(c, r, p, is_cell);
    record_release(r);
    return code;
}

/* ---- plan: the report ---- */

static double mean(uint64_t sum, uint64_t count)
{
    return count ? (double)sum / (double)count : 0;
}

static void print_first_column(struct index_plan *p)
{
    bytes first = p->columns.names[0], hottest;
    double values = sketch_distinct_count(&p->distinct), rising = index_plan_rising(p),
           share = index_plan_hottest(p, &hottest);

    printf("first column  %.*s: about %.0f values; the hottest, '%.*s', has %.1f %% of the "
           "entries\n",
           BYTES_FMT(first), values, BYTES_FMT(hottest), share * 100);
    if (share > HOT_SHARE || values < FEW_VALUES)
        printf("warning       few values of %.*s take most entries: they lie in one place each, "
               "and writes wait there. Begin the index with another column\n",
               BYTES_FMT(first));
    if (rising > RISING_SHARE)
        printf("warning       %.*s rises with the time of writing (%.0f %% of neighbours): all "
               "writes go to the end of the index. Begin it with another column\n",
               BYTES_FMT(first), rising * 100);
}

static int print_plan(struct ctx *c, struct index_plan *p, const char *source)
{
    const struct index_plan_columns *k = &p->columns;
    double put, swap, look;

    if (!p->rows)
        return fail(c, E_PARAMETER, "%s has no rows", source);
    put = mean(p->put_units, p->entries);
    swap = put + mean(p->remove_units, p->entries);
    look = mean(p->look_units, p->entries);
    printf("key           ");
    print_names(k->names, k->on + k->completed);
    printf("\nentries       %llu, of %llu rows\n", (unsigned long long)p->entries,
           (unsigned long long)p->rows);
    if (!p->entries) {
        puts("              no row has a value in each of its columns");
        return 0;
    }
    printf("bytes         %.1f an entry, at most %zu; %llu in all\n",
           mean(p->entry_bytes, p->entries), p->entry_bytes_max,
           (unsigned long long)p->entry_bytes);
    printf("a new row     costs %.2f CU of writing and 1.00 of reading more\n", put);
    printf("an update     of its key columns %.2f CU of writing and %.2f of reading more,\n", swap,
           look);
    if (k->covered)
        printf("              of covered columns only %.2f and %.2f,\n", put, look);
    printf("              of other columns nothing\n");
    print_first_column(p);
    return 0;
}

static int index_plan(struct ctx *c, struct client *cl, struct cli *cli,
                      const struct index_options *o)
{
    struct index_plan *p = arena_zalloc(&c->arena, sizeof(*p));

    if (cl)
        TRY(plan_table(c, cl, cli, o, p));
    else
        TRY(plan_file(c, cli->argv[1], o, p));
    return print_plan(c, p, cl ? cli->argv[1] : o->file);
}

/* ---- the command ---- */

struct index_action {
    const char *name, *words;
    int argc;
    int (*run)(struct ctx *c, struct client *cl, struct cli *cli, const struct index_options *o);
};

static const struct index_action actions[] = {
    {"list", "TABLE", 2, index_list},
    {"create", "TABLE INDEX COLUMN,...", 4, index_create},
    {"drop", "TABLE INDEX", 3, index_drop},
    {"plan", "TABLE COLUMN,... (or COLUMN,... --file FILE)", 3, index_plan},
};

static int index_run_any(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct index_options *o = options;
    const char *word = cli->argv[0];

    for (size_t i = 0; i < PORT_COUNT(actions); i++) {
        const struct index_action *a = &actions[i];

        if (strcmp(word, a->name) != 0)
            continue;
        if (o->file && a->run != index_plan)
            return fail(c, E_PARAMETER, "--file is for widerow index plan");
        if (cli->argc != a->argc - (o->file != NULL))
            return fail(c, E_PARAMETER, "widerow index %s is followed by %s", a->name, a->words);
        return a->run(c, cl, cli, o);
    }
    return fail(c, E_PARAMETER, "'%s' is none of list, create, drop and plan", word);
}

static int index_run(struct ctx *c, struct cli *cli, void *options)
{
    return index_run_any(c, NULL, cli, options);
}

static bool index_connects(const void *options)
{
    return !((const struct index_options *)options)->file;
}

const struct command command_index = {
    .name = "index",
    .group = GROUP_TABLES,
    .args = "list TABLE | create TABLE INDEX COLUMN,... | drop TABLE INDEX | plan TABLE COLUMN,...",
    .summary = "secondary indexes of a table, and what one would cost",
    .text =
        "create makes an index on these columns, key columns and defined ones in any mix, and\n"
        "waits until the rows that are there have entries; writes go on meanwhile. NAME:desc\n"
        "makes a column descend, so that the largest come first; one of the table's key keeps\n"
        "the order that it has there without it.\n"
        "\n"
        "plan reads the rows and says, before an index is made, how many entries it would have,\n"
        "their bytes, what writes would cost besides, and whether its first column would make\n"
        "one place hot: few values, or values that rise with time. With --file it reads a\n"
        "file of CSV or JSON Lines, in the order of writing, instead of a table.",
    .example = "widerow index plan orders state,at --with amount\n"
               "widerow index create orders by_state state,at --with amount\n"
               "widerow index plan state --file orders.csv --key order",
    .options = index_rows,
    .options_size = sizeof(struct index_options),
    .argc_min = 2,
    .argc_max = 4,
    .run = index_run,
    .run_connected = index_run_any,
    .connects = index_connects,
};
