#include "sql/run/declared.h"

#include "base/buf.h"
#include "base/number.h"
#include "sql/run/annotation.h"

#include <strings.h>

#define FORM 1 /* of the section; a reader refuses a later one */
#define FLAG_NOT_NULL 1
#define MAJOR_PERIOD_MS_MIN 3600000

/* ---- as stored ---- */

static void columns_read(struct run *r, struct reader *in, struct declared *out)
{
    uint64_t n = read_varint(in);

    if (n > reader_left(in)) {
        in->bad = true;
        return;
    }
    out->columns = ARENA_ARRAY(r->arena, struct declared_column, n + 1);
    for (; out->column_count < n && !in->bad; out->column_count++) {
        struct declared_column *c = &out->columns[out->column_count];

        c->name = read_counted(in);
        c->length = (uint32_t)read_varint(in);
        c->not_null = read_u8(in) & FLAG_NOT_NULL;
        c->with = (enum default_kind)read_u8(in);
        c->text = read_counted(in);
    }
}

static void options_read(struct run *r, struct reader *in, struct declared *out)
{
    uint64_t n = read_varint(in);

    if (n > reader_left(in)) {
        in->bad = true;
        return;
    }
    out->options = ARENA_ARRAY(r->arena, struct declared_option, n + 1);
    for (; out->option_count < n && !in->bad; out->option_count++)
        out->options[out->option_count] =
            (struct declared_option){read_counted(in), read_counted(in)};
}

int declared_read(struct run *r, const struct wr_table_description *d, struct declared *out)
{
    struct reader in;
    bytes payload;
    bool whole = annotation_find(d->annotation, ANNOTATION_DECLARED, &payload);

    *out = (struct declared){.dynamic = !payload.ptr};
    if (!payload.ptr)
        return whole ? 0 : run_fail(r, FAULT_DECLARED, RUN_TEXT(d->table), "is damaged");
    in = reader_of(payload);
    if (read_u8(&in) != FORM)
        return run_fail(r, FAULT_DECLARED, RUN_TEXT(d->table), "was written by a newer server");
    out->dynamic = read_u8(&in);
    columns_read(r, &in, out);
    options_read(r, &in, out);
    return in.bad ? run_fail(r, FAULT_DECLARED, RUN_TEXT(d->table), "is damaged") : 0;
}

bytes declared_annotation(struct run *r, bytes annotation, const struct declared *d)
{
    struct buf b;

    buf_init(&b, r->arena, 256);
    buf_put_u8(&b, FORM);
    buf_put_u8(&b, d->dynamic);
    buf_put_varint(&b, d->column_count);
    for (size_t i = 0; i < d->column_count; i++) {
        const struct declared_column *c = &d->columns[i];

        buf_put_counted(&b, c->name);
        buf_put_varint(&b, c->length);
        buf_put_u8(&b, c->not_null ? FLAG_NOT_NULL : 0);
        buf_put_u8(&b, (uint8_t)c->with);
        buf_put_counted(&b, c->text);
    }
    buf_put_varint(&b, d->option_count);
    for (size_t i = 0; i < d->option_count; i++) {
        buf_put_counted(&b, d->options[i].name);
        buf_put_counted(&b, d->options[i].value);
    }
    return annotation_with(r->arena, annotation, ANNOTATION_DECLARED, buf_bytes(&b));
}

/* ---- columns ---- */

static size_t place_of(const struct declared *d, bytes name)
{
    size_t i = 0;

    while (i < d->column_count && !bytes_equal(d->columns[i].name, name))
        i++;
    return i;
}

const struct declared_column *declared_find(const struct declared *d, bytes name)
{
    size_t i = place_of(d, name);

    return i < d->column_count ? &d->columns[i] : NULL;
}

void declared_set(struct run *r, struct declared *d, const struct declared_column *c)
{
    struct declared_column *columns;
    size_t i = place_of(d, c->name);

    if (i == d->column_count) {
        columns = ARENA_ARRAY(r->arena, struct declared_column, i + 1);
        if (i)
            memcpy(columns, d->columns, i * sizeof(*columns));
        d->columns = columns;
        d->column_count++;
    }
    d->columns[i] = *c;
}

/* ---- options ---- */

enum option_kind {
    OPTION_ELSEWHERE, /* in the description */
    OPTION_TEXT,
    OPTION_BOOLEAN,
    OPTION_NUMBER,  /* from 1 on */
    OPTION_PERIOD,  /* milliseconds, an hour at least */
    OPTION_SEVERAL, /* one of `words` */
};

