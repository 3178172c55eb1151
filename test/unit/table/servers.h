/* servers.h: one database in memory, or several over the pool of TEST_CEPH_CONF, in a namespace
 * named like the test's folder. Included behind cmocka. */
#ifndef UNIT_TABLE_SERVERS_H
#define UNIT_TABLE_SERVERS_H

#include "table/core/db.h"

#include "database.h"

#define SERVERS_MAX 2

static struct wr_db *servers[SERVERS_MAX];
static int server_count;
static char dir[FOLDER_BYTES];

/* `prepare` is told of each before it has any table; or NULL. */
static inline void servers_open(const char *engine, int count, void (*prepare)(struct wr_db *db))
{
    struct wr_setting settings[] = {{"table_ops_per_s_max", "0"}};
    const struct wr_options o = {.version = WR_API_VERSION,
                                 .engine = engine,
                                 .settings = settings,
                                 .setting_count = PORT_COUNT(settings)};

    folder_make(dir);
    for (server_count = 0; server_count < count; server_count++) {
        servers[server_count] = database_open_in(&o, dir);
        if (prepare)
            prepare(servers[server_count]);
    }
}

static inline void servers_close(void)
{
    for (int i = 0; i < server_count; i++)
        wr_close(servers[i]);
    folder_remove(dir);
}

#endif
