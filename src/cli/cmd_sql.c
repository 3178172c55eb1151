/* cmd_sql.c: `widerow sql`: statements, one by one or typed. */
#include "base/buf.h"
#include "cli/command.h"
#include "cli/console/records.h"
#include "cli/line.h"
#include "cli/sql_cancel.h"
#include "cli/sql_link.h"
#include "cli/sql_offer.h"
#include "cli/sql_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

struct sql_options {
    const char *sql;
    bool timing;
    struct records_options print;
};

static const struct option_row sql_rows[] = {
    {"sql", "HOST:PORT",
     "the server's SQL port (default: 33060 of the endpoint's host; WIDEROW_SQL)", OPTION_TEXT,
     offsetof(struct sql_options, sql), 0, 0},
    {"timing", NULL, "say how long each statement took (a terminal is told anyway)", OPTION_FLAG,
     offsetof(struct sql_options, timing), 0, 0},
    RECORDS_ROWS(struct sql_options),
    {0},
};

struct sql_shell {
    struct sql_link *link;
    struct sql_options *options;
    struct cli *cli;
    bool terminal; /* statements are typed */
};

/* ---- one statement ---- */

static int rows_print(struct ctx *c, struct sql_shell *s, const char *format, uint64_t *count)
{
    struct records_options print = s->options->print;
    struct records *r = NULL;
    struct wr_row row;
    int code, closed;

    if (format)
        print.format = format;
    code = records_open(c, &print, NULL, &r);
    for (*count = 0; !code && !(code = sql_link_next(c, s->link, &row)) && row.cell_count;) {
        ++*count;
        if (!sql_cancel_asked() && !records_enough(r)) /* the rest has to be taken all the same */
            code = records_put(c, r, &row, false);
    }
    closed = records_close(c, r);
    return code ? code : closed;
}

static void units_print(const char *what, uint64_t units)
{
    if (units)
        fprintf(stderr, ", %llu %s unit%s", (unsigned long long)units, what, units == 1 ? "" : "s");
}

static void outcome_print(const struct sql_shell *s, bool rows, uint64_t count, int64_t us)
{
    uint64_t read, written;

    if (!s->terminal && !s->options->timing)
        return;
    fprintf(stderr, "%llu row%s%s, %lld.%03lld s", (unsigned long long)count, count == 1 ? "" : "s",
            rows ? "" : " changed", (long long)(us / 1000000), (long long)(us / 1000 % 1000));
    if (sql_link_units(s->link, &read, &written)) {
        units_print("read", read);
        units_print("write", written);
    }
    fprintf(stderr, "\n");
}

static int statement_take(struct ctx *c, struct sql_shell *s, const struct sql_text *t, bool *rows,
                          uint64_t *count)
{
    TRY(sql_link_run(c, s->link, t->statement, rows, count));
    return *rows ? rows_print(c, s, t->vertical ? "vertical" : NULL, count) : 0;
}

/* Where statements are typed, Ctrl-C ends the one that runs. */
static int statement_run(struct ctx *c, struct sql_shell *s, const struct sql_text *t)
{
    int64_t start_us = clock_mono_us(c->clock), end_us;
    uint64_t count;
    bool rows;
    int code;

    if (s->terminal)
        sql_cancel_begin(s->link);
    code = statement_take(c, s, t, &rows, &count);
    end_us = clock_mono_us(c->clock);
    if (s->terminal)
        sql_cancel_end();
    fflush(stdout);
    if (!code && s->terminal && sql_cancel_asked())
        fprintf(stderr, "interrupted: rows may be missing here\n");
    if (!code)
        outcome_print(s, rows, count, end_us - start_us);
    return code;
}

/* ---- many ---- */

/* What is typed goes on after a failure; a script ends there. */
static int statement_try(struct ctx *c, struct sql_shell *s, const struct sql_text *t)
{
    int code = sql_text_is_empty(t->statement) ? 0 : statement_run(c, s, t);

    if (!code || !s->terminal || code == E_UNAVAILABLE)
        return code;
    fprintf(stderr, "%s\n", c->text);
    c->code = 0;
    c->text = NULL;
    return 0;
}

