/* door_library.c: through wr_exec(). */
#include "door.h"

#include <stdio.h>

struct library {
    struct door base;
    struct wr_db *db;
};

static void library_exec(struct door *d, struct ctx *c, const struct wr_request *req,
                         struct answer *out)
{
    struct library *l = PORT_CONTAINER(d, struct library, base);

    (void)c;
    *out = (struct answer){.owned = wr_exec(l->db, req)};
    out->reply = *out->owned;
    out->code_name = wr_error_name(out->reply.code);
    out->status = wr_error_status(out->reply.code);
}

static void library_close(struct door *d)
{
    struct library *l = PORT_CONTAINER(d, struct library, base);

    wr_close(l->db);
    mem_free(l);
}

static void log_nothing(void *arg, char level, const char *line)
{
    (void)arg;
    if (level == 'E')
        fprintf(stderr, "%s\n", line);
}

struct door *door_library_open(const struct door_conf *conf, char *message, size_t size)
{
    static const struct door_ops ops = {library_exec, library_close};
    struct wr_options o = {.version = WR_API_VERSION,
                           .engine = conf->engine,
                           .dir = conf->dir,
                           .settings = conf->settings,
                           .setting_count = conf->setting_count,
                           .engine_settings = conf->engine_settings,
                           .engine_setting_count = conf->engine_setting_count,
                           .strict = conf->strict,
                           .log = log_nothing};
    struct library *l = mem_zalloc(sizeof(*l));

    l->base.ops = &ops;
    if (wr_open(&o, &l->db, message, size)) {
        mem_free(l);
        return NULL;
    }
    return &l->base;
}
