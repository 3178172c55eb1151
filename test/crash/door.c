#include "door.h"

#include <stdio.h>

/* With --memory 16M a page of a scan may find no room at once: the client is told to come
 * again. */
#define BUSY_MAX 200
#define BUSY_PAUSE_US 50000

void door_open(struct door *d, struct crash *run)
{
    char endpoint[64];
    struct target_conf conf = {.endpoint = endpoint};

    *d = (struct door){.run = run};
    snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%d", run->port);
    ctx_init(&d->c, &run->clock, NULL, NULL, 0);
    if (target_open(&d->c, &conf, &d->target) || client_open(&d->c, &d->target, &d->client))
        crash_give_up(run, "no client: %s", d->c.text);
    d->client->retry_ms = 0;
}

void door_close(struct door *d)
{
    client_close(d->client);
    target_release(&d->target);
    ctx_release(&d->c);
}

void door_clear(struct door *d)
{
    ctx_release(&d->c);
    ctx_init(&d->c, &d->run->clock, NULL, NULL, 0);
}

int door_exec(struct door *d, const struct wr_request *request, struct wr_reply *out)
{
    struct wr_request sent = *request;

    sent.instance = d->target.instance;
    return d->client->ops->exec(&d->c, d->client, &sent, out);
}

bool door_gone(const struct door *d)
{
    const char *text = d->c.text ? d->c.text : "";

    return strncmp(text, "cannot reach", 12) == 0 || strncmp(text, "no answer from", 14) == 0;
}

/* A connection that could not be made counts too: libcurl sends a request again by itself when an
 * old connection breaks, and the failure we see is the second one's. */
bool door_unsure(const struct door *d, int code)
{
    return wr_error_applied(code) < 0 || (code && door_gone(d));
}

int door_create_table(struct door *d, const char *table, const char *const *keys, size_t key_count)
{
    struct wr_key_schema schema[WR_KEY_COLUMNS_MAX] = {0};
    struct wr_request request = {
        .op = WR_OP_CREATE_TABLE,
        .create_table = {
            .table = bytes_str(table),
            .key = schema,
            .key_count = key_count,
            .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1},
            .reserved = {.has_read = true, .has_write = true}}};
    struct wr_reply reply;
    int code;

    for (size_t i = 0; i < key_count; i++)
        schema[i] = (struct wr_key_schema){.name = bytes_str(keys[i]), .type = WR_BIGINT};
    door_clear(d);
    code = door_exec(d, &request, &reply);
    return code == WR_E_EXIST ? 0 : code;
}

static struct wr_value integer_value(int64_t n)
{
    return (struct wr_value){.type = WR_BIGINT, .integer = n};
}

/* The copy of a key that must outlive its reply. */
struct position {
    struct wr_key_column columns[WR_KEY_COLUMNS_MAX];
};

static void position_set(struct position *p, const char *const *keys, const struct wr_key *key)
{
    for (size_t i = 0; i < key->count; i++) {
        p->columns[i] = key->columns[i]; /* integers and bounds: no bytes to copy */
        p->columns[i].name = bytes_str(keys[i]);
    }
}

int door_scan(struct door *d, const char *table, const char *const *keys, size_t key_count,
              int64_t from, int64_t to, door_row_fn *fn, void *arg)
{
    struct position start, end;
    struct wr_request request = {
        .op = WR_OP_GET_RANGE,
        .get_range = {.table = bytes_str(table),
                      .start = {start.columns, key_count},
                      .end = {end.columns, key_count},
                      .read = {.max_versions = 1, .has_max_versions = true}}};
    struct wr_reply reply;
    int code, busy = 0;

    for (size_t i = 0; i < key_count; i++) {
        start.columns[i] = (struct wr_key_column){bytes_str(keys[i]), {.type = WR_INF_MIN}};
        end.columns[i] = start.columns[i];
    }
    start.columns[0].value = integer_value(from);
    if (to == INT64_MAX)
        end.columns[0].value.type = WR_INF_MAX;
    else
        end.columns[0].value = integer_value(to);
    for (;;) {
        door_clear(d);
        code = door_exec(d, &request, &reply);
        if (code == WR_E_BUSY && busy++ < BUSY_MAX) { /* an SDK sends it again, too */
            crash_sleep_us(BUSY_PAUSE_US);
            continue;
        }
        if (code)
            return code;
        for (size_t i = 0; i < reply.range.row_count; i++)
            if (!fn(arg, &reply.range.rows[i]))
                return 0;
        if (!reply.range.next.count)
            return 0;
        position_set(&start, keys, &reply.range.next);
    }
}

const struct wr_cell *door_cell(const struct wr_row *row, const char *name)
{
    for (size_t i = 0; i < row->cell_count; i++)
        if (bytes_equal(row->cells[i].name, bytes_str(name)))
            return &row->cells[i];
    return NULL;
}
