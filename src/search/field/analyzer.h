/* analyzer.h: text fields of search indexes, cut into tokens (doc/data-model.md, "Analyzers").
 *
 * Everything here is a function of its arguments and of the packaged Unicode tables: no state, no
 * memory beyond the stack (about 40 KiB), time in proportion to the text whatever it holds. */
#ifndef SEARCH_FIELD_ANALYZER_H
#define SEARCH_FIELD_ANALYZER_H

#include "base/ctx.h"
#include "search/field/token.h"
#include "widerow_search.h"

enum analyzer_kind {
    ANALYZER_SINGLE_WORD,
    ANALYZER_SPLIT,
    ANALYZER_FUZZY,
    ANALYZER_MIN_WORD,
    ANALYZER_MAX_WORD,
};

#define ANALYZER_TOKEN_MAX TOKEN_MAX   /* bytes; a longer token is left out, its position stays */
#define ANALYZER_FUZZY_CHARACTERS 1024 /* of a text; what follows has no grams */
#define ANALYZER_FUZZY_SPREAD 6        /* max_chars - min_chars at most */

struct analyzer {
    enum analyzer_kind kind;
    bool case_sensitive, delimit_word;
    struct wr_bytes delimiter; /* a view of the schema's */
    uint32_t min_chars, max_chars;
};

/* The analyzer that a TEXT field asks for. E_PARAMETER: there is none of that name, or its options
 * contradict one another. Options that the analyzer does not know are without meaning. */
int analyzer_make(struct ctx *c, const struct wr_field_schema *field, struct analyzer *out);

/* A token, which is valid UTF-8 and valid until the call returns. Other than 0 ends the walk.
 *
 * Positions never fall from one call to the next, and several tokens may be at one position: a
 * phrase matches where its tokens stand at the same distances from one another as in the phrase. A
 * position counts words (single_word), pieces (split), characters (fuzzy: the gram's first one), or
 * Chinese characters and other words (min_word and max_word). */
typedef int analyzer_token_fn(void *arg, struct wr_bytes token, uint32_t position);

/* Cuts a text as it is stored. What is no UTF-8 becomes U+FFFD or separates; it is no error.
 * Returns 0, or what ended the walk. */
int analyze(const struct analyzer *a, struct wr_bytes text, analyzer_token_fn *emit, void *arg);

/* Cuts the text of a match or (`phrase`) of a phrase. It differs for fuzzy, where every gram of the
 * text would match nearly everything: a text of up to max_chars characters is one gram, a longer
 * one all its grams of max_chars characters. */
int analyze_query(const struct analyzer *a, struct wr_bytes text, bool phrase,
                  analyzer_token_fn *emit, void *arg);

#endif
