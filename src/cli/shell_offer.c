/* shell_offer.c: what Tab offers: commands, flags, their choices, tables, columns, keys. */
#include "cli/shell_part.h"
#include "record/json.h"

#define WORDS_MAX 256
#define LOOKED_ROWS "50" /* whose columns and keys are offered */

static void offer(struct line_offers *o, const char *text)
{
    line_offer(o, text, strlen(text));
}

static void offer_commands(struct line_offers *o, bool help)
{
    static const char *const words[] = {SHELL_WORDS};
    static const char *const topics[] = {"connection", "values"};

    for (size_t i = 0; command_list[i]; i++)
        offer(o, command_list[i]->name);
    for (size_t i = 0; !help && i < PORT_COUNT(words); i++)
        offer(o, words[i]);
    for (size_t i = 0; help && i < PORT_COUNT(topics); i++)
        offer(o, topics[i]);
}

static void offer_flags(struct line_offers *o, const struct option_row *rows)
{
    for (; rows && rows->name; rows++)
        offer(o, arena_printf(o->arena, "--%s", rows->name).ptr);
}

static void offer_tables(struct shell *s, struct line_offers *o)
{
    char *argv[] = {"tables", NULL};
    bytes text = shell_capture(s, o->arena, 1, argv);

    while (text.len) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t n = end ? (size_t)(end - (const char *)text.ptr) : text.len;

        line_offer(o, text.ptr, n);
        text = bytes_skip(text, n + (end != NULL));
    }
}

/* "csv|jsonl" */
static void offer_choices(struct line_offers *o, const char *choices)
{
    for (const char *end; *choices; choices = *end ? end + 1 : end) {
        end = strchrnul(choices, '|');
        line_offer(o, choices, (size_t)(end - choices));
    }
}

/* The first rows of a table: of each the names behind the key columns, or its value in the first
 * one. */
static void offer_from_row(struct line_offers *o, bytes line, bool keys, const char *behind)
{
    struct json_reader j = json_reader_of((char *)(uintptr_t)line.ptr, line.len);
    struct csv_field field;
    bytes name;

    if (!json_take(&j, '{'))
        return;
    do {
        if (!json_take_name(&j, &name) || !json_take_value(&j, &field))
            return;
        if (keys) {
            line_offer(o, field.text.ptr, field.text.len);
            return;
        }
        name = arena_printf(o->arena, "%.*s%s", BYTES_FMT(name), behind);
        line_offer(o, name.ptr, name.len);
    } while (json_take_next(&j, '}'));
}

static void offer_from_rows(struct shell *s, struct line_offers *o, const char *table, bool keys,
                            const char *behind)
{
    char *name = (char *)(uintptr_t)table;
    char *argv[] = {"scan", "--format", "jsonl", "--limit", LOOKED_ROWS, "--table", name, NULL};
    bytes text = table ? shell_capture(s, o->arena, 7, argv) : BYTES_NONE;

    while (text.len) {
        const char *end = memchr(text.ptr, '\n', text.len);

        if (!end)
            return;
        offer_from_row(o, bytes_of(text.ptr, (size_t)(end - (const char *)text.ptr)), keys, behind);
        text = bytes_skip(text, (size_t)(end + 1 - (const char *)text.ptr));
    }
    o->open = *behind != 0;
}

static const struct option_row *find_flag(const struct command *cmd, const char *word)
{
    const struct option_row *sets[] = {cmd->options,
                                       cmd->run_connected ? command_connection_rows : NULL};

    for (size_t i = 0; i < PORT_COUNT(sets); i++)
        for (const struct option_row *row = sets[i]; row && row->name; row++)
            if (strncmp(word, "--", 2) == 0 && strcmp(word + 2, row->name) == 0)
                return row;
    return NULL;
}

/* Behind a flag that takes a value. */
static void offer_value(struct shell *s, struct line_offers *o, const struct option_row *row,
                        const char *table)
{
    if (strcmp(row->value, "TABLE") == 0)
        offer_tables(s, o);
    else if (strchr(row->value, '|'))
        offer_choices(o, row->value);
    else if (strncmp(row->value, "COL", 3) == 0 || strcmp(row->value, "CONDITION") == 0)
        offer_from_rows(s, o, table, false, "");
}

/* Words of a command's own: table, keys, cells. `at`: how many stand in front. */
static void offer_word(struct shell *s, struct line_offers *o, const struct command *cmd,
                       const char *table, int at)
{
    bool writes = strcmp(cmd->name, "put") == 0 || strcmp(cmd->name, "update") == 0;

    if (!command_takes_table(cmd))
        return;
    if (at == 0 && !s->base.table)
        offer_tables(s, o);
    else if (at == (s->base.table ? 0 : 1))
        offer_from_rows(s, o, table, true, "");
    else if (writes)
        offer_from_rows(s, o, table, false, "=");
}

void shell_offer(void *arg, const char *text, struct line_offers *o)
{
    char *words[WORDS_MAX];
    const struct option_row *flag;
    const struct command *cmd;
    struct shell *s = arg;
    const char *table = s->base.table;
    bool open = false;
    int count = shell_split(o->arena, text, words, WORDS_MAX - 1, &open), at = 0;

    if (count < 0)
        return;
    o->word = open ? words[--count] : "";
    if (count == 0) {
        offer_commands(o, false);
        return;
    }
    if (strcmp(words[0], "help") == 0 || strcmp(words[0], "use") == 0) {
        if (words[0][0] == 'h')
            offer_commands(o, true);
        else
            offer_tables(s, o);
        return;
    }
    cmd = command_find(words[0]);
    if (!cmd)
        return;
    for (int i = 1; i < count; i++) { /* what stands in front, without flags */
        flag = find_flag(cmd, words[i]);
        if (flag && strcmp(flag->name, "table") == 0 && i + 1 < count)
            table = words[i + 1];
        if (flag)
            i += flag->value != NULL;
        else if (at++ == 0 && !s->base.table && command_takes_table(cmd))
            table = words[i];
    }
    flag = find_flag(cmd, words[count - 1]);
    if (flag && flag->value) {
        offer_value(s, o, flag, table);
    } else if (o->word[0] == '-') {
        offer_flags(o, cmd->options);
        offer_flags(o, cmd->run_connected ? command_connection_rows : NULL);
    } else {
        offer_word(s, o, cmd, table, at);
    }
}
