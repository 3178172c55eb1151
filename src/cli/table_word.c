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

void print_source(const struct client *cl, const char *table)
{
    const struct target *t = cl->target;

    printf("table %s of instance %.*s, %s\n", table, BYTES_FMT(t->instance),
           t->endpoint ? t->endpoint : "in this process");
}