static const struct option_meaning {
    const char *name;
    enum option_kind kind;
    const char *words; /* with | between them */
} meanings[] = {
    {"TTL", OPTION_ELSEWHERE, NULL},
    {"VERSIONS", OPTION_ELSEWHERE, NULL},
    {"LAYOUT", OPTION_ELSEWHERE, NULL},
    {"ENGINE", OPTION_ELSEWHERE, NULL},
    {"TRANSACTIONS", OPTION_SEVERAL, "TRUE|FALSE"},
    {"COMPRESSION", OPTION_SEVERAL, "ZSTD|SNAPPY|LZ4|NONE"},
    {"DATA_BLOCK_ENCODING", OPTION_TEXT, NULL},
    {"DYNAMIC_COLUMNS", OPTION_BOOLEAN, NULL},
    {"WILDCARD_COLUMN", OPTION_TEXT, NULL},
    {"CONSISTENCY", OPTION_SEVERAL, "EVENTUAL|STRONG"},
    {"MUTABILITY", OPTION_SEVERAL, "IMMUTABLE|IMMUTABLE_ROWS|MUTABLE_LATEST|MUTABLE_ALL"},
    {"NUMREGIONS", OPTION_NUMBER, NULL},
    {"STARTKEY", OPTION_TEXT, NULL},
    {"ENDKEY", OPTION_TEXT, NULL},
    {"SPLITKEYS", OPTION_TEXT, NULL},
    {"CHS", OPTION_TEXT, NULL},
    {"CHS_L2", OPTION_TEXT, NULL},
    {"CHS_COLUMN", OPTION_TEXT, NULL},
    {"COMPACTION_MAJOR_PERIOD", OPTION_PERIOD, NULL},
    {"EC_POLICY", OPTION_TEXT, NULL},
    {"BLOOMFILTER", OPTION_TEXT, NULL},
};

static bool is_one_of(const char *words, bytes word)
{
    for (const char *at = words, *end; *at; at = *end ? end + 1 : end) {
        end = at + strcspn(at, "|");
        if ((size_t)(end - at) == word.len && !strncasecmp(at, word.ptr, word.len))
            return true;
    }
    return false;
}

static bool is_allowed(const struct option_meaning *m, bytes value)
{
    int64_t n;

    if (!value.len) /* clears it */
        return m->kind != OPTION_BOOLEAN;
    switch (m->kind) {
    case OPTION_BOOLEAN:
        return is_one_of("TRUE|FALSE", value);
    case OPTION_NUMBER:
        return number_integer(value, &n) && n >= 1 && n <= INT32_MAX;
    case OPTION_PERIOD:
        return number_integer(value, &n) && n >= MAJOR_PERIOD_MS_MIN;
    case OPTION_SEVERAL:
        return is_one_of(m->words, value);
    default:
        return true;
    }
}

static int option_check(struct run *r, const struct option *o, const struct option_meaning **out)
{
    size_t i = 0;

    while (i < PORT_COUNT(meanings) && !run_is_word(o->name, meanings[i].name))
        i++;
    if (i == PORT_COUNT(meanings))
        return run_fail(r, FAULT_OPTION, RUN_TEXT(o->name));
    *out = &meanings[i];
    if (is_allowed(*out, o->value))
        return 0;
    return run_fail(r, FAULT_OPTION_VALUE, RUN_TEXT(o->value), meanings[i].name,
                    meanings[i].words                    ? meanings[i].words
                    : meanings[i].kind == OPTION_BOOLEAN ? "'true' or 'false'"
                    : meanings[i].kind == OPTION_PERIOD  ? "milliseconds, from 3600000 on"
                                                         : "a whole number from 1 on");
}

/* Instead of what the option was; d->options has room for one more. An empty value clears it. */
static void option_set(struct declared *d, const char *name, bytes value)
{
    size_t i = 0;

    while (i < d->option_count && !bytes_equal(d->options[i].name, bytes_str(name)))
        i++;
    if (!value.len) {
        if (i < d->option_count)
            memmove(&d->options[i], &d->options[i + 1],
                    (--d->option_count - i) * sizeof(d->options[0]));
        return;
    }
    d->options[i] = (struct declared_option){bytes_str(name), value};
    d->option_count += i == d->option_count;
}

int declared_options(struct run *r, const struct option_list *list, struct declared *d)
{
    struct declared_option *room =
        ARENA_ARRAY(r->arena, struct declared_option, d->option_count + PORT_COUNT(meanings));

    if (d->option_count)
        memcpy(room, d->options, d->option_count * sizeof(*room));
    d->options = room;
    for (const struct option *o = list ? list->first : NULL; o; o = o->next) {
        const struct option_meaning *m = NULL;

        RUN_TRY(option_check(r, o, &m));
        if (m->kind == OPTION_BOOLEAN)
            d->dynamic = is_one_of("TRUE", o->value);
        else if (m->kind != OPTION_ELSEWHERE &&
                 !bytes_equal(bytes_str(m->name), BYTES_LIT("TRANSACTIONS")))
            option_set(d, m->name, o->value);
    }
    return 0;
}
