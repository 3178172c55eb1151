/* Analyzers: the worked examples of doc/data-model.md, and texts that want much time or memory. */
#include "search/field/analyzer.h"
#include "search/field/dictionary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../context.h"

/* ---- what comes out, as "token@position token@position" ---- */

#define OUT_MAX 65536

struct tokens {
    char text[OUT_MAX];
    size_t len;
    size_t count, bytes;
    uint32_t last;
    size_t stop_after; /* 0: never */
};

static int collect(void *arg, bytes token, uint32_t position)
{
    struct tokens *t = arg;
    int n;

    assert_true(token.len > 0);
    assert_true(bytes_is_utf8(token));
    assert_true(position >= t->last);
    t->last = position;
    t->count++;
    t->bytes += token.len;
    n = snprintf(t->text + t->len, OUT_MAX - t->len, "%s%.*s@%u", t->len ? " " : "",
                 BYTES_FMT(token), position);
    t->len += t->len + (size_t)n < OUT_MAX ? (size_t)n : 0;
    return t->count == t->stop_after ? 77 : 0;
}

static struct tokens tokens;

static const char *cut(const struct analyzer *a, bytes text)
{
    memset(&tokens, 0, sizeof(tokens));
    assert_int_equal(analyze(a, text, collect, &tokens), 0);
    return tokens.text;
}

static const char *cut_query(const struct analyzer *a, const char *text)
{
    memset(&tokens, 0, sizeof(tokens));
    assert_int_equal(analyze_query(a, bytes_str(text), true, collect, &tokens), 0);
    return tokens.text;
}

static struct analyzer made(const char *name, struct wr_analyzer_options options)
{
    struct wr_field_schema field = {
        .name = BYTES_LIT("t"), .type = WR_FIELD_TEXT, .analyzer_options = options};
    struct analyzer a;

    if (name)
        field.analyzer = bytes_str(name);
    assert_int_equal(analyzer_make(&c, &field, &a), 0);
    return a;
}

#define MADE(name, ...) made(name, (struct wr_analyzer_options){__VA_ARGS__})

static void expect(struct analyzer a, const char *text, const char *want)
{
    assert_string_equal(cut(&a, bytes_str(text)), want);
}

/* ---- options ---- */

static int refused(const char *name, struct wr_analyzer_options options, const char *part)
{
    struct wr_field_schema field = {.name = BYTES_LIT("the_field"),
                                    .type = WR_FIELD_TEXT,
                                    .analyzer = bytes_str(name),
                                    .analyzer_options = options};
    struct analyzer a;
    int code;

    code = analyzer_make(&c, &field, &a);
    if (code) {
        assert_non_null(strstr(c.text, "the_field"));
        assert_non_null(strstr(c.text, part));
    }
    ctx_clear(&c);
    return code;
}

#define REFUSED(name, part, ...)                                                                   \
    assert_int_equal(refused(name, (struct wr_analyzer_options){__VA_ARGS__}, part), E_PARAMETER)

static void test_options(void **state)
{
    struct analyzer a;

    (void)state;
    a = MADE(NULL);
    assert_int_equal(a.kind, ANALYZER_SINGLE_WORD);
    a = MADE("split");
    assert_true(bytes_equal(a.delimiter, BYTES_LIT(" ")));
    a = MADE("fuzzy");
    assert_int_equal(a.min_chars, 1);
    assert_int_equal(a.max_chars, 7);
    a = MADE("fuzzy", .min_chars = 3, .max_chars = 9);
    assert_int_equal(a.max_chars, 9);
    a = MADE("fuzzy", .min_chars = 9);
    assert_int_equal(a.min_chars, 9);
    assert_int_equal(a.max_chars, 9);
    a = MADE("fuzzy", .max_chars = 10);
    assert_int_equal(a.min_chars, 4);
    a = MADE("max_word", .case_sensitive = true, .delimit_word = true);
    assert_false(a.case_sensitive);
    REFUSED("word", "[word]");
    REFUSED("", "analyzer []");
    REFUSED("Split", "[Split]");
    REFUSED("split", "delimiter", .delimiter = BYTES_LIT(""));
    REFUSED("split", "delimiter", .delimiter = BYTES_LIT("\xff"));
    REFUSED("fuzzy", "min_chars", .min_chars = 1, .max_chars = 8);
    REFUSED("fuzzy", "min_chars", .min_chars = 3, .max_chars = 2);
    REFUSED("fuzzy", "min_chars", .min_chars = -1, .max_chars = 2);
    REFUSED("fuzzy", "min_chars", .max_chars = -1);
    REFUSED("fuzzy", "min_chars", .min_chars = INT32_MIN, .max_chars = INT32_MAX);
    REFUSED("fuzzy", "min_chars", .min_chars = 1020, .max_chars = 1025);
}

