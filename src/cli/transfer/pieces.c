#include "cli/transfer/pieces.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PIECES_PER_CALL 4 /* as many as a row change of 4 MiB takes */

struct state {
    bytes text; /* as stored; ptr NULL: there is none */
    char id[32];
    uint64_t done, todo;
};

static bytes piece_name(struct ctx *c, bytes column, const char *id, uint64_t number)
{
    return arena_printf(&c->arena, "%.*s.%s.%06" PRIu64, BYTES_FMT(column), id, number);
}

static bytes state_text(struct ctx *c, const char *id, uint64_t done, uint64_t todo)
{
    return arena_printf(&c->arena, "{%s;%" PRIu64 ";%" PRIu64 "}", id, done, todo);
}

static int get_columns(struct ctx *c, struct client *cl, const struct client_cell *cell,
                       const bytes *columns, size_t count, struct wr_reply *reply)
{
    struct wr_request request = {.op = WR_OP_GET_ROW,
                                 .get_row = {.table = cell->table,
                                             .key = cell->key,
                                             .read = {.columns = columns,
                                                      .column_count = count,
                                                      .has_max_versions = true,
                                                      .max_versions = 1}}};

    return client_exec(c, cl, &request, reply);
}

static int state_read(struct ctx *c, struct client *cl, const struct client_cell *cell,
                      struct state *out)
{
    struct wr_reply reply;
    const struct wr_cell *found;

    *out = (struct state){.text = BYTES_NONE};
    TRY(get_columns(c, cl, cell, &cell->column, 1, &reply));
    found = reply.row.row.cell_count ? &reply.row.row.cells[0] : NULL;
    if (!found)
        return 0;
    if (found->value.type != WR_VARCHAR ||
        sscanf(arena_printf(&c->arena, "%.*s", BYTES_FMT(found->value.bytes)).ptr,
               "{%31[0-9a-f];%" SCNu64 ";%" SCNu64 "}", out->id, &out->done, &out->todo) != 3)
        return fail(c, WR_E_PARAMETER,
                    "column %.*s holds no {id;done;todo}: it was not put with --pieces",
                    BYTES_FMT(cell->column));
    out->text = arena_copy(&c->arena, found->value.bytes);
    return 0;
}

/* One step: the cells, if the state still is `was`. */
static int step(struct ctx *c, struct client *cl, const struct client_cell *cell, bytes was,
                const struct wr_cell *cells, size_t count)
{
    struct wr_filter filter = {.type = WR_FILTER_COLUMN,
                               .column = {.comparator = was.ptr ? WR_EQUAL : WR_NOT_EXIST,
                                          .column = cell->column,
                                          .value = {.type = WR_VARCHAR, .bytes = was},
                                          .filter_if_missing = was.ptr != NULL,
                                          .latest_version_only = true}};
    struct wr_request request = {.op = WR_OP_UPDATE_ROW,
                                 .update_row = {.type = WR_UPDATE,
                                                .table = cell->table,
                                                .row = {cell->key, cells, count},
                                                .condition = {.column = &filter}}};
    struct wr_reply reply;
    int code = client_exec(c, cl, &request, &reply);

    if (code == WR_E_CONDITION)
        return fail(c, code, "somebody else is writing column %.*s", BYTES_FMT(cell->column));
    return code;
}

static struct wr_cell cell_of(bytes name, enum wr_type type, bytes value)
{
    return (struct wr_cell){
        .name = name, .value = {.type = type, .bytes = value}, .timestamp_ms = WR_TIMESTAMP_NONE};
}

static size_t fill(const struct client_cell *cell, uint8_t *to, size_t size)
{
    size_t done = 0;
    ptrdiff_t n = 1;

    while (done < size && n > 0) {
        n = cell->move(cell->arg, to + done, size - done);
        done += n > 0 ? (size_t)n : 0;
    }
    return done;
}

/* The next pieces and the state they lead to, in one request. */
static int put_some(struct ctx *c, struct client *cl, const struct client_cell *cell,
                    struct state *s, bytes *was)
{
    uint8_t *data = arena_alloc(&c->arena, PIECES_PER_CALL * PIECE_BYTES);
    struct wr_cell cells[PIECES_PER_CALL + 1];
    size_t n = 0;

