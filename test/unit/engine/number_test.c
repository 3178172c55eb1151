/* Edits that the engine numbers (EDIT_PUT_NUMBERED), on every engine that does: writers race with a
 * reader who follows; on RocksDB also through stalls, failures and kills; on a Ceph pool, if
 * TEST_CEPH_CONF names the configuration of a cluster, through two processes' engines at once and
 * over a repartition. Run with "child DIR RUN", this program is the process that dies. */
#include "bed.h"

#include "base/buf.h"
#include "base/fault.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define PREFIX "log"
#define KEY_BYTES (sizeof(PREFIX) - 1 + NUMBER_BYTES)

enum { WRITERS = 4, TURNS = 240, FLIGHT = 8, LARGE_EDITS = 70, LARGE_BYTES = 40000 };

static const char *engine_name;

static bool is_rados(void)
{
    return strcmp(engine_name, "rados") == 0;
}

static void pool_options(struct bed *b, const char *namespace)
{
    b->options[0] = (struct engine_option){"ceph_conf", getenv("TEST_CEPH_CONF")};
    b->options[1] = (struct engine_option){"pool", "data"};
    b->options[2] = (struct engine_option){"namespace", namespace};
    b->conf.options = b->options;
    b->conf.option_count = 3;
}

static int setup(void **state)
{
    struct bed *b;

    bed_set_up(state, NULL);
    b = *state;
    if (is_rados())
        pool_options(b, b->dir);
    bed_open(b, engine_name);
    return 0;
}

