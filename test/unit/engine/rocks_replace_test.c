/* Another file takes a damaged one's place: beside those who read, scan, keep views and make
 * copies, with bulks behind it, and with a kill in between. */
#include "damage_bed.h"

#include "engine/rocks.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* ---- readers while another file takes the damaged one's place */

struct readers {
    struct bed *b;
    const struct key_range *gap;
    atomic_bool stop;
    atomic_ullong good, away, wrong;
};

/* A row in the gap may be refused, be there or be gone; each other one is there, except while
 * storage is opened again. */
static bool answer_is_right(const struct readers *r, struct ctx *c, const struct get *g, int row)
{
    if (lies_in(g->key, r->gap) && (g->code == E_CORRUPT || (g->code == E_OK && !g->found)))
        return true;
    return g->code == E_OK && g->found && bytes_equal(g->value, row_value(c, row));
}

static void *read_rows(void *arg)
{
    struct readers *r = arg;
    struct bed own = {.lock = PTHREAD_MUTEX_INITIALIZER}; /* of which only the context is used */
    struct rng rng;

    rng_init(&rng, (uint64_t)(uintptr_t)&own);
    clock_real_init(&own.clock);
    own.log = (struct log){.level = 'E', .sink = bed_sink, .arg = &own, .clock = &own.clock};
    while (!atomic_load(&r->stop)) {
        int row = (int)rng_below(&rng, LAYER_ROWS);
        struct get g = {0};

        bed_ctx(&own);
        g.key = layer_key(&own, row);
        g.code = bed_wait_get(&own.c, r->b->e, &g);
        if (g.code == E_UNAVAILABLE) {
            atomic_fetch_add(&r->away, 1);
            usleep(1000);
        } else if (answer_is_right(r, &own.c, &g, row))
            atomic_fetch_add(&r->good, 1);
        else
            atomic_fetch_add(&r->wrong, 1);
        ctx_release(&own.c);
    }
    return NULL;
}

static void test_readers_while_a_file_is_replaced(void **state)
{
    struct readers readers = {0};
    pthread_t threads[3];
    struct key_range gap;
    char name[300];
    struct ctx c;
    struct bed b;

    (void)state;
    ctx_init(&c, NULL, NULL, NULL, 0);
    bed_init(&b);
    meet_damage(&b, &c, name, &gap);
    forget_logged(&b);
    readers.b = &b;
    readers.gap = &gap;
    for (size_t i = 0; i < PORT_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_rows, &readers), 0);
    while (!atomic_load(&readers.good))
        usleep(1000);
    erase_gap(&b, &gap);
    wait_logged(&b, "another file is in its place");
    wait_logged(&b, "open again, writes go on");
    for (uint64_t before = atomic_load(&readers.good); atomic_load(&readers.good) < before + 100;)
        usleep(1000);
    atomic_store(&readers.stop, true);
    for (size_t i = 0; i < PORT_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    print_message("%llu right answers, %llu while storage was opened again\n",
                  (unsigned long long)readers.good, (unsigned long long)readers.away);
    assert_int_equal(atomic_load(&readers.wrong), 0);
    expect_rows(&b, &gap);
    bed_release(&b);
    ctx_release(&c);
}

/* ---- scans, views that are kept, and copies meanwhile */

#define SCAN_ITEMS 97
#define VIEWS_KEPT 8

struct scanners {
    struct bed *b;
    const struct key_range *gap;
    atomic_bool stop;
    atomic_ullong passes, refused, wrong;
    atomic_ullong copies, copies_refused;
};

static void scanner_wrong(struct scanners *s, const char *what, int row)
{
    print_error("%s, row %d\n", what, row);
    atomic_fetch_add(&s->wrong, 1);
}

/* The rows from *next on (down to it, backwards) that a page passed over lie in the gap. */
static void check_page(struct scanners *s, struct bed *own, const struct page *page, bool backward,
                       int *next)
{
    int step = backward ? -1 : 1;

    for (size_t i = 0; i < page->count; i++) {
        int row = atoi((const char *)page->items[i].key.ptr + 3);

        for (; *next != row && *next >= 0 && *next < LAYER_ROWS; *next += step)
            if (!lies_in(layer_key(own, *next), s->gap))
                scanner_wrong(s, "it is missing from a page", *next);
        if (*next != row || !bytes_equal(page->items[i].value, row_value(&own->c, row)))
            scanner_wrong(s, "it is not as it was, or came twice", row);
        *next += step;
    }
}

