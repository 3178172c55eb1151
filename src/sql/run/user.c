/* user.c: users, databases, and what users may do. The door keeps them (session.h). */
#include "sql/run/table.h"
#include "sql/run/texts.h"

static const struct {
    const char *word;
    unsigned bits;
} privileges[] = {
    {"READ", USER_MAY_READ},  {"WRITE", USER_MAY_WRITE},   {"ADMIN", USER_MAY_ADMIN},
    {"TRASH", USER_MAY_DROP}, {"SYSTEM", USER_MAY_SYSTEM}, {"ALL", USER_MAY_ALL},
};

/* ALL on a table is all that there is on tables. */
static int privileges_read(struct run *r, const struct statement *s, unsigned *out)
{
    *out = 0;
    for (const struct name_item *i = s->columns ? s->columns->first : NULL; i; i = i->next) {
        size_t k = 0;

        while (k < PORT_COUNT(privileges) && !run_is_word(i->name, privileges[k].word))
            k++;
        if (k == PORT_COUNT(privileges))
            return run_fail(r, FAULT_PRIVILEGE, RUN_TEXT(i->name));
        *out |= privileges[k].bits;
        if (s->table.table.ptr && privileges[k].bits == USER_MAY_ALL)
            *out &= ~(unsigned)USER_MAY_SYSTEM;
    }
    return 0;
}

static const struct {
    enum user_action action;
    const char *name;
} actions[STATEMENT_COUNT] = {
    [STATEMENT_CREATE_USER] = {USER_CREATE, "CREATE USER"},
    [STATEMENT_ALTER_USER] = {USER_ALTER, "ALTER USER"},
    [STATEMENT_DROP_USER] = {USER_DROP, "DROP USER"},
    [STATEMENT_GRANT] = {USER_GRANT, "GRANT"},
    [STATEMENT_REVOKE] = {USER_REVOKE, "REVOKE"},
    [STATEMENT_CREATE_DATABASE] = {USER_CREATE_DATABASE, "CREATE DATABASE"},
    [STATEMENT_DROP_DATABASE] = {USER_DROP_DATABASE, "DROP DATABASE"},
};

static int change_fail(struct run *r, const struct statement *s, int code, const char *text)
{
    const char *why = text ? text : wr_error_name(code);
    bool there = code == WR_E_EXIST;

    if ((there || code == WR_E_NOT_EXIST) && s->if_exists)
        return 0;
    if (s->type == STATEMENT_CREATE_DATABASE && there)
        return run_fail(r, FAULT_DATABASE_EXISTS, RUN_TEXT(s->name));
    if (code == WR_E_PERMISSION)
        return run_fail(r, FAULT_PRIVILEGES, why);
    return run_fail(r, FAULT_USER, actions[s->type].name, RUN_TEXT(s->name), why);
}

static int change_make(struct run *r, const struct statement *s, const struct user_change *change)
{
    const struct access *access = &r->session->conf.access;
    struct ctx c;
    int code;

    if (!access->user_change)
        return run_fail(r, FAULT_UNSUPPORTED, "There are no users here");
    ctx_init(&c, r->session->conf.clock, NULL, NULL, 0);
    session_wait_begin(r->session);
    code = access->user_change(access->arg, &c, change);
    session_wait_end(r->session);
    if (code)
        code = change_fail(r, s, code, c.text);
    ctx_release(&c);
    return code;
}

/* Tables of a database that is to be dropped, or of one that nobody entered before. */
static int check_empty(struct run *r, const struct statement *s)
{
    struct wr_request request = {WR_REQUEST(LIST_TABLE), .instance = s->name};
    struct wr_reply *reply = wr_exec(r->session->conf.db, &request);
    bool empty = !reply->code && !reply->table_list.count;
    int code = reply->code ? run_fail_reply(r, reply) : 0;

    wr_reply_free(reply);
    if (empty || code)
        return code;
    return run_fail(r, FAULT_USER, actions[s->type].name, RUN_TEXT(s->name),
                    s->type == STATEMENT_DROP_DATABASE
                        ? "it has tables: drop them first"
                        : "tables are there that nobody may enter now: the operator has to give "
                          "it to a key");
}

