#include "server/sql_users.h"

#include "base/buf.h"
#include "base/err.h"

#include <stdio.h>
#include <strings.h>

#define NAME_MIN 4 /* of a new user, as of Lindorm */
#define NAME_MAX 15

/* A line of the file: a pair, or a comment, which stays as it is. */
struct line {
    bytes raw, words[4]; /* instance, id, secret, grants; ptr NULL: none */
    struct grants grants;
    bool is_pair, removed, changed;
};

struct lines {
    struct line *list;
    size_t count;
};

struct edit {
    struct credential_store *store;
    const struct credential *by; /* held */
    struct ctx *c;
    const struct user_change *change;
};

/* ---- the file as lines ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static int line_read(struct ctx *c, bytes raw, struct line *out)
{
    const char *p = raw.ptr, *end = p + raw.len;
    char why[256];
    size_t n = 0;

    *out = (struct line){.raw = raw};
    while (n < PORT_COUNT(out->words)) {
        const char *from;

        while (p < end && is_space(*p))
            p++;
        for (from = p; p < end && !is_space(*p);)
            p++;
        if (from == p)
            break;
        out->words[n++] = bytes_of(from, (size_t)(p - from));
    }
    out->is_pair = n >= 3 && bytes_u8(out->words[0])[0] != '#';
    out->grants = grants_all();
    if (!out->is_pair || !out->words[3].ptr)
        return E_OK;
    if (grants_parse(&c->arena, out->words[3], &out->grants, why, sizeof(why)))
        return fail(c, E_PARAMETER, "The file of access keys is damaged: %s", why);
    return E_OK;
}

static int lines_read(struct ctx *c, bytes text, struct lines *out)
{
    const char *p = text.ptr, *end = p + text.len;
    size_t n = 1;

    for (const char *at = p; at < end; at++)
        n += *at == '\n';
    out->list = ARENA_ARRAY(&c->arena, struct line, n + 1); /* one may be added */
    while (p < end) {
        const char *next = memchr(p, '\n', (size_t)(end - p));
        bytes raw = bytes_of(p, (size_t)((next ? next : end) - p));

        TRY(line_read(c, raw, &out->list[out->count++]));
        p = next ? next + 1 : end;
    }
    return E_OK;
}

static bytes lines_text(struct ctx *c, const struct lines *l)
{
    bytes out = BYTES_LIT("");
    struct buf b;

    buf_init(&b, &c->arena, 4096);
    for (size_t i = 0; i < l->count; i++) {
        const struct line *at = &l->list[i];

        if (at->removed)
            continue;
        buf_put_bytes(&b,
                      at->changed
                          ? arena_printf(&c->arena, "%.*s %.*s %.*s %.*s", BYTES_FMT(at->words[0]),
                                         BYTES_FMT(at->words[1]), BYTES_FMT(at->words[2]),
                                         BYTES_FMT(grants_text(&c->arena, &at->grants)))
                          : at->raw);
        buf_put_u8(&b, '\n');
    }
    if (b.len)
        out = buf_bytes(&b);
    return out;
}

static struct line *line_add(struct lines *l, bytes instance, bytes id, bytes secret,
                             struct grants grants)
{
    struct line *out = &l->list[l->count++];

    *out = (struct line){.words = {instance, id, secret, BYTES_NONE},
                         .grants = grants,
                         .is_pair = true,
                         .changed = true};
    return out;
}

/* The user's next line behind `from`; NULL: there is none. */
static struct line *line_of(struct lines *l, bytes user, struct line *from)
{
    for (struct line *at = from ? from + 1 : l->list; at < l->list + l->count; at++)
        if (at->is_pair && bytes_equal(at->words[1], user))
            return at;
    return NULL;
}

static struct line *line_at(struct lines *l, bytes user, bytes instance)
{
    struct line *at = line_of(l, user, NULL);

    while (at && (at->words[0].len != instance.len ||
                  strncasecmp(at->words[0].ptr, instance.ptr, instance.len) != 0))
        at = line_of(l, user, at);
    return at;
}

