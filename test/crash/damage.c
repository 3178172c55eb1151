/* damage.c: files of a data folder are deleted, cut, exchanged, and have single bits flipped. Each
 * time the server refuses to start, with one line that says what is wrong and what can be done, or
 * serves all that was acknowledged; a read that meets the damage answers an error. Never a wrong
 * answer, never a loss without a word.
 *
 * Two folders are damaged, always in copies: one whose server was stopped, and one whose server was
 * killed while it worked. Both hold a table file and a live log. */
#include "server.h"
#include "tree.h"
#include "workload.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FLIPS_SHORT 100
#define FLIPS_NIGHTLY 1000
#define WORK_US 300000
#define ACCEPT_EVERY 4 /* of the flips that are refused, so many are accepted as loss */

/* What is left when loss is accepted. */
enum left {
    LEFT_ALL,    /* everything */
    LEFT_PREFIX, /* what each writer had written up to some moment */
    LEFT_PAST,   /* rows as they were once, or none: a table file may be gone */
    LEFT_NONE,   /* nothing can be accepted; the server still refuses */
};

struct base {
    char dir[256], older_log[256]; /* a copy of the live log, taken a while before */
    struct tree tree;
    struct workload *workload;
};

struct damage {
    struct crash *run;
    struct server server;
    struct base bases[2]; /* stopped; killed */
    struct base *base;    /* of this case */
    struct picture *picture;
    char dir[256]; /* the copy that is damaged */
    int refused, harmless, read_errors, wrong, accepted, lost;
};

/* ---- the folders to be damaged */

static void work(struct damage *t, struct base *b, bool end_by_kill)
{
    workload_start(b->workload);
    crash_sleep_us(WORK_US);
    if (end_by_kill)
        server_kill(&t->server);
    workload_stop(b->workload);
}

static void start_or_give_up(struct damage *t)
{
    server_start(&t->server);
    if (!server_wait_ready(&t->server))
        crash_give_up(t->run, "the server does not start: %s", server_output(&t->server));
}

static void base_make(struct damage *t, struct base *b, const char *name, bool killed)
{
    char path[600];

    b->workload = workload_new(t->run);
    b->workload->keep_history = true;
    snprintf(b->dir, sizeof(b->dir), "%s/%s", t->run->work, name);
    snprintf(b->older_log, sizeof(b->older_log), "%s/%s.log", t->run->work, name);
    server_init(&t->server, t->run, b->dir);
    start_or_give_up(t);
    if (!workload_create(b->workload))
        crash_give_up(t->run, "no tables");
    work(t, b, false);
    server_kill(&t->server);
    start_or_give_up(t); /* recovery makes a table file of the log */
    work(t, b, false);
    tree_list(t->run, b->dir, &b->tree);
    snprintf(path, sizeof(path), "%s/%s", b->dir, tree_find(&b->tree, "db/", ".log")->name);
    file_copy(t->run, path, b->older_log);
    work(t, b, killed);
    if (!killed && !server_stop(&t->server))
        crash_give_up(t->run, "the server did not stop cleanly");
    tree_list(t->run, b->dir, &b->tree);
    if (!tree_find(&b->tree, "db/", ".log") || !tree_find(&b->tree, "db/", ".sst"))
        crash_give_up(t->run, "the folder has no log or no table file");
}

static void case_begin(struct damage *t)
{
    crash_case_begin(t->run);
    t->base = &t->bases[rng_below(&t->run->rng, 2)];
    tree_remove(t->dir);
    tree_copy(t->run, t->base->dir, t->dir);
    server_init(&t->server, t->run, t->dir);
}

/* ---- what comes of it */

/* One line for the operator, with exit code 1: it names something in the folder, and says a way on.
 */
static void check_refusal(struct damage *t, const char *what, const char *needle)
{
    char *text = server_output(&t->server), *line = strstr(text, "widerowd: "), *end;

    if (WIFSIGNALED(t->server.status))
        crash_problem(t->run, "%s: the server died of signal %d: %s", what,
                      WTERMSIG(t->server.status), text);
    else if (WEXITSTATUS(t->server.status) == 0)
        crash_problem(t->run, "%s: exit code 0", what);
    else if (!line || strstr(line + 1, "\nwiderowd: "))
        crash_problem(t->run, "%s: not one line that says why: %s", what, text);
    else if ((end = strchr(line, '\n')))
        *end = 0;
    if (line && !strstr(line, t->dir))
        crash_problem(t->run, "%s: does not say which file or folder: %s", what, line);
    if (line && !strstr(line, needle))
        crash_problem(t->run, "%s: does not say '%s': %s", what, needle, line);
    mem_free(text);
}

