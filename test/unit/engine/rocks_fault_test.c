/* The RocksDB engine when something goes wrong while it runs: failed appends and syncs, stalls, and
 * the process dying at each step of a commit. Run with "child DIR", this program is the process
 * that dies. */
#include "bed.h"

#include "base/fault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#ifdef WR_FAULTS

static int setup(void **state)
{
    return bed_set_up(state, "rocks");
}

static void pause_ms(int ms)
{
    struct timespec ts = {ms / 1000, (long)(ms % 1000) * 1000000};

    nanosleep(&ts, NULL);
}

static void wait_writable(struct bed *b)
{
    struct engine_stat stat;

    for (int i = 0; i < 500; i++) {
        engine_stat(b->e, &stat);
        if (stat.writable)
            return;
        pause_ms(10);
    }
    print_error("%s\n", stat.reason);
    assert_true(stat.writable);
}

/* A failure of the given step: unsure, then refused, reads go on, then all is well again. */
static void check_failure(struct bed *b, const char *fault)
{
    struct engine_stat stat;
    const char *unsure;

    assert_int_equal(bed_put(b, "before", "1"), E_OK);
    assert_true(fault_arm(fault));
    assert_int_equal(bed_put(b, "unsure", "1"), E_UNSURE);
    engine_stat(b->e, &stat);
    assert_false(stat.writable);
    assert_true(stat.reason[0]);
    assert_int_equal(bed_put(b, "refused", "1"), E_UNAVAILABLE);
    assert_int_equal(bed_barrier(b), E_UNAVAILABLE);
    bed_expect(b, "before", "1");
    bed_expect(b, "refused", "-");
    wait_writable(b);
    bed_expect(b, "before", "1");
    bed_expect(b, "refused", "-");
    unsure = bed_get(b, "unsure", VIEW_DURABLE);
    assert_true(strcmp(unsure, "1") == 0 || strcmp(unsure, "-") == 0);
    assert_int_equal(bed_put(b, "after", unsure), E_OK);
    bed_close(b);
    bed_open(b, "rocks");
    /* What has been read once stays. */
    bed_expect(b, "unsure", bed_get(b, "after", VIEW_DURABLE));
    bed_expect(b, "before", "1");
}

static void test_append_fails(void **state)
{
    check_failure(*state, "rocks_before_append:error:1");
}

static void test_sync_fails(void **state)
{
    check_failure(*state, "commit_before_sync:error:1");
}

static void test_watermark_fails(void **state)
{
    check_failure(*state, "commit_after_sync_before_watermark:error:1");
}

static void test_publish_fails(void **state)
{
    check_failure(*state, "commit_after_watermark_before_publish:error:1");
}

/* The watermark's sync is behind the answers: what was answered is durable, and nothing is answered
 * after it has failed, until storage is open again. */
static void test_watermark_sync_fails(void **state)
{
    struct bed *b = *state;

    assert_true(fault_arm("commit_before_watermark_sync:error:1"));
    assert_int_equal(bed_put(b, "durable", "1"), E_OK);
    for (int i = 0; !strstr(b->logged, "cannot sync WATERMARK"); i++) {
        assert_true(i < 500);
        pause_ms(10);
    }
    wait_writable(b);
    bed_expect(b, "durable", "1");
    assert_int_equal(bed_put(b, "after", "1"), E_OK);
    bed_close(b);
    bed_open(b, "rocks");
    bed_expect(b, "durable", "1");
    bed_expect(b, "after", "1");
}

