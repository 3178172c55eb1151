/* lex.h: the words of a statement. Pure. */
#ifndef SQL_PARSE_LEX_H
#define SQL_PARSE_LEX_H

#include "base/arena.h"

/* A word. */
struct token {
    size_t at, end; /* in the statement */
    bytes text; /* names without quotes, texts and blobs as what they stand for, else as written */
};

struct lexer {
    bytes sql;
    size_t at;
    struct arena *arena;
    const char *fault; /* why the last word is none */
    int after;         /* the word before: a name may follow a point whatever it is called */
};

/* The next word: its number (TOKEN_ of the grammar), 0 at the end, LEX_BAD with l->fault set and
 * out->at where it begins. Comments are passed over, but for hints, which are one word each,
 * without their brackets. */
#define LEX_BAD (-1)
int lex_next(struct lexer *l, struct token *out);

/* Is that name a word that has to be quoted to be a name? */
bool lex_is_reserved(bytes name);

#endif
