/* libmariadb.c: MariaDB's client library, for `widerow sql`. */
#include "delayload/delayload.h"

#include <mariadb/mysql.h>
#include <stdatomic.h>
#include <stddef.h>

#define LIBRARY "libmariadb.so.3"
#define PACKAGE "libmariadb3"
#define CHECK NULL

DELAYLOAD(MYSQL *, mysql_init, (MYSQL * mysql), (mysql))
DELAYLOAD(int, mysql_options, (MYSQL * mysql, enum mysql_option option, const void *value),
          (mysql, option, value))
DELAYLOAD(MYSQL *, mysql_real_connect,
          (MYSQL * mysql, const char *host, const char *user, const char *password,
           const char *database, unsigned port, const char *socket, unsigned long flags),
          (mysql, host, user, password, database, port, socket, flags))
DELAYLOAD(int, mysql_real_query, (MYSQL * mysql, const char *sql, unsigned long size),
          (mysql, sql, size))
DELAYLOAD(MYSQL_RES *, mysql_use_result, (MYSQL * mysql), (mysql))
DELAYLOAD(MYSQL_ROW, mysql_fetch_row, (MYSQL_RES * result), (result))
DELAYLOAD(unsigned long *, mysql_fetch_lengths, (MYSQL_RES * result), (result))
DELAYLOAD(MYSQL_FIELD *, mysql_fetch_fields, (MYSQL_RES * result), (result))
DELAYLOAD(unsigned, mysql_num_fields, (MYSQL_RES * result), (result))
DELAYLOAD(unsigned, mysql_field_count, (MYSQL * mysql), (mysql))
DELAYLOAD(my_ulonglong, mysql_affected_rows, (MYSQL * mysql), (mysql))
DELAYLOAD(unsigned long, mysql_thread_id, (MYSQL * mysql), (mysql))
DELAYLOAD(unsigned, mysql_errno, (MYSQL * mysql), (mysql))
DELAYLOAD(const char *, mysql_error, (MYSQL * mysql), (mysql))
DELAYLOAD_VOID(mysql_free_result, (MYSQL_RES * result), (result))
DELAYLOAD_VOID(mysql_close, (MYSQL * mysql), (mysql))
