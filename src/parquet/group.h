/* group.h: a row group of a Parquet file in memory: filled row by row, then packed. One thread at a
 * time; several groups may be under way. */
#ifndef PARQUET_GROUP_H
#define PARQUET_GROUP_H

#include "parquet/chunk.h"
#include "widerow.h"

#define GROUP_BYTES (16u << 20) /* about so many bytes of values are a row group */
#define GROUP_ROWS (1u << 20)   /* or so many rows */

struct parquet_column {
    struct wr_bytes name; /* must outlive the writer */
    enum wr_type type;    /* one of the five that parquet_takes() */
    bool key;
};

/* WR_BIGINT, WR_DOUBLE, WR_BOOLEAN, WR_VARCHAR, WR_VARBINARY. */
bool parquet_takes(enum wr_type type);

struct group {
    struct chunk *chunks;
    size_t count, capacity;
    uint64_t rows, bytes; /* of values */
    struct ZSTD_CCtx_s *zstd;
};

/* Zeroed is empty. */
void group_release(struct group *g);

/* One column more; rows that are there have no value of it. A key's come first. */
void group_add_column(struct group *g, enum wr_type type, bool key);

/* A row: g->count values, NULL: there is none. A key's are all there. */
void group_put(struct group *g, const struct wr_value *const *values);

/* It is as large as it should get. */
static inline bool group_is_full(const struct group *g, uint64_t bytes_max)
{
    return g->bytes >= bytes_max || g->rows >= GROUP_ROWS;
}

/* Encodes and packs all columns; then parquet_add() takes it. */
void group_pack(struct group *g);

/* The columns stay. */
void group_clear(struct group *g);

#endif