/* Several tries are needed; meanwhile reads are answered. */
static void test_reopen_fails(void **state)
{
    struct bed *b = *state;

    assert_int_equal(bed_put(b, "before", "1"), E_OK);
    assert_true(fault_arm("commit_before_sync:error:1,rocks_reopen:error:1+"));
    assert_int_equal(bed_put(b, "unsure", "1"), E_UNSURE);
    while (fault_passes(FAULT_rocks_reopen) < 2)
        pause_ms(10);
    for (int i = 0; strcmp(bed_get(b, "before", VIEW_DURABLE), "1") != 0; i++) {
        assert_true(i < 100);
        pause_ms(10);
        bed_ctx_again(b);
    }
    assert_int_equal(bed_put(b, "refused", "1"), E_UNAVAILABLE);
    fault_arm(NULL);
    wait_writable(b);
    assert_int_equal(bed_put(b, "after", "1"), E_OK);
    bed_expect(b, "after", "1");
    bed_expect(b, "refused", "-");
}

/* A page that somebody still holds does not keep the database from being reopened. */
static void test_reopen_with_pinned_value(void **state)
{
    struct bed *b = *state;
    struct get g = {.key = BYTES_LIT("big")};
    struct ctx holder;
    char *big = mem_alloc(100000);
    struct edit edit = {EDIT_PUT, BYTES_LIT("big"), {big, 100000}};

    memset(big, 'x', 100000);
    assert_int_equal(bed_apply(b, &(struct write_batch){.edits = &edit, .edit_count = 1}), E_OK);
    bed_close(b);
    bed_open(b, "rocks"); /* now it is in a table file, and pages of it in the cache */
    ctx_init(&holder, &b->clock, &b->log, NULL, 0);
    assert_int_equal(engine_get(&holder, b->e, &g), E_OK);
    fault_arm("commit_before_sync:error:1");
    assert_int_equal(bed_put(b, "unsure", "1"), E_UNSURE);
    wait_writable(b);
    bed_close(b);
    assert_int_equal(g.value.len, 100000);
    assert_memory_equal(g.value.ptr, big, 100000);
    ctx_release(&holder);
    mem_free(big);
}

/* Nor does a snapshot, which is revoked. */
static void test_reopen_with_snapshot(void **state)
{
    struct bed *b = *state;
    struct snapshot *s, *again;
    struct get g = {.key = BYTES_LIT("k")};

    assert_int_equal(bed_put(b, "k", "1"), E_OK);
    assert_int_equal(engine_snapshot(&b->c, b->e, NULL, &s), E_OK);
    g.snapshot = s;
    assert_int_equal(engine_get(&b->c, b->e, &g), E_OK);
    fault_arm("commit_before_sync:error:1");
    assert_int_equal(bed_put(b, "unsure", "1"), E_UNSURE);
    wait_writable(b);
    assert_int_equal(engine_get(&b->c, b->e, &g), E_BUSY);
    assert_true(s->revoked);
    snapshot_release(s);
    bed_ctx_again(b);
    assert_int_equal(engine_snapshot(&b->c, b->e, NULL, &again), E_OK);
    g.snapshot = again;
    assert_int_equal(engine_get(&b->c, b->e, &g), E_OK);
    assert_true(g.found);
    snapshot_release(again);
}

/* ---- stalls */

struct later {
    struct get g;
    struct bed_wait w;
};

static void later_done(struct get *g)
{
    bed_wait_done(&PORT_CONTAINER(g, struct later, g)->w, g->code);
}

