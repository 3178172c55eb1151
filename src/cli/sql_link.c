#include "cli/sql_link.h"

#include <mariadb/mysql.h>
#include <stdlib.h>

#define PORT_DEFAULT 33060
#define CHARSET_BINARY 63

#define KILL_SECONDS 5u

struct sql_link {
    MYSQL *mysql;
    const struct target *target;
    const char *address; /* as sql_link_open() has it */
    MYSQL_RES *result;   /* NULL: no rows are under way */
    MYSQL_FIELD *fields;
    unsigned count;
    struct wr_cell *cells; /* of the row that was taken last */
};

/* ---- connecting ---- */

/* The host of "http://host:8600", or of "host:33060"; *port stays if there is none. */
static const char *host_take(struct arena *a, const char *address, bool with_port, unsigned *port)
{
    const char *host = strstr(address, "://") ? strstr(address, "://") + 3 : address;
    const char *end = host[0] == '[' ? strchr(host, ']') : NULL;
    const char *colon = strchr(end ? end : host, ':');

    if (with_port && colon)
        *port = (unsigned)strtoul(colon + 1, NULL, 10);
    if (end)
        return arena_printf(a, "%.*s", (int)(end - host - 1), host + 1).ptr;
    return arena_printf(a, "%.*s", (int)(colon ? (size_t)(colon - host) : strcspn(host, "/")), host)
        .ptr;
}

static int link_fail(struct ctx *c, struct sql_link *l)
{
    unsigned number = mysql_errno(l->mysql);

    return fail(c,
                number >= 2000 && number < 3000    ? E_UNAVAILABLE
                : number == 1045 || number == 1142 ? E_PERMISSION
                : number == 1146                   ? E_NOT_EXIST
                : number == 1064                   ? E_PARAMETER
                                                   : E_INTERNAL,
                "%s (%u)", mysql_error(l->mysql), number);
}

