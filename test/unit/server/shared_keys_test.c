/* Access keys in the database: what is done about a copy of them, and the keys' way in and out of a
 * real one. How several servers follow is test/rados/keys.sh's. */
#include "server/shared_keys.h"

#include "base/err.h"
#include "server/key_file.h"
#include "server/sql_users.h"
#include "table/catalog/text.h"
#include "table/core/catalog_key.h"
#include "table/core/db.h"
#include "table/sync/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#define TEXT "# a note\nmain id secret\n"
/* Written by servers that are in use: a change of this line needs a reader of both. */
#define COPY "# Version 7 of the shared keys (07998caacd8cfb51); leave this line as it is.\n" TEXT

static struct wr_text stored_text(uint64_t version, const char *text)
{
    return (struct wr_text){version, (char *)(uintptr_t)text, strlen(text)};
}

static void test_copies_are_as_they_were(void **state)
{
    struct wr_text stored = stored_text(7, TEXT);
    char *copy = text_file(&shared_keys, &stored);

    (void)state;
    assert_string_equal(copy, COPY);
    assert_string_equal(text_body(&shared_keys, copy), TEXT);
    assert_string_equal(text_body(&shared_keys, TEXT), TEXT);
    assert_int_equal(text_step_of(&shared_keys, copy, &stored), TEXT_SAME);
    key_file_free(copy);
}

static void check_step(const char *file, uint64_t version, const char *text, enum text_step step)
{
    struct wr_text stored = stored_text(version, text);

    assert_int_equal(text_step_of(&shared_keys, file, &stored), step);
}

static void test_steps(void **state)
{
    static const char edited[] = COPY "main id2 secret2\n", other[] = "main id3 secret3\n";

    (void)state;
    check_step(NULL, 0, "", TEXT_MAKE);
    check_step(NULL, 3, other, TEXT_WRITE);
    check_step(TEXT, 0, "", TEXT_PUBLISH);
    check_step(COPY, 0, "", TEXT_PUBLISH); /* of data that are gone */
    check_step(TEXT, 3, TEXT, TEXT_WRITE); /* it gets its first line */
    check_step(COPY, 8, TEXT, TEXT_WRITE);
    check_step(COPY, 8, other, TEXT_WRITE); /* only old */
    check_step(COPY, 7, other, TEXT_WRITE); /* of another pool */
    check_step(edited, 7, TEXT, TEXT_PUBLISH);
    check_step(edited, 8, other, TEXT_STALE);
    check_step(edited, 6, other, TEXT_STALE);
    check_step(TEXT, 3, other, TEXT_STALE); /* from nobody knows where */
    check_step("", 3, other, TEXT_STALE);
}

static void test_first_lines(void **state)
{
    static const char *const none[] = {
        "",
        "#",
        "# Version 7 of the shared keys",
        "# Version x of the shared keys (07998caacd8cfb51); leave this line as it is.\n",
        "# Version 7 of the shared keys (07998caacd8cfb51); leave this line as it is. No\n",
        "# Version 0 of the shared keys (07998caacd8cfb51); leave this line as it is.\n",
        "\n# Version 7 of the shared keys (07998caacd8cfb51); leave this line as it is.\n",
    };
    static const char crlf[] =
        "# Version 7 of the shared keys (0); leave this line as it is.\r\nmain id secret\r\n";

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(none); i++)
        assert_ptr_equal(text_body(&shared_keys, none[i]), none[i]);
    assert_string_equal(text_body(&shared_keys, crlf), "main id secret\r\n");
    assert_string_equal(
        text_body(&shared_keys, "# Version 7 of the shared keys (0); leave this line as it is."),
        "");
}

/* ---- with a database ---- */

struct bed {
    char dir[64], file[128], logged[4096], message[1024];
    struct clock clock;
    struct log log;
    struct wr_db *db;
    struct credential_store *store;
    struct shared_text *keys;
};

static void on_log(void *arg, char level, const char *line)
{
    struct bed *b = arg;

    (void)level;
    strncat(b->logged, line, sizeof(b->logged) - strlen(b->logged) - 1);
}

static int set_up(void **state)
{
    struct bed *b = mem_zalloc(sizeof(*b));
    struct wr_options o = {.version = WR_API_VERSION, .engine = "mem"};

    strcpy(b->dir, "/tmp/shared_keys_test.XXXXXX");
    if (!mkdtemp(b->dir))
        return -1;
    snprintf(b->file, sizeof(b->file), "%s/credentials", b->dir);
    clock_real_init(&b->clock);
    b->log = (struct log){.level = 'D', .sink = on_log, .arg = b, .clock = &b->clock};
    *state = b;
    return wr_open(&o, &b->db, b->message, sizeof(b->message));
}

static void stop(struct bed *b)
{
    shared_text_close(b->keys);
    credential_store_close(b->store);
    b->keys = NULL;
    b->store = NULL;
}

