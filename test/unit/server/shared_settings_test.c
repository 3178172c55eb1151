/* Settings in the database: what a text of them must be, what becomes of one that is edited, and
 * what is told of a server that was given others. How several servers follow is
 * test/rados/settings.sh's. */
#include "server/shared_settings.h"

#include "base/clock.h"
#include "base/err.h"
#include "server/key_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

struct bed {
    char dir[64], file[128], aside[160], logged[4096], message[1024];
    struct clock clock;
    struct log log;
    struct wr_db *db;
    struct shared_settings *settings;
};

static void on_log(void *arg, char level, const char *line)
{
    struct bed *b = arg;

    (void)level;
    strncat(b->logged, line, sizeof(b->logged) - strlen(b->logged) - 1);
}

static int set_up(void **state)
{
    static const struct wr_setting given[] = {{"cell_bytes_max", "3000000"}};
    struct wr_options o = {
        .version = WR_API_VERSION, .engine = "mem", .settings = given, .setting_count = 1};
    struct bed *b = mem_zalloc(sizeof(*b));

    strcpy(b->dir, "/tmp/shared_settings_test.XXXXXX");
    if (!mkdtemp(b->dir))
        return -1;
    snprintf(b->file, sizeof(b->file), "%s/settings", b->dir);
    snprintf(b->aside, sizeof(b->aside), "%s.shared", b->file);
    clock_real_init(&b->clock);
    b->log = (struct log){.level = 'D', .sink = on_log, .arg = b, .clock = &b->clock};
    *state = b;
    return wr_open(&o, &b->db, b->message, sizeof(b->message));
}

static int tear_down(void **state)
{
    struct bed *b = *state;

    shared_settings_close(b->settings);
    wr_close(b->db);
    unlink(b->file);
    unlink(b->aside);
    assert_int_equal(rmdir(b->dir), 0);
    mem_free(b);
    return 0;
}

static int start(struct bed *b, bool strict, const struct wr_setting *given, size_t count)
{
    const struct shared_settings_conf conf = {
        .dir = b->dir, .settings = given, .setting_count = count, .strict = strict, .log = &b->log};

    b->logged[0] = 0;
    return shared_settings_open(b->db, &conf, &b->settings, b->message, sizeof(b->message));
}

static void stop(struct bed *b)
{
    shared_settings_close(b->settings);
    b->settings = NULL;
}

/* The file's text, to be freed. */
static char *file_text(struct bed *b)
{
    char *text;

    assert_int_equal(key_file_read(b->file, NULL, &text, b->message, sizeof(b->message)), 0);
    return text;
}

/* In the file: `from` becomes `to`. */
static void edit(struct bed *b, const char *from, const char *to)
{
    char *text = file_text(b), next[8192];
    size_t at = 0;

    while (text[at] && strncmp(text + at, from, strlen(from)) != 0)
        at++;
    assert_true(text[at]);
    snprintf(next, sizeof(next), "%.*s%s%s", (int)at, text, to, text + at + strlen(from));
    key_file_free(text);
    assert_int_equal(key_file_write(b->file, next, b->message, sizeof(b->message)), 0);
}

static int publish(struct bed *b)
{
    b->message[0] = 0;
    return shared_text_reconcile(shared_settings_text(b->settings), b->message, sizeof(b->message));
}

static void test_first_start_makes_them(void **state)
{
    struct bed *b = *state;
    char *text;

    assert_int_equal(start(b, false, NULL, 0), 0);
    text = file_text(b);
    assert_non_null(strstr(text, "# Version 1 of the shared settings ("));
    assert_non_null(strstr(text, "\ncell_bytes_max = 3000000\n"));
    assert_non_null(strstr(text, "\nrow_change_bytes_max = 4194304\n")); /* not what it rose to */
    assert_null(strstr(text, "request_memory_max"));
    assert_int_equal(shared_settings_check(b->db, "f", text, b->message, sizeof(b->message)), 0);
    key_file_free(text);
    assert_string_equal(b->logged, "");
}

