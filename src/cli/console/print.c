#include "cli/console/print.h"

#include "base/ctx.h"
#include "cli/console/type_name.h"

#include <stdio.h>
#include <stdlib.h>

static void put_text(struct buf *b, const char *text)
{
    buf_put(b, text, strlen(text));
}

/* A JSON string. Text that is not UTF-8 cannot be one; its bytes pass as they are. */
static void put_string(struct buf *b, bytes text)
{
    const uint8_t *p = text.ptr;

    buf_put_u8(b, '"');
    for (size_t i = 0; i < text.len; i++) {
        char escape[8];

        if (p[i] == '"' || p[i] == '\\') {
            buf_put_u8(b, '\\');
            buf_put_u8(b, p[i]);
        } else if (p[i] < 0x20 || p[i] == 0x7f) {
            snprintf(escape, sizeof(escape), "\\u%04x", p[i]);
            put_text(b, escape);
        } else {
            buf_put_u8(b, p[i]);
        }
    }
    buf_put_u8(b, '"');
}

static void put_hex(struct buf *b, bytes data)
{
    const uint8_t *p = data.ptr;

    put_text(b, "{\"binary\":\"");
    for (size_t i = 0; i < data.len; i++) {
        buf_put_u8(b, (uint8_t) "0123456789abcdef"[p[i] >> 4]);
        buf_put_u8(b, (uint8_t) "0123456789abcdef"[p[i] & 15]);
    }
    put_text(b, "\"}");
}

/* The shortest text that reads back as the same number, and that nobody takes for an integer. */
static void put_double(struct buf *b, double v)
{
    char text[40];

    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    put_text(b, text);
    if (!strpbrk(text, ".e"))
        put_text(b, ".0");
}

void print_value(struct buf *b, const struct wr_value *v)
{
    switch (v->type) {
    case WR_BOOLEAN:
        put_text(b, v->boolean ? "true" : "false");
        break;
    case WR_TINYINT:
    case WR_SMALLINT:
    case WR_INTEGER:
    case WR_BIGINT:
    case WR_DATE:
    case WR_TIME:
    case WR_TIMESTAMP:
        buf_put_bytes(b, arena_printf(b->arena, "%lld", (long long)v->integer));
        break;
    case WR_UBIGINT:
        buf_put_bytes(b, arena_printf(b->arena, "%llu", (unsigned long long)v->uinteger));
        break;
    case WR_FLOAT:
    case WR_DOUBLE:
        put_double(b, v->real);
        break;
    case WR_VARCHAR:
    case WR_CHAR:
    case WR_JSON:
    case WR_DECIMAL:
        put_string(b, v->bytes);
        break;
    case WR_BINARY:
    case WR_VARBINARY:
        put_hex(b, v->bytes);
        break;
    default:
        put_text(b, "null");
        break;
    }
}

static void put_member(struct buf *b, bytes name, const struct wr_value *v)
{
    if (b->len > 1)
        buf_put_u8(b, ',');
    put_string(b, name);
    buf_put_u8(b, ':');
    print_value(b, v);
}

void print_row(struct arena *a, const struct wr_row *row)
{
    struct buf b;

    buf_init(&b, a, 256);
    buf_put_u8(&b, '{');
    for (size_t i = 0; i < row->key.count; i++)
        put_member(&b, row->key.columns[i].name, &row->key.columns[i].value);
    for (size_t i = 0; i < row->cell_count; i++)
        if (i == 0 || !bytes_equal(row->cells[i].name, row->cells[i - 1].name))
            put_member(&b, row->cells[i].name, &row->cells[i].value);
    put_text(&b, "}\n");
    fwrite(b.data, 1, b.len, stdout);
}

static void print_names(const char *before, const bytes *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%s%.*s", i ? "," : before, BYTES_FMT(names[i]));
}

static void print_indexes(const struct wr_table_description *t)
{
    for (size_t i = 0; i < t->index_count; i++) {
        const struct wr_index_meta *x = &t->indexes[i];

        printf("%s %.*s %s", i ? "                " : "indexes         ", BYTES_FMT(x->name),
               x->type ? "local" : "global");
        print_names(" key ", x->key_columns, x->key_column_count);
        print_names(" covers ", x->defined_columns, x->defined_column_count);
        printf("%s\n", x->sync_phase == 1 ? " (being built)" : "");
    }
}

void print_table(const struct wr_table_description *t, size_t partitions)
{
    static const char *const states[] = {"unknown", "active",    "inactive",
                                         "loading", "unloading", "updating"};
    size_t state = t->status < PORT_COUNT(states) ? t->status : 0;

    printf("table            %.*s (%s)\n", BYTES_FMT(t->table), states[state]);
    for (size_t i = 0; i < t->key_count; i++)
        printf("%s %.*s %s%s%s\n", i ? "                " : "key             ",
               BYTES_FMT(t->key[i].name), type_name(t->key[i].type),
               t->key[i].descending ? " descending" : "",
               t->key[i].auto_increment ? " (numbered by the server)" : "");
    for (size_t i = 0; i < t->defined_count; i++)
        printf("%s %.*s %s\n", i ? "                " : "defined columns ",
               BYTES_FMT(t->defined[i].name), type_name(t->defined[i].type));
    if (t->options.ttl_s < 0)
        printf("time to live     forever\n");
    else
        printf("time to live     %d s\n", t->options.ttl_s);
    printf("versions kept    %d\n", t->options.max_versions);
    printf("layout           %.*s\n", BYTES_FMT(t->layout));
    if (partitions)
        printf("partitions       %zu\n", partitions);
    print_indexes(t);
}

void print_servers(uint32_t servers, uint32_t silent)
{
    if (silent)
        printf("WARNING: of %u servers %u did not answer: their figures are missing.\n",
               servers + silent, silent);
    else if (servers > 1)
        printf("figures of %u servers together\n", servers);
}