static int tear_down(void **state)
{
    struct bed *b = *state;
    char aside[160];

    stop(b);
    wr_close(b->db);
    unlink(b->file);
    snprintf(aside, sizeof(aside), "%s.shared", b->file);
    unlink(aside);
    assert_int_equal(rmdir(b->dir), 0);
    mem_free(b);
    return 0;
}

static int start(struct bed *b, const char *id, const char *secret)
{
    struct credential_conf conf = {.dir = b->dir,
                                   .instance = "main",
                                   .id = id,
                                   .secret = secret,
                                   .shared = true,
                                   .log = &b->log};

    assert_int_equal(credential_store_open(&conf, &b->store, b->message, sizeof(b->message)), 0);
    return shared_keys_open(b->db, b->store, &b->log, &b->keys, b->message, sizeof(b->message));
}

static int publish(struct bed *b)
{
    b->message[0] = 0;
    return shared_text_reconcile(b->keys, b->message, sizeof(b->message));
}

static void write_file(struct bed *b, const char *head, const char *text)
{
    FILE *f = fopen(b->file, "w");

    assert_non_null(f);
    fprintf(f, "%s%s", head, text);
    fclose(f);
    chmod(b->file, 0600);
}

/* The file's text, to be freed. */
static char *file_text(struct bed *b)
{
    char *text;

    assert_int_equal(key_file_read(b->file, &b->log, &text, b->message, sizeof(b->message)), 0);
    return text;
}

static bool knows(struct bed *b, const char *id)
{
    const struct credential *c = credential_find(b->store, bytes_str(id));

    credential_release(c);
    return c != NULL;
}

static void test_first_start_makes_keys(void **state)
{
    struct bed *b = *state;
    const struct credential *c;
    char id[CREDENTIAL_ID_MAX + 1], *first, *second;

    assert_int_equal(start(b, NULL, NULL), 0);
    assert_true(credential_made(b->store));
    assert_int_equal(shared_text_version(b->keys), 1);
    c = credential_first(b->store);
    strcpy(id, c->id);
    credential_release(c);
    first = file_text(b);
    stop(b);

    unlink(b->file);
    assert_int_equal(start(b, NULL, NULL), 0);
    assert_false(credential_made(b->store));
    assert_true(knows(b, id));
    second = file_text(b);
    assert_string_equal(first, second);
    key_file_free(first);
    key_file_free(second);
    assert_null(strstr(b->logged, "secret"));
}

static void test_own_file_and_environment(void **state)
{
    struct bed *b = *state;

    write_file(b, "", TEXT);
    assert_int_equal(start(b, "env", "env-secret"), 0);
    assert_false(credential_made(b->store));
    assert_true(knows(b, "id") && knows(b, "env"));
    write_file(b, "", TEXT "main env other\n");
    assert_int_equal(publish(b), E_CONFLICT); /* it does not tell its version */
    assert_non_null(strstr(b->message, "which version"));
    stop(b);
    assert_int_equal(start(b, NULL, NULL), 0); /* refused, but the server starts */
    assert_non_null(strstr(b->logged, "which version"));
    assert_true(knows(b, "id"));
    assert_false(knows(b, "env"));
    assert_null(strstr(b->logged, "env-secret"));
}

static void test_edits(void **state)
{
    struct bed *b = *state;
    char *copy, *edited;

    write_file(b, "", TEXT);
    assert_int_equal(start(b, NULL, NULL), 0);
    copy = file_text(b);
    write_file(b, copy, "main id2 verysecret ro\n");
    assert_int_equal(publish(b), 0);
    assert_int_equal(shared_text_version(b->keys), 2);
    assert_true(knows(b, "id2"));
    assert_int_equal(publish(b), 0);
    assert_int_equal(shared_text_version(b->keys), 2);

    edited = file_text(b);
    write_file(b, edited, "main id2 verysecret\n");
    assert_int_equal(publish(b), E_PARAMETER);
    assert_non_null(strstr(b->message, "stands twice"));
    assert_null(strstr(b->message, "verysecret"));
    assert_int_equal(shared_text_version(b->keys), 2);
    write_file(b, "# Version 2 of the shared keys (0); leave this line as it is.\n", "# empty\n");
    assert_int_equal(publish(b), E_PARAMETER);
    assert_true(knows(b, "id"));

    write_file(b, copy, "main id3 verysecret\n"); /* from version 1 */
    assert_int_equal(publish(b), E_CONFLICT);
    assert_non_null(strstr(b->message, "edited from version 1"));
    assert_false(knows(b, "id3"));
    write_file(b, copy, ""); /* only old */
    assert_int_equal(publish(b), 0);
    key_file_free(copy);
    copy = file_text(b);
    assert_string_equal(copy, edited);
    key_file_free(copy);
    key_file_free(edited);
}

static void test_text_of_nonsense(void **state)
{
    struct bed *b = *state;
    struct wr_text bad = stored_text(0, "nonsense\n");

    assert_int_equal(wr_text_store(b->db, "keys", &bad, b->message, sizeof(b->message)), 0);
    assert_int_equal(start(b, NULL, NULL), E_PARAMETER);
    assert_non_null(strstr(b->message, "the shared access keys line 1: not"));
}

