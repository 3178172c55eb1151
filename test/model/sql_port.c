#include "sql_port.h"

#include "sql/door/door.h"

#include <stdio.h>
#include <stdlib.h>

struct sql_port {
    struct door *door;
    struct clock clock;
    struct log log;
};

static const void *find(void *arg, bytes id, bytes *secret)
{
    (void)arg;
    *secret = bytes_str(SQL_PORT_PASSWORD);
    return bytes_equal(id, bytes_str(SQL_PORT_USER)) ? SQL_PORT_USER : NULL;
}

static void release(void *arg, const void *key)
{
    (void)arg, (void)key;
}

static int may(void *arg, struct ctx *c, const struct wr_request *request)
{
    (void)arg, (void)c, (void)request;
    return 0;
}

static bool may_enter(void *arg, bytes instance)
{
    (void)arg, (void)instance;
    return true;
}

static struct wr_table_list all_visible(void *arg, struct ctx *c, bytes instance,
                                        const struct wr_table_list *all)
{
    (void)arg, (void)c, (void)instance;
    return *all;
}

static void log_nothing(void *arg, char level, const char *line)
{
    (void)arg;
    if (level == 'E')
        fprintf(stderr, "%s\n", line);
}

struct sql_port *sql_port_open(struct wr_db *db)
{
    struct sql_port *p = mem_zalloc(sizeof(*p));
    struct door_conf conf = {
        .address = "127.0.0.1:0",
        .setting = "the model",
        .db = db,
        .clock = &p->clock,
        .log = &p->log,
        .keys = {.find = find,
                 .release = release,
                 .access = {.check = may, .enter = may_enter, .visible = all_visible}},
        .connections_max = 100};
    char message[200];

    p->log = (struct log){.sink = log_nothing};
    clock_real_init(&p->clock);
    if (!door_open(&conf, &p->door, message, sizeof(message)))
        return p;
    fprintf(stderr, "cannot open the SQL port: %s\n", message);
    exit(2);
}

void sql_port_close(struct sql_port *p)
{
    if (!p)
        return;
    door_close(p->door);
    mem_free(p);
}

unsigned sql_port_number(const struct sql_port *p)
{
    return (unsigned)strtoul(strrchr(door_address(p->door), ':') + 1, NULL, 10);
}