/* True if everything was served. */
static bool check_served(struct damage *t, const char *what)
{
    int code = workload_look(t->base->workload, t->picture), wrong;

    if (server_ended(&t->server)) {
        char *text = server_output(&t->server);

        crash_problem(t->run, "%s: the server died while it was read: %s", what, text);
        mem_free(text);
        return false;
    }
    wrong = workload_compare(t->base->workload, t->picture, what, false);
    t->wrong += wrong;
    if (workload_follow(t->base->workload, what, true))
        code = WR_E_CORRUPT;
    return !code && !wrong;
}

/* Starts with --accept-data-loss, then without it. */
static void accept(struct damage *t, const char *what, enum left left)
{
    struct workload *w = t->base->workload;
    bool fits;
    int lost = 0;

    t->server.flags[0] = "--accept-data-loss";
    server_start(&t->server);
    if (!server_wait_ready(&t->server)) {
        char *text = server_output(&t->server);

        if (left != LEFT_NONE)
            crash_problem(t->run, "%s: --accept-data-loss does not help: %s", what, text);
        mem_free(text);
        return;
    }
    if (left == LEFT_NONE) {
        crash_problem(t->run, "%s: --accept-data-loss must not help here", what);
        server_kill(&t->server);
        return;
    }
    workload_look(w, t->picture);
    fits = left == LEFT_PAST ? workload_is_past(w, t->picture)
                             : workload_is_prefix(w, t->picture, &lost);
    if (!fits || (left == LEFT_ALL && lost))
        crash_problem(t->run, "%s: what is left after --accept-data-loss is no %s", what,
                      left == LEFT_PAST ? "past state" : "prefix");
    server_kill(&t->server);
    t->server.flags[0] = NULL;
    server_start(&t->server);
    if (!server_wait_ready(&t->server))
        crash_problem(t->run, "%s: does not start after the loss was accepted", what);
    server_kill(&t->server);
    t->accepted++;
    t->lost += lost;
}

/* ---- scripted faults */

struct script {
    const char *name;
    bool (*damage)(struct damage *t); /* false: not possible on this folder */
    bool must_refuse;
    enum left left;
    const char *needle; /* in the line of the refusal */
};

static const char *find(struct damage *t, const char *head, const char *tail)
{
    const struct tree_file *f = tree_find(&t->base->tree, head, tail);

    return f ? f->name : NULL;
}

static off_t size_of(struct damage *t, const char *name)
{
    for (int i = 0; i < t->base->tree.count; i++)
        if (strcmp(t->base->tree.files[i].name, name) == 0)
            return t->base->tree.files[i].size;
    return 0;
}

static bool delete_log(struct damage *t)
{
    file_delete(t->run, t->dir, find(t, "db/", ".log"));
    return true;
}

static bool halve_log(struct damage *t)
{
    const char *name = find(t, "db/", ".log");

    file_truncate(t->run, t->dir, name, size_of(t, name) / 2);
    return true;
}

static bool empty_log(struct damage *t)
{
    file_truncate(t->run, t->dir, find(t, "db/", ".log"), 0);
    return true;
}

static bool zero_log(struct damage *t)
{
    const char *name = find(t, "db/", ".log");
    off_t size = size_of(t, name);
    void *zeros = mem_zalloc((size_t)(size / 2));

    file_write(t->run, t->dir, name, size / 2, zeros, (size_t)(size / 2));
    mem_free(zeros);
    return true;
}

static bool older_log(struct damage *t)
{
    char path[600];

    snprintf(path, sizeof(path), "%s/%s", t->dir, find(t, "db/", ".log"));
    file_copy(t->run, t->base->older_log, path);
    return true;
}

static bool garbage_behind_log(struct damage *t)
{
    const char *name = find(t, "db/", ".log");
    uint8_t garbage[500];

    for (size_t i = 0; i < sizeof(garbage); i++)
        garbage[i] = (uint8_t)rng_next(&t->run->rng);
    file_write(t->run, t->dir, name, size_of(t, name), garbage, sizeof(garbage));
    return true;
}

static bool delete_manifest(struct damage *t)
{
    file_delete(t->run, t->dir, find(t, "db/MANIFEST", ""));
    return true;
}

static bool halve_manifest(struct damage *t)
{
    const char *name = find(t, "db/MANIFEST", "");

    file_truncate(t->run, t->dir, name, size_of(t, name) / 2);
    return true;
}