/* In place of what is stored. */
static void store_bytes(struct bed *b, bytes value)
{
    struct ctx c;
    struct edit edit = {EDIT_PUT, BYTES_NONE, value};
    struct write_batch batch = {.partition = PARTITION_SYSTEM, .edits = &edit, .edit_count = 1};

    ctx_init(&c, &b->clock, &b->log, NULL, 0);
    edit.key = catalog_text_key(&c.arena, BYTES_LIT("keys"));
    assert_int_equal(wait_apply(&c, b->db->engine, &batch), E_OK);
    ctx_release(&c);
}

/* A newer program's text, or a damaged one, is no reason to serve nothing. */
static void test_text_of_another_form(void **state)
{
    struct bed *b = *state;

    write_file(b, "", TEXT);
    assert_int_equal(start(b, NULL, NULL), 0);
    store_bytes(b, BYTES_LIT("\2.........."));
    assert_int_equal(texts_changed(b->db->texts), E_OK);
    assert_non_null(strstr(b->logged, "is of version 2; this program reads 1"));
    store_bytes(b, BYTES_LIT("\1"));
    assert_int_equal(texts_changed(b->db->texts), E_OK);
    assert_non_null(strstr(b->logged, "those before stay: A shared text is damaged"));
    assert_true(knows(b, "id"));
    stop(b);
    assert_int_equal(start(b, NULL, NULL), E_CORRUPT);
}

static void test_odd_file(void **state)
{
    struct bed *b = *state;

    assert_int_equal(mkdir(b->file, 0700), 0);
    assert_int_equal(start(b, NULL, NULL), E_PARAMETER); /* it may be meant to have the keys */
    stop(b);
    rmdir(b->file);
    assert_int_equal(mkfifo(b->file, 0600), 0);
    assert_int_equal(start(b, NULL, NULL), E_PARAMETER);
    stop(b);
    unlink(b->file);
    write_file(b, "", TEXT);
    assert_int_equal(start(b, NULL, NULL), 0);
    stop(b);

    unlink(b->file);
    assert_int_equal(mkdir(b->file, 0700), 0);
    b->logged[0] = 0;
    assert_int_equal(start(b, NULL, NULL), 0); /* there are keys */
    assert_true(knows(b, "id"));
    assert_non_null(strstr(b->logged, "is not a file"));
    assert_int_equal(publish(b), E_PARAMETER);
    assert_non_null(strstr(b->message, "is not a file"));
    rmdir(b->file);
    assert_int_equal(publish(b), 0);
}

/* The copy of the largest text can be read again. */
static void test_large_file(void **state)
{
    struct bed *b = *state;
    size_t n = WR_TEXT_BYTES_MAX;
    char *text = mem_alloc(n + 2), *copy;

    memset(text, '\n', n);
    memcpy(text, TEXT, strlen(TEXT));
    text[n] = 0;
    write_file(b, "", text);
    assert_int_equal(start(b, NULL, NULL), 0);
    copy = file_text(b);
    assert_true(strlen(copy) > n);
    key_file_free(copy);
    assert_int_equal(publish(b), 0);
    stop(b);
    assert_int_equal(start(b, NULL, NULL), 0);
    assert_int_equal(shared_text_version(b->keys), 1);
    text[n] = '\n';
    text[n + 1] = 0;
    write_file(b, "# Version 1 of the shared keys (0); leave this line as it is.\n", text);
    assert_int_equal(publish(b), E_PARAMETER);
    assert_non_null(strstr(b->message, "is the most"));
    mem_free(text);
}

/* Over a pool users are the operator's: SQL's statements are refused by name, and change nothing.
 */
static void test_users_of_sql(void **state)
{
    struct bed *b = *state;
    struct user_change u = {.action = USER_CREATE,
                            .user = BYTES_LIT("app1"),
                            .password = BYTES_LIT("secret-of-app1"),
                            .instance = BYTES_LIT("main")};
    struct stat before, after;
    struct ctx c;

    assert_int_equal(start(b, "root", "secret-of-root"), 0);
    assert_int_equal(stat(b->file, &before), 0);
    for (int action = USER_CREATE; action <= USER_DROP_DATABASE; action++) {
        u.action = (enum user_action)action;
        ctx_init(&c, &b->clock, NULL, NULL, 0);
        assert_int_equal(sql_user_change(b->store, BYTES_LIT("root"), &c, &u), E_UNSUPPORTED);
        assert_non_null(strstr(c.text, "On a pool all servers share the access keys"));
        ctx_release(&c);
    }
    assert_int_equal(stat(b->file, &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
    assert_int_equal(after.st_size, before.st_size);
    assert_null(credential_find(b->store, BYTES_LIT("app1")));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_are_as_they_were),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_first_lines),
        TEST(test_first_start_makes_keys),
        TEST(test_own_file_and_environment),
        TEST(test_edits),
        TEST(test_text_of_nonsense),
        TEST(test_text_of_another_form),
        TEST(test_odd_file),
        TEST(test_large_file),
        TEST(test_users_of_sql),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