static void test_edited(void **state)
{
    struct bed *b = *state;

    assert_int_equal(start(b, false, NULL, 0), 0);
    edit(b, "filters_max = 32", "filters_max=9");
    assert_int_equal(publish(b), 0);
    assert_int_equal(wr_setting_value(b->db, "filters_max"), 9);
    assert_int_equal(wr_setting_value(b->db, "cell_bytes_max"), 3000000);
    assert_int_equal(shared_text_version(shared_settings_text(b->settings)), 2);
    assert_int_equal(publish(b), 0);
    assert_int_equal(shared_text_version(shared_settings_text(b->settings)), 2);
    edit(b, "filters_max=9", "filters_max=9000000");
    assert_int_equal(publish(b), E_PARAMETER);
    assert_non_null(strstr(b->message, "filters_max: '9000000' is not a whole number from 1 to"));
    assert_int_equal(wr_setting_value(b->db, "filters_max"), 9);
    edit(b, "filters_max=9000000", "filters_max=9");
    assert_int_equal(publish(b), 0);
}

static void test_what_is_there_counts(void **state)
{
    static const struct wr_setting given[] = {{"filters_max", "7"},
                                              {"size_warn_bytes", "7"},
                                              {"key_columns_max", "5"},
                                              {"key_columns_max", "4"}};
    struct bed *b = *state;

    assert_int_equal(start(b, false, NULL, 0), 0);
    stop(b);
    unlink(b->file);
    assert_int_equal(wr_settings_change(b->db, given, 4, NULL, 0), 0);
    assert_int_equal(start(b, false, given, 4), 0);
    assert_int_equal(wr_setting_value(b->db, "filters_max"), 32);
    assert_int_equal(wr_setting_value(b->db, "size_warn_bytes"), 7);
    assert_non_null(strstr(b->logged, "settings: filters_max is 7 here and 32 there: what all"));
    assert_null(strstr(b->logged, "key_columns_max"));
    stop(b);
    assert_int_equal(start(b, true, NULL, 0), 0);
    assert_non_null(strstr(b->logged, "filters_max is 10 here and 32 there"));
}

static void test_change_is_whole_or_nothing(void **state)
{
    static const struct wr_setting given[] = {{"filters_max", "7"}, {"key_columns_max", "6"}};
    struct bed *b = *state;

    assert_int_equal(wr_settings_change(b->db, given, 2, b->message, sizeof(b->message)),
                     E_PARAMETER);
    assert_int_equal(wr_setting_value(b->db, "filters_max"), 32);
    assert_int_equal(wr_settings_change(b->db, given, 2, NULL, 0), E_PARAMETER);
    assert_int_equal(wr_settings_change(b->db, given, 2, NULL, 8), E_PARAMETER);
    assert_int_equal(wr_setting_value(b->db, "colour"), -1);
}

/* One that would change nothing is not taken as if it did. */
static void test_of_the_start(void **state)
{
    static const struct wr_setting given[] = {{"filters_max", "7"}, {"heat_bytes_max", "0"}};
    struct bed *b = *state;

    assert_int_equal(wr_settings_change(b->db, given, 2, b->message, sizeof(b->message)),
                     E_PARAMETER);
    assert_non_null(strstr(b->message, "heat_bytes_max counts from the opening"));
    assert_int_equal(wr_setting_value(b->db, "filters_max"), 32);
}

/* What another program has made of them is used as far as it goes, and keeps nobody from starting.
 */
static void test_of_another_program(void **state)
{
    static char lines[] = "filters_max = 9000000\ncolour = 7\nwhat is this\nindexes_max = 3\n";
    const struct wr_text text = {0, lines, sizeof(lines) - 1};
    struct bed *b = *state;

    assert_int_equal(wr_text_store(b->db, "settings", &text, NULL, 0), 0);
    assert_int_equal(start(b, false, NULL, 0), 0);
    assert_int_equal(wr_setting_value(b->db, "indexes_max"), 3);
    assert_int_equal(wr_setting_value(b->db, "filters_max"), 32);
    assert_non_null(strstr(b->logged, "passed over in line 1: filters_max: '9000000' is not a"));
    assert_non_null(strstr(b->logged, "in use is 32"));
}

