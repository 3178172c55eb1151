#include "search/field/analyzer.h"
#include "search/field/character.h"
#include "search/field/token.h"
#include "search/field/words.h"

#define MIN_CHARS_DEFAULT 1
#define MAX_CHARS_DEFAULT 7

static const struct {
    const char *name;
    enum analyzer_kind kind;
} names[] = {
    {"single_word", ANALYZER_SINGLE_WORD},
    {"split", ANALYZER_SPLIT},
    {"fuzzy", ANALYZER_FUZZY},
    {"min_word", ANALYZER_MIN_WORD},
    {"max_word", ANALYZER_MAX_WORD},
};

static int kind_of(struct ctx *c, const struct wr_field_schema *field, enum analyzer_kind *out)
{
    *out = ANALYZER_SINGLE_WORD;
    if (!field->analyzer.ptr)
        return 0;
    for (size_t i = 0; i < PORT_COUNT(names); i++) {
        if (bytes_equal(field->analyzer, bytes_str(names[i].name))) {
            *out = names[i].kind;
            return 0;
        }
    }
    return fail(c, E_PARAMETER,
                "The field [%.*s] has an unknown analyzer [%.*s]. There are single_word, split, "
                "fuzzy, min_word and max_word.",
                BYTES_FMT(field->name), BYTES_FMT(field->analyzer));
}

static int split_options(struct ctx *c, const struct wr_field_schema *field, struct analyzer *out)
{
    const struct wr_analyzer_options *o = &field->analyzer_options;

    out->delimiter = o->delimiter.ptr ? o->delimiter : BYTES_LIT(" ");
    if (!out->delimiter.len || !bytes_is_utf8(out->delimiter))
        return fail(c, E_PARAMETER,
                    "The delimiter of the field [%.*s] is empty or no UTF-8. Give the text that "
                    "stands between the pieces, or none for a blank.",
                    BYTES_FMT(field->name));
    return 0;
}

static int fuzzy_options(struct ctx *c, const struct wr_field_schema *field, struct analyzer *out)
{
    const struct wr_analyzer_options *o = &field->analyzer_options;
    int64_t min = o->min_chars ? o->min_chars : MIN_CHARS_DEFAULT;
    int64_t max = o->max_chars ? o->max_chars : MAX_CHARS_DEFAULT;

    /* Only one of the two given: the other one follows as far as it must. */
    if (!o->max_chars && min > max)
        max = min;
    if (!o->max_chars && max - min > ANALYZER_FUZZY_SPREAD)
        max = min + ANALYZER_FUZZY_SPREAD;
    if (!o->min_chars && max - min > ANALYZER_FUZZY_SPREAD)
        min = max - ANALYZER_FUZZY_SPREAD;
    if (min < 1 || max < min || max - min > ANALYZER_FUZZY_SPREAD ||
        max > ANALYZER_FUZZY_CHARACTERS)
        return fail(c, E_PARAMETER,
                    "The field [%.*s] has min_chars %d and max_chars %d. min_chars must be at "
                    "least 1, max_chars from min_chars to min_chars + %d and at most %d.",
                    BYTES_FMT(field->name), (int)min, (int)max, ANALYZER_FUZZY_SPREAD,
                    ANALYZER_FUZZY_CHARACTERS);
    out->min_chars = (uint32_t)min;
    out->max_chars = (uint32_t)max;
    return 0;
}

int analyzer_make(struct ctx *c, const struct wr_field_schema *field, struct analyzer *out)
{
    *out = (struct analyzer){0};
    TRY(kind_of(c, field, &out->kind));
    if (out->kind == ANALYZER_MIN_WORD || out->kind == ANALYZER_MAX_WORD)
        return 0;
    out->case_sensitive = field->analyzer_options.case_sensitive;
    if (out->kind == ANALYZER_SPLIT)
        return split_options(c, field, out);
    if (out->kind == ANALYZER_FUZZY)
        return fuzzy_options(c, field, out);
    out->delimit_word = field->analyzer_options.delimit_word;
    return 0;
}

/* ---- words ---- */

