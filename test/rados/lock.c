/* lock.c: one lock, taken by conditional updates through two processes over one pool, one of which is paused, has the
 * cluster freeze under it, or has a clock that is wrong.
 *
 *   lock MODE ROUNDS [OSD_PID…]
 *
 *   pause    64 updates "owner = me if owner = ''" are under way when their process is stopped for 1.5 s (or
 *            LOCK_PAUSE_MS); the holder releases the lock through the other process meanwhile
 *   frozen   the same updates, and 1.5 s later the release, are sent to OSDs that stand still for 2.1 s
 *   behind   the clock of the process that takes the lock is 2.5 s behind
 *   crowd    an update of a whole row of 4 MB, while the other process changes the row without a pause for 5 s
 *   old      64 puts wait for their turn when their process is stopped for 20 s; the table is changed meanwhile
 *
 * WIDEROW_CEPH_CONF, WIDEROW_POOL and WIDEROW_NAMESPACE name the place. Of those that were told they have the lock there
 * is one, and the row names it; of the puts that were not sent none is told that it was done. An update that is decided
 * again and again holds the row no more than a few times. */
#include "widerow.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UPDATES 64
#define CROWD_CELLS 1000
#define CROWD_MEMORY_MAX (64u << 20)
#define TEXT(s) ((struct wr_bytes){(s), strlen(s)})

static _Atomic int64_t behind_ms;

/* In place of the C library's, for the whole program. */
int clock_gettime(clockid_t id, struct timespec *t)
{
    int result = (int)syscall(SYS_clock_gettime, id, t);
    int64_t ms = atomic_load(&behind_ms), ns;

    if (result || id != CLOCK_REALTIME || !ms)
        return result;
    ns = t->tv_nsec - ms % 1000 * 1000000 + 1000000000;
    t->tv_sec += ns / 1000000000 - 1 - ms / 1000;
    t->tv_nsec = ns % 1000000000;
    return 0;
}

static void nap(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000l}, NULL);
}

static void die(const char *what)
{
    fprintf(stderr, "lock: %s\n", what);
    exit(2);
}

static struct wr_db *open_db(void)
{
    struct wr_setting engine[] = {{"ceph_conf", getenv("WIDEROW_CEPH_CONF")},
                                  {"pool", getenv("WIDEROW_POOL")},
                                  {"namespace", getenv("WIDEROW_NAMESPACE")}};
    struct wr_options o = {.version = WR_API_VERSION, .engine = "rados", .engine_settings = engine,
                           .engine_setting_count = 3};
    char message[400] = "";
    struct wr_db *db;

    if (wr_open(&o, &db, message, sizeof(message)))
        die(message);
    return db;
}

/* ---- one row change ---- */

struct change {
    struct wr_request req;
    struct wr_key_column key;
    struct wr_cell cell;
    struct wr_filter filter;
    char owner[16];
    atomic_int code; /* -1: not answered yet */
};

static void change_done(void *arg, struct wr_reply *reply)
{
    struct change *u = arg;

    atomic_store(&u->code, reply->code);
    wr_reply_free(reply);
}

static void change_send(struct wr_db *db, struct change *u, enum wr_change_type type, int64_t key, const char *owner,
                        const char *if_owner)
{
    struct wr_row_change *c = type == WR_PUT ? &u->req.put_row : &u->req.update_row;

    snprintf(u->owner, sizeof(u->owner), "%s", owner);
    u->req.op = type == WR_PUT ? WR_OP_PUT_ROW : WR_OP_UPDATE_ROW;
    u->req.instance = TEXT("lock");
    u->key = (struct wr_key_column){TEXT("k"), {.type = WR_BIGINT, .integer = key}};
    u->cell = (struct wr_cell){.name = TEXT("owner"),
                               .op = WR_CELL_PUT,
                               .value = {.type = WR_VARCHAR, .bytes = TEXT(u->owner)},
                               .timestamp_ms = WR_TIMESTAMP_NONE};
    *c = (struct wr_row_change){.type = type, .table = TEXT("t"), .row = {{&u->key, 1}, &u->cell, 1}};
    if (if_owner) {
        u->filter = (struct wr_filter){.type = WR_FILTER_COLUMN};
        u->filter.column = (struct wr_column_filter){.comparator = WR_EQUAL,
                                                     .column = TEXT("owner"),
                                                     .value = {.type = WR_VARCHAR, .bytes = TEXT(if_owner)},
                                                     .filter_if_missing = true,
                                                     .latest_version_only = true};
        c->condition.column = &u->filter;
    }
    atomic_store(&u->code, -1);
    wr_submit(db, &u->req, change_done, u);
}

static int change_wait(struct change *u)
{
    while (atomic_load(&u->code) < 0)
        nap(1);
    return atomic_load(&u->code);
}