/* Runs what ends in the text, and leaves the rest. */
static int whole_run(struct ctx *c, struct sql_shell *s, struct buf *b)
{
    struct sql_text t;

    while (sql_text_next(buf_bytes(b), &t)) {
        TRY(statement_try(c, s, &t));
        memmove(b->data, b->data + t.end, b->len - t.end);
        b->len -= t.end;
    }
    return 0;
}

static bool is_end(const char *line)
{
    return strcasecmp(line, "exit") == 0 || strcasecmp(line, "quit") == 0 ||
           strcmp(line, "\\q") == 0;
}

static int lines_run(struct ctx *c, struct sql_shell *s, struct line *line, struct buf *b)
{
    const char *text;
    int code = 0;

    while (!code && (text = line_read(line, sql_text_is_empty(buf_bytes(b)) ? "sql> " : "  -> "))) {
        if (sql_text_is_empty(buf_bytes(b)) && is_end(text))
            return 0;
        if (line_interrupted(line)) /* what was typed of a statement is dropped with its line */
            b->len = 0;
        line_keep(line, text);
        buf_put_bytes(b, bytes_str(text));
        buf_put_u8(b, '\n');
        code = whole_run(c, s, b);
    }
    if (!code && !s->terminal) /* the last one of a script needs no end */
        code = statement_try(c, s, &(struct sql_text){.statement = buf_bytes(b)});
    return code;
}

static int typed_run(struct ctx *c, struct sql_shell *s)
{
    const char *home = getenv("HOME");
    const char *history =
        home && *home ? arena_printf(&c->arena, "%s/.widerow_sql_history", home).ptr : NULL;
    struct line *line;
    struct buf typed;
    struct sql_offer offer = {s->link, &typed};
    int code;

    buf_init(&typed, &c->arena, 4096);
    s->terminal = isatty(STDIN_FILENO);
    if (s->terminal)
        printf("A statement ends with ; or, for a line a value, with \\G. Tab completes, Ctrl-C\n"
               "ends a statement that runs, `exit` the shell.\n");
    line = line_open(s->terminal, history, sql_offer, &offer);
    code = lines_run(c, s, line, &typed);
    line_close(line);
    return code;
}

static int words_run(struct ctx *c, struct sql_shell *s)
{
    struct sql_text t;
    struct buf b;

    buf_init(&b, &c->arena, 256);
    for (int i = 0; i < s->cli->argc; i++) {
        buf_put_bytes(&b, bytes_str(s->cli->argv[i]));
        buf_put_u8(&b, ' ');
    }
    TRY(whole_run(c, s, &b));
    sql_text_next(buf_bytes(&b), &t);
    return statement_try(c, s, &t);
}

static int sql_run(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    struct sql_options *o = options;
    struct sql_shell s = {.options = o, .cli = cli};
    int code;

    TRY(sql_link_open(c, cl->target, o->sql ? o->sql : getenv("WIDEROW_SQL"), &s.link));
    code = cli->argc ? words_run(c, &s) : typed_run(c, &s);
    sql_link_close(s.link);
    return code;
}

const struct command command_sql = {
    .name = "sql",
    .group = GROUP_ROWS,
    .args = "[STATEMENT]",
    .summary = "SQL statements, or a shell for them",
    .text = "Without a statement they are read from the terminal, with history and\n"
            "completion, where Ctrl-C ends the statement that runs, or from standard input, which "
            "ends\nat the first failure. A statement ends with ; and goes over as "
            "many lines as it\nneeds; \\G instead prints a line for each value. The server's SQL "
            "port speaks MySQL's protocol,\nof which doc/sql.md tells what is served; in "
            "`widerow`'s own shell a line that begins with a\nword of SQL and ends with ; is a "
            "statement, too.",
    .example = "widerow sql \"SELECT * FROM orders WHERE host = 'a' LIMIT 10\" --format csv\n"
               "widerow sql <schema.sql",
    .options = sql_rows,
    .options_size = sizeof(struct sql_options),
    .argc_max = 1000,
    .run_connected = sql_run,
};
