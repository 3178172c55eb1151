#include "by_sql.h"

#include "door_beside.h"
#include "sql_port.h"

#include <stdio.h>
#include <stdlib.h>

/* The door beside: the database itself. */
struct below {
    struct door base;
    struct wr_db *db;
};

struct by_sql {
    struct sql_port *port;
    struct below below;
    struct door *door;
    struct door_said said;
};

static void below_exec(struct door *d, struct ctx *c, const struct wr_request *req,
                       struct answer *out)
{
    struct below *b = PORT_CONTAINER(d, struct below, base);

    (void)c;
    *out = (struct answer){.owned = wr_exec(b->db, req)};
    out->reply = *out->owned;
    out->code_name = wr_error_name(out->reply.code);
}

static void below_close(struct door *d)
{
    (void)d; /* the database is the model's */
}

struct by_sql *by_sql_open(struct wr_db *db, const char *instance)
{
    static const struct door_ops ops = {below_exec, below_close};
    struct by_sql *s = mem_zalloc(sizeof(*s));
    char message[300];

    s->below = (struct below){{&ops}, db};
    s->port = sql_port_open(db);
    s->door = door_beside_open(&s->below.base,
                               &(struct door_login){.port = sql_port_number(s->port),
                                                    .user = SQL_PORT_USER,
                                                    .password = SQL_PORT_PASSWORD,
                                                    .instance = instance},
                               message, sizeof(message));
    if (s->door)
        return s;
    fprintf(stderr, "%s\n", message);
    exit(2);
}

void by_sql_close(struct by_sql *s)
{
    if (!s)
        return;
    door_close(s->door);
    sql_port_close(s->port);
    mem_free(s);
}

struct by_sql_answer by_sql_exec(struct by_sql *s, struct ctx *c, const struct wr_request *req)
{
    struct answer a;

    door_exec(s->door, c, req, &a);
    s->said = door_beside_said(s->door);
    return (struct by_sql_answer){a.reply, a.owned, a.fault};
}

uint64_t by_sql_count(const struct by_sql *s)
{
    return s->said.written + s->said.read;
}
