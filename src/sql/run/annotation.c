#include "sql/run/annotation.h"

#include "base/buf.h"

bool annotation_find(bytes annotation, enum annotation_section section, bytes *out)
{
    struct reader in = reader_of(annotation);

    *out = BYTES_NONE;
    while (reader_left(&in) && !in.bad) {
        uint64_t number = read_varint(&in);
        bytes payload = read_counted(&in);

        if (number == section && !in.bad)
            *out = payload.ptr ? payload : BYTES_LIT("");
    }
    return !in.bad;
}

bytes annotation_with(struct arena *a, bytes annotation, enum annotation_section section,
                      bytes payload)
{
    struct reader in = reader_of(annotation);
    struct buf b;

    buf_init(&b, a, annotation.len + payload.len + 16);
    while (reader_left(&in)) {
        uint64_t number = read_varint(&in);
        bytes kept = read_counted(&in);

        if (in.bad)
            break;
        if (number == section)
            continue;
        buf_put_varint(&b, number);
        buf_put_counted(&b, kept);
    }
    if (payload.ptr) {
        buf_put_varint(&b, section);
        buf_put_counted(&b, payload);
    }
    return b.len ? buf_bytes(&b) : BYTES_LIT("");
}
