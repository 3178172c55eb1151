#include "archive/manifest.h"

#include "record/json.h"

#include <stdlib.h>

static void put_text(struct buf *b, const char *name, bytes text)
{
    buf_put_bytes(b, arena_printf(b->arena, "\"%s\":\"", name));
    for (size_t i = 0; i < text.len; i++) {
        uint8_t ch = bytes_u8(text)[i];

        if (ch == '"' || ch == '\\' || ch < 0x20)
            buf_put_bytes(b, arena_printf(b->arena, "\\u%04x", ch));
        else
            buf_put_u8(b, ch);
    }
    buf_put_u8(b, '"');
}

static void put_number(struct buf *b, const char *name, uint64_t n)
{
    buf_put_bytes(b, arena_printf(b->arena, "\"%s\":%llu", name, (unsigned long long)n));
}

static void put_next(struct buf *b)
{
    buf_put_bytes(b, BYTES_LIT(",\n "));
}

static void put_file(struct buf *b, const struct manifest_file *f)
{
    buf_put_u8(b, '{');
    put_text(b, "name", f->name);
    buf_put_u8(b, ',');
    put_number(b, "bytes", f->bytes);
    buf_put_u8(b, ',');
    put_number(b, "rows", f->rows);
    buf_put_u8(b, ',');
    put_text(b, "sha256", f->sha256);
    buf_put_u8(b, '}');
}

bytes manifest_text(struct arena *a, const struct manifest *m)
{
    struct buf b;

    buf_init(&b, a, 1024);
    buf_put_u8(&b, '{');
    put_number(&b, "form", MANIFEST_FORM);
    put_next(&b);
    put_text(&b, "instance", m->instance);
    put_next(&b);
    put_text(&b, "series", m->series);
    put_next(&b);
    put_text(&b, "period", m->period);
    put_next(&b);
    put_number(&b, "created_us", (uint64_t)m->creation_us);
    put_next(&b);
    put_text(&b, "key", m->key);
    put_next(&b);
    put_number(&b, "versions", (uint64_t)m->versions);
    put_next(&b);
    put_number(&b, "rows", m->rows);
    put_next(&b);
    put_text(&b, "content", m->content);
    put_next(&b);
    buf_put_bytes(&b, BYTES_LIT("\"files\":["));
    for (size_t i = 0; i < m->file_count; i++) {
        if (i)
            put_next(&b);
        put_file(&b, &m->files[i]);
    }
    buf_put_bytes(&b, BYTES_LIT("]}\n"));
    return buf_bytes(&b);
}

/* ---- and back ---- */

struct member {
    const char *name;
    bytes *text;
    uint64_t *number;
};

static bool take_number(bytes text, uint64_t *out)
{
    uint64_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        uint8_t digit = (uint8_t)(bytes_u8(text)[i] - '0');

        if (digit > 9 || n > (UINT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *out = n;
    return text.len != 0;
}

/* The value of a name, if it is one of these; others are passed over. */
static bool take_member(struct json_reader *j, bytes name, const struct member *members)
{
    struct csv_field value;

    if (!json_take_value(j, &value))
        return false;
    for (const struct member *m = members; m->name; m++) {
        if (!bytes_equal(name, bytes_str(m->name)))
            continue;
        if (m->text && value.quoted)
            *m->text = value.text;
        return m->text ? value.quoted : !value.quoted && take_number(value.text, m->number);
    }
    return true;
}

static bool take_file(struct json_reader *j, struct manifest_file *f)
{
    const struct member members[] = {{"name", &f->name, NULL},
                                     {"bytes", NULL, &f->bytes},
                                     {"rows", NULL, &f->rows},
                                     {"sha256", &f->sha256, NULL},
                                     {0}};
    bytes name;

    if (!json_take(j, '{'))
        return false;
    do {
        if (!json_take_name(j, &name) || !take_member(j, name, members))
            return false;
    } while (json_take_next(j, '}'));
    /* A name is a name, and no way out of the folder. */
    return !j->fault && f->name.len && f->sha256.len == CONTENT_TEXT - 1 &&
           !memchr(f->name.ptr, '/', f->name.len);
}

static bool take_files(struct arena *a, struct json_reader *j, struct manifest *m)
{
    m->files = ARENA_ARRAY(a, struct manifest_file, MANIFEST_FILES_MAX);
    if (!json_take(j, '['))
        return false;
    do {
        if (m->file_count == MANIFEST_FILES_MAX || !take_file(j, &m->files[m->file_count++]))
            return false;
    } while (json_take_next(j, ']'));
    return !j->fault;
}

static bool take_manifest(struct arena *a, struct json_reader *j, struct manifest *m,
                          uint64_t *form)
{
    uint64_t creation = 0, versions = 0;
    const struct member members[] = {{"form", NULL, form},
                                     {"instance", &m->instance, NULL},
                                     {"series", &m->series, NULL},
                                     {"period", &m->period, NULL},
                                     {"created_us", NULL, &creation},
                                     {"key", &m->key, NULL},
                                     {"versions", NULL, &versions},
                                     {"rows", NULL, &m->rows},
                                     {"content", &m->content, NULL},
                                     {0}};
    bytes name;

    if (!json_take(j, '{'))
        return false;
    do {
        if (!json_take_name(j, &name))
            return false;
        if (bytes_equal(name, BYTES_LIT("files")) && !m->files ? !take_files(a, j, m)
                                                               : !take_member(j, name, members))
            return false;
    } while (json_take_next(j, '}'));
    m->creation_us = (int64_t)creation;
    m->versions = versions > INT32_MAX ? INT32_MAX : (int64_t)versions;
    return !j->fault && m->key.len && m->content.len == CONTENT_TEXT - 1;
}

int manifest_parse(struct ctx *c, bytes text, const char *name, struct manifest *out)
{
    bytes own = arena_copy(&c->arena, text);
    struct json_reader j = json_reader_of((char *)(uintptr_t)own.ptr, own.len);
    uint64_t form = 0;

    *out = (struct manifest){0};
    if (!take_manifest(&c->arena, &j, out, &form))
        return fail(c, E_PARAMETER, "%s is no manifest of an archive: %s", name,
                    j.fault ? j.fault : "something is missing in it");
    if (form != MANIFEST_FORM)
        return fail(c, E_PARAMETER,
                    "%s is of form %llu, and this version reads form %d: use a newer one", name,
                    (unsigned long long)form, MANIFEST_FORM);
    return 0;
}
