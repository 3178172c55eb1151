/* dictionary.h: ICU's dictionary of Chinese and Japanese words, which its data package brings.
 *
 * ICU opens it to programs only by its word breaks: one way to cut a text, found with memory and
 * time that grow faster than some texts do. The words themselves are what an index needs, so they
 * are read where they lie: a trie of UTF-16 units, each word with its cost (the rarer, the higher).
 */
#ifndef SEARCH_FIELD_DICTIONARY_H
#define SEARCH_FIELD_DICTIONARY_H

#include "base/bytes.h"

#define DICTIONARY_WORD_MAX 20      /* characters; longer words are not looked for */
#define DICTIONARY_COST_UNKNOWN 255 /* of a character that is no word */

struct dictionary_word {
    uint32_t characters, bytes;
    uint32_t cost;
};

/* The words that the text, valid UTF-8, begins with, shortest first; returns how many. None, if the
 * dictionary is missing or of a form that is not known. */
size_t dictionary_words(bytes text, struct dictionary_word out[DICTIONARY_WORD_MAX]);

/* Whether there is a dictionary. */
bool dictionary_is_there(void);

#endif
