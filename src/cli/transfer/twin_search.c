#include "cli/transfer/twin_search.h"

#include <stdio.h>

/* The names alone. */
static int list_names(struct ctx *c, struct client *cl, bytes table,
                      struct wr_search_index_list *out)
{
    struct wr_request request = {.op = WR_OP_LIST_SEARCH_INDEX,
                                 .list_search_index = {.table = table}};
    struct wr_reply reply;
    int code = client_exec(c, cl, &request, &reply);

    *out = (struct wr_search_index_list){NULL, 0};
    if (code == WR_E_UNSUPPORTED) {
        ctx_clear(c);
        return 0;
    }
    TRY(code);
    *out = reply.search_indexes;
    return 0;
}

static int describe(struct ctx *c, struct client *cl, bytes table, bytes index,
                    struct wr_search_index_description *out)
{
    struct wr_request request = {.op = WR_OP_DESCRIBE_SEARCH_INDEX,
                                 .describe_search_index = {.table = table, .index = index}};
    struct wr_reply reply;

    TRY(client_exec(c, cl, &request, &reply));
    *out = reply.search_index;
    return 0;
}

int twin_search_list(struct ctx *c, struct client *cl, bytes table, struct twin_search **out,
                     size_t *count)
{
    struct wr_search_index_list list;

    TRY(list_names(c, cl, table, &list));
    *out = ARENA_ARRAY(&c->arena, struct twin_search, list.count + 1);
    *count = list.count;
    for (size_t i = 0; i < list.count; i++) {
        (*out)[i].name = list.indexes[i].index;
        TRY(describe(c, cl, table, (*out)[i].name, &(*out)[i].description));
    }
    return 0;
}

int twin_search_drop(struct ctx *c, struct client *to, bytes table)
{
    struct wr_search_index_list list;
    struct wr_reply reply;

    TRY(list_names(c, to, table, &list));
    for (size_t i = 0; i < list.count; i++) {
        struct wr_request request = {.op = WR_OP_DELETE_SEARCH_INDEX,
                                     .delete_search_index = {table, list.indexes[i].index}};

        TRY(client_exec(c, to, &request, &reply));
    }
    return 0;
}

/* Until the rows that are there are in the index, or it has failed. */
static int await_rows(struct ctx *c, struct client *to, bytes table, bytes index)
{
    bool reads = true;

    while (reads) {
        struct wr_search_index_description d;
        struct ctx look;
        int code;

        ctx_init(&look, c->clock, NULL, NULL, 0);
        code = describe(&look, to, table, index, &d);
        if (code)
            fail(c, code, "%s", look.text);
        else if (d.status == WR_SEARCH_FAILED)
            code = fail(c, WR_E_UNSUPPORTED, "%.*s", BYTES_FMT(d.status_text));
        reads = !code && d.phase != WR_SEARCH_INCR;
        ctx_release(&look);
        TRY(code);
        if (reads)
            client_pause(to, 3);
    }
    return 0;
}

static int create_one(struct ctx *c, struct client *to, bytes table, const struct twin_search *s)
{
    struct wr_request request = {.op = WR_OP_CREATE_SEARCH_INDEX,
                                 .create_search_index = {.table = table,
                                                         .index = s->name,
                                                         .schema = s->description.schema,
                                                         .has_ttl = s->description.ttl_s > 0,
                                                         .ttl_s = s->description.ttl_s}};
    struct wr_reply reply;

    TRY(client_exec(c, to, &request, &reply));
    return await_rows(c, to, table, s->name);
}

int twin_search_create(struct ctx *c, struct client *to, bytes table,
                       const struct twin_search *indexes, size_t count, size_t *left_out)
{
    *left_out = 0;
    for (size_t i = 0; i < count; i++) {
        int code = create_one(c, to, table, &indexes[i]);

        if (code && code != WR_E_UNSUPPORTED && code != WR_E_PARAMETER)
            return code;
        if (code)
            printf("%.*s: search index %.*s was not made: %s\n", BYTES_FMT(table),
                   BYTES_FMT(indexes[i].name), c->text);
        *left_out += code != 0;
        ctx_clear(c);
    }
    return 0;
}