/* ---- who may ---- */

/* What the key that asks may do in an instance; count 0: nothing. */
static struct grants own_grants(const struct edit *e, bytes instance)
{
    const struct credential *at = credential_at(e->by, instance);

    return at ? at->grants : (struct grants){NULL, 0};
}

static int check_system(const struct edit *e, bytes instance)
{
    struct grants own = own_grants(e, instance);

    if (grants_allow(&own, BYTES_LIT(""), GRANT_SYSTEM))
        return E_OK;
    return fail(e->c, E_PERMISSION, "you need the SYSTEM privilege on database '%.*s'",
                BYTES_FMT(instance));
}

static int check_covers(const struct edit *e, bytes instance, const struct grants *of)
{
    struct grants own = own_grants(e, instance);

    TRY(check_system(e, instance));
    if (grants_cover(&own, of))
        return E_OK;
    return fail(e->c, E_PERMISSION,
                "in database '%.*s' that is more than your own access key may do",
                BYTES_FMT(instance));
}

/* Over all that the user may do, wherever. */
static int check_manages(const struct edit *e, struct lines *l)
{
    for (struct line *at = line_of(l, e->change->user, NULL); at;
         at = line_of(l, e->change->user, at))
        TRY(check_covers(e, at->words[0], &at->grants));
    return E_OK;
}

static bool is_self(const struct edit *e)
{
    return bytes_equal(bytes_str(e->by->id), e->change->user);
}

/* ---- changes ---- */