static void test_stall(void **state)
{
    struct bed *b = *state;
    const struct edit one = {EDIT_PUT, BYTES_LIT("k"), BYTES_LIT("1")};
    const struct edit two = {EDIT_PUT, BYTES_LIT("k"), BYTES_LIT("2")};
    const struct write_batch first = {.edits = &one, .edit_count = 1};
    const struct guard guard = {BYTES_LIT("k"), BYTES_LIT("1"), false};
    const struct write_batch second = {
        .guards = &guard, .guard_count = 1, .edits = &two, .edit_count = 1};
    struct bed_wait w1 = BED_WAIT, w2 = BED_WAIT, w3 = BED_WAIT;
    struct later between = {{.key = BYTES_LIT("k"), .view = VIEW_LATEST}, BED_WAIT};
    struct engine_stat stat;
    struct ctx c;

    ctx_init(&c, &b->clock, &b->log, NULL, 0);
    fault_arm("rocks_stall:error:1+");
    engine_apply(&b->c, b->e, &first, bed_wait_done, &w1);
    between.g.done = later_done;
    assert_int_equal(engine_get(&c, b->e, &between.g), E_LATER);
    engine_apply(&b->c, b->e, &second, bed_wait_done, &w2);
    engine_apply(&b->c, b->e, &(struct write_batch){0}, bed_wait_done, &w3);
    bed_expect(b, "k", "-"); /* readers never wait */
    pause_ms(20);
    assert_false(w1.called || w2.called || w3.called || between.w.called);
    fault_arm(NULL);
    assert_int_equal(bed_wait(&w1), E_OK);
    assert_int_equal(bed_wait(&between.w), E_OK);
    assert_true(between.g.found && bytes_equal(between.g.value, BYTES_LIT("1")));
    assert_int_equal(bed_wait(&w2), E_OK);
    assert_int_equal(bed_wait(&w3), E_OK);
    bed_expect(b, "k", "2");
    engine_stat(b->e, &stat);
    assert_int_equal(stat.stalls, 3);
    ctx_release(&c);
}

struct many_later {
    struct get_many m;
    struct bed_wait w;
};

static void many_later_done(struct get_many *m)
{
    bed_wait_done(&PORT_CONTAINER(m, struct many_later, m)->w, E_OK);
}

/* Many gets in one call behind a stall, with one context: those of what is durable are answered at
 * once, up to the first that has to wait; all the others are answered behind that one. */
static void test_stall_get_many(void **state)
{
    struct bed *b = *state;
    const struct edit edit = {EDIT_PUT, BYTES_LIT("k"), BYTES_LIT("new")};
    const struct write_batch batch = {.edits = &edit, .edit_count = 1};
    struct get gets[] = {{.key = BYTES_LIT("j"), .view = VIEW_DURABLE},
                         {.key = BYTES_LIT("k"), .view = VIEW_DURABLE},
                         {.key = BYTES_LIT("k"), .view = VIEW_LATEST},
                         {.key = BYTES_LIT("j"), .view = VIEW_LATEST},
                         {.key = BYTES_LIT("none"), .view = VIEW_LATEST}};
    static const char *const values[] = {"j", "old", "new", "j", NULL};
    struct many_later later = {
        .m = {.gets = gets, .count = PORT_COUNT(gets), .done = many_later_done}, .w = BED_WAIT};
    struct bed_wait w = BED_WAIT;
    struct ctx c;

    assert_int_equal(bed_put(b, "j", "j"), E_OK);
    assert_int_equal(bed_put(b, "k", "old"), E_OK);
    ctx_init(&c, &b->clock, &b->log, NULL, 0);
    fault_arm("rocks_stall:error:1+");
    engine_apply(&b->c, b->e, &batch, bed_wait_done, &w);
    assert_int_equal(engine_get_many(&c, b->e, &later.m), E_LATER);
    assert_false(w.called || later.w.called);
    fault_arm(NULL);
    assert_int_equal(bed_wait(&later.w), E_OK);
    assert_int_equal(bed_wait(&w), E_OK);
    for (size_t i = 0; i < PORT_COUNT(gets); i++) {
        assert_int_equal(gets[i].code, E_OK);
        assert_int_equal(gets[i].found, values[i] != NULL);
        if (values[i])
            assert_true(bytes_equal(gets[i].value, bytes_str(values[i])));
    }
    ctx_release(&c);
}

static void test_stall_lasts(void **state)
{
    struct bed *b = *state;
    int64_t since = clock_mono_ms(&b->clock);

    fault_arm("rocks_stall:error:1+");
    assert_int_equal(bed_put(b, "k", "1"), E_BUSY);
    assert_in_range(clock_mono_ms(&b->clock) - since, 1900, 5000);
    fault_arm(NULL);
    bed_expect(b, "k", "-");
    assert_int_equal(bed_put(b, "k", "2"), E_OK);
    bed_expect(b, "k", "2");
}

