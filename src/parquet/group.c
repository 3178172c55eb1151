#include "parquet/group.h"

#include "base/port.h"

#include <zstd.h>

bool parquet_takes(enum wr_type type)
{
    return type == WR_BIGINT || type == WR_DOUBLE || type == WR_BOOLEAN || type == WR_VARCHAR ||
           type == WR_VARBINARY;
}

void group_release(struct group *g)
{
    for (size_t i = 0; i < g->count; i++)
        chunk_release(&g->chunks[i]);
    mem_free(g->chunks);
    ZSTD_freeCCtx(g->zstd);
    *g = (struct group){0};
}

void group_add_column(struct group *g, enum wr_type type, bool key)
{
    if (g->count == g->capacity) {
        g->capacity = g->capacity ? g->capacity * 2 : 16;
        g->chunks = mem_realloc(g->chunks, sizeof(*g->chunks) * g->capacity);
    }
    g->chunks[g->count] = (struct chunk){.type = type, .key = key};
    chunk_put_absent(&g->chunks[g->count++], (uint32_t)g->rows);
}

void group_put(struct group *g, const struct wr_value *const *values)
{
    for (size_t i = 0; i < g->count; i++) {
        struct chunk *k = &g->chunks[i];
        size_t before = k->values.len + k->lengths.len;

        chunk_put(k, values[i]);
        g->bytes += k->values.len + k->lengths.len - before;
    }
    g->bytes += (g->count + 7) / 8;
    g->rows++;
}

void group_pack(struct group *g)
{
    if (!g->zstd)
        g->zstd = ZSTD_createCCtx();
    for (size_t i = 0; i < g->count; i++)
        chunk_pack(&g->chunks[i], g->zstd);
}

void group_clear(struct group *g)
{
    for (size_t i = 0; i < g->count; i++)
        chunk_clear(&g->chunks[i]);
    g->rows = g->bytes = 0;
}
