/* words.h: texts cut into words: runs of letters and digits, and ideographs one by one or by the
 * dictionary. */
#ifndef SEARCH_FIELD_WORDS_H
#define SEARCH_FIELD_WORDS_H

#include "base/bytes.h"

enum words_of_ideographs {
    WORDS_EACH,      /* each character is one */
    WORDS_LIKELIEST, /* those of the likeliest reading */
    WORDS_ALL,       /* every word wherever it stands, overlapping */
};

struct words_options {
    bool case_sensitive;
    bool delimit_word; /* letters and digits apart */
    enum words_of_ideographs ideographs;
};

/* As analyzer_token_fn. */
typedef int words_emit_fn(void *arg, bytes word, uint32_t position);

int words_walk(const struct words_options *options, bytes text, words_emit_fn *emit, void *arg);

#endif