/* What was read from a batch that the stall queue gave up comes to nothing with it. */
static void test_stall_voids(void **state)
{
    struct bed *b = *state;
    const struct edit one = {EDIT_PUT, BYTES_LIT("k"), BYTES_LIT("1")};
    const struct edit two = {EDIT_PUT, BYTES_LIT("k"), BYTES_LIT("2")};
    const struct edit three = {EDIT_PUT, BYTES_LIT("k"), BYTES_LIT("3")};
    struct write_batch first = {.edits = &one, .edit_count = 1};
    struct write_batch second = {.edits = &two, .edit_count = 1};
    struct write_batch third = {.edits = &three, .edit_count = 1};
    struct bed_wait w1 = BED_WAIT, w2 = BED_WAIT, w3 = BED_WAIT;
    struct later early = {{.key = BYTES_LIT("k"), .view = VIEW_LATEST, .read_pending = true},
                          BED_WAIT};
    struct ctx c;

    ctx_init(&c, &b->clock, &b->log, NULL, 0);
    early.g.done = later_done;
    fault_arm("rocks_stall:error:1+");
    engine_apply(&b->c, b->e, &first, bed_wait_done, &w1);
    if (engine_get(&c, b->e, &early.g) == E_OK) {
        assert_true(early.g.found && bytes_equal(early.g.value, BYTES_LIT("1")));
        assert_true(early.g.depends_on);
        second.depends_on = early.g.depends_on;
        engine_apply(&b->c, b->e, &second, bed_wait_done, &w2);
        assert_int_equal(bed_wait(&w2), E_BUSY);
    } else { /* it was appended meanwhile, which stalled: the read waits behind it */
        assert_int_equal(bed_wait(&early.w), E_OK);
        assert_false(early.g.found);
    }
    assert_int_equal(bed_wait(&w1), E_BUSY);
    fault_arm(NULL);
    third.depends_on = second.depends_on;
    engine_apply(&b->c, b->e, &third, bed_wait_done, &w3);
    assert_int_equal(bed_wait(&w3), second.depends_on ? E_BUSY : E_OK);
    bed_expect(b, "k", second.depends_on ? "-" : "3");
    assert_int_equal(bed_put(b, "k", "4"), E_OK);
    bed_expect(b, "k", "4");
    ctx_release(&c);
}

struct writer {
    struct bed *bed;
    pthread_t thread;
    int number;
    atomic_bool *over;
    atomic_llong *lifted_ms; /* when the stall ended; 0: not yet */
    int taken, refused_late;
};

static void *writer_main(void *arg)
{
    struct writer *w = arg;
    struct engine *e = w->bed->e;

    for (int i = 0; !atomic_load(w->over); i++) {
        char key[32];
        int n = snprintf(key, sizeof(key), "k%d-%d", w->number, i);
        const struct edit edit = {EDIT_PUT, bytes_of(key, (size_t)n), BYTES_LIT("1")};
        const struct write_batch batch = {.edits = &edit, .edit_count = 1};
        struct bed_wait wait = BED_WAIT;
        int64_t lifted;
        struct ctx c;

        ctx_init(&c, &w->bed->clock, &w->bed->log, NULL, 0);
        engine_apply(&c, e, &batch, bed_wait_done, &wait);
        bed_wait(&wait);
        ctx_release(&c);
        lifted = atomic_load(w->lifted_ms);
        if (lifted && wait.code == E_OK)
            w->taken++;
        else if (lifted && clock_mono_ms(&w->bed->clock) > lifted + 500)
            w->refused_late++;
    }
    return NULL;
}