static void rest(void)
{
    nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* ---- what is there */

/* One record: who wrote it, and his turn. */
struct record {
    uint64_t number;
    int writer, turn;
};

/* A page of records behind `after`, at most `max` of them; -1: the engine cannot be asked now. */
static int page_read(struct bed *b, enum engine_view view, uint64_t after, struct record *out,
                     int max, bool *more)
{
    uint8_t start[KEY_BYTES] = PREFIX;
    struct key_range range = {bytes_of(start, sizeof(start)), BYTES_LIT(PREFIX "\xff")};
    struct page page;
    struct scan s = {.ranges = &range,
                     .range_count = 1,
                     .view = view,
                     .items_max = (size_t)max,
                     .bytes_max = 1 << 30,
                     .pages = &page};

    bed_ctx_again(b);
    store_u64_be(start + sizeof(PREFIX) - 1, after + 1);
    if (bed_scan(b, &s) != E_OK)
        return -1;
    for (size_t i = 0; i < page.count; i++) {
        bytes value = page.items[i].value;

        value.len = value.len < 16 ? value.len : 16;
        assert_int_equal(page.items[i].key.len, KEY_BYTES);
        out[i].number = load_u64_be(bytes_u8(page.items[i].key) + sizeof(PREFIX) - 1);
        assert_int_equal(sscanf(arena_printf(&b->c.arena, "%.*s", BYTES_FMT(value)).ptr, "%d %d",
                                &out[i].writer, &out[i].turn),
                         2);
    }
    *more = page.more;
    return (int)page.count;
}

/* All of them. */
static int records_read(struct bed *b, enum engine_view view, uint64_t after, struct record *out,
                        int max)
{
    bool more = true;
    int count = 0;

    while (more && count < max) {
        int n = page_read(b, view, count ? out[count - 1].number : after, out + count, max - count,
                          &more);

        if (n < 0)
            return -1;
        count += n;
    }
    return count;
}

/* ---- one batch after the other */

static int put_numbered(struct bed *b, int turn, size_t count, size_t size,
                        const struct guard *guard)
{
    struct edit *edits = ARENA_ARRAY(&b->c.arena, struct edit, count);
    char *value = arena_zalloc(&b->c.arena, size);

    snprintf(value, size, "0 %d ", turn);
    for (size_t i = 0; i < count; i++)
        edits[i] = (struct edit){EDIT_PUT_NUMBERED, BYTES_LIT(PREFIX), bytes_of(value, size)};
    return bed_apply(
        b, &(struct write_batch){
               .edits = edits, .edit_count = count, .guards = guard, .guard_count = guard != NULL});
}

static void test_order(void **state)
{
    struct bed *b = *state;
    const struct guard holds = {.key = BYTES_LIT("none"), .absent = true},
                       fails = {.key = BYTES_LIT("none"), .value = BYTES_LIT("1")};
    struct record found[100];
    int n;

    assert_int_equal(put_numbered(b, 0, 1, 20, NULL), E_OK);
    assert_int_equal(put_numbered(b, 1, 3, 20, NULL), E_OK);
    assert_int_equal(put_numbered(b, 2, 2, 20, &holds), E_OK);
    assert_int_equal(put_numbered(b, 3, 2, 20, &fails), E_GUARD);
    assert_int_equal(put_numbered(b, 4, 2, LARGE_BYTES, NULL), E_OK);
    if (strcmp(engine_name, "mem") != 0) {
        bed_close(b);
        bed_open(b, engine_name);
    }
    assert_int_equal(put_numbered(b, 5, 1, 20, NULL), E_OK);
    n = records_read(b, VIEW_DURABLE, 0, found, 100);
    assert_int_equal(n, 9);
    for (int i = 0; i < n; i++) {
        static const int turns[] = {0, 1, 1, 1, 2, 2, 4, 4, 5};

        assert_int_equal(found[i].turn, turns[i]);
        assert_true(found[i].number > (i ? found[i - 1].number : 0));
    }
    assert_int_equal(records_read(b, VIEW_LATEST, found[7].number, found, 100), 1);
}

/* What doc/format.md says of the engine's own key: it is there once something was numbered, and has
 * the last number. */
static void test_stored_bytes(void **state)
{
    static const char key[] = "\0\0\0\0\0\0number";
    struct bed *b = *state;
    struct get g = {.key = bytes_of(key, sizeof(key) - 1)};
    struct record found[9];

    if (strcmp(engine_name, "rocks") != 0)
        skip();
    assert_int_equal(bed_put(b, "a", "1"), E_OK);
    assert_int_equal(bed_wait_get(&b->c, b->e, &g), E_OK);
    assert_false(g.found);
    for (int i = 0; i < 3; i++) {
        int n;

        assert_int_equal(put_numbered(b, i, 3, i == 1 ? LARGE_BYTES : 20, NULL), E_OK);
        n = records_read(b, VIEW_DURABLE, 0, found, 9);
        assert_int_equal(n, 3 * (i + 1));
        assert_int_equal(bed_wait_get(&b->c, b->e, &g), E_OK);
        assert_true(g.found);
        assert_int_equal(g.value.len, NUMBER_BYTES);
        assert_int_equal(load_u64_be(bytes_u8(g.value)), found[n - 1].number);
    }
}

/* A number is the time, and goes on above the last one where the clock was set back: while the
 * engine is open, and while it is not. */
static void test_time(void **state)
{
    static const int64_t times[] = {5000000, 5000000, 9000000, 7000000, 2000000, 9500000};
    static const uint64_t numbers[] = {5000000, 5000001, 9000000, 9000001, 9000002, 9500000};
    struct bed *b = *state;
    struct record found[PORT_COUNT(times)];

    clock_set_init(&b->clock, 0);
    for (size_t i = 0; i < PORT_COUNT(times); i++) {
        if (i == 4 && strcmp(engine_name, "mem") != 0) {
            bed_close(b);
            clock_set_step(&b->clock, times[i] - clock_wall_us(&b->clock));
            bed_open(b, engine_name);
        }
        clock_set_step(&b->clock, times[i] - clock_wall_us(&b->clock));
        assert_int_equal(put_numbered(b, (int)i, 1, i == 3 ? LARGE_BYTES : 20, NULL), E_OK);
        assert_int_equal(records_read(b, VIEW_DURABLE, 0, found, PORT_COUNT(times)), i + 1);
        assert_int_equal(found[i].number, numbers[i]);
    }
}

/* The batch's other edits are there with it, and deletions are not taken for puts. */
static void test_beside_others(void **state)
{
    struct bed *b = *state;
    const struct edit edits[] = {{EDIT_PUT, BYTES_LIT("a"), BYTES_LIT("1")},
                                 {EDIT_PUT_NUMBERED, BYTES_LIT(PREFIX), BYTES_LIT("0 0 ")},
                                 {EDIT_DELETE, BYTES_LIT("b"), BYTES_NONE}};
    const struct guard guard = {.key = BYTES_LIT("c"), .absent = true};
    struct record found[10];

    for (int guarded = 0; guarded < 2; guarded++) {
        assert_int_equal(bed_put(b, "b", "1"), E_OK);
        assert_int_equal(bed_delete(b, "a"), E_OK);
        assert_int_equal(bed_apply(b, &(struct write_batch){.edits = edits,
                                                            .edit_count = 3,
                                                            .guards = &guard,
                                                            .guard_count = (size_t)guarded}),
                         E_OK);
        bed_expect(b, "a", "1");
        bed_expect(b, "b", "-");
        assert_int_equal(records_read(b, VIEW_DURABLE, 0, found, 10), guarded + 1);
    }
}

/* ---- writers and a follower */

struct race;

struct flight {
    struct race *race;
    int writer, turn;
    char *value;
    struct edit edits[LARGE_EDITS];
    struct guard guard;
};

struct race {
    struct bed *b;
    struct engine *second; /* another process', of every other writer; NULL: there is none */
    int first;             /* of the turns */
    bool stalls;           /* RocksDB stalls now and then */
    atomic_int under_way[WRITERS], writers;
    int codes[WRITERS][TURNS];
    size_t counts[WRITERS][TURNS]; /* of records that turn writes */
    void (*told)(int writer, int turn);
};

static void flight_done(void *arg, int code)
{
    struct flight *f = arg;
    struct race *r = f->race;
    int writer = f->writer;

    r->codes[writer][f->turn] = code;
    if (code == E_OK && r->told)
        r->told(writer, f->turn);
    mem_free(f->value);
    mem_free(f);
    atomic_fetch_sub(&r->under_way[writer], 1);
}

/* Writer 0 sends small batches, 1 guarded ones of which every third fails, 2 batches of many edits
 * or of much, 3 all in turn. */
static void flight_send(struct race *r, int writer, int turn)
{
    struct flight *f = mem_zalloc(sizeof(*f));
    int kind = writer < 3 ? writer : turn % 3;
    size_t count = kind == 2 ? (turn % 2 ? LARGE_EDITS : 2) : 1 + (size_t)turn % 3;
    size_t size = kind == 2 && turn % 2 == 0 ? LARGE_BYTES : 32;
    struct write_batch batch = {.edits = f->edits, .edit_count = count};
    struct ctx c;

    f->race = r;
    f->writer = writer;
    f->turn = turn;
    f->value = mem_zalloc(size);
    snprintf(f->value, size, "%d %d ", writer, r->first + turn);
    for (size_t i = 0; i < count; i++)
        f->edits[i] = (struct edit){EDIT_PUT_NUMBERED, BYTES_LIT(PREFIX), bytes_of(f->value, size)};
    if (kind == 1) {
        f->guard = (struct guard){.key = BYTES_LIT("none"), .absent = turn % 3 != 0};
        batch.guards = &f->guard;
        batch.guard_count = 1;
    }
    r->counts[writer][turn] = count;
    atomic_fetch_add(&r->under_way[writer], 1);
    ctx_init(&c, &r->b->clock, &r->b->log, NULL, 0);
    batch.partition = r->b->partition;
    engine_apply(&c, r->second && writer % 2 ? r->second : r->b->e, &batch, flight_done, f);
    ctx_release(&c);
}

struct writer {
    struct race *race;
    int number;
    pthread_t thread;
};

static bool is_writable(struct bed *b)
{
    struct engine_stat stat;

    engine_stat(b->e, &stat);
    return stat.writable;
}

static void *writer_main(void *arg)
{
    struct writer *w = arg;
    struct race *r = w->race;

    for (int turn = 0; turn < TURNS; turn++) {
        while (atomic_load(&r->under_way[w->number]) >= FLIGHT || !is_writable(r->b))
            rest();
        flight_send(r, w->number, turn);
    }
    while (atomic_load(&r->under_way[w->number]))
        rest();
    atomic_fetch_sub(&r->writers, 1);
    return NULL;
}

static void race_start(struct race *r, struct writer *writers)
{
    atomic_store(&r->writers, WRITERS);
    for (int i = 0; i < WRITERS; i++) {
        writers[i].race = r;
        writers[i].number = i;
        assert_int_equal(pthread_create(&writers[i].thread, NULL, writer_main, &writers[i]), 0);
    }
}

enum { RECORDS_MAX = WRITERS * TURNS * LARGE_EDITS };

/* Reads on behind the last number until the writers have ended and nothing more is there. */
static int follow(struct race *r, struct record *seen)
{
    int count = 0;
    bool ended;

    for (int pass = 0;; pass++) {
        int n;

#ifdef WR_FAULTS
        if (r->stalls)
            fault_arm(pass % 8 < 4 ? "rocks_stall:error:1+" : NULL);
#endif
        /* Before the read that then finds all, also what an unsure batch left. */
        ended = !atomic_load(&r->writers) && is_writable(r->b);
        n = records_read(r->b, VIEW_DURABLE, count ? seen[count - 1].number : 0, seen + count,
                         RECORDS_MAX - count + 1);
        if (n > 0)
            count += n;
        assert_in_range(count, 0, RECORDS_MAX);
        if (ended && n == 0)
            return count;
        if (n <= 0)
            rest();
    }
}

/* What acknowledged batches wrote was seen once, whole and in the order of their sending, and what
 * is there now is what was seen. */
static void race_check(struct race *r, const struct record *seen, int count)
{
    struct record *found = mem_alloc(sizeof(*found) * (RECORDS_MAX + 1));
    size_t *counts = mem_zalloc(sizeof(*counts) * WRITERS * TURNS);
    int last[WRITERS] = {0}, acked = 0;

    assert_int_equal(records_read(r->b, VIEW_LATEST, 0, found, RECORDS_MAX + 1), count);
    assert_memory_equal(found, seen, sizeof(*found) * (size_t)count);
    for (int i = 0; i < count; i++) {
        int writer = seen[i].writer, turn = seen[i].turn;

        assert_true(i == 0 || seen[i].number > seen[i - 1].number);
        assert_true(turn >= last[writer]);
        last[writer] = turn;
        counts[writer * TURNS + turn]++;
    }
    for (int w = 0; w < WRITERS; w++)
        for (int t = 0; t < TURNS; t++) {
            size_t n = counts[w * TURNS + t];
            int code = r->codes[w][t];

            assert_true(n == r->counts[w][t] || (n == 0 && code != E_OK));
            assert_true(n == 0 || code == E_OK || code == E_UNSURE);
            acked += code == E_OK;
        }
    assert_true(acked > 0);
    mem_free(counts);
    mem_free(found);
}

static void race_run(struct bed *b, struct engine *second, bool stalls)
{
    struct race *r = mem_zalloc(sizeof(*r));
    struct record *seen = mem_alloc(sizeof(*seen) * (RECORDS_MAX + 1));
    struct writer writers[WRITERS];
    int count;

    r->b = b;
    r->second = second;
    r->stalls = stalls;
    race_start(r, writers);
    count = follow(r, seen);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
    race_check(r, seen, count);
    mem_free(seen);
    mem_free(r);
}

static void test_race(void **state)
{
    race_run(*state, NULL, false);
}

/* ---- a pool */

/* Two processes write to one partition, the clock of one of them behind. */
static void test_two_processes(void **state)
{
    struct bed *b = *state, other;

    if (!is_rados())
        skip();
    bed_init(&other);
    pool_options(&other, b->dir);
    clock_set_init(&other.clock, 0);
    clock_set_step(&other.clock, clock_wall_us(&b->clock) - 30000000);
    bed_open(&other, engine_name);
    race_run(b, other.e, false);
    bed_release(&other);
}

/* Numbers of new partitions are above those of the old ones, whatever the clock says. */
static void test_repartitioned(void **state)
{
    static const char middle[] = PREFIX "\x7f", end[] = PREFIX "\xff";
    const struct key_range whole = {BYTES_LIT(PREFIX), bytes_str(end)},
                           low = {BYTES_LIT(PREFIX), bytes_str(middle)},
                           high = {bytes_str(middle), bytes_str(end)};
    const struct partition_spec one = {1, &whole, 1}, parts[] = {{2, &low, 1}, {3, &high, 1}},
                                again = {4, &whole, 1};
    struct bed *b = *state;
    struct record found[10];

    if (!is_rados())
        skip();
    clock_set_init(&b->clock, 0);
    clock_set_step(&b->clock, 9000000);
    assert_int_equal(engine_create(&b->c, b->e, &one, 1), E_OK);
    b->partition = 1;
    assert_int_equal(put_numbered(b, 0, 3, 20, NULL), E_OK);
    clock_set_step(&b->clock, -5000000);
    assert_int_equal(engine_repartition(&b->c, b->e, &one, 1, parts, 2), E_OK);
    assert_int_equal(put_numbered(b, 1, 1, 20, NULL), E_PARTITION);
    b->partition = 2;
    assert_int_equal(put_numbered(b, 2, 2, 20, NULL), E_OK);
    assert_int_equal(engine_repartition(&b->c, b->e, parts, 2, &again, 1), E_OK);
    b->partition = 4;
    assert_int_equal(put_numbered(b, 3, 1, 20, NULL), E_OK);
    assert_int_equal(records_read(b, VIEW_DURABLE, 0, found, 10), 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(found[i].number, 9000000 + i);
}

#ifdef WR_FAULTS

/* Batches go through the stall queue, and past it, in turn. */
static void test_race_stalls(void **state)
{
    if (strcmp(engine_name, "rocks") != 0)
        skip();
    race_run(*state, NULL, true);
}

/* A batch that was given up in the stall queue leaves a gap. */
static void test_given_up(void **state)
{
    struct bed *b = *state;
    struct record found[10];

    if (strcmp(engine_name, "rocks") != 0)
        skip();
    assert_int_equal(put_numbered(b, 0, 1, 20, NULL), E_OK);
    fault_arm("rocks_stall:error:1+");
    assert_int_equal(put_numbered(b, 1, 1, 20, NULL), E_BUSY);
    fault_arm(NULL);
    assert_int_equal(put_numbered(b, 2, 1, 20, NULL), E_OK);
    assert_int_equal(records_read(b, VIEW_DURABLE, 0, found, 10), 2);
    assert_int_equal(found[1].turn, 2);
    assert_true(found[1].number - found[0].number >= 2);
}

static void test_race_failure(void **state)
{
    if (strcmp(engine_name, "rocks") != 0)
        skip();
    fault_arm("commit_before_sync:error:5");
    race_run(*state, NULL, false);
}

static void test_race_append_failure(void **state)
{
    if (strcmp(engine_name, "rocks") != 0)
        skip();
    fault_arm("rocks_before_append:error:9");
    race_run(*state, NULL, false);
}

/* ---- kills */

static void tell(int writer, int turn)
{
    char line[32];
    int n = snprintf(line, sizeof(line), "%d %d\n", writer, turn);

    if (write(STDOUT_FILENO, line, (size_t)n) != n)
        _exit(3);
}

static int child_main(const char *dir, int run)
{
    struct race *r = mem_zalloc(sizeof(*r));
    struct writer writers[WRITERS];
    struct bed b;

    memset(&b, 0, sizeof(b));
    clock_real_init(&b.clock);
    b.conf = (struct engine_conf){.dir = dir, .memory_bytes = 16 << 20, .clock = &b.clock};
    bed_ctx(&b);
    if (engine_open(&b.c, "rocks", &b.conf, &b.e) != E_OK)
        return 2;
    r->b = &b;
    r->first = run * TURNS;
    r->told = tell;
    race_start(r, writers);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
    engine_close(b.e);
    return 0;
}

/* Runs a child that is killed by a fault, and marks what it acknowledged. */
static void child_run(const char *dir, int run, const char *fault, bool *acked)
{
    int pipes[2], writer, turn, status;
    char number[16];
    pid_t child;
    FILE *f;

    snprintf(number, sizeof(number), "%d", run);
    assert_int_equal(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);

        dup2(pipes[1], STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        setenv("WR_FAULT", fault, 1);
        execl("/proc/self/exe", "number_test", "child", dir, number, (char *)NULL);
        _exit(4);
    }
    close(pipes[1]);
    f = fdopen(pipes[0], "r");
    while (fscanf(f, "%d %d", &writer, &turn) == 2)
        acked[writer * TURNS + turn] = true;
    fclose(f);
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
}

/* Each life's records stand behind those of all lives before, which stay as they were. */
static void test_kills(void **state)
{
    static const char *const faults[] = {
        "rocks_after_append:crash:30",
        "commit_before_sync:crash:12",
        "commit_after_sync_before_watermark:crash:12",
        "commit_before_complete:crash:12",
    };
    enum { RUNS = PORT_COUNT(faults), MAX = RUNS * RECORDS_MAX };
    struct record *found = mem_alloc(sizeof(*found) * (MAX + 1)), *before;
    int known = 0;
    struct bed b;

    (void)state;
    before = mem_zalloc(sizeof(*before) * (MAX + 1));
    bed_init(&b);
    for (int run = 0; run < RUNS; run++) {
        bool acked[WRITERS * TURNS] = {0};
        int n;

        child_run(b.dir, run, faults[run], acked);
        bed_open(&b, "rocks");
        n = records_read(&b, VIEW_DURABLE, 0, found, MAX + 1);
        assert_true(n >= known);
        assert_memory_equal(found, before, sizeof(*found) * (size_t)known);
        for (int i = known; i < n; i++) {
            assert_int_equal(found[i].turn / TURNS, run);
            acked[found[i].writer * TURNS + found[i].turn % TURNS] = false;
        }
        for (size_t i = 0; i < PORT_COUNT(acked); i++)
            assert_false(acked[i]);
        known = n;
        memcpy(before, found, sizeof(*found) * (size_t)n);
        bed_close(&b);
    }
    assert_true(known > 0);
    bed_open(&b, "rocks");
    bed_release(&b);
    mem_free(before);
    mem_free(found);
}

#endif

int main(int argc, char **argv)
{
    static const char *const names[] = {"mem", "rocks", "rados"};
    int failed = 0;

#define T(f) cmocka_unit_test_setup_teardown(f, setup, bed_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_order),         T(test_beside_others),
        T(test_stored_bytes),  T(test_time),
        T(test_race),          T(test_two_processes),
        T(test_repartitioned),
#ifdef WR_FAULTS
        T(test_race_stalls),   T(test_given_up),
        T(test_race_failure),  T(test_race_append_failure),
#endif
    };
#undef T

#ifdef WR_FAULTS
    const struct CMUnitTest kills[] = {cmocka_unit_test(test_kills)};

    if (argc == 4 && strcmp(argv[1], "child") == 0)
        return child_main(argv[2], atoi(argv[3]));
    failed += cmocka_run_group_tests_name("kills", kills, NULL, NULL);
#else
    (void)argc;
    (void)argv;
#endif
    for (size_t i = 0; i < PORT_COUNT(names); i++) {
        engine_name = names[i];
        if (is_rados() && !getenv("TEST_CEPH_CONF"))
            continue; /* the suite `rados` of test/run.sh has one */
        failed += cmocka_run_group_tests_name(names[i], tests, NULL, NULL);
    }
    return failed;
}
