/* local.c: requests to a database that is open in this process. */
#include "client/client.h"

static void free_reply(void *reply)
{
    wr_reply_free(reply);
}

static int local_exec(struct ctx *c, struct client *cl, const struct wr_request *request,
                      struct wr_reply *out)
{
    struct wr_reply *reply = wr_exec(cl->target->db, request);

    arena_on_release(&c->arena, free_reply, reply);
    if (reply->code)
        return fail(c, reply->code, "%s", reply->message);
    *out = *reply;
    return 0;
}

#define MOVE_BYTES ((size_t)512 << 10)

static int local_put_cell(struct ctx *c, struct client *cl, const struct client_cell *cell)
{
    struct wr_cell_put put = {.instance = cl->target->instance,
                              .table = cell->table,
                              .key = cell->key,
                              .column = cell->column,
                              .length = cell->length,
                              .timestamp_ms = WR_TIMESTAMP_NONE};
    uint8_t *buffer = arena_alloc(&c->arena, MOVE_BYTES);
    char message[512];
    struct wr_cell_writer *w;
    struct wr_reply *reply;
    ptrdiff_t n;
    int code = wr_cell_writer_open(cl->target->db, &put, &w, message, sizeof(message));

    if (code)
        return fail(c, code, "%s", message);
    while ((n = cell->move(cell->arg, buffer, MOVE_BYTES)) > 0)
        if (wr_cell_write(w, buffer, (size_t)n, NULL, NULL) < 0)
            break;
    reply = wr_cell_finish_wait(w);
    code = reply->code ? fail(c, reply->code, "%s", reply->message) : 0;
    wr_reply_free(reply);
    wr_cell_writer_free(w);
    return code;
}

static int local_move(struct ctx *c, struct wr_cell_reader *r, const struct client_cell *cell,
                      uint64_t from, uint64_t end)
{
    uint8_t *buffer = arena_alloc(&c->arena, MOVE_BYTES);
    char message[512];
    int code;

    while (from < end) {
        size_t want = end - from < MOVE_BYTES ? (size_t)(end - from) : MOVE_BYTES;
        ptrdiff_t n = wr_cell_read(r, from, buffer, want, NULL, NULL);

        if (n < 0) {
            code = wr_cell_reader_error(r, message, sizeof(message));
            return fail(c, code, "%s", message);
        }
        if (cell->move(cell->arg, buffer, (size_t)n) < 0)
            return fail(c, E_NO_SPACE, "the value cannot be written");
        from += (uint64_t)n;
    }
    return 0;
}

static int local_get_cell(struct ctx *c, struct client *cl, const struct client_cell *cell)
{
    struct wr_cell_get get = {.instance = cl->target->instance,
                              .table = cell->table,
                              .key = cell->key,
                              .column = cell->column};
    struct wr_cell_reader *r;
    struct wr_cell_info info;
    char message[512];
    uint64_t from, end;
    int code = wr_cell_reader_open(cl->target->db, &get, &r, &info, message, sizeof(message));

    if (code)
        return fail(c, code, "%s", message);
    from = cell->has_range ? cell->from : 0;
    end = cell->has_range && cell->to < info.length ? cell->to + 1 : info.length;
    if (cell->has_range && from >= info.length) {
        code = fail(c, WR_E_PARAMETER, "the value ends before byte %llu", (unsigned long long)from);
    } else {
        cell->start(cell->arg, end - from, info.sha256);
        code = local_move(c, r, cell, from, end);
    }
    wr_cell_reader_free(r);
    return code;
}

static void local_close(struct client *cl)
{
    mem_free(cl);
}

static const struct client_ops local_ops = {.exec = local_exec,
                                            .put_cell = local_put_cell,
                                            .get_cell = local_get_cell,
                                            .close = local_close};

int client_open_local(struct ctx *c, struct target *t, struct client **out)
{
    (void)c;
    (void)t;
    *out = mem_zalloc(sizeof(**out));
    (*out)->ops = &local_ops;
    return 0;
}