/* What a stall has voided does not void what comes after it. */
static void test_stall_ends(void **state)
{
    enum { WRITERS = 6 };
    struct bed *b = *state;
    struct writer writers[WRITERS];
    atomic_bool over = false;
    atomic_llong lifted_ms = 0;

    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.bed = b, .number = i, .over = &over, .lifted_ms = &lifted_ms};
        assert_int_equal(pthread_create(&writers[i].thread, NULL, writer_main, &writers[i]), 0);
    }
    pause_ms(50);
    fault_arm("rocks_stall:error:1+");
    pause_ms(2500);
    fault_arm(NULL);
    atomic_store(&lifted_ms, clock_mono_ms(&b->clock));
    pause_ms(1500);
    atomic_store(&over, true);
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        assert_true(writers[i].taken > 0);
        assert_int_equal(writers[i].refused_late, 0);
    }
}

/* What was decided before a failure, by whatever was not durable then, comes to nothing after it.
 */
static void test_failure_voids(void **state)
{
    struct bed *b = *state;
    const struct edit edit = {EDIT_PUT, BYTES_LIT("k"), BYTES_LIT("2")};
    struct write_batch batch = {.edits = &edit, .edit_count = 1};
    struct get g = {.key = BYTES_LIT("k"), .view = VIEW_LATEST, .read_pending = true};

    assert_int_equal(bed_put(b, "k", "1"), E_OK);
    assert_int_equal(engine_get(&b->c, b->e, &g), E_OK);
    assert_true(g.found && g.depends_on);
    batch.depends_on = g.depends_on;
    assert_true(fault_arm("commit_before_sync:error:1"));
    assert_int_equal(bed_put(b, "unsure", "1"), E_UNSURE);
    fault_arm(NULL);
    wait_writable(b);
    assert_int_equal(bed_apply(b, &batch), E_BUSY);
    bed_ctx_again(b);
    assert_int_equal(engine_get(&b->c, b->e, &g), E_OK);
    batch.depends_on = g.depends_on;
    assert_int_equal(bed_apply(b, &batch), E_OK);
    bed_expect(b, "k", "2");
}

/* Whoever decides sees each batch at once, wherever it is on its way. */
static void test_early(void **state)
{
    enum { TURNS = 2000 };
    struct bed *b = *state;
    struct bed_wait last = BED_WAIT;
    static struct bed_wait waits[TURNS];
    uint64_t rests = 0;

    for (int i = 0; i < TURNS; i++) {
        char text[16];
        int n = snprintf(text, sizeof(text), "%d", i);
        const struct edit edit = {i % 10 == 9 ? EDIT_DELETE : EDIT_PUT, BYTES_LIT("k"),
                                  bytes_of(text, (size_t)n)};
        const struct write_batch batch = {.edits = &edit, .edit_count = 1};
        struct get g = {.key = BYTES_LIT("k"), .view = VIEW_LATEST, .read_pending = i % 7 != 0};

        waits[i] = last;
        engine_apply(&b->c, b->e, &batch, bed_wait_done, &waits[i]);
        assert_int_equal(engine_get(&b->c, b->e, &g), E_OK);
        assert_int_equal(g.found, i % 10 != 9);
        if (g.found)
            assert_true(bytes_equal(g.value, edit.value));
        rests += g.depends_on != 0;
        if (i % 7 == 0)
            assert_int_equal(g.depends_on, 0);
    }
    for (int i = 0; i < TURNS; i++)
        assert_int_equal(bed_wait(&waits[i]), E_OK);
    assert_true(rests > 0);
    bed_expect(b, "k", "-");
}

/* ---- the cap on what is not synced */

struct burst {
    pthread_mutex_t lock;
    int ok, busy, other;
};

static void burst_done(void *arg, int code)
{
    struct burst *t = arg;

    pthread_mutex_lock(&t->lock);
    *(code == E_OK ? &t->ok : code == E_BUSY ? &t->busy : &t->other) += 1;
    pthread_mutex_unlock(&t->lock);
}

