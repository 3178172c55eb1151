/* cmd_restore.c: `widerow restore`. */
#include "cli/command.h"

#include <stdio.h>
#include <unistd.h>

struct restore_options {
    const char *data;
    bool check;
};

static const struct option_row restore_rows[] = {
    {"data", "DIR", "the new data folder; missing or empty", OPTION_TEXT,
     offsetof(struct restore_options, data), 0, 0},
    {"check", NULL, "only verify the backup", OPTION_FLAG, offsetof(struct restore_options, check),
     0, 0},
    {0},
};

static int restore(struct ctx *c, struct cli *cli, void *options)
{
    const struct restore_options *o = options;
    char message[1024] = "";
    int code;

    if (!o->data == !o->check)
        return fail(c, E_PARAMETER, "where to? Give --data DIR, or --check to verify only");
    if (access(cli->argv[0], F_OK) != 0)
        return fail(c, E_NOT_EXIST, "there is no folder %s: the first word is a backup's",
                    cli->argv[0]);
    code = wr_restore(cli->argv[0], o->data, message, sizeof(message));
    if (code)
        return fail(c, code, "%s", message);
    if (o->check)
        printf("%s is complete and undamaged.\n", cli->argv[0]);
    else
        printf("%s is restored, verified and durable: start it with widerowd --data %s\n"
               "It has no access keys: copy the file credentials into it, or let the first start "
               "make new ones.\n",
               o->data, o->data);
    return 0;
}

const struct command command_restore = {
    .name = "restore",
    .group = GROUP_DATA,
    .args = "BACKUP --data DIR",
    .summary = "make a data folder from a backup, verifying every block",
    .text = "Refuses a backup that is damaged or not complete, and never overwrites anything.",
    .example = "widerow restore /backups/monday --data data2",
    .options = restore_rows,
    .options_size = sizeof(struct restore_options),
    .argc_min = 1,
    .argc_max = 1,
    .run = restore,
};
