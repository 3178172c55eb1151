/* table_word.c: which table the words of a command name, and whose it is. */
#include "cli/command.h"

#include <stdio.h>

int cli_take_table(struct ctx *c, struct cli *cli, const char *flag, bytes *out)
{
    if (flag || cli->table) {
        *out = bytes_str(flag ? flag : cli->table);
        return 0;
    }
    if (!cli->argc)
        return fail(c, E_PARAMETER, "which table? Its name is the first word");
    *out = bytes_str(cli->argv[0]);
    cli->argv++;
    cli->argc--;
    return 0;
}

static const char *text_of(struct ctx *c, bytes name)
{
    return arena_printf(&c->arena, "%.*s", BYTES_FMT(name)).ptr;
}

/* The table whose name is nearest, or NULL. */
static const char *nearest_table(struct ctx *c, struct client *cl, const char *table)
{
    struct wr_request request = {.op = WR_OP_LIST_TABLE};
    struct wr_reply reply;
    const char **names, *near = NULL;

    if (client_exec(c, cl, &request, &reply) == 0) {
        names = ARENA_ARRAY(&c->arena, const char *, reply.table_list.count + 1);
        for (size_t i = 0; i < reply.table_list.count; i++)
            names[i] = text_of(c, reply.table_list.tables[i]);
        near = option_nearest(table, names, reply.table_list.count);
    }
    ctx_clear(c);
    return near;
}

int cli_describe(struct ctx *c, struct client *cl, bytes table, struct wr_table_description *out)
{
    int code = client_describe(c, cl, table, out);
    const char *reason, *near;

    if (code != E_NOT_EXIST)
        return code;
    reason = ctx_take_reason(c);
    near = nearest_table(c, cl, text_of(c, table));
    return fail(c, code, "%s: %.*s%s%s%s", reason, BYTES_FMT(table), near ? "; did you mean " : "",
                near ? near : "", near ? "?" : "");
}

void print_source(const struct client *cl, const char *table)
{
    const struct target *t = cl->target;

    printf("table %s of instance %.*s, %s\n", table, BYTES_FMT(t->instance),
           t->endpoint ? t->endpoint : "in this process");
}