static int link_connect(struct ctx *c, struct sql_link *l, const struct target *t,
                        const char *address)
{
    my_bool tls = strncmp(t->endpoint, "https:", 6) == 0;
    unsigned port = PORT_DEFAULT;
    const char *host = host_take(&c->arena, address ? address : t->endpoint, address, &port);

    mysql_options(l->mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mysql_options(l->mysql, MYSQL_OPT_SSL_ENFORCE, &tls);
    mysql_options(l->mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &tls);
    if (t->ca_file)
        mysql_options(l->mysql, MYSQL_OPT_SSL_CA, t->ca_file);
    if (mysql_real_connect(l->mysql, host, t->key_id.ptr, t->key_secret.ptr, t->instance.ptr, port,
                           NULL, 0))
        return 0;
    if (mysql_errno(l->mysql) != 2002 && mysql_errno(l->mysql) != 2003)
        return link_fail(c, l);
    return fail(c, E_UNAVAILABLE,
                "cannot reach the SQL port %s:%u (%s): is it widerowd's --sql? --sql HOST:PORT "
                "names another",
                host, port, mysql_error(l->mysql));
}

int sql_link_open(struct ctx *c, const struct target *t, const char *address, struct sql_link **out)
{
    int code;

    *out = NULL;
    if (!t->endpoint)
        return fail(c, E_PARAMETER, "SQL needs a server: --endpoint URL, not a folder");
    *out = mem_zalloc(sizeof(**out));
    (*out)->mysql = mysql_init(NULL);
    (*out)->target = t;
    (*out)->address = address;
    code = link_connect(c, *out, t, address);
    if (code) {
        sql_link_close(*out);
        *out = NULL;
    }
    return code;
}

static void result_end(struct sql_link *l)
{
    if (l->result)
        mysql_free_result(l->result);
    l->result = NULL;
    mem_free(l->cells);
    l->cells = NULL;
}

void sql_link_close(struct sql_link *l)
{
    if (!l)
        return;
    result_end(l);
    mysql_close(l->mysql);
    mem_free(l);
}

/* ---- statements ---- */

int sql_link_run(struct ctx *c, struct sql_link *l, bytes sql, bool *rows, uint64_t *affected)
{
    *rows = false;
    *affected = 0;
    if (mysql_real_query(l->mysql, sql.ptr, sql.len))
        return link_fail(c, l);
    *rows = mysql_field_count(l->mysql) > 0;
    if (!*rows) {
        *affected = mysql_affected_rows(l->mysql);
        return 0;
    }
    l->result = mysql_use_result(l->mysql);
    if (!l->result)
        return link_fail(c, l);
    l->fields = mysql_fetch_fields(l->result);
    l->count = mysql_num_fields(l->result);
    l->cells = mem_zalloc(l->count * sizeof(*l->cells));
    return 0;
}

/* A value out of its text. */
static struct wr_value value_of(const MYSQL_FIELD *f, const char *text, size_t size)
{
    switch (f->type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
        if (f->flags & UNSIGNED_FLAG)
            return (struct wr_value){.type = WR_UBIGINT, .uinteger = strtoull(text, NULL, 10)};
        return (struct wr_value){.type = WR_BIGINT, .integer = strtoll(text, NULL, 10)};
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE:
        return (struct wr_value){.type = WR_DOUBLE, .real = strtod(text, NULL)};
    case MYSQL_TYPE_TINY_BLOB:
    case MYSQL_TYPE_MEDIUM_BLOB:
    case MYSQL_TYPE_LONG_BLOB:
    case MYSQL_TYPE_BLOB:
    case MYSQL_TYPE_VAR_STRING:
    case MYSQL_TYPE_STRING:
        return (struct wr_value){.type = f->charsetnr == CHARSET_BINARY ? WR_VARBINARY : WR_VARCHAR,
                                 .bytes = bytes_of(text, size)};
    default: /* dates, DECIMAL */
        return (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_of(text, size)};
    }
}

int sql_link_next(struct ctx *c, struct sql_link *l, struct wr_row *out)
{
    MYSQL_ROW row = l->result ? mysql_fetch_row(l->result) : NULL;
    unsigned long *sizes;

    *out = (struct wr_row){.cell_count = 0};
    if (!row) {
        int code = l->result && mysql_errno(l->mysql) ? link_fail(c, l) : 0;

        result_end(l);
        return code;
    }
    sizes = mysql_fetch_lengths(l->result);
    for (unsigned i = 0; i < l->count; i++) {
        l->cells[i].name = bytes_of(l->fields[i].name, l->fields[i].name_length);
        l->cells[i].value =
            row[i] ? value_of(&l->fields[i], row[i], sizes[i]) : (struct wr_value){.type = WR_NULL};
    }
    *out = (struct wr_row){.cells = l->cells, .cell_count = l->count};
    return 0;
}

/* ---- beside the statements ---- */

size_t sql_link_texts(struct sql_link *l, struct arena *a, const char *sql, const char **texts,
                      size_t most)
{
    MYSQL_RES *result;
    size_t count = 0;
    MYSQL_ROW row;

    if (mysql_real_query(l->mysql, sql, strlen(sql)))
        return 0;
    result = mysql_use_result(l->mysql);
    if (!result)
        return 0;
    while ((row = mysql_fetch_row(result)))
        for (unsigned i = 0; i < mysql_num_fields(result); i++)
            if (count < most)
                texts[count++] = arena_printf(a, "%s", row[i] ? row[i] : "").ptr;
    mysql_free_result(result);
    return count;
}

bool sql_link_units(struct sql_link *l, uint64_t *read, uint64_t *written)
{
    const char *texts[4];
    struct arena a;
    size_t count;

    arena_init(&a, NULL, 0);
    count = sql_link_texts(l, &a, "SHOW STATUS LIKE 'Widerow_last_%'", texts, 4);
    *read = count == 4 ? strtoull(texts[1], NULL, 10) : 0;
    *written = count == 4 ? strtoull(texts[3], NULL, 10) : 0;
    arena_release(&a);
    return count == 4;
}

void sql_link_kill(struct sql_link *l)
{
    struct sql_link other = {.mysql = mysql_init(NULL)};
    unsigned seconds = KILL_SECONDS;
    struct ctx c;

    ctx_init(&c, NULL, NULL, NULL, 0);
    mysql_options(other.mysql, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
    if (!link_connect(&c, &other, l->target, l->address)) {
        bytes sql = arena_printf(&c.arena, "KILL QUERY %lu", mysql_thread_id(l->mysql));

        mysql_real_query(other.mysql, sql.ptr, sql.len);
    }
    mysql_close(other.mysql);
    ctx_release(&c);
}
