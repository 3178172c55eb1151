#include "search/segment/image.h"

#include "base/buf.h"

#include <xxhash.h>

/* Header: magic, checksum of all that follows, length, where the table is, its rows, documents. */
#define MAGIC 0x31676573726564ull /* "derseg1" */
#define HEADER 40
#define ROW IMAGE_ROW /* of the table: section u32, field u32, offset u64, length u64 */
#define CHECKED 16

void image_put(struct image_writer *w, enum section section, size_t field, const void *data,
               size_t len)
{
    static const uint8_t zeros[8];

    if (!w->data.len)
        memset(vector_grow(&w->data, HEADER), 0, HEADER);
    vector_put_u32(&w->table, section);
    vector_put_u32(&w->table, (uint32_t)field);
    vector_put_u64(&w->table, w->data.len);
    vector_put_u64(&w->table, len);
    vector_put(&w->data, data, len);
    vector_put(&w->data, zeros, -w->data.len & 7);
    w->count++;
}

void image_finish(struct image_writer *w, uint32_t documents, uint8_t **image, size_t *len)
{
    size_t table = w->data.len;
    uint8_t *p;

    vector_put(&w->data, w->table.data, w->table.len);
    vector_free(&w->table);
    p = w->data.data;
    *len = w->data.len;
    store_u64(p, MAGIC);
    store_u64(p + 16, *len);
    store_u64(p + 24, table);
    store_u32(p + 32, w->count);
    store_u32(p + 36, documents);
    store_u64(p + 8, XXH3_64bits(p + CHECKED, *len - CHECKED));
    *image = mem_realloc(p, *len);
    *w = (struct image_writer){0};
}

void image_view(struct image *image, const uint8_t *data, size_t len)
{
    *image = (struct image){
        .data = data,
        .len = len,
        .to = len,
        .count = load_u32(data + 32),
        .documents = load_u32(data + 36),
        .table = data + load_u64(data + 24),
    };
}

bool image_open(struct image *image, const uint8_t *data, size_t len)
{
    uint64_t table;

    if (len < HEADER || load_u64(data) != MAGIC || load_u64(data + 16) != len ||
        load_u64(data + 8) != XXH3_64bits(data + CHECKED, len - CHECKED))
        return false;
    table = load_u64(data + 24);
    if (table > len || (len - table) / ROW < load_u32(data + 32))
        return false;
    image_view(image, data, len);
    for (uint32_t i = 0; i < image->count; i++) {
        uint64_t at = load_u64(image->table + i * ROW + 8);

        if (at > len || load_u64(image->table + i * ROW + 16) > len - at || (at & 7))
            return false;
    }
    return true;
}

const void *image_section(const struct image *image, enum section section, size_t field,
                          size_t *len)
{
    uint64_t at;

    for (uint32_t i = 0; i < image->count; i++) {
        const uint8_t *row = image->table + i * ROW;

        if (load_u32(row) != (uint32_t)section || load_u32(row + 4) != (uint32_t)field)
            continue;
        at = load_u64(row + 8);
        *len = load_u64(row + 16);
        if (at < image->from || at + *len > image->to)
            break;
        return image->data + (at - image->from);
    }
    *len = 0;
    return NULL;
}
