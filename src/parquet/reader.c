#include "parquet/reader.h"

#include "parquet/codec.h"
#include "parquet/column.h"

#include <stdio.h>

#define FOOTER_BYTES_MAX (16u << 20)
#define TAIL_BYTES 8 /* the footer's length, and the mark */
#define MESSAGE_BYTES 256

struct parquet_reader {
    struct parquet_source source;
    struct parquet_footer footer;
    struct column *columns;
    bool *omitted;
    struct wr_value *values;
    size_t group; /* the next one to begin */
    uint64_t row, group_left;
    bool failed;
    char message[MESSAGE_BYTES];
    char fault[MESSAGE_BYTES]; /* of a column */
};

static int read_at(struct ctx *c, const struct parquet_source *s, const char *name, uint64_t offset,
                   void *to, size_t n)
{
    char why[160];

    if (s->read(s->arg, offset, to, n, why, sizeof(why)))
        return 0;
    return fail(c, E_PARAMETER, "cannot read %s: %s", name, why);
}

static int read_footer(struct ctx *c, const struct parquet_source *s, const char *name,
                       struct parquet_footer *out)
{
    uint8_t tail[TAIL_BYTES], *text;
    const char *reason;
    size_t len;
    int code;

    if (s->size < TAIL_BYTES + 4)
        return fail(c, E_PARAMETER, "%s is too short to be Parquet", name);
    TRY(read_at(c, s, name, s->size - TAIL_BYTES, tail, TAIL_BYTES));
    len = load_u32(tail);
    if (memcmp(tail + 4, PARQUET_MAGIC, 4) != 0)
        return fail(c, E_PARAMETER,
                    "%s does not end as Parquet does: whoever wrote it was stopped, or it was not "
                    "copied as a whole",
                    name);
    if (len > FOOTER_BYTES_MAX || len > s->size - TAIL_BYTES)
        return fail(c, E_PARAMETER, "%s: the footer is damaged, or larger than %u MiB", name,
                    FOOTER_BYTES_MAX >> 20);
    text = arena_alloc(&c->arena, len + 1);
    TRY(read_at(c, s, name, s->size - TAIL_BYTES - len, text, len));
    code = parquet_footer_read(c, bytes_of(text, len), s->size, out);
    if (!code)
        return 0;
    reason = ctx_take_reason(c);
    return fail(c, code, "%s: %s", name, reason);
}

int parquet_reader_open(struct ctx *c, const struct parquet_source *source, const char *name,
                        size_t page_bytes_max, struct parquet_reader **out)
{
    struct parquet_reader *r = mem_zalloc(sizeof(*r));
    size_t count;

    *out = r;
    r->source = *source;
    TRY(read_footer(c, source, name, &r->footer));
    count = r->footer.leaf_count;
    r->columns = mem_zalloc(sizeof(*r->columns) * count);
    r->omitted = mem_zalloc(sizeof(*r->omitted) * count);
    r->values = mem_zalloc(sizeof(*r->values) * count);
    for (size_t i = 0; i < count; i++)
        r->columns[i].pages = (struct pages){.source = &r->source,
                                             .leaf = &r->footer.leaves[i],
                                             .page_bytes_max = page_bytes_max,
                                             .message = r->fault,
                                             .message_size = sizeof(r->fault)};
    for (size_t g = 0; g < r->footer.group_count; g++)
        for (size_t i = 0; i < count; i++)
            if (!codec_is_known(r->footer.groups[g].chunks[i].codec))
                return fail(c, E_PARAMETER,
                            "%s: column %.*s is compressed with %s, which is not read; snappy, "
                            "gzip, zstd and lz4_raw are",
                            name, BYTES_FMT(r->footer.leaves[i].name),
                            codec_name(r->footer.groups[g].chunks[i].codec));
    return 0;
}

void parquet_reader_close(struct parquet_reader *r)
{
    if (!r)
        return;
    for (size_t i = 0; r->columns && i < r->footer.leaf_count; i++)
        column_release(&r->columns[i]);
    mem_free(r->columns);
    mem_free(r->omitted);
    mem_free(r->values);
    mem_free(r);
}

const struct parquet_footer *parquet_reader_footer(const struct parquet_reader *r)
{
    return &r->footer;
}

void parquet_reader_omit(struct parquet_reader *r, size_t leaf)
{
    r->omitted[leaf] = true;
}

void parquet_reader_as_text(struct parquet_reader *r, size_t leaf)
{
    r->columns[leaf].as_text = true;
}

uint64_t parquet_reader_row(const struct parquet_reader *r)
{
    return r->row;
}

const char *parquet_reader_message(const struct parquet_reader *r)
{
    return r->message;
}

void parquet_reader_seek(struct parquet_reader *r, size_t group)
{
    r->row = 0;
    r->group = group;
    r->group_left = 0;
    for (size_t i = 0; i < group; i++)
        r->row += r->footer.groups[i].rows;
}

static void begin_group(struct parquet_reader *r)
{
    const struct parquet_group *g = &r->footer.groups[r->group++];

    r->group_left = g->rows;
    for (size_t i = 0; i < r->footer.leaf_count; i++)
        if (!r->omitted[i])
            column_begin(&r->columns[i], &g->chunks[i]);
}

/* Once a page was read, as they come. */
static bool has_room(struct parquet_reader *r)
{
    uint64_t used = 0;

    for (size_t i = 0; i < r->footer.leaf_count; i++)
        used += column_memory(&r->columns[i]);
    if (used <= PARQUET_MEMORY_MAX)
        return true;
    snprintf(r->message, sizeof(r->message),
             "the pages of its columns take more than %u MiB; write the file with smaller ones",
             PARQUET_MEMORY_MAX >> 20);
    r->failed = true;
    return false;
}

static bool take_row(struct parquet_reader *r, bool *bad)
{
    for (size_t i = 0; i < r->footer.leaf_count; i++) {
        struct column *k = &r->columns[i];
        bool new_page = k->page_left == 0;

        if (r->omitted[i])
            continue;
        switch (column_next(k, &r->values[i])) {
        case COLUMN_VALUE:
            break;
        case COLUMN_BEYOND:
            *bad = true;
            snprintf(r->message, sizeof(r->message),
                     "column %.*s: its value is beyond what the type holds",
                     BYTES_FMT(k->pages.leaf->name));
            break;
        case COLUMN_FAULT:
            snprintf(r->message, sizeof(r->message), "%.*s", MESSAGE_BYTES - 1, r->fault);
            r->failed = true;
            return false;
        }
        if (new_page && !has_room(r))
            return false;
    }
    return true;
}

enum parquet_result parquet_reader_next(struct parquet_reader *r, const struct wr_value **values)
{
    bool bad = false;

    if (r->failed)
        return PARQUET_FAILED;
    while (r->group_left == 0) {
        if (r->group == r->footer.group_count)
            return PARQUET_END;
        begin_group(r);
    }
    if (!take_row(r, &bad))
        return PARQUET_FAILED;
    r->group_left--;
    r->row++;
    *values = r->values;
    return bad ? PARQUET_BAD : PARQUET_ROW;
}
