#include "cli/transfer/twin.h"

#include <stdio.h>

#define DEVIATION_ANY (INT64_MAX / 1000000)
#define CELL_BYTES_ANY (64ll << 20) /* the most that a table may be told to hold */
#define UPDATE_RETRY_MS (150 * (int64_t)1000)

/* What the table lets in while it is filled. */
static struct wr_table_options open_options(const struct wr_table_options *own)
{
    struct wr_table_options o = *own;

    o.given |= WR_HAS_DEVIATION | WR_HAS_ALLOW_UPDATE | WR_HAS_CELL_BYTES;
    o.deviation_s = DEVIATION_ANY;
    o.allow_update = true;
    o.cell_bytes_max = CELL_BYTES_ANY;
    return o;
}

int twin_create(struct ctx *c, struct client *to, const struct wr_table_description *t)
{
    struct wr_request request = {.op = WR_OP_CREATE_TABLE,
                                 .create_table = {.table = t->table,
                                                  .key = t->key,
                                                  .key_count = t->key_count,
                                                  .defined = t->defined,
                                                  .defined_count = t->defined_count,
                                                  .options = open_options(&t->options),
                                                  .reserved = t->reserved,
                                                  .stream = t->stream,
                                                  .sse = t->sse,
                                                  .local_transactions = t->local_transactions}};
    struct wr_reply reply;
    int code;

    if (!bytes_equal(t->layout, BYTES_LIT("plain")))
        request.create_table.layout = t->layout;
    code = client_exec(c, to, &request, &reply);
    if (code != WR_E_UNSUPPORTED || !t->stream.enable)
        return code;
    printf("%.*s: its stream was not made: %s\n", BYTES_FMT(t->table), c->text);
    ctx_clear(c);
    request.create_table.stream = (struct wr_stream_spec){0};
    return client_exec(c, to, &request, &reply);
}

/* A server may let some minutes pass between two changes of a table. */
static int set_options(struct ctx *c, struct client *to, bytes table,
                       const struct wr_table_options *options)
{
    struct wr_request request = {
        .op = WR_OP_UPDATE_TABLE,
        .update_table = {.table = table, .has_options = true, .options = *options}};
    int64_t retry_ms = to->retry_ms;
    struct wr_reply reply;
    int code;

    request.update_table.options.given &= ~WR_HAS_UPDATE_FULL_ROW; /* stays as it was created */
    to->repeatable = true;
    to->retry_ms = retry_ms > UPDATE_RETRY_MS ? retry_ms : UPDATE_RETRY_MS;
    code = client_exec(c, to, &request, &reply);
    to->retry_ms = retry_ms;
    return code;
}

int twin_open(struct ctx *c, struct client *to, const struct wr_table_description *t,
              const struct wr_table_description *there)
{
    struct wr_table_options options = open_options(&t->options);
    struct wr_reply reply;

    for (size_t i = 0; i < there->index_count; i++) {
        struct wr_request request = {.op = WR_OP_DROP_INDEX,
                                     .drop_index = {there->table, there->indexes[i].name}};

        TRY(client_exec(c, to, &request, &reply));
    }
    return set_options(c, to, t->table, &options);
}

int twin_close(struct ctx *c, struct client *to, const struct wr_table_description *t)
{
    struct wr_table_options own = t->options;

    own.given |= WR_HAS_CELL_BYTES; /* 0 takes the limit away again */
    return set_options(c, to, t->table, &own);
}

/* Until no index of the table is being built. */
static int await_indexes(struct ctx *c, struct client *to, bytes table)
{
    bool building;

    do {
        struct wr_table_description there;
        struct ctx look;
        int code;

        ctx_init(&look, c->clock, NULL, NULL, 0);
        building = false;
        code = client_describe(&look, to, table, &there);
        if (code)
            fail(c, code, "%s", look.text);
        for (size_t i = 0; !code && i < there.index_count; i++)
            building |= there.indexes[i].sync_phase == 1;
        ctx_release(&look);
        TRY(code);
        if (building)
            client_pause(to, 3);
    } while (building);
    return 0;
}

int twin_create_indexes(struct ctx *c, struct client *to, const struct wr_table_description *t,
                        size_t *left_out)
{
    struct wr_reply reply;

    *left_out = 0;
    for (size_t i = 0; i < t->index_count; i++) {
        struct wr_request request = {
            .op = WR_OP_CREATE_INDEX,
            .create_index = {t->table, t->indexes[i], .include_base_data = true,
                             .scalar_index_keys = true}}; /* SQL may have made it */
        int code = client_exec(c, to, &request, &reply);

        if (code && code != WR_E_UNSUPPORTED)
            return code;
        if (code)
            printf("%.*s: index %.*s was not made: %s\n", BYTES_FMT(t->table),
                   BYTES_FMT(t->indexes[i].name), c->text);
        *left_out += code != 0;
        ctx_clear(c);
    }
    return await_indexes(c, to, t->table);
}

bool twin_same_key(const struct wr_table_description *a, const struct wr_table_description *b)
{
    if (a->key_count != b->key_count)
        return false;
    for (size_t i = 0; i < a->key_count; i++)
        if (!bytes_equal(a->key[i].name, b->key[i].name) || a->key[i].type != b->key[i].type ||
            a->key[i].descending != b->key[i].descending ||
            a->key[i].auto_increment != b->key[i].auto_increment)
            return false;
    return true;
}
