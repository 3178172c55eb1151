/* Texts that all processes share: their stored bytes, and that nobody replaces what he has not
 * seen. */
#include "table/catalog/text.h"

#include "table/catalog/catalog.h"
#include "table/core/db.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct wr_text text_of(uint64_t version, const char *text)
{
    return (struct wr_text){version, (char *)(uintptr_t)text, strlen(text)};
}

static void test_stored_bytes(void **state)
{
    static const uint8_t golden[] = {1, 0x02, 0x01, 0, 0, 0, 0, 0, 0, 'a', '\n'};
    struct wr_text t = text_of(0x102, "a\n"), back;
    struct ctx c;
    bytes b;

    (void)state;
    ctx_init(&c, NULL, NULL, NULL, 0);
    b = text_encode(&c.arena, &t);
    assert_int_equal(b.len, sizeof(golden));
    assert_memory_equal(b.ptr, golden, sizeof(golden));
    assert_int_equal(text_decode(&c, b, &back), E_OK);
    assert_int_equal(back.version, 0x102);
    assert_int_equal(back.len, 2);
    assert_memory_equal(back.text, "a\n", 2);
    for (size_t n = 0; n < 9; n++) {
        ctx_clear(&c);
        assert_int_equal(text_decode(&c, bytes_of(golden, n), &back), E_CORRUPT);
    }
    ctx_clear(&c);
    assert_int_equal(text_decode(&c, BYTES_LIT("\2........."), &back), E_FORMAT);
    ctx_clear(&c);
    assert_int_equal(text_decode(&c, BYTES_LIT("\1\0\0\0\0\0\0\0\0x"), &back), E_CORRUPT);
    b = catalog_text_key(&c.arena, BYTES_LIT("keys"));
    assert_int_equal(b.len, 12);
    assert_memory_equal(b.ptr, "\0\0\0\0\0\7keys\0\1", 12);
    ctx_release(&c);
}

static void test_versions(void **state)
{
    struct wr_options o = {.version = WR_API_VERSION, .engine = "mem"};
    struct wr_text one = text_of(0, "one"), two = text_of(1, "two"), there;
    struct wr_text large = {2, mem_zalloc(WR_TEXT_BYTES_MAX + 1), WR_TEXT_BYTES_MAX + 1};
    struct wr_db *db;
    char message[256];

    (void)state;
    assert_int_equal(wr_open(&o, &db, NULL, 0), 0);
    assert_false(wr_is_shared(db));
    assert_true(wr_in_touch(db));
    assert_int_equal(wr_text_load(db, "t", &there, NULL, 0), 0);
    assert_int_equal(there.version, 0);
    assert_null(there.text);
    assert_int_equal(wr_text_store(db, "t", &two, message, sizeof(message)), WR_E_CONFLICT);
    assert_string_equal(message, "The text has version 0, not 1.");
    assert_int_equal(wr_text_store(db, "t", &one, NULL, 0), 0);
    assert_int_equal(wr_text_store(db, "t", &one, NULL, 0), WR_E_CONFLICT);
    assert_int_equal(wr_text_store(db, "t", &two, NULL, 0), 0);
    assert_int_equal(wr_text_store(db, "t", &large, message, sizeof(message)), WR_E_PARAMETER);
    assert_int_equal(wr_text_tell(db, NULL, 0), 0);
    assert_int_equal(wr_text_load(db, "other", &there, NULL, 0), 0);
    assert_int_equal(there.version, 0);
    assert_int_equal(wr_text_load(db, "t", &there, NULL, 0), 0);
    assert_int_equal(there.version, 2);
    assert_string_equal(there.text, "two");
    wr_text_clear(&there);
    assert_null(there.text);
    mem_free(large.text);
    wr_close(db);
}

static int counted(void *arg)
{
    return ++*(int *)arg;
}

static void test_watch(void **state)
{
    struct texts *t = texts_new();
    struct wr_options o = {.version = WR_API_VERSION, .engine = "mem"};
    struct wr_db *db;
    int calls = 0;

    (void)state;
    assert_int_equal(texts_changed(t), 0);
    t->watchers[0] = (struct text_watcher){counted, &calls};
    t->count = 1;
    assert_int_equal(texts_changed(t), 1);
    texts_free(t);
    assert_int_equal(wr_open(&o, &db, NULL, 0), 0);
    wr_text_watch(db, counted, &calls);
    wr_text_watch(db, counted, &o);
    wr_text_watch(db, NULL, &calls);
    wr_text_watch(db, NULL, &calls);
    assert_true(db->texts->count == 1 && db->texts->watchers[0].arg == &o);
    wr_text_watch(db, NULL, &o);
    assert_int_equal(db->texts->count, 0);
    wr_close(db);
    assert_int_equal(calls, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stored_bytes),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_watch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
