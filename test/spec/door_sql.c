/* door_sql.c: the third door: a server of the HTTP door, and its SQL port beside. */
#include "door_beside.h"

#include <stdio.h>
#include <stdlib.h>

struct sql {
    struct door base;
    struct door *beside;
};

static void sql_exec(struct door *d, struct ctx *c, const struct wr_request *req,
                     struct answer *out)
{
    door_exec(PORT_CONTAINER(d, struct sql, base)->beside, c, req, out);
}

static void sql_close(struct door *d)
{
    struct sql *s = PORT_CONTAINER(d, struct sql, base);
    struct door_said said = door_beside_said(s->beside);

    printf("sql: %u writes and %u reads in SQL, %u statements refused, %u requests by HTTP alone\n",
           said.written, said.read, said.refused, said.others);
    door_close(s->beside);
    mem_free(s);
}

static unsigned port_of(const struct door_conf *conf)
{
    char path[512], line[128];
    unsigned port = 0;
    FILE *f;

    snprintf(path, sizeof(path), "%s/ports", conf->dir);
    f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, "sql=", 4) == 0 && strrchr(line, ':'))
            port = (unsigned)strtoul(strrchr(line, ':') + 1, NULL, 10);
    if (f)
        fclose(f);
    return port;
}

struct door *door_sql_open(const struct door_conf *conf, char *message, size_t size)
{
    static const struct door_ops ops = {sql_exec, sql_close};
    struct door_conf with = *conf;
    struct door *http, *beside;
    struct sql *s;

    with.sql = true;
    http = door_http_open(&with, message, size);
    if (!http)
        return NULL;
    beside = door_beside_open(http,
                              &(struct door_login){.port = port_of(conf),
                                                   .user = DOOR_KEY_ID,
                                                   .password = DOOR_SECRET,
                                                   .instance = DOOR_INSTANCE},
                              message, size);
    if (!beside)
        return NULL;
    s = mem_zalloc(sizeof(*s));
    *s = (struct sql){.base.ops = &ops, .beside = beside};
    return &s->base;
}
