#include "server/sql_keys.h"

#include "server/sql_users.h"

static const void *find(void *arg, bytes id, bytes *secret)
{
    const struct credential *c = credential_find(arg, id);

    if (c)
        *secret = bytes_str(c->secret);
    return c;
}

static void release(void *arg, const void *key)
{
    (void)arg;
    credential_release(key);
}

/* The guest's key for an instance, held; NULL: it has none any more. */
static const struct credential *key_of(const struct door_guest *g, bytes instance)
{
    const struct credential *c = credential_find(g->keys->arg, g->id), *at;

    if (!c)
        return NULL;
    at = credential_at(c, instance);
    if (!at)
        credential_release(c);
    return at;
}

static int check(void *arg, struct ctx *c, const struct wr_request *request)
{
    const struct credential *key = key_of(arg, request->instance);
    int code;

    if (!key)
        return fail(c, E_PERMISSION, "the access key is not for this instance any more");
    code = grants_check(c, &key->grants, request);
    credential_release(key);
    return code;
}

static bool enter(void *arg, bytes instance)
{
    const struct credential *key = key_of(arg, instance);

    credential_release(key);
    return key != NULL;
}

static struct wr_table_list visible(void *arg, struct ctx *c, bytes instance,
                                    const struct wr_table_list *all)
{
    const struct credential *key = key_of(arg, instance);
    struct wr_table_list out = {NULL, 0};

    if (key)
        out = grants_visible(c, &key->grants, all);
    credential_release(key);
    return out;
}

static size_t databases(void *arg, struct arena *a, bytes **out)
{
    const struct door_guest *g = arg;
    const struct credential *c = credential_find(g->keys->arg, g->id);
    size_t count = 0;

    if (!c)
        return 0;
    *out = credential_instances(c, a, &count);
    credential_release(c);
    return count;
}

_Static_assert(USER_MAY_READ == (int)GRANT_READ && USER_MAY_WRITE == (int)GRANT_WRITE &&
                   USER_MAY_ADMIN == (int)GRANT_ADMIN && USER_MAY_DROP == (int)GRANT_DROP &&
                   USER_MAY_SYSTEM == (int)GRANT_SYSTEM,
               "privileges are grants");

static int user_change(void *arg, struct ctx *c, const struct user_change *change)
{
    const struct door_guest *g = arg;

    return sql_user_change(g->keys->arg, g->id, c, change);
}

static size_t user_grants(void *arg, struct arena *a, struct user_grant **out)
{
    const struct door_guest *g = arg;

    return sql_user_grants(g->keys->arg, g->id, a, out);
}

struct door_keys sql_keys(struct credential_store *s)
{
    return (struct door_keys){
        .find = find,
        .release = release,
        .access = {check, enter, visible, NULL, databases, user_change, user_grants},
        .arg = s};
}
