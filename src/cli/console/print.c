#include "cli/console/print.h"

#include "base/ctx.h"
#include "record/type_name.h"
#include "cli/console/value.h"

#include <stdio.h>

static void put_member(struct buf *b, bool first, bytes name, const struct wr_value *v)
{
    if (!first)
        buf_put_u8(b, ',');
    value_put_string(b, name);
    buf_put_u8(b, ':');
    value_put(b, v);
}

void print_put_row(struct buf *b, const struct wr_row *row)
{
    bool first = true;

    buf_put_u8(b, '{');
    for (size_t i = 0; i < row->key.count; i++, first = false)
        put_member(b, first, row->key.columns[i].name, &row->key.columns[i].value);
    for (size_t i = 0; i < row->cell_count; i++, first = false)
        if (i == 0 || !bytes_equal(row->cells[i].name, row->cells[i - 1].name))
            put_member(b, first, row->cells[i].name, &row->cells[i].value);
    buf_put_bytes(b, BYTES_LIT("}\n"));
}

static void print_names(const char *before, const bytes *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%s%.*s", i ? "," : before, BYTES_FMT(names[i]));
}

void print_index_key(const struct wr_table_description *t, const struct wr_index_meta *x,
                     const char *before)
{
    for (size_t i = 0; i < x->key_column_count; i++) {
        bool descends = x->descending >> i & 1;

        for (size_t k = 0; k < t->key_count; k++)
            if (bytes_equal(t->key[k].name, x->key_columns[i]))
                descends ^= t->key[k].descending;
        printf("%s%.*s%s", i ? "," : before, BYTES_FMT(x->key_columns[i]), descends ? " desc" : "");
    }
    if (x->hashed)
        printf(" (the first %d hashed)", x->hashed);
}

static void print_indexes(const struct wr_table_description *t)
{
    for (size_t i = 0; i < t->index_count; i++) {
        const struct wr_index_meta *x = &t->indexes[i];

        printf("%s %.*s %s", i ? "                " : "indexes         ", BYTES_FMT(x->name),
               x->type ? "local" : "global");
        print_index_key(t, x, " key ");
        print_names(" covers ", x->defined_columns, x->defined_column_count);
        printf("%s\n", x->sync_phase == 1 ? " (being built)" : "");
    }
}

void print_table(const struct wr_table_description *t, size_t partitions)
{
    static const char *const states[] = {"unknown", "active",    "inactive",
                                         "loading", "unloading", "updating"};
    size_t state = t->status < PORT_COUNT(states) ? t->status : 0;

    printf("table            %.*s (%s)\n", BYTES_FMT(t->table), states[state]);
    for (size_t i = 0; i < t->key_count; i++)
        printf("%s %.*s %s%s%s\n", i ? "                " : "key             ",
               BYTES_FMT(t->key[i].name), type_name(t->key[i].type),
               t->key[i].descending ? " descending" : "",
               t->key[i].auto_increment ? " (numbered by the server)" : "");
    for (size_t i = 0; i < t->defined_count; i++)
        printf("%s %.*s %s\n", i ? "                " : "defined columns ",
               BYTES_FMT(t->defined[i].name), type_name(t->defined[i].type));
    if (t->options.ttl_s < 0)
        printf("time to live     forever\n");
    else
        printf("time to live     %d s\n", t->options.ttl_s);
    printf("versions kept    %d\n", t->options.max_versions);
    printf("layout           %.*s\n", BYTES_FMT(t->layout));
    if (partitions)
        printf("partitions       %zu\n", partitions);
    print_indexes(t);
}

void print_servers(uint32_t servers, uint32_t silent)
{
    if (silent)
        printf("WARNING: of %u servers %u did not answer: their figures are missing.\n",
               servers + silent, silent);
    else if (servers > 1)
        printf("figures of %u servers together\n", servers);
}