static void test_unsynced_cap(void **state)
{
    struct bed *b = *state;
    struct burst t = {.lock = PTHREAD_MUTEX_INITIALIZER};
    static char value[4000];
    struct edit edit = {EDIT_PUT, BYTES_LIT("k"), {value, sizeof(value)}};
    struct write_batch batch = {.partition = 7, .edits = &edit, .edit_count = 1};
    struct edit own = {EDIT_PUT, BYTES_LIT("lease"), {value, sizeof(value)}};
    struct write_batch lease = {.partition = PARTITION_SYSTEM, .edits = &own, .edit_count = 1};
    struct burst leases = {.lock = PTHREAD_MUTEX_INITIALIZER};

    bed_close(b);
    b->conf.unsynced_bytes_max = 10000;
    bed_open(b, "rocks");
    for (int i = 0; i < 500; i++) {
        engine_apply(&b->c, b->e, &batch, burst_done, &t);
        engine_apply(&b->c, b->e, &lease, burst_done, &leases);
    }
    while (bed_barrier(b) != E_OK)
        ;
    bed_close(b); /* all completions have run */
    assert_true(t.ok > 0 && t.busy > 0);
    assert_int_equal(t.ok + t.busy, 500);
    assert_int_equal(leases.ok, 500); /* what is the database's own is never refused */
    b->conf.unsynced_bytes_max = 0;
}

/* What waits for a sync stays within the memory that the engine was given. */
static void test_unsynced_cap_by_memory(void **state)
{
    struct engine_conf conf = {0};

    (void)state;
    assert_int_equal(engine_unsynced_bytes_max(&conf), (256ull << 20) / 7 * 2);
    conf.memory_bytes = 56u << 20; /* of --memory 64M */
    assert_int_equal(engine_unsynced_bytes_max(&conf), 16u << 20);
    conf.memory_bytes = 1;
    assert_int_equal(engine_unsynced_bytes_max(&conf), 8u << 20);
    conf.memory_bytes = 64ull << 30;
    assert_int_equal(engine_unsynced_bytes_max(&conf), 128u << 20);
    conf.unsynced_bytes_max = 5;
    assert_int_equal(engine_unsynced_bytes_max(&conf), 5);
}

static void test_disk_nearly_full(void **state)
{
    struct bed *b = *state;
    struct engine_stat stat;

    assert_int_equal(bed_put(b, "a", "1"), E_OK);
    assert_int_equal(bed_put(b, "b", "1"), E_OK);
    fault_arm("rocks_disk_full:error:1+");
    pause_ms(110); /* it looks every 100 ms */
    b->partition = 7;
    assert_int_equal(bed_put(b, "c", "1"), E_NO_SPACE);
    assert_int_equal(bed_delete(b, "a"), E_OK);
    b->partition = PARTITION_SYSTEM;
    assert_int_equal(bed_put(b, "d", "1"), E_OK); /* no deletion goes without its lease */
    assert_int_equal(bed_barrier(b), E_OK);
    engine_stat(b->e, &stat);
    assert_false(stat.writable);
    assert_non_null(strstr(stat.reason, "nearly full"));
    bed_expect(b, "a", "-");
    bed_expect(b, "b", "1");
    bed_expect(b, "c", "-");
    fault_arm(NULL);
    pause_ms(110);
    b->partition = 7;
    assert_int_equal(bed_put(b, "c", "1"), E_OK);
    b->partition = PARTITION_SYSTEM;
    wait_writable(b);
}

/* What RocksDB leaves behind of a file it cannot write. */
static int count_leftovers(const struct bed *b)
{
    char path[100];
    struct dirent *entry;
    DIR *d;
    int count = 0;

    snprintf(path, sizeof(path), "%s/db", b->dir);
    d = opendir(path);
    assert_non_null(d);
    while ((entry = readdir(d)))
        count += strstr(entry->d_name, ".dbtmp") != NULL;
    closedir(d);
    return count;
}

/* Little is left, less than compaction may need: what is deleted must go from the disk all the
 * same, and all goes on when there is space again. */
