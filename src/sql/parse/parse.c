#include "sql/parse/parse.h"

#include "base/arena_full.h"
#include "sql/parse/build.h"

#include "sql_grammar.h"

#define TOKENS_BETWEEN_LOOKS 1000 /* for memory */

/* What Lemon makes; it declares none of it. */
void *sql_grammarAlloc(void *(*alloc)(size_t));
void sql_grammarFree(void *parser, void (*release)(void *));
void sql_grammar(void *parser, int token, struct token value, struct parse *p);

/* Line and column of an offset, as editors count them. */
static void place(bytes sql, struct parse_fault *f)
{
    f->line = f->column = 1;
    for (size_t i = 0; i < f->at && i < sql.len; i++) {
        uint8_t c = bytes_u8(sql)[i];

        if (c == '\n') {
            f->line++;
            f->column = 1;
        } else if ((c & 0xc0) != 0x80) {
            f->column++;
        }
    }
}

int parse_statement(struct arena *a, bytes sql, struct statement **out, struct parse_fault *fault)
{
    struct parse p = {.arena = a, .sql = sql, .out = ARENA_NEW(a, struct statement)};
    struct lexer l = {.sql = sql, .arena = a};
    void *parser = sql_grammarAlloc(mem_alloc);
    struct token t;
    size_t tokens = 0;
    int token;

    do {
        token = lex_next(&l, &t);
        p.ahead = t.at;
        if (++tokens % TOKENS_BETWEEN_LOOKS == 0 && arena_is_full(a, 0))
            parse_fail(&p, t.at,
                       "statements that are under way take all memory that they may: try again "
                       "later, or say less in one statement");
        else if (token == LEX_BAD)
            parse_fail(&p, t.at, l.fault);
        else
            sql_grammar(parser, token, t, &p);
    } while (token > 0 && !p.failed);
    sql_grammarFree(parser, mem_free);
    *out = p.out;
    if (!p.failed)
        return E_OK;
    *fault = (struct parse_fault){.at = p.fault_at, .text = p.fault};
    place(sql, fault);
    return E_PARAMETER;
}
