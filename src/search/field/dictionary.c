#include "search/field/dictionary.h"

#include <pthread.h>
#include <unicode/udata.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>

/* The header in front of the trie: numbers of four bytes. */
enum {
    HEADER_TRIE_OFFSET = 0,
    HEADER_TOTAL_SIZE = 3,
    HEADER_TRIE_TYPE = 4,
    HEADER_NUMBERS = 8,
};
#define TRIE_TYPE_MASK 7
#define TRIE_OF_UNITS 1

/* The trie, as ICU documents it in unicode/ucharstrie.h. A node begins with a lead unit: */
#define LINEAR_MIN 0x30 /* below: a branch; from here: a row of units that all must match */
#define VALUE_MIN 0x40  /* from here: a value, and below these bits the node */
#define VALUE_FINAL 0x8000
#define BRANCH_LIST_MAX 5 /* a branch of more begins with a binary search */
/* How many units a number takes is told by its first one. */
#define FINAL_TWO 0x4000
#define FINAL_THREE 0x7fff
#define NODE_TWO 0x4040
#define NODE_THREE 0x7fc0
#define DELTA_TWO 0xfc00
#define DELTA_THREE 0xffff

static struct {
    pthread_once_t once;
    UDataMemory *data;     /* stays open: the words are read where they lie */
    const uint16_t *units; /* NULL: there is none */
    size_t count;
} dictionary = {.once = PTHREAD_ONCE_INIT};

/* A place in the trie. `at` == count: nowhere. */
struct walk {
    size_t at;
    size_t row; /* units of a linear node that are still to match */
};

static void dictionary_open(void)
{
    UErrorCode e = U_ZERO_ERROR;
    UDataMemory *data = udata_open(U_ICUDATA_NAME "-brkitr", "dict", "cjdict", &e);
    UDataInfo info = {.size = sizeof(info)};
    const int32_t *header;
    int32_t from, size;

    if (U_FAILURE(e))
        return;
    udata_getInfo(data, &info);
    header = udata_getMemory(data);
    from = header[HEADER_TRIE_OFFSET];
    size = header[HEADER_TOTAL_SIZE];
    if (memcmp(info.dataFormat, "Dict", 4) != 0 || info.formatVersion[0] != 1 ||
        (header[HEADER_TRIE_TYPE] & TRIE_TYPE_MASK) != TRIE_OF_UNITS || from % 2 ||
        from < (int32_t)(HEADER_NUMBERS * sizeof(int32_t)) || size <= from) {
        udata_close(data);
        return;
    }
    dictionary.data = data;
    dictionary.units = (const uint16_t *)((const uint8_t *)header + from);
    dictionary.count = (size_t)(size - from) / 2;
}

bool dictionary_is_there(void)
{
    pthread_once(&dictionary.once, dictionary_open);
    return dictionary.units != NULL;
}

/* The unit at a place; past the end a final value, where every walk ends. */
static uint32_t unit(size_t at)
{
    return at < dictionary.count ? dictionary.units[at] : VALUE_FINAL;
}

/* A number in one, two or three units, from *at on. */
static uint32_t number(size_t *at, uint32_t two, uint32_t three)
{
    uint32_t lead = unit((*at)++);

    if (lead < two)
        return lead;
    if (lead < three)
        return (lead - two) << 16 | unit((*at)++);
    *at += 2;
    return unit(*at - 2) << 16 | unit(*at - 1);
}

static uint32_t final_value(size_t at)
{
    uint32_t lead = unit(at) & 0x7fff;

    if (lead < FINAL_TWO)
        return lead;
    if (lead < FINAL_THREE)
        return (lead - FINAL_TWO) << 16 | unit(at + 1);
    return unit(at + 1) << 16 | unit(at + 2);
}

static uint32_t node_value(size_t at)
{
    uint32_t lead = unit(at);

    if (lead < NODE_TWO)
        return (lead >> 6) - 1;
    if (lead < NODE_THREE)
        return ((lead & 0x7fc0) - NODE_TWO) << 10 | unit(at + 1);
    return unit(at + 1) << 16 | unit(at + 2);
}

/* Units that a node's value takes; its first one, unless it stands alone, holds the node too. */
static size_t node_value_more(uint32_t lead)
{
    return lead < NODE_TWO ? 0 : lead < NODE_THREE ? 1 : 2;
}

static bool stop(struct walk *w)
{
    w->at = dictionary.count;
    w->row = 0;
    return false;
}

/* In a branch: the arm of `u`. */
static bool branch(struct walk *w, size_t at, uint32_t length, uint32_t u)
{
    while (length > BRANCH_LIST_MAX) {
        if (u < unit(at++)) {
            uint32_t delta = number(&at, DELTA_TWO, DELTA_THREE);

            length >>= 1;
            at += delta;
        } else {
            number(&at, DELTA_TWO, DELTA_THREE);
            length -= length >> 1;
        }
    }
    for (; length > 1; length--) {
        bool is_it = u == unit(at++);
        uint32_t lead = unit(at);
        uint32_t delta;

        if (is_it && lead & VALUE_FINAL) {
            w->at = at;
            return true;
        }
        if (lead & VALUE_FINAL) {
            lead &= 0x7fff;
            at += lead < FINAL_TWO ? 1 : lead < FINAL_THREE ? 2 : 3;
            continue;
        }
        delta = number(&at, FINAL_TWO, FINAL_THREE);
        if (is_it) {
            w->at = at + delta;
            return true;
        }
    }
    if (u != unit(at))
        return stop(w);
    w->at = at + 1;
    return true;
}

/* One unit on. False: no word goes on so. */
static bool step(struct walk *w, uint32_t u)
{
    uint32_t lead;
    size_t at = w->at;

    if (w->row) {
        if (u != unit(at))
            return stop(w);
        w->row--;
        w->at++;
        return true;
    }
    lead = unit(at++);
    if (lead & VALUE_FINAL)
        return stop(w);
    if (lead >= VALUE_MIN) {
        at += node_value_more(lead);
        lead &= VALUE_MIN - 1;
    }
    if (lead < LINEAR_MIN)
        return lead ? branch(w, at, lead + 1, u) : branch(w, at + 1, unit(at) + 1, u);
    if (u != unit(at))
        return stop(w);
    w->row = lead - LINEAR_MIN;
    w->at = at + 1;
    return true;
}

/* Whether a word ends at this place. */
static bool value(const struct walk *w, uint32_t *out)
{
    uint32_t lead = unit(w->at);

    if (w->row || w->at >= dictionary.count || lead < VALUE_MIN)
        return false;
    *out = lead & VALUE_FINAL ? final_value(w->at) : node_value(w->at);
    return true;
}

size_t dictionary_words(bytes text, struct dictionary_word out[DICTIONARY_WORD_MAX])
{
    const uint8_t *s = text.ptr;
    struct walk w = {0, 0};
    size_t count = 0;
    size_t at = 0;

    if (!dictionary_is_there())
        return 0;
    for (uint32_t characters = 1; characters <= DICTIONARY_WORD_MAX && at < text.len;
         characters++) {
        UChar32 c;
        uint32_t cost;

        U8_NEXT_OR_FFFD(s, at, text.len, c);
        if (c > 0xffff ? !step(&w, U16_LEAD(c)) || !step(&w, U16_TRAIL(c)) : !step(&w, (uint32_t)c))
            break;
        if (value(&w, &cost))
            out[count++] = (struct dictionary_word){
                .characters = characters, .bytes = (uint32_t)at, .cost = cost};
    }
    return count;
}