/* All rows, page by page, at one moment. False: it was refused on the way. */
static bool scan_all(struct scanners *s, struct bed *own, struct snapshot *at, bool backward)
{
    static const char all_keys[] = "row", behind_keys[] = "rox";
    bytes start = bytes_str(all_keys), end = bytes_str(behind_keys);
    int next = backward ? LAYER_ROWS - 1 : 0;

    for (;;) {
        struct key_range range = {start, end};
        struct page page = {0};
        struct scan scan = {.ranges = &range,
                            .range_count = 1,
                            .view = VIEW_DURABLE,
                            .snapshot = at,
                            .backward = backward,
                            .items_max = SCAN_ITEMS,
                            .bytes_max = SIZE_MAX,
                            .pages = &page};
        int code = bed_scan(own, &scan);

        if (code != E_OK) {
            if (code != E_UNAVAILABLE && code != E_BUSY && code != E_CORRUPT)
                scanner_wrong(s, err_info(code)->name, next);
            return false;
        }
        check_page(s, own, &page, backward, &next);
        if (!page.more)
            break;
        if (backward)
            end = page.items[page.count - 1].key;
        else
            start = rocks_key_behind(&own->c.arena, page.items[page.count - 1].key);
    }
    for (; next >= 0 && next < LAYER_ROWS; next += backward ? -1 : 1)
        if (!lies_in(layer_key(own, next), s->gap))
            scanner_wrong(s, "it is missing at the end", next);
    return true;
}

static void own_bed(struct bed *own, struct bed *b)
{
    *own = (struct bed){.lock = PTHREAD_MUTEX_INITIALIZER, .e = b->e};
    clock_real_init(&own->clock);
    own->log = (struct log){.level = 'E', .sink = bed_sink, .arg = own, .clock = &own->clock};
    bed_ctx(own);
}

static void *scan_rows(void *arg)
{
    struct scanners *s = arg;
    struct bed own;

    own_bed(&own, s->b);
    for (int i = 0; !atomic_load(&s->stop); i++) {
        struct snapshot *at = NULL;

        bed_ctx_again(&own);
        if (engine_snapshot(&own.c, own.e, NULL, &at) == E_OK &&
            scan_all(s, &own, at, i % 2 == 1)) {
            atomic_fetch_add(&s->passes, 1);
        } else {
            atomic_fetch_add(&s->refused, 1);
            usleep(1000);
        }
        snapshot_release(at);
    }
    ctx_release(&own.c);
    return NULL;
}

/* A copy that is made has no damage that it does not tell of, and all rows. */
static void *copy_rows(void *arg)
{
    struct scanners *s = arg;
    struct bed own;

    own_bed(&own, s->b);
    while (!atomic_load(&s->stop)) {
        struct bed copy;
        int code;

        bed_init(&copy);
        folder_remove(copy.dir);
        bed_ctx_again(&own);
        code = engine_checkpoint(&own.c, own.e, copy.dir);
        if (code == E_OK) {
            struct engine_conf check = {.dir = "", .clock = &own.clock};

            bed_ctx_again(&own);
            code = engine_restore(&own.c, "rocks", &check, copy.dir);
        }
        if (code == E_OK) {
            bed_open(&copy, "rocks");
            copy.partition = s->b->partition;
            if (!scan_all(s, &copy, NULL, false))
                scanner_wrong(s, "a copy that was found whole is not", 0);
            atomic_fetch_add(&s->copies, 1);
        } else {
            if (code != E_CORRUPT && code != E_UNAVAILABLE && code != E_BUSY)
                scanner_wrong(s, own.c.text, 0);
            atomic_fetch_add(&s->copies_refused, 1);
        }
        bed_release(&copy);
        usleep(1000);
    }
    ctx_release(&own.c);
    return NULL;
}

