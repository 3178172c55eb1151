/* door.h: the ways to the database that scripts are run through. */
#ifndef SPEC_DOOR_H
#define SPEC_DOOR_H

#include "spec.h"

struct door_conf {
    const char *engine;
    const char *dir;      /* empty and ours */
    const char *widerowd; /* the server's program; the library's door needs none */
    const char *endpoint; /* http://HOST:PORT of a server that runs; NULL: one of ours is started */
    const char *instance; /* of that server; its key is in WIDEROW_ACCESS_KEY_ID and _SECRET */
    const struct wr_setting *settings;
    size_t setting_count;
    const struct wr_setting *engine_settings; /* what the engine alone understands */
    size_t engine_setting_count;
    bool strict;
    bool sql; /* the server has a SQL port, too */
    const char *server_flag; /* one more flag of the server's, "--name=value"; NULL: none */
};

struct door;

struct door_ops {
    void (*exec)(struct door *d, struct ctx *c, const struct wr_request *req, struct answer *out);
    void (*close)(struct door *d);
};

struct door {
    const struct door_ops *ops;
};

/* NULL on failure, with a line in `message`. */
struct door *door_library_open(const struct door_conf *conf, char *message, size_t size);
struct door *door_http_open(const struct door_conf *conf, char *message, size_t size);
struct door *door_sql_open(const struct door_conf *conf, char *message, size_t size);

/* Who they are at the servers that these doors start. */
#define DOOR_KEY_ID "spec-key"
#define DOOR_SECRET "spec-secret"
#define DOOR_INSTANCE "spec"

/* One raw HTTP request: the statement "http". `p` stands behind that word; the answer is written
 * to `out` in the language of the scripts. */
void door_http_raw(struct door *d, struct cursor *p, bytes *out);

static inline void door_exec(struct door *d, struct ctx *c, const struct wr_request *req,
                             struct answer *out)
{
    d->ops->exec(d, c, req, out);
}

static inline void door_close(struct door *d)
{
    if (d)
        d->ops->close(d);
}

#endif