static int check_name(const struct edit *e)
{
    static const char *const taken[] = {"system", "anonymous", "lindorm"};
    bytes user = e->change->user;
    const char *p = user.ptr;

    for (size_t i = 0; i < PORT_COUNT(taken); i++)
        if (bytes_equal(user, bytes_str(taken[i])))
            return fail(e->c, E_PARAMETER, "'%s' is no name for a user", taken[i]);
    for (size_t i = 0; i < user.len; i++)
        if (!((p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z') ||
              (p[i] >= '0' && p[i] <= '9') || p[i] == '_' || p[i] == '-' || p[i] == '.'))
            return fail(e->c, E_PARAMETER,
                        "A user's name has letters, digits, '_', '-' and '.' only");
    if (user.len >= NAME_MIN && user.len <= NAME_MAX)
        return E_OK;
    return fail(e->c, E_PARAMETER, "A user's name has %d to %d characters", NAME_MIN, NAME_MAX);
}

static int check_password(const struct edit *e)
{
    bytes p = e->change->password;

    for (size_t i = 0; i < p.len; i++)
        if (bytes_u8(p)[i] <= ' ' || bytes_u8(p)[i] > '~')
            return fail(e->c, E_PARAMETER,
                        "A password has printable ASCII characters without blanks only");
    if (p.len && p.len <= CREDENTIAL_SECRET_MAX)
        return E_OK;
    return fail(e->c, E_PARAMETER, "A password has 1 to %d characters", CREDENTIAL_SECRET_MAX);
}

static int user_create(const struct edit *e, struct lines *l)
{
    const struct credential *there;

    TRY(check_system(e, e->change->instance));
    TRY(check_name(e));
    TRY(check_password(e));
    there = credential_find(e->store, e->change->user);
    credential_release(there);
    if (there || line_of(l, e->change->user, NULL))
        return fail(e->c, E_EXIST, "there is an access key of that id");
    line_add(l, e->change->instance, e->change->user, e->change->password,
             (struct grants){NULL, 0});
    return E_OK;
}

static int user_alter(const struct edit *e, struct lines *l)
{
    TRY(check_password(e));
    if (!is_self(e))
        TRY(check_manages(e, l));
    for (struct line *at = line_of(l, e->change->user, NULL); at;
         at = line_of(l, e->change->user, at)) {
        at->words[2] = e->change->password;
        at->changed = true;
    }
    return E_OK;
}

static int user_drop(const struct edit *e, struct lines *l)
{
    if (is_self(e))
        return fail(e->c, E_PARAMETER, "nobody drops himself: another user has to");
    TRY(check_manages(e, l));
    for (struct line *at = line_of(l, e->change->user, NULL); at;
         at = line_of(l, e->change->user, at))
        at->removed = true;
    return E_OK;
}

/* The grant on just the tables that the statement names, with room for one more behind the list;
 * it is made if there is none. */
static struct grant *grant_on(const struct edit *e, struct line *line)
{
    struct grant *list = ARENA_ARRAY(&e->c->arena, struct grant, line->grants.count + 1);
    bytes table = e->change->table;
    size_t i = 0;

    if (line->grants.count)
        memcpy(list, line->grants.list, line->grants.count * sizeof(*list));
    while (i < line->grants.count &&
           !(list[i].prefix == !table.ptr &&
             bytes_equal(list[i].table, table.ptr ? table : BYTES_LIT(""))))
        i++;
    if (i == line->grants.count)
        list[line->grants.count++] =
            (struct grant){0, !table.ptr, table.ptr ? table : BYTES_LIT("")};
    line->grants.list = list;
    line->changed = true;
    return &list[i];
}

/* Without those that allow nothing. */
static void grants_tidy(struct line *line)
{
    struct grant *list = (struct grant *)(uintptr_t)line->grants.list;
    size_t n = 0;

    for (size_t i = 0; i < line->grants.count; i++)
        if (list[i].may)
            list[n++] = list[i];
    line->grants.count = n;
}

static int user_grant(const struct edit *e, struct lines *l)
{
    const struct user_change *u = e->change;
    struct grant asked = {u->privileges, !u->table.ptr, u->table.ptr ? u->table : BYTES_LIT("")};
    struct line *any = line_of(l, u->user, NULL), *line = line_at(l, u->user, u->instance);

    TRY(check_covers(e, u->instance, &(struct grants){&asked, 1}));
    if (u->table.ptr && u->privileges & GRANT_SYSTEM)
        return fail(e->c, E_PARAMETER, "SYSTEM is a privilege on a database, not on a table");
    if (!line)
        line = line_add(l, u->instance, u->user, any->words[2], (struct grants){NULL, 0});
    grant_on(e, line)->may |= u->privileges;
    return E_OK;
}

static int user_revoke(const struct edit *e, struct lines *l)
{
    const struct user_change *u = e->change;
    struct line *line = line_at(l, u->user, u->instance);
    struct grant *grant;

    TRY(check_system(e, u->instance));
    if (is_self(e))
        return fail(e->c, E_PARAMETER, "nobody revokes his own privileges: another user has to");
    if (!line)
        return fail(e->c, E_NOT_EXIST, "the user has no privilege there");
    TRY(check_covers(e, u->instance, &line->grants));
    grant = grant_on(e, line);
    if (!(grant->may & u->privileges))
        return fail(e->c, E_NOT_EXIST, "the user has no such privilege on just that");
    grant->may &= ~u->privileges;
    grants_tidy(line);
    return E_OK;
}

/* Does any key enter it? */
static bool is_instance(const struct lines *l, bytes instance)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->list[i].is_pair && l->list[i].words[0].len == instance.len &&
            strncasecmp(l->list[i].words[0].ptr, instance.ptr, instance.len) == 0)
            return true;
    return false;
}

/* The key of who asks enters it, too, and may do everything there. */
static int database_create(const struct edit *e, struct lines *l)
{
    static const char *const taken[] = {"lindorm", "default", "global"};
    const struct user_change *u = e->change;

    TRY(check_system(e, bytes_str(e->by->instance)));
    for (size_t i = 0; i < PORT_COUNT(taken); i++)
        if (u->instance.len == strlen(taken[i]) &&
            strncasecmp(u->instance.ptr, taken[i], u->instance.len) == 0)
            return fail(e->c, E_PARAMETER, "'%s' is no name for a new database", taken[i]);
    if (is_instance(l, u->instance) || credential_at(e->by, u->instance))
        return fail(e->c, E_EXIST, "database exists");
    line_add(l, u->instance, bytes_str(e->by->id), bytes_str(e->by->secret), grants_all());
    return E_OK;
}

