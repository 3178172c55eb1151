#include "sql/run/table.h"

int table_database(struct run *r, const struct table_name *name, bytes *out)
{
    const struct access *access = &r->session->conf.access;

    *out = name->database.ptr ? name->database : r->session->database;
    if (!out->len)
        return run_fail(r, FAULT_NO_DATABASE);
    if (!access->enter(access->arg, *out))
        return run_fail(r, FAULT_UNKNOWN_DATABASE, RUN_TEXT(*out));
    return 0;
}

static void columns_fill(struct run *r, struct sql_table *t)
{
    const struct wr_table_description *d = t->description;

    t->key_count = d->key_count;
    t->column_count = d->key_count + d->defined_count;
    t->columns = ARENA_ARRAY(r->arena, struct table_column, t->column_count + 1);
    for (size_t i = 0; i < d->key_count; i++)
        t->columns[i] = (struct table_column){.name = d->key[i].name,
                                              .type = d->key[i].type,
                                              .length = d->key[i].length,
                                              .descending = d->key[i].descending};
    for (size_t i = 0; i < d->defined_count; i++)
        t->columns[d->key_count + i] =
            (struct table_column){.name = d->defined[i].name, .type = d->defined[i].type};
}

int table_find(struct run *r, const struct table_name *name, struct sql_table **out)
{
    struct wr_request request = {WR_REQUEST(DESCRIBE_TABLE), .describe_table = {name->table}};
    struct sql_table *t = ARENA_NEW(r->arena, struct sql_table);
    const struct wr_reply *reply = NULL;

    *out = t;
    t->name = name->table;
    RUN_TRY(table_database(r, name, &t->database));
    request.instance = t->database;
    if (run_request(r, &request, &reply)) {
        if (reply && reply->code == WR_E_NOT_EXIST) {
            r->out->fault.number = 0;
            run_fail(r, FAULT_UNKNOWN_TABLE, RUN_TEXT(t->database), RUN_TEXT(t->name));
        }
        return -1;
    }
    t->description = &reply->description;
    columns_fill(r, t);
    return 0;
}

size_t table_column(const struct sql_table *t, bytes name)
{
    for (size_t i = 0; i < t->column_count; i++)
        if (bytes_equal(t->columns[i].name, name))
            return i;
    return SIZE_MAX;
}

int table_column_find(struct run *r, const struct sql_table *t, bytes name, const char *where,
                      size_t *out)
{
    *out = table_column(t, name);
    if (*out != SIZE_MAX)
        return 0;
    return run_fail(r, FAULT_UNKNOWN_COLUMN, RUN_TEXT(name), RUN_TEXT(bytes_str(where)));
}