/* ---- single_word ---- */

static void test_single_word(void **state)
{
    (void)state;
    expect(MADE("single_word"), "this is 100", "this@0 is@1 100@2");
    expect(MADE("single_word"), "Hang Zhou", "hang@0 zhou@1");
    expect(MADE("single_word", .case_sensitive = true), "Hang Zhou", "Hang@0 Zhou@1");
    expect(MADE("single_word"), "IPhone6", "iphone6@0");
    expect(MADE("single_word", .delimit_word = true), "iPhone6", "iphone@0 6@1");
    expect(MADE("single_word"), "杭州", "杭@0 州@1");
    expect(MADE("single_word"), "这是表格存储测试使用的参数3",
           "这@0 是@1 表@2 格@3 存@4 储@5 测@6 试@7 使@8 用@9 的@10 参@11 数@12 3@13");
    expect(MADE("single_word"), "dengcai <em>street</em>", "dengcai@0 em@1 street@2 em@3");
}

static void test_single_word_beyond(void **state)
{
    (void)state;
    expect(MADE("single_word"), "", "");
    expect(MADE("single_word"), " ,;\n\t\xe3\x80\x82", "");
    expect(MADE("single_word"), "ÄRGER Ωmega Привет", "ärger@0 ωmega@1 привет@2");
    expect(MADE("single_word"), "user_name a.b 3.14 don't",
           "user@0 name@1 a@2 b@3 3@4 14@5 don@6 t@7");
    /* Combining marks stay with their letter; alone they are nothing. */
    expect(MADE("single_word"), "cafe\xcc\x81s \xcc\x81", "cafe\xcc\x81s@0");
    expect(MADE("single_word"), "ひらカタカナ한국어 단어", "ひ@0 ら@1 カタカナ한국어@2 단어@3");
    expect(MADE("single_word"), "𠮷野家abc", "𠮷@0 野@1 家@2 abc@3");
    expect(MADE("single_word", .delimit_word = true), "a1b2 ٣x", "a@0 1@1 b@2 2@3 ٣@4 x@5");
    /* Full-width letters are letters. */
    expect(MADE("single_word"), "ＡＢＣ１", "ａｂｃ１@0");
    expect(MADE("single_word"), "ok👍🏽ok", "ok@0 ok@1");
}

/* ---- split ---- */

static void test_split(void **state)
{
    (void)state;
    expect(MADE("split", .delimiter = BYTES_LIT(",")), "badminton,ping pong,rap",
           "badminton@0 ping pong@1 rap@2");
    expect(MADE("split"), "TableStore SearchIndex", "tablestore@0 searchindex@1");
    expect(MADE("split", .case_sensitive = true), "TableStore SearchIndex",
           "TableStore@0 SearchIndex@1");
    expect(MADE("split", .delimiter = BYTES_LIT(",")), ",,a,,B,", "a@0 b@1");
    expect(MADE("split", .delimiter = BYTES_LIT("，")), "甲，乙", "甲@0 乙@1");
    expect(MADE("split", .delimiter = BYTES_LIT("ab")), "aabb", "a@0 b@1");
    expect(MADE("split"), "a\xff b", "a\xef\xbf\xbd@0 b@1");
    expect(MADE("split"), "", "");
}

/* ---- fuzzy ---- */