static bool delete_current(struct damage *t)
{
    file_delete(t->run, t->dir, "db/CURRENT");
    return true;
}

static bool foreign_current(struct damage *t)
{
    file_write(t->run, t->dir, "db/CURRENT", 0, "MANIFEST-999999\n", 16);
    return true;
}

static bool delete_table(struct damage *t)
{
    file_delete(t->run, t->dir, find(t, "db/", ".sst"));
    return true;
}

static bool halve_table(struct damage *t)
{
    const char *name = find(t, "db/", ".sst");

    file_truncate(t->run, t->dir, name, size_of(t, name) / 2);
    return true;
}

static bool delete_watermark(struct damage *t)
{
    file_delete(t->run, t->dir, "WATERMARK");
    return true;
}

static bool empty_watermark(struct damage *t)
{
    file_truncate(t->run, t->dir, "WATERMARK", 0);
    return true;
}

static bool damage_watermark(struct damage *t)
{
    file_flip_bit(t->run, t->dir, "WATERMARK", 16, 3);
    file_flip_bit(t->run, t->dir, "WATERMARK", 4096 + 24, 5);
    return true;
}

static bool other_version(struct damage *t)
{
    file_write(t->run, t->dir, "VERSION", 0, "widerow data 9\n", 15);
    return true;
}

static bool delete_version(struct damage *t)
{
    file_delete(t->run, t->dir, "VERSION");
    return true;
}

/* RocksDB's own notes, which nobody needs. */
static bool delete_options(struct damage *t)
{
    for (int i = 0; i < t->base->tree.count; i++) {
        const char *name = t->base->tree.files[i].name;

        if (strncmp(name, "db/OPTIONS", 10) == 0 || strcmp(name, "db/IDENTITY") == 0 ||
            strcmp(name, "db/LOCK") == 0 || strcmp(name, "LOCK") == 0)
            file_delete(t->run, t->dir, name);
    }
    return true;
}

static int held_fd = -1;

static bool hold_lock(struct damage *t)
{
    char path[600];

    snprintf(path, sizeof(path), "%s/LOCK", t->dir);
    held_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return flock(held_fd, LOCK_EX | LOCK_NB) == 0;
}

static bool only_watermark(struct damage *t)
{
    char from[600], to[600];

    tree_remove(t->dir);
    mkdir(t->dir, 0700);
    snprintf(from, sizeof(from), "%s/WATERMARK", t->base->dir);
    snprintf(to, sizeof(to), "%s/WATERMARK", t->dir);
    file_copy(t->run, from, to);
    return true;
}

static bool delete_db(struct damage *t)
{
    char path[600];

    snprintf(path, sizeof(path), "%s/db", t->dir);
    tree_remove(path);
    return true;
}

#define ACCEPT "--accept-data-loss"

static const struct script scripts[] = {
    {"the live log deleted", delete_log, true, LEFT_PREFIX, ACCEPT},
    {"the live log cut in half", halve_log, true, LEFT_PREFIX, ACCEPT},
    {"the live log emptied", empty_log, true, LEFT_PREFIX, ACCEPT},
    {"the live log's second half zeroed", zero_log, true, LEFT_PREFIX, ACCEPT},
    {"the live log replaced by an older copy", older_log, true, LEFT_PREFIX, ACCEPT},
    {"garbage behind the live log", garbage_behind_log, false, LEFT_ALL, ACCEPT},
    {"MANIFEST deleted", delete_manifest, true, LEFT_PAST, ACCEPT},
    {"MANIFEST cut in half", halve_manifest, true, LEFT_PAST, ACCEPT},
    {"CURRENT deleted", delete_current, true, LEFT_PAST, ACCEPT},
    {"CURRENT names a file that is not there", foreign_current, true, LEFT_PAST, ACCEPT},
    {"a table file deleted", delete_table, true, LEFT_PAST, ACCEPT},
    {"a table file cut in half", halve_table, true, LEFT_PAST, ACCEPT},
    {"WATERMARK deleted", delete_watermark, true, LEFT_ALL, ACCEPT},
    {"WATERMARK emptied", empty_watermark, true, LEFT_ALL, ACCEPT},
    {"both slots of WATERMARK damaged", damage_watermark, true, LEFT_ALL, ACCEPT},
    {"VERSION of another release", other_version, true, LEFT_NONE, "widerow data 9"},
    {"VERSION deleted", delete_version, true, LEFT_NONE, "VERSION"},
    {"OPTIONS, IDENTITY and LOCK removed", delete_options, false, LEFT_ALL, ACCEPT},
    {"LOCK held by another process", hold_lock, true, LEFT_NONE, "another process"},
    {"nothing but a WATERMARK", only_watermark, true, LEFT_NONE, "VERSION"},
    {"db deleted", delete_db, true, LEFT_NONE, "Restore"},
};

