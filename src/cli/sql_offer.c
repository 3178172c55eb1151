#include "cli/sql_offer.h"

#include "cli/sql_text.h"

#include <ctype.h>

#define KEYWORDS_MAX 1000
#define TABLES_MAX 500
#define COLUMNS_MAX 3000
#define TABLES_OF_ALL 20 /* with no more tables than that, columns of all are offered */

static const char *const beginnings[] = {
    "SELECT",         "UPSERT INTO", "INSERT INTO", "UPDATE",  "DELETE FROM",
    "CREATE TABLE",   "SHOW",        "DESCRIBE",    "EXPLAIN", "CREATE INDEX",
    "TRUNCATE TABLE", "ALTER TABLE", "DROP TABLE",  "USE",     "KILL QUERY"};

/* Keywords come in the case of what is typed. */
static void offer_word(struct line_offers *o, const char *text)
{
    bool small = islower((unsigned char)o->word[0]);
    bytes word = arena_printf(o->arena, "%s", text);

    for (size_t i = 0; small && i < word.len; i++)
        ((char *)(uintptr_t)word.ptr)[i] = (char)tolower(text[i]);
    line_offer(o, word.ptr, word.len);
}

static bool is_plain(const char *name)
{
    bool plain = isalpha((unsigned char)*name) || *name == '_';

    for (; *name; name++)
        plain &= isalnum((unsigned char)*name) || *name == '_';
    return plain;
}

static void offer_name(struct line_offers *o, const char *name)
{
    bytes quoted = is_plain(name) ? bytes_str(name) : arena_printf(o->arena, "`%s`", name);

    line_offer(o, quoted.ptr, quoted.len);
}

static size_t tables_of(struct sql_offer *s, struct arena *a, const char **out)
{
    return sql_link_texts(s->link, a, "SHOW TABLES", out, TABLES_MAX);
}

static void offer_columns(struct sql_offer *s, struct line_offers *o, const char *table)
{
    const char **texts = ARENA_ARRAY(o->arena, const char *, COLUMNS_MAX);
    size_t count = sql_link_texts(
        s->link, o->arena,
        arena_printf(o->arena,
                     "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = "
                     "DATABASE() AND TABLE_NAME = '%s' ORDER BY ORDINAL_POSITION",
                     table)
            .ptr,
        texts, COLUMNS_MAX);

    for (size_t i = 0; i < count; i++)
        offer_name(o, texts[i]);
}

/* Of tables that the statement names, or of all while it names none. */
static void offer_columns_of(struct sql_offer *s, struct line_offers *o,
                             const struct sql_cursor *at)
{
    const char **tables = ARENA_ARRAY(o->arena, const char *, TABLES_MAX);
    size_t count = tables_of(s, o->arena, tables), named = 0;
    bytes within = at->table.ptr ? at->table : at->text;

    for (size_t i = 0; i < count; i++)
        if (sql_text_names(within, bytes_str(tables[i]))) {
            offer_columns(s, o, tables[i]);
            named++;
        }
    for (size_t i = 0; !named && count <= TABLES_OF_ALL && i < count; i++)
        offer_columns(s, o, tables[i]);
}

static void offer_keywords(struct sql_offer *s, struct line_offers *o)
{
    const char **words = ARENA_ARRAY(o->arena, const char *, KEYWORDS_MAX);
    size_t count = sql_link_texts(s->link, o->arena, "SELECT WORD FROM information_schema.KEYWORDS",
                                  words, KEYWORDS_MAX);

    for (size_t i = 0; i < count; i++)
        offer_word(o, words[i]);
}

void sql_offer(void *arg, const char *text, struct line_offers *o)
{
    struct sql_offer *s = arg;
    struct buf whole;
    struct sql_cursor at;

    buf_init(&whole, o->arena, s->typed->len + strlen(text));
    buf_put_bytes(&whole, buf_bytes(s->typed));
    buf_put_bytes(&whole, bytes_str(text));
    at = sql_text_cursor(buf_bytes(&whole));
    o->word = arena_printf(o->arena, "%.*s", BYTES_FMT(at.word)).ptr;
    if (at.place == SQL_PLACE_STATEMENT) {
        for (size_t i = 0; i < PORT_COUNT(beginnings); i++)
            offer_word(o, beginnings[i]);
    } else if (at.place == SQL_PLACE_TABLE) {
        const char **tables = ARENA_ARRAY(o->arena, const char *, TABLES_MAX);
        size_t count = tables_of(s, o->arena, tables);

        for (size_t i = 0; i < count; i++)
            offer_name(o, tables[i]);
    } else if (at.place == SQL_PLACE_COLUMN) {
        offer_columns_of(s, o, &at);
        if (!at.table.ptr && at.word.len)
            offer_keywords(s, o);
    }
}