static int database_drop(const struct edit *e, struct lines *l)
{
    const struct user_change *u = e->change;
    struct grants all = grants_all();
    size_t instances;

    TRY(check_covers(e, u->instance, &all));
    credential_instances(e->by, &e->c->arena, &instances);
    if (instances < 2)
        return fail(e->c, E_PARAMETER, "it is the only one that your access key may enter");
    if (!line_at(l, bytes_str(e->by->id), u->instance))
        return fail(e->c, E_PARAMETER, "your access key for it is not from the file");
    for (size_t i = 0; i < l->count; i++) {
        struct line *at = &l->list[i];

        if (at->is_pair && at == line_at(l, at->words[1], u->instance))
            at->removed = true;
    }
    return E_OK;
}

/* ---- the edit ---- */

static int change_apply(const struct edit *e, struct lines *l)
{
    enum user_action action = e->change->action;

    if (action >= USER_ALTER && action <= USER_REVOKE && !line_of(l, e->change->user, NULL))
        return fail(e->c, E_NOT_EXIST, "there is no such user in the file of access keys");
    switch (action) {
    case USER_CREATE:
        return user_create(e, l);
    case USER_ALTER:
        return user_alter(e, l);
    case USER_DROP:
        return user_drop(e, l);
    case USER_GRANT:
        return user_grant(e, l);
    case USER_REVOKE:
        return user_revoke(e, l);
    case USER_CREATE_DATABASE:
        return database_create(e, l);
    default:
        return database_drop(e, l);
    }
}

static int on_edit(void *arg, bytes text, bytes *out)
{
    const struct edit *e = arg;
    struct lines l = {0};

    TRY(lines_read(e->c, text, &l));
    TRY(change_apply(e, &l));
    *out = lines_text(e->c, &l);
    return E_OK;
}

int sql_user_change(struct credential_store *s, bytes by, struct ctx *c,
                    const struct user_change *change)
{
    struct edit e = {s, credential_find(s, by), c, change};
    int code;

    if (!e.by)
        return fail(c, E_PERMISSION, "your access key is none any more");
    code = credential_store_edit(s, c, on_edit, &e);
    credential_release(e.by);
    return code;
}

/* ---- the list ---- */

struct listing {
    struct arena *arena;
    const struct credential *by;
    struct user_grant *list;
    size_t count, room;
};

static void grant_list(struct listing *l, const struct credential *of, const struct grant *g)
{
    if (l->count == l->room) {
        struct user_grant *more;

        l->room = l->room ? 2 * l->room : 16;
        more = ARENA_ARRAY(l->arena, struct user_grant, l->room);
        if (l->count)
            memcpy(more, l->list, l->count * sizeof(*more));
        l->list = more;
    }
    l->list[l->count++] = (struct user_grant){
        arena_copy(l->arena, bytes_str(of->id)), arena_copy(l->arena, bytes_str(of->instance)),
        g ? arena_copy(l->arena, g->table) : BYTES_LIT(""), !g || g->prefix, g ? g->may : 0};
}

static void on_pair(void *arg, const struct credential *of)
{
    struct listing *l = arg;
    const struct credential *own = credential_at(l->by, bytes_str(of->instance));
    bool seen = strcmp(of->id, l->by->id) == 0 ||
                (own && grants_allow(&own->grants, BYTES_LIT(""), GRANT_SYSTEM));

    for (size_t i = 0; seen && i < of->grants.count; i++)
        grant_list(l, of, &of->grants.list[i]);
    if (seen && !of->grants.count)
        grant_list(l, of, NULL);
}

size_t sql_user_grants(struct credential_store *s, bytes by, struct arena *a,
                       struct user_grant **out)
{
    struct listing l = {.arena = a, .by = credential_find(s, by)};

    if (l.by)
        credential_each(l.by, on_pair, &l);
    credential_release(l.by);
    *out = l.list;
    return l.count;
}
