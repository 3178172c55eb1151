/* information_show.c: SHOW as MySQL's drivers want it: SELECTs of information_schema. */
#include "sql/parse/parse.h"
#include "sql/run/information.h"
#include "sql/run/like.h"
#include "sql/run/texts.h"

/* `values` stand for the question marks of a SELECT of ours. */
static int show_select(struct run *r, const char *sql, const bytes *values, size_t count)
{
    struct wr_value *parameters = ARENA_ARRAY(r->arena, struct wr_value, count + 1);
    struct parse_fault fault;
    struct statement *tree;
    struct run inner = *r;

    for (size_t i = 0; i < count; i++)
        parameters[i] = (struct wr_value){.type = WR_VARCHAR, .bytes = values[i]};
    inner.sql = bytes_str(sql);
    inner.parameters = parameters;
    if (parse_statement(r->arena, inner.sql, &tree, &fault))
        return run_fail(r, FAULT_SYNTAX, fault.line, fault.column, RUN_TEXT(fault.text));
    return run_select(&inner, tree->select);
}

/* Of one table, which must be there. */
static int show_of_table(struct run *r, const struct statement *s, const char *sql)
{
    bytes pattern = s->pattern.ptr ? s->pattern : BYTES_LIT("%");
    struct sql_table *t;

    RUN_TRY(table_find(r, &s->table, &t));
    r->about = t->name;
    return show_select(r, sql, (bytes[]){t->database, t->name, pattern}, 3);
}

static int show_full_tables(struct run *r, const struct statement *s)
{
    bytes pattern = s->pattern.ptr ? s->pattern : BYTES_LIT("%"), database;

    RUN_TRY(table_database(r, &s->table, &database));
    return show_select(
        r,
        arena_printf(r->arena,
                     "select TABLE_NAME as `Tables_in_%.*s`, TABLE_TYPE as Table_type from "
                     "information_schema.TABLES where TABLE_SCHEMA = ? and TABLE_NAME like ? order "
                     "by TABLE_NAME",
                     RUN_TEXT(database))
            .ptr,
        (bytes[]){database, pattern}, 2);
}

/* What MySQL has at the end of lists of what is stored in it. */
#define ABOUT "character_set_client", "collation_connection", "Database Collation"

static int show_charset(struct run *r, const struct statement *s)
{
    static const bytes row[] = {BYTES_LIT("utf8mb4"), BYTES_LIT("UTF-8 Unicode"),
                                BYTES_LIT("utf8mb4_bin"), BYTES_LIT("4")};

    RUN_TRY(texts_columns(
        r, (const char *[]){"Charset", "Description", "Default collation", "Maxlen", NULL}));
    return s->pattern.ptr && !is_like(row[0], s->pattern) ? 0 : texts_row(r, row, PORT_COUNT(row));
}

static int show_table_status(struct run *r, const struct statement *s)
{
    bytes pattern = s->pattern.ptr ? s->pattern : BYTES_LIT("%"), database;

    RUN_TRY(table_database(r, &s->table, &database));
    return show_select(
        r,
        "select TABLE_NAME as Name, ENGINE as Engine, VERSION as Version, ROW_FORMAT as "
        "Row_format, TABLE_ROWS as `Rows`, AVG_ROW_LENGTH as Avg_row_length, DATA_LENGTH as "
        "Data_length, MAX_DATA_LENGTH as Max_data_length, INDEX_LENGTH as Index_length, DATA_FREE "
        "as Data_free, AUTO_INCREMENT as Auto_increment, CREATE_TIME as Create_time, UPDATE_TIME "
        "as Update_time, CHECK_TIME as Check_time, TABLE_COLLATION as `Collation`, CHECKSUM as "
        "Checksum, CREATE_OPTIONS as Create_options, TABLE_COMMENT as `Comment` from "
        "information_schema.TABLES where TABLE_SCHEMA = ? and TABLE_NAME like ? order by "
        "TABLE_NAME",
        (bytes[]){database, pattern}, 2);
}