/* Starts on the damaged copy and judges. Returns true if it was refused. */
static bool judge(struct damage *t, const char *what, const char *needle)
{
    server_start(&t->server);
    if (!server_wait_ready(&t->server)) {
        check_refusal(t, what, needle);
        t->refused++;
        return true;
    }
    if (check_served(t, what))
        t->harmless++;
    else
        t->read_errors++;
    server_kill(&t->server);
    return false;
}

static void run_script(struct damage *t, const struct script *s, int which)
{
    char what[200];
    bool refused;

    case_begin(t);
    t->base = &t->bases[which];
    tree_remove(t->dir);
    tree_copy(t->run, t->base->dir, t->dir);
    snprintf(what, sizeof(what), "%s (%s)", s->name, which ? "killed" : "stopped");
    if (!s->damage(t))
        crash_give_up(t->run, "cannot do: %s", what);
    refused = judge(t, what, s->needle);
    if (!refused && s->must_refuse)
        crash_problem(t->run, "%s: the server started", what);
    if (refused)
        accept(t, what, s->left);
    if (held_fd >= 0)
        close(held_fd);
    held_fd = -1;
    crash_case_end(t->run);
}

/* ---- random bits */

static const struct tree_file *choose_file(struct damage *t, enum left *left)
{
    static const struct {
        const char *head, *tail;
        enum left left;
    } kinds[] = {{"db/", ".log", LEFT_PREFIX},
                 {"db/", ".sst", LEFT_PAST},
                 {"db/MANIFEST", "", LEFT_PAST},
                 {"WATERMARK", "", LEFT_ALL}};
    uint64_t kind = rng_below(&t->run->rng, PORT_COUNT(kinds));

    *left = kinds[kind].left;
    return tree_find(&t->base->tree, kinds[kind].head, kinds[kind].tail);
}

/* A damaged list of tables can only be restored. */
static bool offers_accept(struct damage *t)
{
    char *text = server_output(&t->server);
    bool offers = strstr(text, ACCEPT) != NULL;

    mem_free(text);
    return offers;
}

static void run_flip(struct damage *t, int i)
{
    const struct tree_file *f;
    char what[300];
    enum left left;
    off_t at;
    int bit;

    case_begin(t);
    f = choose_file(t, &left);
    at = crash_between(&t->run->rng, 0, f->size - 1);
    bit = (int)rng_below(&t->run->rng, 8);
    snprintf(what, sizeof(what), "flip %d: bit %d of byte %lld of %s (%s)", i, bit, (long long)at,
             f->name, t->base == &t->bases[1] ? "killed" : "stopped");
    file_flip_bit(t->run, t->dir, f->name, at, bit);
    if (judge(t, what, "Restore") && i % ACCEPT_EVERY == 0 && offers_accept(t))
        accept(t, what, left);
    crash_case_end(t->run);
}

static void tally(struct damage *t, const char *what)
{
    printf("  %s: %d refused, %d harmless, %d with read errors, %d wrong answers; loss accepted %d "
           "times (%d changes taken back)\n",
           what, t->refused, t->harmless, t->read_errors, t->wrong, t->accepted, t->lost);
    t->refused = t->harmless = t->read_errors = t->wrong = t->accepted = t->lost = 0;
}

void damage_part(struct crash *run)
{
    int flips = run->count ? run->count : run->nightly ? FLIPS_NIGHTLY : FLIPS_SHORT;
    struct damage *t = mem_zalloc(sizeof(*t));

    t->run = run;
    t->picture = mem_alloc(sizeof(*t->picture));
    snprintf(t->dir, sizeof(t->dir), "%s/damaged", run->work);
    base_make(t, &t->bases[0], "stopped", false);
    base_make(t, &t->bases[1], "killed", true);
    for (size_t i = 0; i < PORT_COUNT(scripts); i++)
        for (int which = 0; which < 2; which++)
            run_script(t, &scripts[i], which);
    tally(t, "scripted faults");
    for (int i = 0; i < flips && run->failed < 20; i++)
        run_flip(t, i);
    tally(t, "bit flips");
    tree_remove(t->dir);
    workload_free(t->bases[0].workload);
    workload_free(t->bases[1].workload);
    mem_free(t->picture);
    mem_free(t);
}