    for (; n < PIECES_PER_CALL && s->todo; n++, s->done++, s->todo--) {
        uint64_t left = cell->length - s->done * PIECE_BYTES;
        size_t size = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;

        if (fill(cell, data + n * PIECE_BYTES, size) < size)
            return fail(c, WR_E_PARAMETER, "the value ended early");
        cells[n] = cell_of(piece_name(c, cell->column, s->id, s->done), WR_VARBINARY,
                           bytes_of(data + n * PIECE_BYTES, size));
    }
    cells[n] = cell_of(cell->column, WR_VARCHAR, state_text(c, s->id, s->done, s->todo));
    TRY(step(c, cl, cell, *was, cells, n + 1));
    *was = cells[n].value.bytes;
    return 0;
}

/* The pieces that the state before meant. */
static int remove_old(struct ctx *c, struct client *cl, const struct client_cell *cell,
                      const struct state *old, bytes was)
{
    uint64_t count = old->done + old->todo;

    for (uint64_t at = 0; old->text.ptr && at < count;) {
        struct wr_cell cells[100];
        size_t n = 0;

        for (; n < PORT_COUNT(cells) && at < count; n++, at++) {
            cells[n] = cell_of(piece_name(c, cell->column, old->id, at), WR_NULL, BYTES_NONE);
            cells[n].op = WR_CELL_DELETE_ALL;
        }
        TRY(step(c, cl, cell, was, cells, n));
    }
    return 0;
}

int pieces_put(struct ctx *c, struct client *cl, const struct client_cell *cell)
{
    struct state old, s = {.todo = (cell->length + PIECE_BYTES - 1) / PIECE_BYTES};
    struct wr_cell first;
    bytes was;

    TRY(state_read(c, cl, cell, &old));
    snprintf(s.id, sizeof(s.id), "%" PRIx64, rng_next(&cl->rng));
    first = cell_of(cell->column, WR_VARCHAR, state_text(c, s.id, 0, s.todo));
    TRY(step(c, cl, cell, old.text, &first, 1));
    was = first.value.bytes;
    while (s.todo) {
        char kept[64];
        struct ctx some;
        int code;

        ctx_init(&some, c->clock, NULL, NULL, 0);
        code = put_some(&some, cl, cell, &s, &was);
        if (code)
            fail(c, code, "%s", some.text);
        snprintf(kept, sizeof(kept), "%.*s", BYTES_FMT(was));
        ctx_release(&some);
        TRY(code);
        was = arena_printf(&c->arena, "%s", kept);
    }
    return remove_old(c, cl, cell, &old, was);
}

static int get_some(struct ctx *c, struct client *cl, const struct client_cell *cell,
                    const struct state *s, uint64_t at)
{
    bytes names[PIECES_PER_CALL];
    struct wr_reply reply;
    size_t n = 0;

    for (; n < PIECES_PER_CALL && at + n < s->done; n++)
        names[n] = piece_name(c, cell->column, s->id, at + n);
    TRY(get_columns(c, cl, cell, names, n, &reply));
    if (reply.row.row.cell_count != n)
        return fail(c, WR_E_CONDITION, "the value was replaced meanwhile");
    for (size_t i = 0; i < n; i++) {
        bytes piece = reply.row.row.cells[i].value.bytes;
        size_t done = 0;

        while (done < piece.len) {
            ptrdiff_t moved =
                cell->move(cell->arg, (uint8_t *)(uintptr_t)piece.ptr + done, piece.len - done);

            if (moved <= 0)
                return fail(c, E_NO_SPACE, "the value cannot be written");
            done += (size_t)moved;
        }
    }
    return 0;
}

int pieces_get(struct ctx *c, struct client *cl, const struct client_cell *cell)
{
    struct state s;

    if (cell->has_range)
        return fail(c, WR_E_PARAMETER, "--range is for cells that were put as a stream");
    TRY(state_read(c, cl, cell, &s));
    if (!s.text.ptr)
        return fail(c, WR_E_NOT_EXIST, "no such cell");
    if (s.todo)
        return fail(c, WR_E_CONDITION,
                    "the value is being written: %" PRIu64 " of %" PRIu64 " pieces are there",
                    s.done, s.done + s.todo);
    cell->start(cell->arg, s.done * PIECE_BYTES, NULL);
    for (uint64_t at = 0; at < s.done; at += PIECES_PER_CALL) {
        struct ctx some;
        int code;

        ctx_init(&some, c->clock, NULL, NULL, 0);
        code = get_some(&some, cl, cell, &s, at);
        if (code)
            fail(c, code, "%s", some.text);
        ctx_release(&some);
        TRY(code);
    }
    return 0;
}