static void test_fuzzy(void **state)
{
    (void)state;
    expect(MADE("fuzzy", .min_chars = 1, .max_chars = 3), "abcd",
           "a@0 ab@0 abc@0 b@1 bc@1 bcd@1 c@2 cd@2 d@3");
    expect(MADE("fuzzy"), "苏梅", "苏@0 苏梅@0 梅@1");
    expect(MADE("fuzzy"), "A b", "a@0 a @0 a b@0  @1  b@1 b@2");
    expect(MADE("fuzzy", .case_sensitive = true), "Ab", "A@0 Ab@0 b@1");
    expect(MADE("fuzzy", .min_chars = 2, .max_chars = 2), "abc", "ab@0 bc@1");
    expect(MADE("fuzzy", .min_chars = 2, .max_chars = 2), "a", "");
    expect(MADE("fuzzy"), "\xff", "\xef\xbf\xbd@0");
}

static void test_fuzzy_query(void **state)
{
    struct analyzer a = MADE("fuzzy", .min_chars = 1, .max_chars = 3);

    (void)state;
    assert_string_equal(cut_query(&a, ""), "");
    assert_string_equal(cut_query(&a, "苏"), "苏@0");
    assert_string_equal(cut_query(&a, "ABC"), "abc@0");
    assert_string_equal(cut_query(&a, "abcde"), "abc@0 bcd@1 cde@2");
}

static void test_fuzzy_bound(void **state)
{
    struct analyzer a = MADE("fuzzy", .min_chars = 2, .max_chars = 2);
    char *text = malloc(5000);

    (void)state;
    memset(text, 'x', 5000);
    cut(&a, bytes_of(text, 5000));
    assert_int_equal(tokens.count, ANALYZER_FUZZY_CHARACTERS - 1);
    free(text);
}

/* ---- min_word, max_word ---- */

static bool has(const char *list, const char *token)
{
    char padded[OUT_MAX + 2], wanted[256];

    snprintf(padded, sizeof(padded), " %s", list);
    snprintf(wanted, sizeof(wanted), " %s@", token);
    return strstr(padded, wanted) != NULL;
}

/* If this fails, ICU's package has a dictionary of a form that src/search/field/dictionary.c does
 * not know yet. */
static void test_dictionary(void **state)
{
    struct dictionary_word found[DICTIONARY_WORD_MAX];

    (void)state;
    assert_true(dictionary_is_there());
    assert_int_equal(dictionary_words(BYTES_LIT("abc"), found), 0);
    assert_int_equal(dictionary_words(BYTES_NONE, found), 0);
    assert_true(dictionary_words(BYTES_LIT("菊花茶"), found) >= 2);
    assert_int_equal(found[0].characters * 3, found[0].bytes);
}

static void test_max_word(void **state)
{
    struct analyzer a = MADE("max_word");
    static const char *const wanted[] = {"秋天", "适合", "饮用", "的", "花茶"};
    const char *list;

    (void)state;
    expect(a, "菊花茶", "菊花茶@0 菊花@0 花茶@1");
    expect(a, "表格存储1", "表格@0 存储@2 1@4");
    expect(a, "hello TableStore ots2", "hello@0 tablestore@1 ots2@2");
    list = cut(&a, BYTES_LIT("秋天最适合饮用的几种花茶"));
    for (size_t i = 0; i < PORT_COUNT(wanted); i++)
        assert_true(has(list, wanted[i]));
    assert_false(has(list, "菊花"));
    assert_false(has(list, "茶"));
    /* What the searches of the reference ask for. */
    assert_string_equal(cut_query(&a, "梨花茶"), "梨花@0 花茶@1");
    assert_string_equal(cut_query(&a, "饮用花茶"), "饮用@0 花茶@2");
    assert_string_equal(cut_query(&a, "野生菊花"), "野生@0 菊花@2");
    assert_string_equal(cut_query(&a, "秋天菊花"), "秋天@0 菊花@2");
    assert_string_equal(cut_query(&a, "存储"), "存储@0");
    list = cut(&a, BYTES_LIT("菊花茶是一款大部分人都适合的经典花茶"));
    assert_true(has(list, "花茶"));
    assert_true(has(list, "是"));
}