/* By whoever has the lock, or nobody: it says so. */
static void give(struct wr_db *db, const char *owner)
{
    struct change u = {0};

    do
        change_send(db, &u, WR_UPDATE, 1, owner, NULL);
    while (change_wait(&u) != WR_OK);
}

static void read_owner(struct wr_db *db, char *out, size_t size)
{
    struct wr_key_column key = {TEXT("k"), {.type = WR_BIGINT, .integer = 1}};
    struct wr_request req = {.op = WR_OP_GET_ROW, .instance = TEXT("lock")};
    struct wr_reply *reply;

    req.get_row = (struct wr_get_row){
        .table = TEXT("t"), .key = {&key, 1}, .read = {.has_max_versions = true, .max_versions = 1}};
    reply = wr_exec(db, &req);
    if (reply->code || reply->row.row.cell_count != 1)
        die("the lock cannot be read");
    snprintf(out, size, "%.*s", (int)reply->row.row.cells[0].value.bytes.len,
             (const char *)reply->row.row.cells[0].value.bytes.ptr);
    wr_reply_free(reply);
}

static void table_op(struct wr_db *db, enum wr_op op)
{
    struct wr_key_schema key = {.name = TEXT("k"), .type = WR_BIGINT};
    struct wr_request req = {.op = op, .instance = TEXT("lock")};
    struct wr_reply *reply;

    if (op == WR_OP_CREATE_TABLE)
        req.create_table = (struct wr_create_table){.table = TEXT("t"),
                                                         .key = &key,
                                                         .key_count = 1,
                                                         .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS,
                                                                     .ttl_s = -1,
                                                                     .max_versions = 1}};
    else
        req.update_table = (struct wr_update_table){
            .table = TEXT("t"), .has_options = true, .options = {.given = WR_HAS_MAX_VERSIONS, .max_versions = 2}};
    reply = wr_exec(db, &req);
    if (reply->code)
        die(reply->message);
    wr_reply_free(reply);
}

/* ---- the other process ---- */

/* What it is told: a letter. What it answers: how many were told yes, and who of them came first. */
struct told {
    int yes;
    char owner[16];
};

static void send_all(struct wr_db *db, struct change *all, bool puts)
{
    for (int i = 0; i < UPDATES; i++) {
        char me[16];

        snprintf(me, sizeof(me), "me%d", i);
        change_send(db, &all[i], puts ? WR_PUT : WR_UPDATE, puts ? i + 10 : 1, me, puts ? NULL : "");
    }
}

/* One change of the row after the other, for 5 s. */
static void crowd(struct wr_db *db)
{
    for (time_t end = time(NULL) + 5; time(NULL) < end;) {
        struct change u = {0};

        change_send(db, &u, WR_UPDATE, 1, "crowd", NULL);
        change_wait(&u);
    }
}

static void other(int in, int out, bool slow_clock)
{
    static struct change all[UPDATES];
    struct wr_db *db;
    char what;

    if (slow_clock)
        atomic_store(&behind_ms, 2500);
    db = open_db();
    if (write(out, "r", 1) != 1)
        exit(1);
    while (read(in, &what, 1) == 1) {
        struct told told = {0};

        if (what == 'c')
            crowd(db);
        else
            send_all(db, all, what == 'p' || what == 'P');
        if (what == 's' || what == 'P') /* it stops with all of them under way */
            raise(SIGSTOP);
        for (int i = 0; i < UPDATES && what != 'c'; i++)
            if (change_wait(&all[i]) == WR_OK) {
                if (!told.yes++)
                    snprintf(told.owner, sizeof(told.owner), "%s", all[i].owner);
            }
        if (write(out, &told, sizeof(told)) != (ssize_t)sizeof(told))
            exit(1);
    }
    wr_close(db);
    exit(0);
}

/* ---- rounds ---- */

struct bench {
    struct wr_db *db;
    pid_t child;
    int to, from;
    char **osds;
    int pause_ms;
};

static void osds(const struct bench *b, int signal)
{
    for (char **pid = b->osds; *pid; pid++)
        kill(atoi(*pid), signal);
}

static void tell(const struct bench *b, char what)
{
    if (write(b->to, &what, 1) != 1)
        die("the other process is gone");
}

static void stopped(const struct bench *b)
{
    int status;

    if (waitpid(b->child, &status, WUNTRACED) != b->child || !WIFSTOPPED(status))
        die("the other process did not stop");
}

static struct told answer(const struct bench *b)
{
    struct told told;

    if (read(b->from, &told, sizeof(told)) != (ssize_t)sizeof(told))
        die("the other process is gone");
    return told;
}

