#include "client/client.h"

#include "base/fault.h"
#include "client/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define ENDPOINT_DEFAULT "http://127.0.0.1:8600"
#define DATA_DEFAULT "data"
#define INSTANCE_DEFAULT "local" /* of a folder that no server has used yet */
#define PAUSE_FIRST_MS 20
#define PAUSE_MAX_MS 2000

/* ---- where requests go */

static const char *first_of(const char *flag, const char *variable)
{
    const char *value = flag ? flag : getenv(variable);

    return value && *value ? value : NULL;
}

static bytes keep_text(struct target *t, const char *text)
{
    return arena_printf(&t->arena, "%s", text);
}

bool target_read_credentials(struct target *t, const char *dir, const char *wanted)
{
    char line[1024], instance[64], id[256], secret[512], path[4096];
    bool found = false, right = false;
    FILE *file;

    if (snprintf(path, sizeof(path), "%s/credentials", dir) >= (int)sizeof(path))
        return false;
    file = fopen(path, "r");
    if (!file)
        return false;
    while (!right && fgets(line, sizeof(line), file)) {
        if (line[0] == '#' || sscanf(line, "%63s %255s %511s", instance, id, secret) != 3)
            continue;
        right = !wanted || strcasecmp(instance, wanted) == 0;
        if (found && !right)
            continue;
        t->instance = keep_text(t, instance);
        t->key_id = keep_text(t, id);
        t->key_secret = keep_text(t, secret);
        found = true;
    }
    fclose(file);
    return found;
}

static int target_open_dir(struct ctx *c, const struct target_conf *conf, struct target *t)
{
    struct wr_options options = {WR_OPTIONS, .dir = conf->dir, .engine = conf->engine};
    const char *instance = first_of(conf->instance, "WIDEROW_INSTANCE");
    bool mem = conf->engine && strcmp(conf->engine, "mem") == 0;
    char message[512] = "";
    int code;

    if (mem && conf->dir)
        return fail(c, E_PARAMETER, "--engine mem has no folder: leave --dir out");
    if (!mem && !conf->dir)
        return fail(c, E_PARAMETER,
                    "which database in this process? Give --dir DIR, or --engine mem");
    if (mem || !target_read_credentials(t, conf->dir, instance) || instance)
        t->instance = keep_text(t, instance ? instance : INSTANCE_DEFAULT);
    code = wr_open(&options, &t->db, message, sizeof(message));
    atomic_store(&t->reached, true);
    return code ? fail(c, code, "%s", message) : 0;
}

static int target_find_keys(struct ctx *c, const struct target_conf *conf, struct target *t)
{
    const char *instance = first_of(conf->instance, "WIDEROW_INSTANCE");
    const char *id = first_of(conf->key_id, "WIDEROW_ACCESS_KEY_ID");
    const char *secret = first_of(conf->key_secret, "WIDEROW_ACCESS_KEY_SECRET");
    const char *data = conf->data ? conf->data : DATA_DEFAULT;

    if (!id != !secret)
        return fail(c, E_PARAMETER, "an access key is a pair: give --key-id and --key-secret");
    if (id && !instance)
        return fail(c, E_PARAMETER, "the access key is for which instance? Give --instance");
    if (!id && !target_read_credentials(t, data, instance))
        return fail(c, E_PARAMETER,
                    "no access key: give --instance, --key-id and --key-secret (or "
                    "WIDEROW_INSTANCE, WIDEROW_ACCESS_KEY_ID, WIDEROW_ACCESS_KEY_SECRET), or "
                    "--data with the server's data folder (%s/credentials cannot be read)",
                    data);
    if (id) {
        t->key_id = keep_text(t, id);
        t->key_secret = keep_text(t, secret);
    }
    if (instance)
        t->instance = keep_text(t, instance);
    return 0;
}

static int fill_from_profile(struct ctx *c, struct target *t, struct target_conf *conf)
{
    /* The variable's key is not for a server that a flag names. */
    const char *name = conf->endpoint ? conf->profile : first_of(conf->profile, "WIDEROW_PROFILE");
    struct profile p;
    bool found;

    if (!name && (first_of(conf->endpoint, "WIDEROW_ENDPOINT") || conf->instance || conf->data ||
                  first_of(conf->key_id, "WIDEROW_ACCESS_KEY_ID")))
        return 0;
    TRY(profile_read(c, &t->arena, name ? name : PROFILE_DEFAULT, &p, &found));
    if (name && !found)
        return fail(c, E_NOT_EXIST,
                    "there is no profile %s: `widerow login %s --endpoint URL` "
                    "makes it",
                    name, name);
    if (!found)
        return 0;
    /* A profile that is named is stronger than the environment. */
    conf->endpoint = conf->endpoint ? conf->endpoint : p.endpoint;
    conf->instance = conf->instance ? conf->instance : p.instance;
    if (!conf->key_id) {
        conf->key_id = p.key_id;
        conf->key_secret = p.key_secret;
    }
    conf->ca_file = conf->ca_file ? conf->ca_file : p.ca_file;
    return 0;
}

