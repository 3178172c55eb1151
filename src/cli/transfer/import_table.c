#include "cli/transfer/import_table.h"

#include "cli/transfer/import_split.h"
#include "client/walk.h"

#include <stdio.h>

#define COLUMNS_SAID 20 /* before the load */

/* ---- the table */

static void say_columns(const struct plan_column *columns, size_t count)
{
    for (size_t i = 0; i < count && i < COLUMNS_SAID; i++)
        fprintf(stderr, "%s%.*s %s%s", i ? ", " : "", BYTES_FMT(columns[i].name),
                plan_column_type(&columns[i]), columns[i].guessed ? " (guessed)" : "");
    if (count > COLUMNS_SAID)
        fprintf(stderr, " and %zu more", count - COLUMNS_SAID);
    fprintf(stderr, "%s\n", count ? "" : "none");
}

static void say_plan(const struct import *im, bool creates)
{
    const struct plan *p = &im->plan;

    if (im->options->quiet)
        return;
    fprintf(stderr, "%s table %s\n  key:     ", creates ? "New" : "Existing", im->options->table);
    say_columns(p->keys, p->key_count);
    fprintf(stderr, "  columns: ");
    say_columns(p->columns, p->column_count);
}

/* Where the writes will go. */
static void say_partitions(const struct import *im, size_t count)
{
    const struct import_options *o = im->options;

    if (o->quiet)
        return;
    if (count)
        fprintf(stderr, "  begins with %zu partitions, split by a sample of the keys\n", count);
    else if (!o->shuffle && bytes_equal(im->layout, BYTES_LIT("plain")) &&
             import_split_is_ordered(im))
        fprintf(
            stderr,
            "  The lines come in the order of the key, so all writes go to the same partition at "
            "a time:\n  --partitions N splits the table before, --shuffle spreads the writes, "
            "and --layout the keys.\n");
}

static int create_table(struct ctx *c, struct import *im)
{
    struct wr_key_schema key[WR_KEY_COLUMNS_MAX] = {0};
    struct wr_request request = {
        .op = WR_OP_CREATE_TABLE,
        .create_table =
            {.table = bytes_str(im->options->table),
             .key = key,
             .key_count = im->plan.key_count,
             .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1},
             .reserved = {.has_read = true, .has_write = true},
             .layout = im->options->layout ? bytes_str(im->options->layout) : BYTES_NONE},
    };
    struct wr_create_table *t = &request.create_table;
    const struct import_options *o = im->options;
    size_t wanted = import_split_wanted(im);
    struct wr_reply reply;

    if (o->max_versions) {
        t->options.given |= WR_HAS_DEVIATION;
        t->options.max_versions = (int32_t)o->max_versions;
        t->options.deviation_s = INT64_MAX / 1000000;
    }
    if (wanted > 1)
        t->partition_count = import_split_points(c, im, wanted, &t->partitions);
    say_partitions(im, t->partition_count);
    for (size_t i = 0; i < im->plan.key_count; i++)
        key[i] =
            (struct wr_key_schema){.name = im->plan.keys[i].name, .type = im->plan.keys[i].type};
    return client_exec(c, im->client, &request, &reply);
}

/* What is wrong with a line that was read ahead; NULL: nothing. */
static const char *ahead_fault(const struct import *im, size_t i, char *message, size_t size)
{
    const struct import_source *s = &im->source;
    struct import_row *row;

    if (s->ahead_bad[i])
        return s->ahead_bad[i];
    row = plan_row(&im->plan, &s->ahead[i], message, size);
    mem_free(row);
    return row ? NULL : message;
}

/* A table is not made for lines that cannot be loaded, under types that were guessed from them. */
static int check_ahead(struct ctx *c, const struct import *im)
{
    const struct import_source *s = &im->source;
    uint64_t bad = 0, max = im->options->max_errors;
    char message[256];
    const char *why;

    for (size_t i = 0; i < s->ahead_count; i++)
        bad += ahead_fault(im, i, message, sizeof(message)) != NULL;
    if (bad <= max)
        return 0;
    for (size_t i = 0, said = 0; i < s->ahead_count && said <= max; i++) {
        why = ahead_fault(im, i, message, sizeof(message));
        if (why)
            fprintf(stderr, "line %llu: %s\n", (unsigned long long)s->ahead[i].line, why);
        said += why != NULL;
    }
    return fail(c, E_PARAMETER,
                "%llu of the first %zu lines cannot be loaded (--max-errors allows %llu): the "
                "table was not made",
                (unsigned long long)bad, s->ahead_count, (unsigned long long)max);
}

/* Why a table that this import has made and put no row into is to stay all the same; NULL: it is
 * not. */