int run_user(struct run *r, const struct statement *s)
{
    struct user_change change = {.action = actions[s->type].action,
                                 .user = s->name,
                                 .password = s->pattern,
                                 .table = s->table.table};
    const struct access *access = &r->session->conf.access;
    bool database = s->type == STATEMENT_CREATE_DATABASE || s->type == STATEMENT_DROP_DATABASE;

    RUN_TRY(privileges_read(r, s, &change.privileges));
    if (!database) {
        if (s->type == STATEMENT_CREATE_USER || change.privileges)
            RUN_TRY(table_database(r, &s->table, &change.instance));
        return change_make(r, s, &change);
    }
    change.instance = s->name;
    if (s->type == STATEMENT_DROP_DATABASE && !access->enter(access->arg, s->name))
        return s->if_exists ? 0 : run_fail(r, FAULT_UNKNOWN_DATABASE, RUN_TEXT(s->name));
    if (s->type == STATEMENT_DROP_DATABASE || !access->enter(access->arg, s->name))
        RUN_TRY(check_empty(r, s));
    return change_make(r, s, &change);
}

/* ---- SHOW ---- */

static bytes may_text(struct arena *a, unsigned may)
{
    bytes out = BYTES_LIT("");

    for (size_t i = 0; i + 1 < PORT_COUNT(privileges); i++)
        if (may & privileges[i].bits)
            out =
                arena_printf(a, "%.*s%s%s", RUN_TEXT(out), out.len ? ", " : "", privileges[i].word);
    return out;
}

static bytes on_text(struct arena *a, const struct user_grant *g)
{
    if (g->prefix && !g->table.len)
        return arena_printf(a, "DATABASE `%.*s`", RUN_TEXT(g->instance));
    return arena_printf(a, "TABLE `%.*s`.`%.*s%s`", RUN_TEXT(g->instance), RUN_TEXT(g->table),
                        g->prefix ? "*" : "");
}

/* SHOW GRANTS [FOR user]: as statements that would give them. */
static int show_grants(struct run *r, const struct statement *s, const struct user_grant *list,
                       size_t count)
{
    bytes user = s->pattern.ptr ? s->pattern : r->session->conf.user;
    bool found = false;

    for (size_t i = 0; i < count; i++)
        found |= bytes_equal(list[i].user, user);
    if (!found)
        return run_fail(r, FAULT_USER, "SHOW GRANTS", RUN_TEXT(user),
                        "there is no such user that you may see");
    RUN_TRY(texts_columns(
        r, (const char *[]){arena_printf(r->arena, "Grants for %.*s", RUN_TEXT(user)).ptr, NULL}));
    for (size_t i = 0; i < count; i++) {
        bytes text;

        if (!bytes_equal(list[i].user, user) || !list[i].may)
            continue;
        text = arena_printf(r->arena, "GRANT %.*s ON %.*s TO `%.*s`",
                            RUN_TEXT(may_text(r->arena, list[i].may)),
                            RUN_TEXT(on_text(r->arena, &list[i])), RUN_TEXT(user));
        RUN_TRY(texts_row(r, &text, 1));
    }
    return 0;
}

/* Users, each once; or a line for each thing that one may do. */
static int show_list(struct run *r, const struct user_grant *list, size_t count, bool users)
{
    RUN_TRY(users ? texts_columns(r, (const char *[]){"USER_NAME", NULL})
                  : texts_columns(r, (const char *[]){"USER_NAME", "DATABASE_NAME", "TABLE_NAME",
                                                      "PRIVILEGES", NULL}));
    for (size_t i = 0; i < count; i++) {
        const struct user_grant *g = &list[i];
        bytes texts[] = {g->user, g->instance,
                         g->prefix ? arena_printf(r->arena, "%.*s*", RUN_TEXT(g->table)) : g->table,
                         may_text(r->arena, g->may)};

        if (users ? i && bytes_equal(list[i - 1].user, g->user) : !g->may)
            continue;
        RUN_TRY(texts_row(r, texts, users ? 1 : PORT_COUNT(texts)));
    }
    return 0;
}

int run_show_users(struct run *r, const struct statement *s)
{
    const struct access *access = &r->session->conf.access;
    struct user_grant *list = NULL;
    size_t count;

    if (!access->user_grants)
        return run_fail(r, FAULT_UNSUPPORTED, "There are no users here");
    count = access->user_grants(access->arg, r->arena, &list);
    return run_is_word(s->name, "GRANTS")
               ? show_grants(r, s, list, count)
               : show_list(r, list, count, run_is_word(s->name, "USERS"));
}