static int words(const struct analyzer *a, bytes text, analyzer_token_fn *emit, void *arg)
{
    struct words_options options = {
        .case_sensitive = a->case_sensitive,
        .delimit_word = a->delimit_word,
        .ideographs = a->kind == ANALYZER_MAX_WORD   ? WORDS_ALL
                      : a->kind == ANALYZER_MIN_WORD ? WORDS_LIKELIEST
                                                     : WORDS_EACH,
    };

    return words_walk(&options, text, emit, arg);
}

/* ---- split ---- */

static int piece(const struct analyzer *a, bytes text, uint32_t position, analyzer_token_fn *emit,
                 void *arg)
{
    struct token t;

    token_begin(&t);
    for (size_t at = 0; at < text.len && !t.too_long;) {
        int32_t c = character_next(text, &at);

        token_put(&t, a->case_sensitive ? c : character_lower(c));
    }
    return t.too_long ? 0 : emit(arg, bytes_of(t.text, t.len), position);
}

static int split(const struct analyzer *a, bytes text, analyzer_token_fn *emit, void *arg)
{
    uint32_t position = 0;

    while (text.len) {
        const uint8_t *found = memmem(text.ptr, text.len, a->delimiter.ptr, a->delimiter.len);
        size_t len = found ? (size_t)(found - bytes_u8(text)) : text.len;

        if (len)
            TRY(piece(a, bytes_of(text.ptr, len), position++, emit, arg));
        text = bytes_skip(text, found ? len + a->delimiter.len : len);
    }
    return 0;
}

/* ---- fuzzy ---- */

/* The characters of a text that have grams. */
struct characters {
    uint32_t count;
    uint16_t at[ANALYZER_FUZZY_CHARACTERS + 1]; /* where each one begins, and the end */
    uint8_t text[ANALYZER_FUZZY_CHARACTERS * CHARACTER_BYTES_MAX];
};

static void characters_of(const struct analyzer *a, bytes text, struct characters *out)
{
    size_t len = 0;

    out->count = 0;
    for (size_t at = 0; at < text.len && out->count < ANALYZER_FUZZY_CHARACTERS;) {
        int32_t c = character_next(text, &at);

        out->at[out->count++] = (uint16_t)len;
        len += character_put(out->text + len, a->case_sensitive ? c : character_lower(c));
    }
    out->at[out->count] = (uint16_t)len;
}

static bytes gram(const struct characters *x, uint32_t from, uint32_t length)
{
    return bytes_of(x->text + x->at[from], (size_t)(x->at[from + length] - x->at[from]));
}

static int fuzzy(const struct analyzer *a, bytes text, analyzer_token_fn *emit, void *arg)
{
    struct characters x;

    characters_of(a, text, &x);
    for (uint32_t from = 0; from < x.count; from++)
        for (uint32_t n = a->min_chars; n <= a->max_chars && n <= x.count - from; n++)
            TRY(emit(arg, gram(&x, from, n), from));
    return 0;
}

static int fuzzy_query(const struct analyzer *a, bytes text, analyzer_token_fn *emit, void *arg)
{
    struct characters x;
    uint32_t n;

    characters_of(a, text, &x);
    if (!x.count)
        return 0;
    n = x.count < a->max_chars ? x.count : a->max_chars;
    for (uint32_t from = 0; from + n <= x.count; from++)
        TRY(emit(arg, gram(&x, from, n), from));
    return 0;
}

int analyze(const struct analyzer *a, bytes text, analyzer_token_fn *emit, void *arg)
{
    if (a->kind == ANALYZER_SPLIT)
        return split(a, text, emit, arg);
    if (a->kind == ANALYZER_FUZZY)
        return fuzzy(a, text, emit, arg);
    return words(a, text, emit, arg);
}

int analyze_query(const struct analyzer *a, bytes text, bool phrase, analyzer_token_fn *emit,
                  void *arg)
{
    (void)phrase; /* so far no analyzer cuts the two differently */
    if (a->kind == ANALYZER_FUZZY)
        return fuzzy_query(a, text, emit, arg);
    return analyze(a, text, emit, arg);
}
