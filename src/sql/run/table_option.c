#include "sql/run/table_option.h"

#include "sql/run/warning.h"

#include <strings.h>

#define OTHER_ENGINE 1266 /* MySQL's, without NO_ENGINE_SUBSTITUTION */
#define NOT_SUPPORTED 1235

static const char *const passed[] = {
    "ENGINE",     "CHARSET",        "CHARACTER",     "COLLATE",          "COMMENT",
    "ROW_FORMAT", "AUTO_INCREMENT", "PACK_KEYS",     "STATS_PERSISTENT", "KEY_BLOCK_SIZE",
    "MAX_ROWS",   "MIN_ROWS",       "AVG_ROW_LENGTH"};

static bool is_passed(bytes name)
{
    for (size_t i = 0; i < PORT_COUNT(passed); i++)
        if (run_is_word(name, passed[i]))
            return true;
    return false;
}

static bool ends_with(bytes text, const char *end)
{
    size_t n = strlen(end);

    return text.len >= n && strncasecmp((const char *)text.ptr + text.len - n, end, n) == 0;
}

/* As it is anyway. */
static bool is_so(const struct option *o)
{
    if (run_is_word(o->name, "ENGINE"))
        return run_is_word(o->value, "Widerow");
    if (run_is_word(o->name, "COLLATE"))
        return ends_with(o->value, "_bin") || ends_with(o->value, "_as_cs");
    if (run_is_word(o->name, "CHARSET") || run_is_word(o->name, "CHARACTER"))
        return run_is_word(o->value, "utf8mb4") || run_is_word(o->value, "utf8") ||
               run_is_word(o->value, "utf8mb3");
    return false;
}

static void warn(struct run *r, const struct statement *s, const struct option *o)
{
    if (is_so(o))
        return;
    if (run_is_word(o->name, "ENGINE"))
        warning_add(r, OTHER_ENGINE,
                    arena_printf(r->arena, "Using storage engine Widerow for table '%.*s'",
                                 RUN_TEXT(s->table.table)));
    else
        warning_add(r, NOT_SUPPORTED,
                    arena_printf(r->arena,
                                 "The table option %.*s is passed over: texts are UTF-8 and "
                                 "compared by bytes, and options of Widerow stand in WITH (...)",
                                 RUN_TEXT(o->name)));
}

static void warn_of_column(struct run *r, const struct column_definition *c)
{
    warning_add(r, NOT_SUPPORTED,
                arena_printf(r->arena,
                             "%.*s of column '%.*s' is passed over: texts are UTF-8 and compared "
                             "by bytes, and comments are not kept",
                             RUN_TEXT(c->passed), RUN_TEXT(c->name)));
}

void table_options_pass(struct run *r, const struct statement *s, struct statement *out)
{
    struct option_list *kept = ARENA_NEW(r->arena, struct option_list);

    *out = *s;
    out->options = kept;
    for (const struct option *o = s->options ? s->options->first : NULL; o; o = o->next) {
        struct option *own;

        if (is_passed(o->name)) {
            warn(r, s, o);
            continue;
        }
        own = ARENA_NEW(r->arena, struct option);
        *own = *o;
        own->next = NULL;
        if (kept->last)
            kept->last->next = own;
        else
            kept->first = own;
        kept->last = own;
    }
    for (const struct column_definition *c = s->definitions; c; c = c->next)
        if (c->passed.ptr)
            warn_of_column(r, c);
}