/* Views that nobody gives back keep neither the damaged file nor writers waiting. */
static void test_scans_while_a_file_is_replaced(void **state)
{
    struct scanners s = {0};
    struct snapshot *kept[VIEWS_KEPT] = {0};
    pthread_t threads[4];
    struct key_range gap;
    char name[300];
    struct ctx c, holder;
    struct bed b;
    unsigned long long passes, copies;

    (void)state;
    ctx_init(&c, NULL, NULL, NULL, 0);
    bed_init(&b);
    meet_damage(&b, &c, name, &gap);
    ctx_init(&holder, &b.clock, NULL, NULL, 0);
    for (int i = 0; i < VIEWS_KEPT; i++)
        assert_int_equal(engine_snapshot(&holder, b.e, NULL, &kept[i]), E_OK);
    forget_logged(&b);
    s.b = &b;
    s.gap = &gap;
    for (size_t i = 0; i < PORT_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL,
                                        i + 1 < PORT_COUNT(threads) ? scan_rows : copy_rows, &s),
                         0);
    while (!atomic_load(&s.refused) || !atomic_load(&s.copies_refused))
        usleep(1000);
    erase_gap(&b, &gap);
    wait_logged(&b, "another file is in its place");
    wait_logged(&b, "open again, writes go on");
    assert_int_not_equal(access(bed_path(&b, name), F_OK), 0);
    passes = atomic_load(&s.passes);
    copies = atomic_load(&s.copies);
    while (atomic_load(&s.passes) < passes + 30 || atomic_load(&s.copies) < copies + 2)
        usleep(1000);
    atomic_store(&s.stop, true);
    for (size_t i = 0; i < PORT_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    print_message("%llu passes, %llu refused, %llu copies, %llu refused\n", s.passes, s.refused,
                  s.copies, s.copies_refused);
    assert_int_equal(atomic_load(&s.wrong), 0);
    for (int i = 0; i < VIEWS_KEPT; i++)
        snapshot_release(kept[i]);
    expect_rows(&b, &gap);
    ctx_release(&holder);
    bed_release(&b);
    ctx_release(&c);
}

/* ---- bulks where another file stands in */

static int bulk_try(struct bed *b, bytes key)
{
    struct bulk *bulk;
    int code;

    bed_ctx_again(b);
    code = engine_bulk(&b->c, b->e, 1, &bulk);
    if (code != E_OK)
        return code;
    code = bulk_put(&b->c, bulk, key, BYTES_LIT("large"));
    if (code == E_OK)
        code = bulk_finish(&b->c, bulk);
    bulk_close(bulk);
    return code;
}

/* What the range tombstone of a repair, or of an erasure, covers takes bulks again. */
static void wait_bulk(struct bed *b, const char *key)
{
    int code = bulk_try(b, bytes_str(key));

    for (int i = 0; i < 2000 && code != E_OK; i++) {
        usleep(10000);
        code = bulk_try(b, bytes_str(key));
    }
    if (code != E_OK)
        print_error("%s\n", b->c.text);
    assert_int_equal(code, E_OK);
    bed_expect(b, key, "large");
}

static void test_bulk_where_a_file_was_replaced(void **state)
{
    struct key_range gap;
    char name[300];
    struct ctx c;
    struct bed b;

    (void)state;
    ctx_init(&c, NULL, NULL, NULL, 0);
    bed_init(&b);
    meet_damage(&b, &c, name, &gap);
    forget_logged(&b);
    erase_gap(&b, &gap);
    wait_logged(&b, "another file is in its place");
    wait_logged(&b, "open again, writes go on");
    wait_bulk(&b, arena_printf(&c.arena, "%.*s-new", BYTES_FMT(gap.start)).ptr);
    expect_rows(&b, &gap);
    bed_release(&b);
    ctx_release(&c);
}

/* Somebody's view keeps the tombstone until all is in the last level, where compaction passes over
 * it. */