/* It lacks what this server was started with, and what one that it had before was changed to: no
 * server goes by either. */
static void test_of_an_older_program(void **state)
{
    static char lines[] = "indexes_max = 3\n";
    static const struct wr_setting given[] = {{"filters_max", "7"}, {"tunnels_max", "8"}};
    const struct wr_text text = {0, lines, sizeof(lines) - 1};
    struct bed *b = *state;

    assert_int_equal(wr_settings_change(b->db, given, 2, NULL, 0), 0);
    assert_int_equal(wr_text_store(b->db, "settings", &text, NULL, 0), 0);
    assert_int_equal(start(b, false, given, 1), 0);
    assert_int_equal(wr_setting_value(b->db, "indexes_max"), 3);
    assert_int_equal(wr_setting_value(b->db, "filters_max"), 32);
    assert_int_equal(wr_setting_value(b->db, "tunnels_max"), 32);
    assert_non_null(strstr(b->logged, "filters_max is 7 here and 32 there"));
    assert_int_equal(publish(b), 0);
    edit(b, "indexes_max = 3", "indexes_max = 4");
    assert_int_not_equal(publish(b), 0);
    assert_non_null(strstr(b->message, " is missing. In use is "));
}

static void test_notes(void **state)
{
    char note[400];
    struct bed *b = *state;

    assert_int_equal(start(b, false, NULL, 0), 0);
    snprintf(note, sizeof(note), "filters_max = 9\t# as asked for; %0300d", 7);
    edit(b, "filters_max = 32", note);
    edit(b, "indexes_max = 5", "  # a note\nindexes_max = 4# another");
    assert_int_equal(publish(b), 0);
    assert_int_equal(wr_setting_value(b->db, "filters_max"), 9);
    assert_int_equal(wr_setting_value(b->db, "indexes_max"), 4);
}

static void check_refused(struct bed *b, const char *text, const char *why)
{
    assert_int_equal(shared_settings_check(b->db, "f", text, b->message, sizeof(b->message)),
                     E_PARAMETER);
    if (!strstr(b->message, why))
        print_error("%s\n", b->message);
    assert_non_null(strstr(b->message, why));
}

static void test_mistakes(void **state)
{
    struct bed *b = *state;
    char line[400];

    check_refused(b, "", "f: tables_per_instance_max is missing. In use is tables_per_");
    check_refused(b, "# a note\n\nfilters_max\n", "f, line 3: not \"name = value\".");
    check_refused(b, "filters_max = 1 2\n", "f, line 1: not \"name = value\".");
    check_refused(b, "filters_max = 1\r\nfilters_max = 1\n", "f, line 2: filters_max is there twi");
    snprintf(line, sizeof(line), "filters_max = 9%300s7\n", "");
    check_refused(b, line, "f, line 1: not \"name = value\".");
    check_refused(b, "filters_max # = 9\n", "f, line 1: not \"name = value\".");
    check_refused(b, "colour = 1", "f, line 1: there is no setting colour.");
    check_refused(b, "heat_bytes_max = 0", "f, line 1: heat_bytes_max is each server's own.");
    check_refused(b, "filters_max = 0", "f, line 1: filters_max: '0' is not a whole number");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_first_start_makes_them),
        T(test_edited),
        T(test_what_is_there_counts),
        T(test_change_is_whole_or_nothing),
        T(test_mistakes),
        T(test_of_the_start),
        T(test_of_another_program),
        T(test_of_an_older_program),
        T(test_notes),
    };
#undef T

    return cmocka_run_group_tests(tests, NULL, NULL);
}
