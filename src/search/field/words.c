#include "search/field/words.h"
#include "base/ctx.h"
#include "search/field/character.h"
#include "search/field/dictionary.h"
#include "search/field/token.h"

#include <assert.h>

struct words {
    const struct words_options *options;
    words_emit_fn *emit;
    void *arg;
    uint32_t position;
    bool open;                 /* a word is being collected */
    enum character_class last; /* LETTER or DIGIT: of the open word's last one */
    struct token token;
};

/* ---- Chinese and Japanese ---- */

static int single_characters(struct words *w, bytes run)
{
    for (size_t at = 0; at < run.len; w->position++) {
        size_t from = at;

        character_next(run, &at);
        TRY(w->emit(w->arg, bytes_of(bytes_u8(run) + from, at - from), w->position));
    }
    return 0;
}

/* Every word of two characters and more that begins here, the longest first. */
static int words_from(struct words *w, bytes rest, const struct dictionary_word *words,
                      size_t count)
{
    for (size_t i = count; i-- > 0 && words[i].characters > 1;)
        TRY(w->emit(w->arg, bytes_of(rest.ptr, words[i].bytes), w->position));
    return 0;
}

/* Every word of the dictionary wherever it stands, so that what is a token of a part is one of the
 * whole; and alone the characters that are in none. */
static int all_words(struct words *w, bytes run)
{
    size_t covered = 0; /* up to here by words that were emitted */

    for (size_t at = 0; at < run.len; w->position++) {
        struct dictionary_word found[DICTIONARY_WORD_MAX];
        bytes rest = bytes_skip(run, at);
        size_t count = dictionary_words(rest, found);
        size_t from = at;

        if (count && found[count - 1].characters > 1) {
            TRY(words_from(w, rest, found, count));
            if (covered < from + found[count - 1].bytes)
                covered = from + found[count - 1].bytes;
        }
        character_next(run, &at);
        if (covered <= from)
            TRY(w->emit(w->arg, bytes_of(rest.ptr, at - from), w->position));
    }
    return 0;
}

#define WINDOW 512 /* characters that are cut at once */

/* The cheapest way to each place of a window. */
struct ways {
    size_t count;                    /* characters */
    uint32_t at[WINDOW + 1];         /* where each one begins */
    uint32_t cost[WINDOW + 1];       /* of the way there */
    uint8_t last[WINDOW + 1];        /* characters of that way's last word */
    uint16_t boundaries[WINDOW + 1]; /* of the cheapest way to the end */
};

static void ways_offer(struct ways *ways, size_t to, uint32_t cost, size_t characters)
{
    if (to > ways->count || ways->cost[to] <= cost)
        return;
    ways->cost[to] = cost;
    ways->last[to] = (uint8_t)characters;
}

static void ways_find(struct ways *ways, bytes run)
{
    size_t at = 0;

    for (ways->count = 0; ways->count < WINDOW && at < run.len; ways->count++) {
        ways->at[ways->count] = (uint32_t)at;
        character_next(run, &at);
    }
    ways->at[ways->count] = (uint32_t)at;
    for (size_t i = 0; i <= ways->count; i++)
        ways->cost[i] = i ? UINT32_MAX : 0;
    for (size_t i = 0; i < ways->count; i++) {
        struct dictionary_word found[DICTIONARY_WORD_MAX];
        size_t n = dictionary_words(bytes_skip(run, ways->at[i]), found);

        for (size_t j = 0; j < n; j++)
            ways_offer(ways, i + found[j].characters, ways->cost[i] + found[j].cost,
                       found[j].characters);
        if (!n || found[0].characters > 1)
            ways_offer(ways, i + 1, ways->cost[i] + DICTIONARY_COST_UNKNOWN, 1);
    }
}

/* Words from the front of the window; returns how many boundaries, the last one the end. */
static size_t ways_walk(struct ways *ways)
{
    size_t n = 0;
    size_t to = ways->count;

    for (; to; to -= ways->last[to])
        ways->boundaries[n++] = (uint16_t)to;
    for (size_t i = 0; i < n / 2; i++) {
        uint16_t swapped = ways->boundaries[i];

        ways->boundaries[i] = ways->boundaries[n - 1 - i];
        ways->boundaries[n - 1 - i] = swapped;
    }
    return n;
}

/* The cheapest way to cut the run into words. A window's last words may be cut by its end, so the
 * next window begins with them. */
static int likeliest_words(struct words *w, bytes run)
{
    struct ways ways;

    while (run.len) {
        size_t from = 0;
        size_t boundaries;

        ways_find(&ways, run);
        boundaries = ways_walk(&ways);
        for (size_t i = 0; i < boundaries; i++) {
            size_t to = ways.boundaries[i];

            if (from && ways.at[ways.count] < run.len && to > WINDOW - DICTIONARY_WORD_MAX)
                break;
            TRY(w->emit(w->arg,
                        bytes_of(bytes_u8(run) + ways.at[from], ways.at[to] - ways.at[from]),
                        w->position));
            w->position += (uint32_t)(to - from);
            from = to;
        }
        assert(from > 0);
        run = bytes_skip(run, ways.at[from]);
    }
    return 0;
}

static int emit_ideographs(struct words *w, bytes run)
{
    if (w->options->ideographs == WORDS_EACH || !dictionary_is_there())
        return single_characters(w, run);
    return w->options->ideographs == WORDS_ALL ? all_words(w, run) : likeliest_words(w, run);
}

/* ---- words of letters ---- */

static int close_word(struct words *w)
{
    if (!w->open)
        return 0;
    w->open = false;
    w->position++;
    if (w->token.too_long)
        return 0;
    return w->emit(w->arg, bytes_of(w->token.text, w->token.len), w->position - 1);
}

static int put_character(struct words *w, enum character_class class, int32_t c)
{
    if (class == CHARACTER_MARK) {
        if (w->open)
            token_put(&w->token, c);
        return 0;
    }
    if (w->open && w->options->delimit_word && class != w->last)
        TRY(close_word(w));
    if (!w->open) {
        w->open = true;
        token_begin(&w->token);
    }
    w->last = class;
    token_put(&w->token, w->options->case_sensitive ? c : character_lower(c));
    return 0;
}

/* Where the run of ideographs that begins at `from` ends. */
static size_t ideographs_end(bytes text, size_t from)
{
    size_t at = from;
    size_t next = from;

    while (next < text.len && character_class(character_next(text, &next)) == CHARACTER_IDEOGRAPH)
        at = next;
    return at;
}

int words_walk(const struct words_options *options, bytes text, words_emit_fn *emit, void *arg)
{
    struct words w;
    size_t at = 0;

    w.options = options;
    w.emit = emit;
    w.arg = arg;
    w.position = 0;
    w.open = false;
    while (at < text.len) {
        size_t from = at;
        int32_t c = character_next(text, &at);
        enum character_class class = character_class(c);

        if (class == CHARACTER_SEPARATOR) {
            TRY(close_word(&w));
        } else if (class == CHARACTER_IDEOGRAPH) {
            TRY(close_word(&w));
            at = ideographs_end(text, from);
            TRY(emit_ideographs(&w, bytes_of(bytes_u8(text) + from, at - from)));
        } else {
            TRY(put_character(&w, class, c));
        }
    }
    return close_word(&w);
}