static int show_other(struct run *r, const struct statement *s)
{
    bytes pattern = s->pattern.ptr ? s->pattern : BYTES_LIT("%");

    if (run_is_word(s->name, "COLLATION"))
        return show_select(
            r,
            "select COLLATION_NAME as `Collation`, CHARACTER_SET_NAME as `Charset`, ID as Id, "
            "IS_DEFAULT as `Default`, IS_COMPILED as Compiled, SORTLEN as Sortlen from "
            "information_schema.COLLATIONS where COLLATION_NAME like ?",
            &pattern, 1);
    if (run_is_word(s->name, "CHARSET") || run_is_word(s->name, "CHARACTER"))
        return show_charset(r, s);
    if (run_is_word(s->name, "TRIGGERS"))
        return texts_columns(r, (const char *[]){"Trigger", "Event", "Table", "Statement", "Timing",
                                                 "Created", "sql_mode", "Definer", ABOUT, NULL});
    if (run_is_word(s->name, "EVENTS"))
        return texts_columns(r, (const char *[]){"Db", "Name", "Definer", "Time zone", "Type",
                                                 "Execute at", "Interval value", "Interval field",
                                                 "Starts", "Ends", "Status", "Originator", ABOUT,
                                                 NULL});
    if (run_is_word(s->name, "PROCEDURE") || run_is_word(s->name, "FUNCTION"))
        return texts_columns(r,
                             (const char *[]){"Db", "Name", "Type", "Definer", "Modified",
                                              "Created", "Security_type", "Comment", ABOUT, NULL});
    if (run_is_word(s->name, "ENGINES") || run_is_word(s->name, "STORAGE"))
        return show_select(
            r,
            "select ENGINE as Engine, SUPPORT as Support, COMMENT as `Comment`, TRANSACTIONS as "
            "Transactions, XA, SAVEPOINTS as Savepoints from information_schema.ENGINES",
            NULL, 0);
    return run_fail(r, FAULT_UNSUPPORTED, "This SHOW is not served");
}

#define COLUMNS_FROM                                                                               \
    " from information_schema.COLUMNS where TABLE_SCHEMA = ? and TABLE_NAME = ? and COLUMN_NAME "  \
    "like ? order by ORDINAL_POSITION"

int information_show(struct run *r, const struct statement *s)
{
    bytes pattern = s->pattern.ptr ? s->pattern : BYTES_LIT("%");

    switch (s->show) {
    case SHOW_DATABASES:
        return show_select(r,
                           "select SCHEMA_NAME as `Database` from information_schema.SCHEMATA "
                           "where SCHEMA_NAME like ? order by SCHEMA_NAME",
                           &pattern, 1);
    case SHOW_TABLES:
        return show_full_tables(r, s);
    case SHOW_TABLE_STATUS:
        return show_table_status(r, s);
    case SHOW_COLUMNS:
        return show_of_table(
            r, s,
            s->full ? "select COLUMN_NAME as Field, COLUMN_TYPE as Type, COLLATION_NAME as "
                      "`Collation`, IS_NULLABLE as `Null`, COLUMN_KEY as `Key`, COLUMN_DEFAULT as "
                      "`Default`, EXTRA as Extra, PRIVILEGES as Privileges, COLUMN_COMMENT as "
                      "`Comment`" COLUMNS_FROM
                    : "select COLUMN_NAME as Field, COLUMN_TYPE as Type, IS_NULLABLE as `Null`, "
                      "COLUMN_KEY as `Key`, COLUMN_DEFAULT as `Default`, EXTRA as "
                      "Extra" COLUMNS_FROM);
    case SHOW_INDEX:
        return show_of_table(
            r, s,
            "select TABLE_NAME as `Table`, NON_UNIQUE as Non_unique, INDEX_NAME as Key_name, "
            "SEQ_IN_INDEX as Seq_in_index, COLUMN_NAME as Column_name, COLLATION as `Collation`, "
            "CARDINALITY as Cardinality, SUB_PART as Sub_part, PACKED as Packed, NULLABLE as "
            "`Null`, INDEX_TYPE as Index_type, COMMENT as `Comment`, INDEX_COMMENT as "
            "Index_comment from information_schema.STATISTICS where TABLE_SCHEMA = ? and "
            "TABLE_NAME = ? and INDEX_NAME like ? order by NON_UNIQUE, INDEX_NAME, SEQ_IN_INDEX");
    case SHOW_PROCESSLIST:
        return show_select(r,
                           "select ID as Id, USER as User, HOST as Host, DB as db, COMMAND as "
                           "Command, TIME as Time, STATE as State, INFO as Info from "
                           "information_schema.PROCESSLIST order by ID",
                           NULL, 0);
    default:
        return show_other(r, s);
    }
}