static void test_full_disk_makes_room(void **state)
{
    enum { ROWS = 300, VALUE = 65536 };
    struct bed *b = *state;
    char *value = mem_alloc(VALUE + 1), key[16];
    struct engine_stat stat;
    uint64_t random = 1;

    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < VALUE; j++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            value[j] = (char)('0' + (random >> 58));
        }
        value[VALUE] = 0;
        snprintf(key, sizeof(key), "k%d", i);
        assert_int_equal(bed_put(b, key, value), E_OK);
    }
    mem_free(value);
    fault_arm("rocks_disk_full:error:1+");
    pause_ms(500);
    for (int i = 0; i < ROWS; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        assert_int_equal(bed_delete(b, key), E_OK);
    }
    for (int i = 0; i < 1000; i++) {
        engine_stat(b->e, &stat);
        if (stat.bytes_stored < ROWS * VALUE / 8)
            break;
        pause_ms(10);
    }
    assert_in_range(stat.bytes_stored, 0, ROWS * VALUE / 8);
    assert_false(stat.writable);
    fault_arm(NULL);
    wait_writable(b);
    pause_ms(300);
    assert_int_equal(bed_put(b, "k", "1"), E_OK);
    assert_int_equal(count_leftovers(b), 0);
    bed_close(b);
    bed_open(b, "rocks");
    bed_expect(b, "k", "1");
    bed_expect(b, "k1", "-");
    assert_int_equal(count_leftovers(b), 0);
}

static void test_no_sync(void **state)
{
    struct bed *b = *state;

    bed_close(b);
    b->conf.no_sync = true;
    bed_open(b, "rocks");
    assert_int_equal(bed_put(b, "k", "1"), E_OK);
    bed_expect(b, "k", "1");
    bed_close(b);
    b->conf.no_sync = false;
    bed_open(b, "rocks");
    bed_expect(b, "k", "1");
}

static void test_drop_fails_half_way(void **state)
{
    struct bed *b = *state;
    const struct key_range range = {BYTES_LIT("k"), BYTES_LIT("l")};
    const struct partition_spec p = {.id = 9, .ranges = &range, .range_count = 1};

    bed_fill(b, "k", 0, 2500, 10);
    fault_arm("drop_half:error:1");
    assert_int_equal(engine_drop(&b->c, b->e, &p), E_UNAVAILABLE);
    fault_arm(NULL);
    bed_close(b);
    bed_open(b, "rocks");
    assert_int_equal(engine_drop(&b->c, b->e, &p), E_OK);
    bed_expect(b, "k000000", "-");
    bed_expect(b, "k002499", "-");
}

/* ---- the process dies */

struct sent {
    struct edit edits[2];
    struct write_batch batch;
    char key[2][16];
    int n;
};

static void sent_done(void *arg, int code)
{
    struct sent *s = arg;
    char line[16];
    int n = snprintf(line, sizeof(line), "%d\n", s->n);

    if (code == E_OK && write(STDOUT_FILENO, line, (size_t)n) != n)
        _exit(3);
}

/* Writes pairs of rows, at most 16 batches in flight, telling each acknowledged number. */
static int child_main(const char *dir)
{
    enum { ROUND = 16, ROUNDS = 200 };
    static struct sent sent[ROUND];
    struct bed b;

    memset(&b, 0, sizeof(b));
    clock_real_init(&b.clock);
    b.conf = (struct engine_conf){.dir = dir, .memory_bytes = 16 << 20, .clock = &b.clock};
    bed_ctx(&b);
    if (engine_open(&b.c, "rocks", &b.conf, &b.e) != E_OK)
        return 2;
    for (int i = 0; i < ROUND * ROUNDS; i++) {
        struct sent *s = &sent[i % ROUND];

        s->n = i;
        for (int j = 0; j < 2; j++) {
            snprintf(s->key[j], sizeof(s->key[j]), "%c%06d", 'a' + j, i);
            s->edits[j] = (struct edit){EDIT_PUT, bytes_str(s->key[j]), bytes_str(s->key[j])};
        }
        s->batch = (struct write_batch){.edits = s->edits, .edit_count = 2};
        engine_apply(&b.c, b.e, &s->batch, sent_done, s);
        if (i % ROUND == ROUND - 1)
            bed_barrier(&b);
    }
    engine_close(b.e);
    return 0;
}

