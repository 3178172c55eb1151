/* show_mapping.c: SHOW and DESCRIBE as Tablestore answers them. */
#include "sql/run/like.h"
#include "sql/run/mapping.h"
#include "sql/run/table.h"

#define COLUMNS_MAX 6

static int columns_send(struct run *r, const char *const *names, size_t n, uint32_t numbers)
{
    struct column columns[COLUMNS_MAX];

    for (size_t i = 0; i < n; i++)
        columns[i] = (struct column){.name = bytes_str(names[i]),
                                     .type = numbers >> i & 1 ? WR_BIGINT : WR_VARCHAR};
    return r->sink->columns(r->sink, columns, n);
}

static struct wr_value text(bytes b)
{
    return (struct wr_value){.type = b.ptr ? WR_VARCHAR : WR_NULL, .bytes = b};
}

static struct wr_value number(size_t n)
{
    return (struct wr_value){.type = WR_BIGINT, .integer = (int64_t)n};
}

int run_describe_mapping(struct run *r, const struct statement *s)
{
    static const char *const names[] = {"Field", "Type", "Null", "Key", "Default", "Extra"};
    struct sql_table *t;

    RUN_TRY(table_find(r, &s->table, &t));
    RUN_TRY(columns_send(r, names, PORT_COUNT(names), 0));
    for (size_t i = 0; i < table_shown_count(t); i++) {
        const struct table_column *c = &t->columns[table_shown(t, i)];
        bool key = table_shown(t, i) < t->key_count;

        if (s->pattern.ptr && !is_like(c->name, s->pattern))
            continue;
        RUN_TRY(r->sink->row(
            r->sink, (struct wr_value[]){text(c->name),
                                         text(mapping_type_text(r->arena, c->type, key, c->length)),
                                         text(key ? BYTES_LIT("NO") : BYTES_LIT("YES")),
                                         text(key ? BYTES_LIT("PRI") : BYTES_LIT("")),
                                         text(BYTES_NONE), text(BYTES_LIT(""))}));
    }
    return 0;
}

static int index_send(struct run *r, bytes table, bytes name, size_t place, bytes column)
{
    bool primary = !name.ptr;

    return r->sink->row(
        r->sink, (struct wr_value[]){text(table), number(!primary),
                                     text(primary ? BYTES_LIT("PRIMARY") : name), number(place + 1),
                                     text(column),
                                     text(primary ? BYTES_LIT("") : BYTES_LIT("SecondaryIndex"))});
}

static int show_index(struct run *r, const struct statement *s)
{
    static const char *const names[] = {"Table",        "Non_unique",  "Key_name",
                                        "Seq_in_index", "Column_name", "Index_type"};
    const struct wr_table_description *d;
    struct sql_table *t;

    RUN_TRY(table_find(r, &s->table, &t));
    d = t->description;
    RUN_TRY(columns_send(r, names, PORT_COUNT(names), 1u << 1 | 1u << 3));
    for (size_t i = 0; i < d->key_count; i++)
        RUN_TRY(index_send(r, t->name, BYTES_NONE, i, d->key[i].name));
    for (size_t i = 0; i < d->index_count; i++)
        for (size_t k = 0; k < d->indexes[i].key_column_count; k++)
            RUN_TRY(index_send(r, t->name, d->indexes[i].name, k, d->indexes[i].key_columns[k]));
    return 0;
}

int run_show_mapping(struct run *r, const struct statement *s)
{
    switch (s->show) {
    case SHOW_TABLES:
        return run_show_tables(r, s); /* one without a mapping has one that makes itself */
    case SHOW_INDEX:
        return show_index(r, s);
    case SHOW_COLUMNS:
        r->out->kind = OUTCOME_DESCRIBE;
        return run_describe_mapping(r, s);
    default:
        return run_fail(r, FAULT_UNSUPPORTED, "SQLQuery shows TABLES, COLUMNS and INDEX alone");
    }
}