static void test_bulk_where_much_was_erased(void **state)
{
    const struct key_range range = {BYTES_LIT("big"), BYTES_LIT("bih")};
    const struct partition_spec p = {.id = 1, .ranges = &range, .range_count = 1};
    struct snapshot *kept;
    struct ctx holder;
    struct bed b;

    (void)state;
    bed_init(&b);
    bed_open(&b, "rocks");
    bed_fill(&b, "big", 0, 12000, 100);
    ctx_init(&holder, &b.clock, NULL, NULL, 0);
    assert_int_equal(engine_snapshot(&holder, b.e, NULL, &kept), E_OK);
    assert_int_equal(engine_erase(&b.c, b.e, &p), E_OK);
    assert_int_not_equal(bulk_try(&b, BYTES_LIT("big000007-new")), E_OK);
    snapshot_release(kept);
    wait_bulk(&b, "big000007-new");
    ctx_release(&holder);
    bed_release(&b);
}

/* ---- a kill between */

#define KILLED "killed" /* as the first argument: this is the process that dies */

/* What it tells before. */
struct killed {
    char name[300];
    size_t lens[2];
    char keys[2][64]; /* of the gap */
};

/* With WR_FAULT. */
static int be_killed(const char *dir)
{
    struct killed k = {0};
    struct key_range gap;
    struct ctx c;
    struct bed b;

    ctx_init(&c, NULL, NULL, NULL, 0);
    bed_init(&b);
    folder_remove(b.dir);
    snprintf(b.dir, sizeof(b.dir), "%s", dir);
    meet_damage(&b, &c, k.name, &gap);
    k.lens[0] = gap.start.len;
    k.lens[1] = gap.end.len;
    if (gap.start.len > sizeof(k.keys[0]) || gap.end.len > sizeof(k.keys[1]))
        return 1;
    memcpy(k.keys[0], gap.start.ptr, gap.start.len);
    memcpy(k.keys[1], gap.end.ptr, gap.end.len);
    if (write(STDOUT_FILENO, &k, sizeof(k)) != sizeof(k))
        return 1;
    erase_gap(&b, &gap);
    wait_logged(&b, "another file is in its place");
    return 2;
}

/* What is written to standard output while a folder is filled goes to the other end. */
static struct killed run_killed(struct bed *b, const char *fault)
{
    struct killed k = {0};
    int pipes[2], status;
    pid_t child;

    assert_int_equal(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        struct rlimit no_core = {0, 0};

        setrlimit(RLIMIT_CORE, &no_core);
        dup2(pipes[1], STDOUT_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        setenv("WR_FAULT", fault, 1);
        execl("/proc/self/exe", "rocks_replace_test", KILLED, b->dir, (char *)NULL);
        _exit(4);
    }
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &k, sizeof(k)), sizeof(k));
    close(pipes[0]);
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    return k;
}

/* Another file was taken over, and the damaged one is still on the list: both are there, what was
 * erased stays so, and when compaction comes upon the damage again, it is done again. */
static void test_killed_before_the_damaged_file_goes(void **state)
{
    struct key_range gap;
    struct killed k;
    struct bed b;

    (void)state;
#ifndef WR_FAULTS
    skip();
#endif
    bed_init(&b);
    k = run_killed(&b, "replace_before_drop:crash:1");
    gap.start = bytes_of(k.keys[0], k.lens[0]);
    gap.end = bytes_of(k.keys[1], k.lens[1]);
    assert_int_equal(access(bed_path(&b, k.name), F_OK), 0);
    bed_open(&b, "rocks");
    expect_rows(&b, &gap);
    wait_logged(&b, "another file is in its place");
    wait_logged(&b, "open again, writes go on");
    assert_null(strstr(b.logged, "nothing is compacted until"));
    expect_rows(&b, &gap);
    assert_int_not_equal(access(bed_path(&b, k.name), F_OK), 0);
    bed_release(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readers_while_a_file_is_replaced),
        cmocka_unit_test(test_scans_while_a_file_is_replaced),
        cmocka_unit_test(test_bulk_where_a_file_was_replaced),
        cmocka_unit_test(test_bulk_where_much_was_erased),
        cmocka_unit_test(test_killed_before_the_damaged_file_goes),
    };

    if (argc == 3 && strcmp(argv[1], KILLED) == 0)
        return be_killed(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