/* Runs the child until it dies (by the fault, or killed `kill_ms` after the first answer). Returns
 * the count of acknowledged numbers and marks them. */
static int run_child(struct bed *b, const char *fault, int kill_ms, bool *acked, int max)
{
    int pipes[2], count = 0, n, status;
    FILE *f;
    pid_t child;

    assert_int_equal(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);

        dup2(pipes[1], STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        if (fault)
            setenv("WR_FAULT", fault, 1);
        execl("/proc/self/exe", "rocks_fault_test", "child", b->dir, (char *)NULL);
        _exit(4);
    }
    close(pipes[1]);
    f = fdopen(pipes[0], "r");
    while (fscanf(f, "%d", &n) == 1) {
        if (kill_ms && count == 0) {
            pause_ms(kill_ms);
            kill(child, SIGKILL);
        }
        assert_in_range(n, 0, max - 1);
        acked[n] = true;
        count++;
    }
    fclose(f);
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    return count;
}

static void check_child(const char *fault, int kill_ms)
{
    enum { MAX = 16 * 200 };
    static bool acked[MAX];
    struct bed b;
    int count;

    memset(acked, 0, sizeof(acked));
    bed_init(&b);
    count = run_child(&b, fault, kill_ms, acked, MAX);
    bed_open(&b, "rocks");
    for (int i = 0; i < MAX; i++) {
        char key[2][16];
        bool found[2];

        for (int j = 0; j < 2; j++) {
            snprintf(key[j], sizeof(key[j]), "%c%06d", 'a' + j, i);
            found[j] = strcmp(bed_get(&b, key[j], VIEW_DURABLE), key[j]) == 0;
        }
        assert_true(found[0] == found[1]);
        if (acked[i])
            assert_true(found[0]);
        bed_ctx_again(&b);
    }
    print_message("%s: %d acknowledged, all there\n", fault ? fault : "kill", count);
    bed_release(&b);
}

static void test_crash(void **state)
{
    static const char *const faults[] = {
        "rocks_before_append:crash:50", /* small batches are appended many at a time */
        "rocks_after_append:crash:50",
        "commit_before_sync:crash:20",
        "commit_after_sync_before_watermark:crash:20",
        "commit_after_watermark_before_publish:crash:20",
        "commit_before_complete:crash:20",
        "commit_before_watermark_sync:crash:20",
        "folder_half_made:crash:1",
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(faults); i++)
        check_child(faults[i], 0);
    for (int i = 0; i < 5; i++)
        check_child(NULL, 3 + i * 7);
}

int main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, bed_tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crash),
        T(test_append_fails),
        T(test_sync_fails),
        T(test_watermark_fails),
        T(test_publish_fails),
        T(test_watermark_sync_fails),
        T(test_reopen_fails),
        T(test_reopen_with_pinned_value),
        T(test_reopen_with_snapshot),
        T(test_stall),
        T(test_stall_get_many),
        T(test_stall_lasts),
        T(test_stall_voids),
        T(test_stall_ends),
        T(test_failure_voids),
        T(test_early),
        T(test_unsynced_cap),
        T(test_unsynced_cap_by_memory),
        T(test_disk_nearly_full),
        T(test_full_disk_makes_room),
        T(test_no_sync),
        T(test_drop_fails_half_way),
    };
#undef T

    if (argc == 3 && strcmp(argv[1], "child") == 0)
        return child_main(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("built without faults\n");
    return 0;
}

#endif