static void test_min_word(void **state)
{
    struct analyzer a = MADE("min_word");

    (void)state;
    expect(a, "菊花茶", "菊花茶@0");
    expect(a, "表格存储1", "表格@0 存储@2 1@4");
    expect(a, "Hello 北京大学", "hello@0 北京@1 大学@3");
    expect(a, "秋天最适合饮用的几种花茶", "秋天@0 最@2 适合@3 饮用@5 的@7 几@8 种@9 花茶@10");
}

/* A run longer than what is cut at once is cut as its parts are. */
static void test_windows(void **state)
{
    struct analyzer a = MADE("min_word");
    enum { TIMES = 3000 };
    static char text[TIMES * 12 + 1];

    (void)state;
    for (int i = 0; i < TIMES; i++)
        memcpy(text + i * 12, "表格存储", 12);
    cut(&a, bytes_of(text, TIMES * 12));
    assert_int_equal(tokens.count, TIMES * 2);
    assert_int_equal(tokens.bytes, TIMES * 12);
    assert_int_equal(tokens.last, TIMES * 4 - 2);
}

/* ---- all of them ---- */

static const char *const kinds[] = {"single_word", "split", "fuzzy", "min_word", "max_word"};

static int count_only(void *arg, bytes token, uint32_t position)
{
    (void)position;
    assert_true(token.len > 0 && token.len <= ANALYZER_TOKEN_MAX);
    ++*(size_t *)arg;
    return 0;
}

static void test_long_texts(void **state)
{
    static const char *const parts[] = {"中 ", "中", "a", "a ", "\xff", "한", "\xcc\x81", "的a1"};
    enum { SIZE = 200 << 10 };
    char *text = malloc(SIZE);

    (void)state;
    for (size_t p = 0; p < PORT_COUNT(parts); p++) {
        size_t n = strlen(parts[p]);
        size_t len = SIZE / n * n;

        for (size_t at = 0; at < len; at++)
            text[at] = parts[p][at % n];
        for (size_t k = 0; k < PORT_COUNT(kinds); k++) {
            struct analyzer a = MADE(kinds[k]);
            size_t count = 0;

            assert_int_equal(analyze(&a, bytes_of(text, len), count_only, &count), 0);
            assert_true(count <= len + 8 * ANALYZER_FUZZY_CHARACTERS);
        }
    }
    free(text);
}

static void test_long_tokens(void **state)
{
    struct analyzer single = MADE("single_word"), split = MADE("split");
    char *text = malloc(ANALYZER_TOKEN_MAX + 4);
    bytes whole = bytes_of(text, ANALYZER_TOKEN_MAX + 3);

    (void)state;
    memset(text, 'a', ANALYZER_TOKEN_MAX + 1);
    memcpy(text + ANALYZER_TOKEN_MAX + 1, " b", 2);
    assert_string_equal(cut(&single, whole), "b@1");
    assert_string_equal(cut(&split, whole), "b@1");
    text[ANALYZER_TOKEN_MAX] = ' ';
    cut(&single, whole);
    assert_int_equal(tokens.count, 2);
    assert_int_equal(tokens.bytes, ANALYZER_TOKEN_MAX + 1);
    free(text);
}

static void test_emit_ends_the_walk(void **state)
{
    (void)state;
    for (size_t k = 0; k < PORT_COUNT(kinds); k++) {
        struct analyzer a = MADE(kinds[k]);

        for (size_t n = 1; n <= 4; n++) {
            memset(&tokens, 0, sizeof(tokens));
            tokens.stop_after = n;
            assert_int_equal(analyze(&a, BYTES_LIT("a 菊花茶 表 b c"), collect, &tokens), 77);
            assert_int_equal(tokens.count, n);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_options),
        TEST(test_single_word),
        TEST(test_single_word_beyond),
        TEST(test_split),
        TEST(test_fuzzy),
        TEST(test_fuzzy_query),
        TEST(test_fuzzy_bound),
        TEST(test_dictionary),
        TEST(test_max_word),
        TEST(test_min_word),
        TEST(test_windows),
        TEST(test_long_texts),
        TEST(test_long_tokens),
        TEST(test_emit_ends_the_walk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
