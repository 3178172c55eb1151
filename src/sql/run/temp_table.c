#include "sql/run/temp_table.h"

#include "base/buf.h"

#include <sqlite3.h>

sqlite3_stmt *temp_table_make(struct run *r, sqlite3 *sqlite, bytes name, bytes definitions,
                              size_t count)
{
    sqlite3_stmt *insert = NULL;
    struct buf values;
    char *sql;

    buf_init(&values, r->arena, 64);
    for (size_t i = 0; i < count; i++)
        buf_put_bytes(&values, i ? BYTES_LIT(", ?") : BYTES_LIT("?"));
    sql =
        sqlite3_mprintf("create table temp.\"%.*w\" (%.*s)", RUN_TEXT(name), RUN_TEXT(definitions));
    sqlite3_exec(sqlite, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    sql = sqlite3_mprintf("insert into temp.\"%.*w\" values (%.*s)", RUN_TEXT(name),
                          (int)values.len, (const char *)values.data);
    sqlite3_prepare_v2(sqlite, sql, -1, &insert, NULL);
    sqlite3_free(sql);
    return insert;
}

void temp_table_drop(sqlite3 *sqlite, bytes name)
{
    char *sql = sqlite3_mprintf("drop table if exists temp.\"%.*w\"", RUN_TEXT(name));

    sqlite3_exec(sqlite, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
}