static int target_open_server(struct ctx *c, const struct target_conf *conf, struct target *t)
{
    const char *endpoint = first_of(conf->endpoint, "WIDEROW_ENDPOINT");
    const char *ca_file = first_of(conf->ca_file, "WIDEROW_CA_FILE");
    size_t len;

    if (!endpoint)
        endpoint = ENDPOINT_DEFAULT;
    if (strncmp(endpoint, "http://", 7) != 0 && strncmp(endpoint, "https://", 8) != 0)
        return fail(c, E_PARAMETER, "an endpoint begins with http:// or https://, not '%s'",
                    endpoint);
    for (len = strlen(endpoint); endpoint[len - 1] == '/'; len--)
        ;
    t->endpoint = arena_printf(&t->arena, "%.*s", (int)len, endpoint).ptr;
    if (ca_file) {
        if (access(ca_file, R_OK) != 0)
            return fail(c, E_PARAMETER, "cannot read the certificates in %s: %s", ca_file,
                        strerror(errno));
        t->ca_file = arena_printf(&t->arena, "%s", ca_file).ptr;
    }
    return target_find_keys(c, conf, t);
}

int target_open(struct ctx *c, const struct target_conf *conf, struct target *t)
{
    bool embedded = conf->dir || conf->engine || conf->embedded;
    struct target_conf filled = *conf;

    *t = (struct target){0};
    arena_init(&t->arena, NULL, 0);
    if (embedded && (conf->endpoint || conf->profile))
        return fail(c, E_PARAMETER, "%s and %s exclude each other",
                    conf->dir        ? "--dir"
                    : conf->embedded ? "--embedded"
                                     : "--engine",
                    conf->endpoint ? "--endpoint" : "--profile");
    if (embedded)
        return target_open_dir(c, conf, t);
    TRY(fill_from_profile(c, t, &filled));
    return target_open_server(c, &filled, t);
}

void target_release(struct target *t)
{
    if (t->db) /* none: the library need not be loaded for it */
        wr_close(t->db);
    arena_release(&t->arena);
    *t = (struct target){0};
}

/* ---- a connection */

int client_open(struct ctx *c, struct target *t, struct client **out)
{
    int (*open)(struct ctx *, struct target *, struct client **) =
        t->db ? client_open_local : client_open_http;

    TRY(open(c, t, out));
    (*out)->target = t;
    (*out)->retry_ms = fault_hit(FAULT_client_impatient) ? 1 : CLIENT_RETRY_MS;
    rng_init(&(*out)->rng, (uint64_t)clock_mono_us(c->clock) ^ (uintptr_t)*out);
    return 0;
}

void client_close(struct client *cl)
{
    if (cl)
        cl->ops->close(cl);
}

static bool is_read(enum wr_op op)
{
    return wr_op_class(op) == WR_CLASS_READ || wr_op_class(op) == WR_CLASS_DESCRIBE;
}

bool client_may_retry(int code, bool repeatable)
{
    switch (code) {
    case WR_E_CONFLICT:
    case WR_E_NOT_READY:
    case WR_E_PARTITION:
    case WR_E_BUSY:
    case WR_E_TOO_FREQUENT:
    case WR_E_CAPACITY:
    case WR_E_HOT_PARTITION:
    case WR_E_UNAVAILABLE:
        return true;
    case WR_E_UNSURE:
    case WR_E_INTERNAL:
    case WR_E_REQUEST_TIMEOUT:
        return repeatable;
    default:
        return false;
    }
}

void client_pause(struct client *cl, unsigned tries)
{
    int64_t ms = tries > 7 ? PAUSE_MAX_MS : PAUSE_FIRST_MS << (tries - 1);
    struct timespec pause;

    if (ms > PAUSE_MAX_MS)
        ms = PAUSE_MAX_MS;
    ms = ms / 2 + (int64_t)rng_below(&cl->rng, (uint64_t)ms / 2 + 1);
    pause = (struct timespec){ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

int client_exec(struct ctx *c, struct client *cl, const struct wr_request *request,
                struct wr_reply *out)
{
    int64_t give_up_ms = clock_mono_ms(c->clock) + cl->retry_ms;
    bool repeatable = cl->repeatable || is_read(request->op);
    struct wr_request sent = *request;
    int code;

    sent.instance = cl->target->instance;
    for (unsigned tries = 1;; tries++) {
        code = cl->ops->exec(c, cl, &sent, out);
        if (!client_may_retry(code, repeatable) || !atomic_load(&cl->target->reached) ||
            clock_mono_ms(c->clock) >= give_up_ms || (cl->stop && atomic_load(cl->stop)))
            return code;
        client_pause(cl, tries);
        ctx_clear(c);
    }
}

int client_describe(struct ctx *c, struct client *cl, bytes table, struct wr_table_description *out)
{
    struct wr_request request = {.op = WR_OP_DESCRIBE_TABLE, .describe_table = {table}};
    struct wr_reply reply;

    TRY(client_exec(c, cl, &request, &reply));
    *out = reply.description;
    return 0;
}