static const char *why_it_stays(struct ctx *c, struct import *im)
{
    struct wr_table_description table;
    struct wr_request request = {.op = WR_OP_GET_RANGE};
    struct wr_reply reply;

    if (atomic_load(&im->loader.unsure))
        return "rows were sent of which nobody knows whether they were stored";
    if (client_describe(c, im->client, bytes_str(im->options->table), &table))
        return c->text;
    request.get_range =
        (struct wr_get_range){.table = bytes_str(im->options->table),
                              .start = walk_bound(&c->arena, &table, WR_INF_MIN),
                              .end = walk_bound(&c->arena, &table, WR_INF_MAX),
                              .has_limit = true,
                              .limit = 1,
                              .read = {.max_versions = 1, .has_max_versions = true}};
    if (client_exec(c, im->client, &request, &reply))
        return c->text;
    return reply.range.row_count || reply.range.next.count ? "there are rows in it" : NULL;
}

void import_table_remove(struct ctx *c, struct import *im)
{
    const char *name = im->options->table, *why;
    struct wr_request request = {.op = WR_OP_DELETE_TABLE, .delete_table = {bytes_str(name)}};
    struct wr_reply reply;
    struct ctx own;

    ctx_init(&own, c->clock, NULL, NULL, 0);
    why = why_it_stays(&own, im);
    if (!why && client_exec(&own, im->client, &request, &reply))
        why = own.text;
    if (why)
        fprintf(stderr, "No row was acknowledged; the new table %s stays: %s\n", name, why);
    else
        fprintf(stderr, "No row was loaded: the new table %s is gone again.\n", name);
    ctx_release(&own);
}

static void omit(struct import *im, size_t field)
{
    if (!im->plan.has_cells || im->plan.cells_field != field)
        import_source_omit(&im->source, field);
}

/* Of Parquet only what is wanted is read; a date or a time of day for a text is one. */
static void choose_fields(struct import *im)
{
    const struct plan *p = &im->plan;

    for (size_t field = 0; field < p->field_count; field++) {
        const struct plan_column *column = NULL;

        for (size_t i = 0; i < p->key_count; i++)
            column = p->keys[i].field == field ? &p->keys[i] : column;
        for (size_t i = 0; i < p->column_count; i++)
            column = p->columns[i].field == field ? &p->columns[i] : column;
        if (!column)
            omit(im, field);
        else if (column->type == WR_VARCHAR && !column->any)
            import_source_as_text(&im->source, field);
    }
}

int import_table_prepare(struct ctx *c, struct import *im)
{
    const struct import_options *o = im->options;
    struct wr_table_description table;
    int code = client_describe(c, im->client, bytes_str(o->table), &table);
    bool creates = code == WR_E_NOT_EXIST;

    if (creates)
        ctx_clear(c);
    else if (code)
        return code;
    if (creates && !o->create)
        return fail(c, code, "there is no table %s; --create makes it", o->table);
    if (o->partitions && !creates)
        return fail(c, E_PARAMETER,
                    "--partitions is for a new table: %s is there, and is split as it grows",
                    o->table);
    if (creates && !im->plan.keys_given)
        return fail(c, E_PARAMETER, "a new table needs --key COL[:type],...");
    if (!creates && o->layout && !bytes_equal(table.layout, bytes_str(o->layout)))
        return fail(c, E_PARAMETER,
                    "table %s is there and has the layout %.*s; widerow rekey %s --layout %s "
                    "changes that",
                    o->table, BYTES_FMT(table.layout), o->table, o->layout);
    if (!creates) {
        TRY(plan_use_schema(c, &im->plan, table.key, table.key_count));
        plan_use_defined(&im->plan, table.defined, table.defined_count);
    }
    im->layout = creates            ? bytes_str(o->layout ? o->layout : "plain")
                 : table.layout.len ? arena_copy(&c->arena, table.layout)
                                    : BYTES_LIT("plain");
    /* A plain file is there: nothing waits for lines of it. */
    im->source.hurry = !plan_guesses(&im->plan) && !(creates && im->source.records.total_bytes > 0);
    choose_fields(im);
    if (!im->source.json)
        import_source_read_ahead(c, &im->source);
    for (size_t i = 0; i < im->source.ahead_count; i++)
        if (!im->source.ahead_bad[i])
            plan_guess(&im->plan, &im->source.ahead[i]);
    for (size_t i = 0; i < im->source.sample_count; i++)
        plan_guess(&im->plan, &im->source.sample[i]);
    plan_guess_end(&im->plan);
    say_plan(im, creates);
    if (!creates || o->dry_run)
        return 0;
    TRY(check_ahead(c, im));
    TRY(create_table(c, im));
    im->created = true;
    return 0;
}
