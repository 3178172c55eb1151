/* shared_settings.c
 *
 * A text of an older program lacks settings that came later, and one of a newer program has some
 * that are not known here, or values: both are used as far as they go, and for the rest the
 * defaults, by all servers alike. One that an operator has
 * edited must be whole, so that no line that was lost makes a limit depend on who was started how.
 */
#include "server/shared_settings.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/ctx.h"
#include "base/err.h"
#include "base/port.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FILE_NAME "settings"
#define NAMES_MAX 128
#define VALUE_MAX 64
#define HEAD                                                                                       \
    "# Settings that all servers over this data share. To change one for all of them, edit this "  \
    "file on\n"                                                                                    \
    "# any one server, leave the line above as it is, and send that server SIGHUP. What each "     \
    "server has\n"                                                                                 \
    "# for itself stands in its widerow.conf.\n"

struct shared_settings {
    struct wr_db *db;
    struct log *log;
    struct shared_text *text;
};

/* ---- lines ---- */

struct line {
    char name[64], value[VALUE_MAX];
    int number;
};

/* The next line that says something, from *at on, without its note; 0: there is none, -1: it has
 * another form. */
static int line_next(const char **at, struct line *l)
{
    while (**at) {
        const char *from = *at, *end = from + strcspn(from, "\n");
        char copy[256], rest;
        size_t n = strcspn(from, "#\n");

        *at = end + (*end == '\n');
        l->number++;
        if (strspn(from, " \t\r") >= n)
            continue;
        if (n >= sizeof(copy))
            return -1;
        memcpy(copy, from, n);
        copy[n] = 0;
        return sscanf(copy, " %63[a-z0-9_] = %63s %c", l->name, l->value, &rest) == 2 ? 1 : -1;
    }
    return 0;
}

/* ---- checking ---- */

static int line_check(const char *source, const struct line *l, struct limits *limits, bool *seen,
                      char *message, size_t size)
{
    size_t i = limits_find(l->name);
    char why[256];

    if (!limits_name(i))
        return err_refuse(message, size, E_PARAMETER, "%s, line %d: there is no setting %s.",
                          source, l->number, l->name);
    if (!limits_shared(i))
        return err_refuse(message, size, E_PARAMETER,
                          "%s, line %d: %s is each server's own. Put it into widerow.conf.", source,
                          l->number, l->name);
    if (seen[i])
        return err_refuse(message, size, E_PARAMETER, "%s, line %d: %s is there twice.", source,
                          l->number, l->name);
    if (limits_set(limits, l->name, l->value, why, sizeof(why)))
        return err_refuse(message, size, E_PARAMETER, "%s, line %d: %s.", source, l->number, why);
    seen[i] = true;
    return E_OK;
}

int shared_settings_check(const struct wr_db *db, const char *source, const char *text,
                          char *message, size_t size)
{
    bool seen[NAMES_MAX] = {false};
    struct line line = {.number = 0};
    struct limits limits;
    int got;

    limits_init(&limits, false);
    while ((got = line_next(&text, &line)) > 0)
        TRY(line_check(source, &line, &limits, seen, message, size));
    if (got < 0)
        return err_refuse(message, size, E_PARAMETER, "%s, line %d: not \"name = value\".", source,
                          line.number);
    for (size_t i = 0; limits_name(i); i++)
        if (limits_shared(i) && !seen[i])
            return err_refuse(message, size, E_PARAMETER,
                              "%s: %s is missing. In use is %s = %" PRId64 ".", source,
                              limits_name(i), limits_name(i), wr_setting_value(db, limits_name(i)));
    return E_OK;
}

/* ---- what is done with a text ---- */

/* True: the line of a text that is in use already is one to go by. What an operator edits is
 * checked before; another program may have other settings, and other bounds of their values. */
static bool usable(struct shared_settings *s, const struct line *l)
{
    size_t i = limits_find(l->name);
    struct limits scratch;
    char why[256];

    if (!limits_name(i) || !limits_shared(i))
        return false;
    limits_init(&scratch, false);
    if (!limits_set(&scratch, l->name, l->value, why, sizeof(why)))
        return true;
    log_error(s->log,
              "settings: what all servers share is passed over in line %d: %s; in use is "
              "%" PRId64,
              l->number, why, limits_value(&scratch, i));
    return false;
}

static bool lines_have(const struct line *lines, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(lines[i].name, name) == 0)
            return true;
    return false;
}

/* What the text does not have is as if nobody had ever been given it otherwise, for all: else each
 * server would go by what it was started with, or by a text of before. Returns the new count. */
static size_t lines_complete(struct line *lines, size_t count)
{
    struct limits plain;

    limits_init(&plain, false);
    for (size_t i = 0; limits_name(i) && count < NAMES_MAX; i++) {
        struct line *l = &lines[count];

        if (!limits_shared(i) || lines_have(lines, count, limits_name(i)))
            continue;
        snprintf(l->name, sizeof(l->name), "%s", limits_name(i));
        snprintf(l->value, sizeof(l->value), "%" PRId64, limits_value(&plain, i));
        count++;
    }
    return count;
}

