#include "cli/console/change.h"

#include "cli/console/value.h"

#include <ctype.h>
#include <stdio.h>
#include <time.h>

static const char *const action_names[] = {
    [WR_PUT] = "put", [WR_UPDATE] = "update", [WR_DELETE] = "delete"};

static void put_text(struct buf *b, const char *text)
{
    buf_put_bytes(b, bytes_str(text));
}

static void put_number(struct buf *b, const char *format, int64_t n)
{
    char text[64];

    snprintf(text, sizeof(text), format, (long long)n);
    put_text(b, text);
}

/* ---- for programs ---- */

static void put_key(struct buf *b, const struct wr_key *key)
{
    put_text(b, "{");
    for (size_t i = 0; i < key->count; i++) {
        put_text(b, i ? "," : "");
        value_put_string(b, key->columns[i].name);
        put_text(b, ":");
        value_put(b, &key->columns[i].value);
    }
    put_text(b, "}");
}

static void put_cell(struct buf *b, const struct wr_cell *cell)
{
    put_text(b, "{\"column\":");
    value_put_string(b, cell->name);
    if (cell->op == WR_CELL_DELETE_ALL) {
        put_text(b, ",\"deleted\":\"all\"}");
        return;
    }
    put_text(b, cell->op == WR_CELL_DELETE_ONE ? ",\"deleted\":\"one\"" : ",\"value\":");
    if (cell->op != WR_CELL_DELETE_ONE)
        value_put(b, &cell->value);
    put_number(b, ",\"time\":%lld}", cell->timestamp_ms);
}

static void put_before(struct buf *b, const struct wr_stream_record *r)
{
    put_text(b, ",\"before\":{");
    for (size_t i = 0; i < r->original_count; i++) {
        put_text(b, i ? "," : "");
        value_put_string(b, r->original[i].name);
        put_text(b, ":");
        value_put(b, &r->original[i].value);
    }
    put_text(b, "}");
}

void change_put_json(struct buf *b, const struct wr_stream_record *r)
{
    put_number(b, "{\"time\":%lld,\"action\":\"", r->timestamp_us);
    put_text(b, action_names[r->type]);
    put_text(b, "\",\"key\":");
    put_key(b, &r->row.key);
    put_text(b, ",\"cells\":[");
    for (size_t i = 0; i < r->row.cell_count; i++) {
        put_text(b, i ? "," : "");
        put_cell(b, &r->row.cells[i]);
    }
    put_text(b, "]");
    if (r->has_original)
        put_before(b, r);
    put_text(b, "}\n");
}

/* ---- for people ---- */

/* A name of plain characters as it is, any other one in quotes. */
static void put_name(struct buf *b, bytes name)
{
    const uint8_t *p = name.ptr;
    bool plain = name.len > 0;

    for (size_t i = 0; i < name.len; i++)
        plain &= isalnum(p[i]) || p[i] == '_' || p[i] >= 0x80;
    if (plain)
        buf_put_bytes(b, name);
    else
        value_put_string(b, name);
}

static void put_time(struct buf *b, int64_t us)
{
    time_t s = (time_t)(us / 1000000);
    struct tm tm;
    char text[32];

    gmtime_r(&s, &tm);
    buf_put_bytes(b, bytes_of(text, strftime(text, sizeof(text), "%F %T", &tm)));
    put_number(b, ".%06lld", us % 1000000);
}

static void put_cell_short(struct buf *b, const struct wr_cell *cell)
{
    bool deleted = cell->op == WR_CELL_DELETE_ALL || cell->op == WR_CELL_DELETE_ONE;

    put_text(b, deleted ? " -" : " ");
    put_name(b, cell->name);
    if (cell->op == WR_CELL_DELETE_ONE)
        put_number(b, "@%lld", cell->timestamp_ms);
    if (!deleted) {
        put_text(b, "=");
        value_put(b, &cell->value);
    }
}

void change_put_line(struct buf *b, const struct wr_stream_record *r)
{
    char action[16];

    put_time(b, r->timestamp_us);
    snprintf(action, sizeof(action), "  %-6s", action_names[r->type]);
    put_text(b, action);
    for (size_t i = 0; i < r->row.key.count; i++) {
        put_text(b, i ? "," : " ");
        value_put(b, &r->row.key.columns[i].value);
    }
    put_text(b, r->row.cell_count ? " " : "");
    for (size_t i = 0; i < r->row.cell_count; i++)
        put_cell_short(b, &r->row.cells[i]);
    put_text(b, "\n");
}
