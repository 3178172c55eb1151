/* spec.h: what the parts of the spec runner share. test/spec/README.md describes the scripts.
 *
 * A script is text. lex.c splits it into tokens, parse.c makes a request of those before the arrow,
 * a door executes it, print.c writes the reply in the script's own language, and match.c compares
 * that with the tokens behind the arrow. One thread; all memory of a case lives in its arena. */
#ifndef SPEC_SPEC_H
#define SPEC_SPEC_H

#include "base/buf.h"
#include "base/ctx.h"
#include "widerow.h"

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_NUMBER, TOKEN_TEXT, TOKEN_BINARY, TOKEN_PUNCT };

struct token {
    enum token_kind kind;
    bytes text; /* of texts and binaries the decoded bytes */
};

struct tokens {
    const struct token *items; /* a TOKEN_END stands behind the last */
    size_t count;
};

struct variable {
    bytes name;
    struct wr_value value;
};

/* The key of a table that the case made: so that "scan" can write the bounds itself. */
struct known_table {
    bytes name;
    const struct wr_key_schema *key;
    size_t key_count;
};

#define VARIABLES_MAX 64
#define KNOWN_TABLES_MAX 80

/* One case while it runs. */
struct script {
    const char *file;
    int line; /* of the statement being run */
    struct ctx c;
    int64_t now_ms; /* what "now" means in this case */
    struct variable variables[VARIABLES_MAX];
    size_t variable_count;
    struct known_table tables[KNOWN_TABLES_MAX];
    size_t table_count;
};

/* A mistake in a script: says where and ends the run. */
void script_die(const struct script *s, const char *fmt, ...) PORT_PRINTF(2, 3) PORT_NORETURN;

const struct wr_value *script_get(const struct script *s, bytes name); /* NULL: not set */
void script_set(struct script *s, bytes name, const struct wr_value *v);

struct tokens lex(struct script *s, bytes text);
bool token_is(const struct token *t, const char *word); /* a bare word or punctuation */

/* A place in a list of tokens. */
struct cursor {
    struct script *s;
    const struct token *at;
};

bool take(struct cursor *p, const char *word);   /* goes past it if it is there */
void expect(struct cursor *p, const char *word); /* or the script is wrong */
int64_t parse_number(struct cursor *p);
int64_t parse_time(struct cursor *p); /* milliseconds: 1000, now, now-10s, $v+1 */
bytes parse_name(struct cursor *p);
struct wr_value parse_value(struct cursor *p);
struct wr_key parse_key(struct cursor *p);

/* The request that stands at p; false if the word there starts none. */
bool parse_request(struct cursor *p, struct wr_request *out);

/* "fill t (pk=1..500) a=1": the changes, one a row. */
const struct wr_row_change *parse_fill(struct cursor *p, bytes *table, size_t *count);

/* What a door gave. */
struct answer {
    struct wr_reply reply;  /* code is the enum wr_error, as far as the door can tell */
    const char *code_name;  /* of Tablestore; "" on success */
    int status;             /* HTTP; the library's door takes it from the table */
    const char *fault;      /* what is wrong with the answer whatever was expected; NULL: nothing */
    struct wr_reply *owned; /* to be freed */
};

static inline void answer_release(struct answer *a)
{
    wr_reply_free(a->owned);
}

/* The answer in the language of the scripts. `expected` decides between forms: "ok" for a success
 * of which nothing more is asked. */
bytes print_answer(struct script *s, const struct wr_request *req, const struct answer *a,
                   const struct tokens *expected);

/* The row of err.def with this name ("PARAMETER"), or -1. */
int error_of_name(bytes name);

/* Compares; sets the variables that `expected` captures. False: they differ. */
bool match(struct script *s, const struct tokens *expected, const struct tokens *actual);

/* True if every name=value of `expected` stands in `actual`, in any order. */
bool match_items(struct script *s, const struct tokens *expected, const struct tokens *actual);

#endif
