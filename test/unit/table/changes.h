/* changes.h: rows of one small table, and every way to change them, for tests of what follows
 * changes. Included behind cmocka.
 *
 * The table's key is p, which is 1, and pk, the row's number; its columns are called a, b, … */
#ifndef UNIT_TABLE_CHANGES_H
#define UNIT_TABLE_CHANGES_H

#include "database.h"

#include "base/bytes.h"

#define CHANGES_TABLE BYTES_LIT("t")
#define CHANGES_ROWS 24
#define CHANGES_COLUMNS 8 /* of more than three cells a row is wide */

static const struct wr_key_schema changes_key_schema[] = {
    {.name = BYTES_LIT("p"), .type = WR_BIGINT}, {.name = BYTES_LIT("pk"), .type = WR_BIGINT}};

/* Which names these are. */
static const char changes_columns[] = "abcdefgh";

static struct wr_key_column changes_keys[CHANGES_ROWS][2];

static inline void changes_keys_make(void)
{
    for (int i = 0; i < CHANGES_ROWS; i++) {
        changes_keys[i][0] =
            (struct wr_key_column){changes_key_schema[0].name, {.type = WR_BIGINT, .integer = 1}};
        changes_keys[i][1] =
            (struct wr_key_column){changes_key_schema[1].name, {.type = WR_BIGINT, .integer = i}};
    }
}

/* In a folder that is made for it. No limit counts operations, and few cells make a row wide. */
static inline struct wr_db *changes_open(const char *engine, char *dir)
{
    struct wr_setting settings[] = {
        {"wide_row_cells", "3"}, {"ttl_seconds_min", "1"}, {"table_ops_per_s_max", "0"}};
    struct wr_options o = {.version = WR_API_VERSION,
                           .engine = engine,
                           .dir = dir,
                           .settings = settings,
                           .setting_count = PORT_COUNT(settings)};

    folder_make(dir);
    changes_keys_make();
    return database_open(&o);
}

static inline struct wr_cell integer_cell(int column, int64_t value, enum wr_cell_op op)
{
    return (struct wr_cell){.name = bytes_of(&changes_columns[column], 1),
                            .value = {.type = WR_BIGINT, .integer = value},
                            .op = op,
                            .timestamp_ms = WR_TIMESTAMP_NONE};
}

static inline struct wr_row_change change_of(enum wr_change_type type, int row,
                                             const struct wr_cell *cells, size_t count)
{
    return (struct wr_row_change){
        .type = type, .table = CHANGES_TABLE, .row = {{changes_keys[row], 2}, cells, count}};
}

/* These return the code of the request, or of its first row that failed. */
static inline int change_row(struct wr_db *db, enum wr_change_type type, int row,
                             const struct wr_cell *cells, size_t count)
{
    struct wr_request req = {.op = type == WR_PUT      ? WR_OP_PUT_ROW
                                   : type == WR_UPDATE ? WR_OP_UPDATE_ROW
                                                       : WR_OP_DELETE_ROW,
                             .put_row = change_of(type, row, cells, count)};

    return database_run(db, &req);
}

static inline int change_batch(struct wr_db *db, const struct wr_row_change *list, size_t count,
                               bool atomic)
{
    struct wr_table_write write = {CHANGES_TABLE, list, count};
    struct wr_request req = {
        .op = WR_OP_BATCH_WRITE_ROW,
        .batch_write_row = {.tables = &write, .table_count = 1, .atomic = atomic}};

    return database_run(db, &req);
}

static inline int change_import(struct wr_db *db, const struct wr_row_change *list, size_t count)
{
    struct wr_request req = {.op = WR_OP_BULK_IMPORT,
                             .bulk_import.table = {CHANGES_TABLE, list, count}};

    return database_run(db, &req);
}

/* A cell of zeros, as a stream. */
static inline int change_stream(struct wr_db *db, int row, int column, size_t length)
{
    return database_stream(db, CHANGES_TABLE, (struct wr_key){changes_keys[row], 2},
                           bytes_of(&changes_columns[column], 1), length);
}

#endif
