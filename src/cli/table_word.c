/* table_word.c: which table the words of a command name. */
#include "cli/command.h"

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
