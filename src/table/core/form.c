#include "table/core/form.h"

#include "table/model/op_info.h"

#include <string.h>

#define FORM_BYTES_MAX 65536 /* no struct will ever be so large: it is no size */

static const char no_size[] = "The size that a struct of widerow.h carries is none that it can "
                              "have: begin the struct as zeros, "
                              "and set its size as widerow.h says (\"Versions\").";
static const char newer[] =
    "The program was compiled with a newer widerow.h than this library's, and "
    "asks for what this library does not know. Use a newer library.";

const uint32_t form_sizes[WR_OP_COUNT] = {
#define OP(name, ...) [WR_OP_##name] = WR_SIZE_##name,
#include "op.def"
};

/* The structs that have grown. */
#define UPDATE_TABLE_FIRST offsetof(struct wr_request, update_table.annotation)
#define CREATE_TABLE_FIRST offsetof(struct wr_request, create_table.annotation)
#define CREATE_SERIES_FIRST offsetof(struct wr_request, create_series.archive)
#define CHANGE_SERIES_FIRST offsetof(struct wr_request, change_series.archive)
#define SPLIT_POINTS_FIRST offsetof(struct wr_request, compute_split_points.estimated)

const uint32_t form_first_sizes[WR_OP_COUNT] = {
#define OP(name, ...)                                                                              \
    [WR_OP_##name] = WR_OP_##name == WR_OP_UPDATE_TABLE           ? UPDATE_TABLE_FIRST             \
                     : WR_OP_##name == WR_OP_CREATE_TABLE         ? CREATE_TABLE_FIRST             \
                     : WR_OP_##name == WR_OP_CREATE_SERIES        ? CREATE_SERIES_FIRST            \
                     : WR_OP_##name == WR_OP_CHANGE_SERIES        ? CHANGE_SERIES_FIRST            \
                     : WR_OP_##name == WR_OP_COMPUTE_SPLIT_POINTS ? SPLIT_POINTS_FIRST             \
                                                                  : WR_SIZE_##name,
#include "op.def"
};

static bool all_zero(const uint8_t *from, const uint8_t *end)
{
    while (from < end && !*from)
        from++;
    return from >= end;
}

const char *form_read(void *to, size_t own, const void *from, size_t size, size_t first)
{
    const uint8_t *given = from;

    if (!size)
        size = first;
    if (size > FORM_BYTES_MAX)
        return no_size;
    if (size > own && !all_zero(given + own, given + size))
        return newer;
    memset(to, 0, own);
    memcpy(to, from, size < own ? size : own);
    return NULL;
}

const char *form_read_request(struct wr_request *to, const struct wr_request *from)
{
    uint32_t op = (uint32_t)from->op;
    const char *text = NULL;

    *to = (struct wr_request){0};
    if (from->size && from->size < offsetof(struct wr_request, create_table))
        text = no_size;
    else if (from->reserved[0])
        text = newer;
    else
        text = form_read(to, form_sizes[op], from, from->size, form_first_sizes[op]);
    to->op = from->op;
    to->size = form_sizes[op];
    return text;
}

/* A member of the request, or zeros where it lies behind what the program's struct has. */
static void member_at(const struct wr_request *r, size_t at, void *to, size_t size)
{
    if (at + size <= form_size(r))
        memcpy(to, (const char *)r + at, size);
    else
        memset(to, 0, size);
}

bool wr_request_table(const struct wr_request *request, size_t i, struct wr_bytes *table)
{
    const struct op_info *info = op_info(request->op);
    const struct op_list *l = &info->list;
    const char *items; /* a pointer of another type stands there */
    size_t count;

    if (info->table && i-- == 0) {
        member_at(request, info->table, table, sizeof(*table));
        return true;
    }
    if (info->second && i-- == 0) {
        member_at(request, info->second, table, sizeof(*table));
        return true;
    }
    if (!l->items)
        return false;
    member_at(request, l->items, &items, sizeof(items));
    member_at(request, l->count, &count, sizeof(count));
    if (!items || i >= count)
        return false;
    *table = *(const bytes *)(items + i * l->size + l->name);
    return true;
}
