/* cmd_login.c: `widerow login`: keeps how a server is reached, under a name. */
#include "cli/command.h"
#include "client/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#define SECRET_BYTES_MAX 512

struct login_options {
    const char *endpoint, *instance, *key_id, *key_secret, *ca_file, *data;
};

#define AT(member) offsetof(struct login_options, member)
static const struct option_row login_rows[] = {
    {"endpoint", "URL", "the server (default http://127.0.0.1:8600)", OPTION_TEXT, AT(endpoint), 0,
     0},
    {"instance", "NAME", "the instance", OPTION_TEXT, AT(instance), 0, 0},
    {"key-id", "ID", "the access key", OPTION_TEXT, AT(key_id), 0, 0},
    {"key-secret", "SECRET",
     "its secret; without this flag it is asked for on the terminal, or read from standard input",
     OPTION_TEXT, AT(key_secret), 0, 0},
    {"id", "ID", "the same as --key-id", OPTION_TEXT, AT(key_id), 0, 0},
    {"key", "SECRET", "the same as --key-secret", OPTION_TEXT, AT(key_secret), 0, 0},
    {"data", "DIR", "instance and key from the credentials file of this data folder", OPTION_TEXT,
     AT(data), 0, 0},
    {"ca-file", "FILE", "for https: the certificates to trust, PEM", OPTION_TEXT, AT(ca_file), 0,
     0},
    {0},
};
#undef AT

/* Without echo on a terminal. */
static int ask_secret(struct ctx *c, char *out, size_t size)
{
    bool terminal = isatty(STDIN_FILENO);
    struct termios old, quiet;
    bool read;

    if (terminal && tcgetattr(STDIN_FILENO, &old) == 0) {
        fprintf(stderr, "secret: ");
        quiet = old;
        quiet.c_lflag &= ~(tcflag_t)ECHO;
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
    }
    read = fgets(out, (int)size, stdin) != NULL;
    if (terminal) {
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &old);
        fprintf(stderr, "\n");
    }
    if (read)
        out[strcspn(out, "\r\n")] = 0;
    if (read && *out)
        return 0;
    return fail(c, E_PARAMETER, "there is no secret: type it, or give it on standard input");
}

static int check_texts(struct ctx *c, const char *name, const struct profile *p)
{
    const char *texts[] = {p->endpoint, p->instance, p->key_id, p->key_secret, p->ca_file};

    if (!*name || strpbrk(name, "[]\n "))
        return fail(c, E_PARAMETER, "'%s' is no name of a profile: letters and digits", name);
    for (size_t i = 0; i < PORT_COUNT(texts); i++)
        if (texts[i] && strchr(texts[i], '\n'))
            return fail(c, E_PARAMETER, "a line end cannot be part of a profile");
    return 0;
}

/* A server that answers to the key, so that a slip shows now. */
static int try_profile(struct ctx *c, const struct profile *p, size_t *tables)
{
    struct target_conf conf = {.endpoint = p->endpoint,
                               .instance = p->instance,
                               .key_id = p->key_id,
                               .key_secret = p->key_secret,
                               .ca_file = p->ca_file};
    struct wr_request request = {.op = WR_OP_LIST_TABLE};
    struct client *cl = NULL;
    struct target target;
    struct wr_reply reply;
    int code = target_open(c, &conf, &target);

    if (code == 0)
        code = client_open(c, &target, &cl);
    if (code == 0)
        code = client_exec(c, cl, &request, &reply);
    if (code == 0)
        *tables = reply.table_list.count;
    client_close(cl);
    target_release(&target);
    return code;
}

static int from_data(struct ctx *c, const char *dir, struct profile *p)
{
    struct target t = {0};
    int code = 0;

    arena_init(&t.arena, NULL, 0);
    if (target_read_credentials(&t, dir, p->instance)) {
        p->instance = arena_printf(&c->arena, "%.*s", BYTES_FMT(t.instance)).ptr;
        p->key_id = arena_printf(&c->arena, "%.*s", BYTES_FMT(t.key_id)).ptr;
        p->key_secret = arena_printf(&c->arena, "%.*s", BYTES_FMT(t.key_secret)).ptr;
    } else {
        code = fail(c, E_PARAMETER, "%s/credentials cannot be read", dir);
    }
    arena_release(&t.arena);
    return code;
}

static int login(struct ctx *c, struct cli *cli, void *options)
{
    const struct login_options *o = options;
    const char *name = cli->argc ? cli->argv[0] : PROFILE_DEFAULT;
    struct profile p = {o->endpoint ? o->endpoint : "http://127.0.0.1:8600", o->instance, o->key_id,
                        o->key_secret, o->ca_file};
    char secret[SECRET_BYTES_MAX];
    size_t tables = 0;

    if (o->data && o->key_id)
        return fail(c, E_PARAMETER, "--data and --key-id exclude each other");
    if (o->data)
        TRY(from_data(c, o->data, &p));
    if (!p.instance || !p.key_id)
        return fail(c, E_PARAMETER, "which key? Give --instance and --key-id, or --data");
    if (!p.key_secret) {
        TRY(ask_secret(c, secret, sizeof(secret)));
        p.key_secret = secret;
    }
    TRY(check_texts(c, name, &p));
    TRY(try_profile(c, &p, &tables));
    TRY(profile_write(c, name, &p));
    printf("Profile %s: instance %s at %s, %zu tables. Kept in %s\n", name, p.instance, p.endpoint,
           tables, profile_path(&c->arena));
    return 0;
}

const struct command command_login = {
    .name = "login",
    .group = GROUP_OTHER,
    .args = "[NAME]",
    .summary = "keep a server's address and key under a name",
    .text = "In a file that only you may read. Without NAME it is the default one, which commands\n"
            "take where neither flags nor variables name a server or a key; --profile NAME takes\n"
            "another. The server is asked before anything is kept.",
    .example = "widerow login --endpoint http://127.0.0.1:8600 --instance local --key-id ID\n"
               "widerow login second --data /var/lib/widerow\n"
               "widerow scan orders --profile second",
    .options = login_rows,
    .options_size = sizeof(struct login_options),
    .argc_max = 1,
    .run = login,
};