static int settings_take(void *arg, const char *text, bool made, char *message, size_t size)
{
    struct shared_settings *s = arg;
    struct line lines[NAMES_MAX] = {{.number = 0}};
    struct wr_setting settings[NAMES_MAX];
    size_t count = 0;
    int got, number = 0;

    (void)made;
    do {
        struct line *l = &lines[count];

        l->number = number;
        got = line_next(&text, l);
        number = l->number;
        count += got > 0 && usable(s, l);
    } while (got && count < NAMES_MAX);
    count = lines_complete(lines, count);
    for (size_t i = 0; i < count; i++)
        settings[i] = (struct wr_setting){lines[i].name, lines[i].value};
    return wr_settings_change(s->db, settings, count, message, size);
}

static int settings_check(void *arg, const char *source, const char *text, char *message,
                          size_t size)
{
    struct shared_settings *s = arg;

    return shared_settings_check(s->db, source, text, message, size);
}

static int settings_make(void *arg, char **text, char *message, size_t size)
{
    struct shared_settings *s = arg;
    struct arena a;
    struct buf b;

    (void)message;
    (void)size;
    arena_init(&a, NULL, 0);
    buf_init(&b, &a, 4096);
    buf_put(&b, HEAD, sizeof(HEAD) - 1);
    for (size_t i = 0; limits_name(i); i++)
        if (limits_shared(i))
            buf_put_bytes(&b, arena_printf(&a, "%s = %" PRId64 "\n", limits_name(i),
                                           wr_setting_value(s->db, limits_name(i))));
    *text = mem_alloc(buf_bytes(&b).len + 1);
    memcpy(*text, buf_bytes(&b).ptr, buf_bytes(&b).len);
    (*text)[buf_bytes(&b).len] = 0;
    arena_release(&a);
    return E_OK;
}

static const struct shared_text_kind kind = {
    .noun = "settings",
    .what = "settings",
    .take = settings_take,
    .check = settings_check,
    .make = settings_make,
};

/* ---- what this server was given ---- */

/* True: the limit was given, and *out is what it was given as. */
static bool given(const struct shared_settings_conf *conf, size_t i, int64_t *out)
{
    struct limits plain, mine;
    char why[256];
    bool set = false;

    limits_init(&plain, false);
    limits_init(&mine, conf->strict);
    for (size_t k = 0; k < conf->setting_count; k++)
        if (strcmp(conf->settings[k].name, limits_name(i)) == 0)
            set = !limits_set(&mine, limits_name(i), conf->settings[k].value, why, sizeof(why));
    *out = limits_value(&mine, i);
    return set || *out != limits_value(&plain, i);
}

size_t shared_settings_differ(const struct wr_db *db, const struct shared_settings_conf *conf,
                              char *out, size_t size)
{
    size_t count = 0, n = 0;

    out[0] = 0;
    for (size_t i = 0; limits_name(i); i++) {
        int64_t ours, theirs = wr_setting_value(db, limits_name(i));

        if (!limits_shared(i) || !given(conf, i, &ours) || ours == theirs)
            continue;
        if (n < size)
            n += (size_t)snprintf(out + n, size - n,
                                  "%s%s is %" PRId64 " here and %" PRId64 " there",
                                  count ? ", " : "", limits_name(i), ours, theirs);
        count++;
    }
    return count;
}

/* ---- open and close ---- */

int shared_settings_open(struct wr_db *db, const struct shared_settings_conf *conf,
                         struct shared_settings **out, char *message, size_t message_size)
{
    struct shared_settings *s = mem_zalloc(sizeof(*s));
    struct arena a;
    char differ[1024];
    int code;

    *out = NULL;
    s->db = db;
    s->log = conf->log;
    arena_init(&a, NULL, 0);
    code = shared_text_open(&kind, s, db, arena_printf(&a, "%s/" FILE_NAME, conf->dir).ptr,
                            conf->log, &s->text, message, message_size);
    if (!code && shared_settings_differ(db, conf, differ, sizeof(differ)))
        log_error(
            conf->log,
            "settings: %s: what all servers share counts. To change it for all, edit %s/" FILE_NAME
            " and send SIGHUP; else take it out of the flags, the environment and "
            "widerow.conf.",
            differ, conf->dir);
    arena_release(&a);
    if (code) {
        mem_free(s);
        return code;
    }
    *out = s;
    return E_OK;
}

void shared_settings_close(struct shared_settings *s)
{
    if (!s)
        return;
    shared_text_close(s->text);
    mem_free(s);
}

struct shared_text *shared_settings_text(struct shared_settings *s)
{
    return s->text;
}