static void disturb(const struct bench *b, const char *mode)
{
    struct change release = {0};

    if (!strcmp(mode, "pause")) {
        tell(b, 's');
        stopped(b);
        nap(b->pause_ms);
        give(b->db, "");
        kill(b->child, SIGCONT);
    } else if (!strcmp(mode, "frozen")) {
        osds(b, SIGSTOP);
        tell(b, 'u');
        nap(1500);
        change_send(b->db, &release, WR_UPDATE, 1, "", NULL);
        nap(600);
        osds(b, SIGCONT);
        if (change_wait(&release) != WR_OK)
            die("the lock was not released");
    } else {
        give(b->db, "");
        tell(b, 'u');
    }
}

/* False: more or fewer were told that they have it than the row says. In a round that was disturbed all may come too
 * early. */
static bool round_of(const struct bench *b, const char *mode, int *taken)
{
    struct told told;
    char owner[32];

    give(b->db, "held");
    disturb(b, mode);
    told = answer(b);
    read_owner(b->db, owner, sizeof(owner));
    *taken += told.yes > 0;
    if (told.yes > 1 || strcmp(owner, told.yes ? told.owner : "") != 0) {
        printf("%d were told that they have the lock, %s first; the row says '%s'\n", told.yes,
               told.yes ? told.owner : "nobody", owner);
        return false;
    }
    return true;
}

static bool old_round(const struct bench *b)
{
    struct told told;

    osds(b, SIGSTOP);
    tell(b, 'P');
    stopped(b);
    osds(b, SIGCONT);
    table_op(b->db, WR_OP_UPDATE_TABLE);
    nap(1000);
    kill(b->child, SIGCONT);
    told = answer(b);
    printf("%d of %d puts by an old description were done\n", told.yes, UPDATES);
    return told.yes <= 1; /* the one that was sent before */
}

static size_t update_all(struct wr_db *db, int *code)
{
    static char names[CROWD_CELLS][8], value[3900];
    static struct wr_cell cells[CROWD_CELLS];
    struct wr_key_column key = {TEXT("k"), {.type = WR_BIGINT, .integer = 1}};
    struct wr_request req = {.op = WR_OP_UPDATE_ROW, .instance = TEXT("lock")};
    struct wr_reply *reply;
    size_t memory;

    memset(value, 'v', sizeof(value));
    for (int i = 0; i < CROWD_CELLS; i++) {
        snprintf(names[i], sizeof(names[i]), "c%d", i);
        cells[i] = (struct wr_cell){.name = TEXT(names[i]),
                                    .op = WR_CELL_PUT,
                                    .value = {.type = WR_VARCHAR, .bytes = {value, sizeof(value)}},
                                    .timestamp_ms = WR_TIMESTAMP_NONE};
    }
    req.update_row =
        (struct wr_row_change){.type = WR_UPDATE, .table = TEXT("t"), .row = {{&key, 1}, cells, CROWD_CELLS}};
    reply = wr_exec(db, &req);
    *code = reply->code;
    memory = reply->memory;
    wr_reply_free(reply);
    return memory;
}

static bool crowd_round(const struct bench *b)
{
    time_t end = time(NULL) + 5;
    size_t most = 0;
    bool well = true;
    int code;

    update_all(b->db, &code);
    tell(b, 'c');
    do {
        size_t memory = update_all(b->db, &code);

        most = memory > most ? memory : most;
        well &= code == WR_OK || code == WR_E_CONFLICT || code == WR_E_BUSY;
    } while (time(NULL) < end);
    answer(b);
    printf("updates of 4 MB beside others took up to %zu MiB, the last code is %d\n", most >> 20, code);
    return well && most <= CROWD_MEMORY_MAX;
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    int to[2], from[2], rounds, bad = 0, taken = 0;
    char ready;

    if (argc < 3)
        die("lock MODE ROUNDS [OSD_PID...]");
    rounds = atoi(argv[2]);
    b.osds = argv + 3;
    b.pause_ms = getenv("LOCK_PAUSE_MS") ? atoi(getenv("LOCK_PAUSE_MS")) : 1500;
    if (pipe(to) || pipe(from))
        die("no pipe");
    b.child = fork(); /* before there are threads */
    if (!b.child) {
        close(to[1]);
        other(to[0], from[1], !strcmp(argv[1], "behind"));
    }
    close(from[1]);
    b.to = to[1];
    b.from = from[0];
    if (read(b.from, &ready, 1) != 1)
        die("the other process did not open");
    b.db = open_db();
    table_op(b.db, WR_OP_CREATE_TABLE);
    give(b.db, "");
    for (int i = 0; i < rounds; i++)
        bad += !(!strcmp(argv[1], "old")     ? old_round(&b)
                 : !strcmp(argv[1], "crowd") ? crowd_round(&b)
                                             : round_of(&b, argv[1], &taken));
    close(b.to);
    waitpid(b.child, NULL, 0);
    wr_close(b.db);
    printf("%s: %d rounds, in %d of them somebody took the lock, %d wrong\n", argv[1], rounds, taken, bad);
    return bad != 0;
}
