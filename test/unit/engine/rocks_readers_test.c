/* Reads that wait for the disk: what is asked for at once and what later, how many are under way,
 * and that nobody waits for another client's. */
#include "bed.h"

#include "base/fault.h"
#include "base/rng.h"
#include "base/turn.h"
#include "engine/rocks.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>

#define ROWS 800
#define VALUE_BYTES 4000  /* some four to a block, and nothing that could be compressed */
#define STEP 8            /* rows between two that are never in one block */
#define READERS_OF_ONE 31 /* of the threads for single records, what one client gets */

static bytes row_key(char *text, int n)
{
    snprintf(text, 16, "row%06d", n);
    return bytes_str(text);
}

/* All rows on disk, and none of them in memory. */
static int set_up(void **state)
{
    static char value[VALUE_BYTES + 1];
    struct rng rng;
    struct bed *b;
    char key[16];

    rng_init(&rng, 7);
    bed_set_up(state, "rocks");
    b = *state;
    for (int i = 0; i < ROWS; i++) {
        for (int at = 0; at < VALUE_BYTES; at++)
            value[at] = (char)('!' + rng_below(&rng, 90));
        value[snprintf(value, 16, "%d", i)] = ' ';
        row_key(key, i);
        assert_int_equal(bed_put(b, key, value), E_OK);
    }
    bed_close(b);
    bed_open(b, "rocks");
    return 0;
}

/* A read of a client's request. */
struct ask {
    struct ctx c;
    struct turn turn;
    struct get get;
    char key[16];
    struct crowd *crowd; /* its completion waits there; NULL: it does not */
    struct bed_wait w;
};

/* Completions that hold their threads, as a disk that does not answer would. */
struct crowd {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    int held;
    bool open;
};

static void crowd_wait(struct crowd *crowd, int held)
{
    pthread_mutex_lock(&crowd->lock);
    while (crowd->held < held)
        pthread_cond_wait(&crowd->cond, &crowd->lock);
    pthread_mutex_unlock(&crowd->lock);
}

static void crowd_open(struct crowd *crowd)
{
    pthread_mutex_lock(&crowd->lock);
    crowd->open = true;
    pthread_cond_broadcast(&crowd->cond);
    pthread_mutex_unlock(&crowd->lock);
}

static void ask_done(struct get *g)
{
    struct ask *a = PORT_CONTAINER(g, struct ask, get);

    if (a->crowd) {
        pthread_mutex_lock(&a->crowd->lock);
        a->crowd->held++;
        pthread_cond_broadcast(&a->crowd->cond);
        while (!a->crowd->open)
            pthread_cond_wait(&a->crowd->cond, &a->crowd->lock);
        pthread_mutex_unlock(&a->crowd->lock);
    }
    bed_wait_done(&a->w, g->code);
}

static void ask_init(struct bed *b, struct ask *a, uint64_t client, int row)
{
    memset(a, 0, sizeof(*a));
    a->w = (struct bed_wait)BED_WAIT;
    ctx_init(&a->c, &b->clock, &b->log, NULL, 0);
    a->turn.client = client;
    a->c.turn = &a->turn;
    a->get = (struct get){.key = row_key(a->key, row), .view = VIEW_DURABLE, .done = ask_done};
}

static void ask_check(const struct ask *a, int row)
{
    assert_int_equal(a->get.code, E_OK);
    assert_true(a->get.found);
    assert_int_equal(a->get.value.len, VALUE_BYTES);
    assert_int_equal(atoi(a->get.value.ptr), row);
}

static void test_later_and_then_at_once(void **state)
{
    struct bed *b = *state;
    struct ask cold, warm;

    ask_init(b, &cold, 1, 3);
    assert_int_equal(engine_get(&cold.c, b->e, &cold.get), E_LATER);
    assert_int_equal(bed_wait(&cold.w), E_OK);
    ask_check(&cold, 3);
    ask_init(b, &warm, 1, 3);
    assert_int_equal(engine_get(&warm.c, b->e, &warm.get), E_OK);
    ask_check(&warm, 3);
    ctx_release(&cold.c);
    ctx_release(&warm.c);
}

/* A thread of its own may wait. */
static void test_without_a_turn(void **state)
{
    struct bed *b = *state;
    struct ask a;

    ask_init(b, &a, 1, 5);
    a.c.turn = NULL;
    assert_int_equal(engine_get(&a.c, b->e, &a.get), E_OK);
    ask_check(&a, 5);
    ctx_release(&a.c);
}

/* So may one that says so, though the request has turns. */
static void test_waits_here(void **state)
{
    struct bed *b = *state;
    struct page page = {0};
    struct key_range range = {BYTES_LIT("r"), BYTES_LIT("s")};
    struct scan scan = {.view = VIEW_DURABLE,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = ROWS,
                        .bytes_max = SIZE_MAX,
                        .pages = &page};
    struct ask a;

    ask_init(b, &a, 1, 3);
    a.c.deadline_ms = 1;
    turn_wait_here(true);
    assert_int_equal(engine_get(&a.c, b->e, &a.get), E_BUSY);
    ctx_clear(&a.c);
    a.c.deadline_ms = 0;
    assert_int_equal(engine_get(&a.c, b->e, &a.get), E_OK);
    ask_check(&a, 3);
    assert_int_equal(engine_scan(&a.c, b->e, &scan), E_OK);
    assert_true(page.count > 0);
    turn_wait_here(false);
    ctx_release(&a.c);
}

static void test_past_the_deadline(void **state)
{
    struct bed *b = *state;
    struct ask a;

    ask_init(b, &a, 1, 5);
    a.c.deadline_ms = 1;
    assert_int_equal(engine_get(&a.c, b->e, &a.get), E_LATER);
    assert_int_equal(bed_wait(&a.w), E_BUSY);
    ctx_release(&a.c);
}

/* While all threads that one client gets are held by a disk that does not answer, what is in memory
 * is answered at once, and another client's cold read is. */
static void test_nobody_waits_for_another(void **state)
{
    enum { ASKED = READERS_OF_ONE + 20 };
    struct bed *b = *state;
    struct crowd crowd = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    struct ask *asks = mem_zalloc(sizeof(*asks) * ASKED), warm, other;
    struct engine_stat stat;

    ask_init(b, &warm, 1, 0);
    assert_int_equal(engine_get(&warm.c, b->e, &warm.get), E_LATER);
    assert_int_equal(bed_wait(&warm.w), E_OK);
    ctx_release(&warm.c);
    for (int i = 0; i < ASKED; i++) {
        ask_init(b, &asks[i], 1, (i + 1) * STEP);
        asks[i].crowd = &crowd;
        assert_int_equal(engine_get(&asks[i].c, b->e, &asks[i].get), E_LATER);
    }
    crowd_wait(&crowd, READERS_OF_ONE);
    ask_init(b, &warm, 1, 0);
    assert_int_equal(engine_get(&warm.c, b->e, &warm.get), E_OK);
    ask_check(&warm, 0);
    ask_init(b, &other, 2, ROWS - 1);
    assert_int_equal(engine_get(&other.c, b->e, &other.get), E_LATER);
    assert_int_equal(bed_wait(&other.w), E_OK);
    ask_check(&other, ROWS - 1);
    assert_int_equal(crowd.held, READERS_OF_ONE);
    engine_stat(b->e, &stat);
    assert_int_equal(stat.disk_reads, 1 + ASKED + 1);
    crowd_open(&crowd);
    for (int i = 0; i < ASKED; i++) {
        assert_int_equal(bed_wait(&asks[i].w), E_OK);
        ask_check(&asks[i], (i + 1) * STEP);
        ctx_release(&asks[i].c);
    }
    ctx_release(&warm.c);
    ctx_release(&other.c);
    mem_free(asks);
}

/* What is in memory is read for the client: asked for at once or handed over. Says whether it was
 * answered at once. */
static bool ask_row(struct bed *b, uint64_t client, int row)
{
    struct ask a;
    int code;

    ask_init(b, &a, client, row);
    code = engine_get(&a.c, b->e, &a.get);
    assert_true(code == E_OK || code == E_LATER);
    if (code == E_LATER)
        assert_int_equal(bed_wait(&a.w), E_OK);
    ask_check(&a, row);
    ctx_release(&a.c);
    return code == E_OK;
}

/* Where a client has found nothing in memory for long, it is asked now and then only, until it has
 * more. Other clients' gets are asked as before. */
static void test_memory_is_not_asked_in_vain(void **state)
{
    struct bed *b = *state;
    int at_once = 0, asked = 0;

    for (int i = 1; i < ROWS / STEP; i++)
        assert_false(ask_row(b, 1, i * STEP));
    ask_row(b, 1, 0); /* from now on it is in memory */
    for (int i = 0; i < HIT_RATE_TRY; i++)
        at_once += ask_row(b, 1, 0);
    assert_int_equal(at_once, 1);
    assert_true(ask_row(b, 2, 0));
    while (!(ask_row(b, 1, 0) && ask_row(b, 1, 0)))
        assert_true(asked++ < 30 * HIT_RATE_TRY);
    for (int i = 0; i < 10 * HIT_RATE_TRY; i++)
        assert_true(ask_row(b, 1, 0));
}

/* A read whose client has gone while it was queued does not go to the disk. */
static void test_client_gone(void **state)
{
    enum { QUEUED = READERS_OF_ONE };
    struct bed *b = *state;
    struct crowd crowd = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    struct ask *asks = mem_zalloc(sizeof(*asks) * (QUEUED + 1));
    int32_t gone = 0;

    for (int i = 0; i <= QUEUED; i++) {
        ask_init(b, &asks[i], 1, i * STEP);
        if (i < QUEUED)
            asks[i].crowd = &crowd;
        else
            asks[i].turn.gone = &gone;
        assert_int_equal(engine_get(&asks[i].c, b->e, &asks[i].get), E_LATER);
    }
    crowd_wait(&crowd, READERS_OF_ONE);
    __atomic_store_n(&gone, 1, __ATOMIC_RELAXED);
    crowd_open(&crowd);
    for (int i = 0; i <= QUEUED; i++) {
        assert_int_equal(bed_wait(&asks[i].w), i < QUEUED ? E_OK : E_BUSY);
        ctx_release(&asks[i].c);
    }
    ask_init(b, &asks[0], 1, QUEUED * STEP);
    assert_int_equal(engine_get(&asks[0].c, b->e, &asks[0].get), E_LATER); /* still cold */
    assert_int_equal(bed_wait(&asks[0].w), E_OK);
    ctx_release(&asks[0].c);
    mem_free(asks);
}

static void wait_writable(struct bed *b)
{
    struct engine_stat stat;

    for (engine_stat(b->e, &stat); !stat.writable; engine_stat(b->e, &stat))
        usleep(1000);
}

/* Reads that are queued hold nothing of the storage: it is reopened while they wait, and they go on
 * with what is there then. */
static void test_reopened_with_reads_queued(void **state)
{
    enum { ASKED = ROWS / STEP };
    struct bed *b = *state;
    struct crowd crowd = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    struct ask *asks = mem_zalloc(sizeof(*asks) * ASKED);

    for (int i = 0; i < ASKED; i++) {
        ask_init(b, &asks[i], 1, i * STEP);
        asks[i].crowd = &crowd;
        assert_int_equal(engine_get(&asks[i].c, b->e, &asks[i].get), E_LATER);
    }
    crowd_wait(&crowd, READERS_OF_ONE);
    assert_true(fault_arm("commit_before_sync:error:1"));
    assert_int_equal(bed_put(b, "unsure", "1"), E_UNSURE);
    wait_writable(b);
    fault_arm(NULL);
    assert_int_equal(crowd.held, READERS_OF_ONE);
    crowd_open(&crowd);
    for (int i = 0; i < ASKED; i++) {
        assert_int_equal(bed_wait(&asks[i].w), E_OK);
        ask_check(&asks[i], i * STEP);
        ctx_release(&asks[i].c);
    }
    mem_free(asks);
}

/* The first quarter of each table file, in which the first rows are. */
static void damage_tables(const struct bed *b)
{
    static char rubbish[4096];
    char pattern[FOLDER_BYTES + 16];
    glob_t files;

    snprintf(pattern, sizeof(pattern), "%s/db/*.sst", b->dir);
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        int fd = open(files.gl_pathv[i], O_WRONLY);
        struct stat st;

        assert_int_equal(fstat(fd, &st), 0);
        for (off_t at = 0; at < st.st_size / 4; at += (off_t)sizeof(rubbish))
            assert_int_equal(pwrite(fd, rubbish, sizeof(rubbish), at), sizeof(rubbish));
        close(fd);
    }
    globfree(&files);
}

/* What fails on a thread that reads from the disk is told as it is on any other. */
static void test_damaged(void **state)
{
    struct bed *b = *state;
    struct ask queued, alone;

    bed_close(b);
    damage_tables(b);
    bed_open(b, "rocks");
    ask_init(b, &queued, 1, 3);
    assert_int_equal(engine_get(&queued.c, b->e, &queued.get), E_LATER);
    assert_int_equal(bed_wait(&queued.w), E_CORRUPT);
    ask_init(b, &alone, 1, 3);
    alone.c.turn = NULL;
    assert_int_equal(engine_get(&alone.c, b->e, &alone.get), E_CORRUPT);
    assert_string_equal(queued.c.text, alone.c.text);
    ctx_release(&queued.c);
    ctx_release(&alone.c);
}

static void test_closed_with_reads_under_way(void **state)
{
    enum { ASKED = ROWS / STEP };
    struct bed *b = *state;
    struct ask *asks = mem_zalloc(sizeof(*asks) * ASKED);
    int later = 0;

    for (int i = 0; i < ASKED; i++) {
        ask_init(b, &asks[i], (uint64_t)i % 3, i * STEP);
        later += engine_get(&asks[i].c, b->e, &asks[i].get) == E_LATER;
    }
    assert_int_equal(later, ASKED);
    bed_close(b);
    for (int i = 0; i < ASKED; i++) {
        assert_int_equal(bed_wait(&asks[i].w), E_OK);
        ask_check(&asks[i], i * STEP);
        ctx_release(&asks[i].c); /* may outlive the engine */
    }
    mem_free(asks);
    bed_open(b, "rocks");
}

/* What is really empty is found, too. */
static void test_empty_value(void **state)
{
    struct bed *b = *state;
    struct ask a;
    int code;

    assert_int_equal(bed_put(b, "row", ""), E_OK);
    ask_init(b, &a, 1, 0);
    a.get.key = BYTES_LIT("row");
    code = engine_get(&a.c, b->e, &a.get);
    assert_int_equal(code == E_LATER ? bed_wait(&a.w) : code, E_OK);
    assert_true(a.get.found && a.get.value.len == 0);
    ctx_release(&a.c);
}

struct ask_many {
    struct get_many m;
    struct bed_wait w;
};

static void many_done(struct get_many *m)
{
    bed_wait_done(&PORT_CONTAINER(m, struct ask_many, m)->w, E_OK);
}

static void test_many(void **state)
{
    enum { ASKED = 40 };
    struct bed *b = *state;
    struct ask_many many = {.w = BED_WAIT};
    struct get gets[ASKED];
    char keys[ASKED][16];
    struct ask first;

    ask_init(b, &first, 1, 0);
    assert_int_equal(engine_get(&first.c, b->e, &first.get), E_LATER);
    assert_int_equal(bed_wait(&first.w), E_OK);
    for (int i = 0; i < ASKED; i++)
        gets[i] = (struct get){.key = row_key(keys[i], i == 7 ? ROWS + 1 : i * STEP),
                               .view = i % 2 ? VIEW_LATEST : VIEW_DURABLE};
    many.m = (struct get_many){.gets = gets, .count = ASKED, .done = many_done};
    assert_int_equal(engine_get_many(&first.c, b->e, &many.m), E_LATER);
    assert_int_equal(bed_wait(&many.w), E_OK);
    for (int i = 0; i < ASKED; i++) {
        assert_int_equal(gets[i].code, E_OK);
        assert_int_equal(gets[i].found, i != 7);
        if (i != 7)
            assert_int_equal(atoi(gets[i].value.ptr), i * STEP);
    }
    assert_int_equal(engine_get_many(&first.c, b->e, &many.m), E_OK);
    ctx_release(&first.c);
}

/* All parts of a call together have what is left of its memory, and it counts what they took. */
static void test_many_share_a_cap(void **state)
{
    enum { LARGE = 3, LARGE_BYTES = 100000 };
    static const struct {
        size_t cap;
        int code;
    } cases[] = {{250000, E_MEMORY}, {400000, E_OK}};
    static char large[LARGE_BYTES + 1];
    struct bed *b = *state;
    char keys[LARGE][16];

    memset(large, 'x', LARGE_BYTES);
    for (int i = 0; i < LARGE; i++)
        assert_int_equal(bed_put(b, row_key(keys[i], ROWS + i).ptr, large), E_OK);
    for (size_t n = 0; n < PORT_COUNT(cases); n++) {
        struct ask_many many = {.w = BED_WAIT};
        struct get gets[LARGE];
        struct ask a;

        bed_close(b);
        bed_open(b, "rocks");
        ask_init(b, &a, 1, 0);
        a.c.arena.cap = cases[n].cap;
        for (int i = 0; i < LARGE; i++)
            gets[i] = (struct get){.key = row_key(keys[i], ROWS + i), .view = VIEW_DURABLE};
        many.m = (struct get_many){.gets = gets, .count = LARGE, .done = many_done};
        assert_int_equal(engine_get_many(&a.c, b->e, &many.m), E_LATER);
        assert_int_equal(bed_wait(&many.w), E_OK);
        for (int i = 0; i < LARGE; i++)
            assert_int_equal(gets[i].code, cases[n].code);
        assert_true(a.c.arena.used <= cases[n].cap);
        assert_int_equal(a.c.arena.used >= LARGE * LARGE_BYTES, cases[n].code == E_OK);
        ctx_release(&a.c);
    }
}

struct ask_scan {
    struct scan scan;
    struct bed_wait w;
};

static void scan_done(struct scan *s)
{
    bed_wait_done(&PORT_CONTAINER(s, struct ask_scan, scan)->w, s->code);
}

/* A page of at most 100 rows; true: it answered at once. */
static bool scan_at(struct bed *b, struct ask *a, enum engine_view view, struct key_range range,
                    struct page *page)
{
    struct ask_scan s = {.w = BED_WAIT};
    int code;

    *page = (struct page){0};
    s.scan = (struct scan){.view = view,
                           .ranges = &range,
                           .range_count = 1,
                           .items_max = 100,
                           .bytes_max = 1 << 20,
                           .pages = page,
                           .done = scan_done};
    code = engine_scan(&a->c, b->e, &s.scan);
    if (code == E_LATER) {
        assert_int_equal(bed_wait(&s.w), E_OK);
        return false;
    }
    assert_int_equal(code, E_OK);
    return true;
}

static bool scan_between(struct bed *b, struct ask *a, struct key_range range, struct page *page)
{
    return scan_at(b, a, VIEW_DURABLE, range, page);
}

static bool scan_from(struct bed *b, struct ask *a, int from, struct page *page)
{
    return scan_between(b, a, (struct key_range){row_key(a->key, from), BYTES_LIT("s")}, page);
}

static struct handle *handle_of(struct bed *b)
{
    return PORT_CONTAINER(b->e, struct rocks, base)->handle;
}

/* Until it is known that there is no range tombstone: only then memory is asked for ranges. */
static void wait_no_tombstone(struct bed *b)
{
    for (int ms = 0; ms < 60000 && !rocks_tombstones_none(handle_of(b)); ms += 10)
        usleep(10000);
    assert_true(rocks_tombstones_none(handle_of(b)));
}

/* A page that is in memory at its beginning ends where the disk would have to be asked. */
static void test_scan(void **state)
{
    struct bed *b = *state;
    struct page page;
    struct ask a;
    size_t seen;

    wait_no_tombstone(b);
    ask_init(b, &a, 1, 0);
    assert_false(scan_from(b, &a, 0, &page));
    assert_int_equal(page.count, 100);
    assert_true(page.more);
    assert_true(scan_from(b, &a, 0, &page));
    assert_int_equal(page.count, 100);
    assert_true(scan_from(b, &a, 50, &page));
    seen = page.count;
    assert_true(seen >= 50 && seen < 60 && page.more);
    for (size_t i = 0; i < seen; i++)
        assert_int_equal(atoi(page.items[i].value.ptr), 50 + (int)i);
    assert_false(scan_from(b, &a, 50 + (int)seen, &page));
    assert_int_equal(page.count, 100);
    ctx_release(&a.c);
}

/* While there may be a range tombstone a page is read where it may wait, cached or not. */
static void test_scan_beside_a_drop(void **state)
{
    struct bed *b = *state;
    struct page page;
    struct ask a;

    wait_no_tombstone(b);
    rocks_tombstones_begin(handle_of(b));
    ask_init(b, &a, 1, 0);
    for (int i = 0; i < 2; i++) {
        assert_false(scan_from(b, &a, 50, &page));
        assert_int_equal(page.count, 100);
        assert_true(page.more);
        for (size_t k = 0; k < page.count; k++)
            assert_int_equal(atoi(page.items[k].value.ptr), 50 + (int)k);
    }
    usleep(600000); /* the doubt would have gone */
    assert_false(scan_from(b, &a, 50, &page));
    rocks_tombstones_end(handle_of(b));
    wait_no_tombstone(b);
    assert_true(scan_from(b, &a, 50, &page));
    ctx_release(&a.c);
}

/* Without a view a range tombstone may come between the question and the iterator. */
static void test_scan_without_a_view(void **state)
{
    const struct key_range range = {BYTES_LIT("r"), BYTES_LIT("s")};
    struct bed *b = *state;
    struct page page;
    struct ask a;

    wait_no_tombstone(b);
    ask_init(b, &a, 1, 0);
    assert_false(scan_at(b, &a, VIEW_DURABLE, range, &page));
    assert_true(scan_at(b, &a, VIEW_DURABLE, range, &page));
    assert_false(scan_at(b, &a, VIEW_LATEST, range, &page));
    assert_int_equal(page.count, 100);
    ctx_release(&a.c);
}

enum { FILES = 40 };

static bytes file_key(char *text, int i)
{
    snprintf(text, 16, "table%03u", (unsigned)i % 1000);
    return bytes_str(text);
}

/* A table file for each key; after a start RocksDB has opened only some of them. */
static void files_put(struct bed *b)
{
    char key[16];

    for (int i = 0; i < FILES; i++) {
        struct bulk *bulk;

        assert_int_equal(engine_bulk(&b->c, b->e, (uint64_t)i + 1, &bulk), E_OK);
        assert_int_equal(bulk_put(&b->c, bulk, file_key(key, i), file_key(key, i)), E_OK);
        assert_int_equal(bulk_finish(&b->c, bulk), E_OK);
        bulk_close(bulk);
    }
    bed_close(b);
    bed_open(b, "rocks");
}

static void test_table_not_open(void **state)
{
    struct bed *b = *state;

    files_put(b);
    for (int i = 0; i < FILES; i++) {
        struct ask a;

        ask_init(b, &a, 1, 0);
        a.get.key = file_key(a.key, i);
        assert_int_equal(engine_get(&a.c, b->e, &a.get), E_LATER);
        assert_int_equal(bed_wait(&a.w), E_OK);
        assert_true(a.get.found && bytes_equal(a.get.value, a.get.key));
        ctx_release(&a.c);
    }
}

/* Pages end where a file is not open, and go on there. */
static void test_scan_tables_not_open(void **state)
{
    struct bed *b = *state;
    int seen = 0;

    files_put(b);
    while (seen < FILES) {
        struct page page;
        struct ask a;

        wait_no_tombstone(b);
        ask_init(b, &a, 1, 0);
        scan_between(b, &a, (struct key_range){file_key(a.key, seen), BYTES_LIT("u")}, &page);
        assert_true(page.count);
        for (size_t i = 0; i < page.count; i++, seen++)
            assert_true(bytes_equal(page.items[i].key, file_key(a.key, seen)));
        assert_int_equal(page.more, seen < FILES);
        ctx_release(&a.c);
    }
}

enum { RUN_FILES = 12, RUN_ROWS = 60 };

/* Table files one behind the other, each of several blocks. */
static void runs_put(struct bed *b)
{
    static char value[2000];
    char key[16];
    int i = 0;

    memset(value, 'v', sizeof(value));
    for (uint64_t file = 0; file < RUN_FILES; file++) {
        struct bulk *bulk;

        assert_int_equal(engine_bulk(&b->c, b->e, file + 1, &bulk), E_OK);
        for (int end = i + RUN_ROWS; i < end; i++)
            assert_int_equal(
                bulk_put(&b->c, bulk, file_key(key, i), bytes_of(value, sizeof(value))), E_OK);
        assert_int_equal(bulk_finish(&b->c, bulk), E_OK);
        bulk_close(bulk);
    }
    bed_close(b);
    bed_open(b, "rocks");
}

/* A page that begins in memory leaves nothing out where it goes on into a file whose first block is
 * not there: RocksDB's iterators of what is cached did. */
static void test_scan_leaves_nothing_out(void **state)
{
    struct bed *b = *state;

    runs_put(b);
    wait_no_tombstone(b);
    for (int file = 1; file < RUN_FILES; file++) {
        int first = file * RUN_ROWS - 2;
        struct ask a;
        struct page page;

        ask_init(b, &a, 1, 0);
        a.get.key = file_key(a.key, first);
        if (engine_get(&a.c, b->e, &a.get) == E_LATER)
            assert_int_equal(bed_wait(&a.w), E_OK);
        scan_between(b, &a, (struct key_range){file_key(a.key, first), BYTES_LIT("u")}, &page);
        for (size_t i = 0; i < page.count; i++) {
            char key[16];

            assert_true(bytes_equal(page.items[i].key, file_key(key, first + (int)i)));
        }
        assert_true(page.count == 100 || page.more ||
                    first + (int)page.count == RUN_FILES * RUN_ROWS);
        ctx_release(&a.c);
    }
}

struct walk {
    struct visit visit;
    struct bed *bed;
    struct ask *ask;
    struct snapshot *snapshot;
    int taken;
    bool cold;
};

static bool walk_take(struct visit *v, bytes key, bytes value)
{
    (void)key;
    (void)value;
    PORT_CONTAINER(v, struct walk, visit)->taken++;
    return true;
}

static void walk_cold(struct visit *v)
{
    struct walk *w = PORT_CONTAINER(v, struct walk, visit);

    w->cold = true;
    assert_int_equal(engine_snapshot(&w->ask->c, w->bed->e, v, &w->snapshot), E_OK);
}

/* A visit ends there too, and its moment can be kept. */
static void test_visit(void **state)
{
    struct bed *b = *state;
    struct page page;
    struct ask a;
    struct walk w = {
        .visit = {.range = {BYTES_LIT("r"), BYTES_LIT("s")}, .take = walk_take, .cold = walk_cold},
        .bed = b,
        .ask = &a};

    wait_no_tombstone(b);
    ask_init(b, &a, 1, 0);
    assert_int_equal(engine_visit(&a.c, b->e, &w.visit), E_OK);
    assert_true(w.cold);
    assert_int_equal(w.taken, 0);
    snapshot_release(w.snapshot);
    assert_false(scan_from(b, &a, 0, &page));
    w.cold = false;
    assert_int_equal(engine_visit(&a.c, b->e, &w.visit), E_OK);
    assert_true(w.cold);
    assert_true(w.taken >= 100 && w.taken < 110);
    snapshot_release(w.snapshot);
    w.visit.cold = NULL;
    w.taken = 0;
    assert_int_equal(engine_visit(&a.c, b->e, &w.visit), E_OK);
    assert_int_equal(w.taken, ROWS);
    ctx_release(&a.c);
}

enum { DROPPED = 12000 }; /* one by one go 10,000 */

/* Reads all keys that are stored from a to f, hidden or not, so that memory has them. */
static int stored(struct bed *b)
{
    rocksdb_readoptions_t *o = rocksdb_readoptions_create();
    rocksdb_iterator_t *it;
    int count = 0;

    rocksdb_readoptions_set_ignore_range_deletions(o, 1);
    rocksdb_readoptions_set_iterate_upper_bound(o, "f", 1);
    it = rocksdb_create_iterator(handle_of(b)->db, o);
    for (rocksdb_iter_seek(it, "a", 1); rocksdb_iter_valid(it); rocksdb_iter_next(it))
        count++;
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(o);
    return count;
}

static void check_dropped(struct bed *b)
{
    struct walk w = {
        .visit = {.range = {BYTES_LIT("a"), BYTES_LIT("f")}, .take = walk_take, .cold = walk_cold},
        .bed = b};
    struct page page;
    struct ask a;

    ask_init(b, &a, 1, 0);
    w.ask = &a;
    scan_between(b, &a, (struct key_range){BYTES_LIT("a"), BYTES_LIT("f")}, &page);
    assert_int_equal(page.count, 2);
    assert_true(bytes_equal(page.items[0].key, BYTES_LIT("a")));
    assert_true(bytes_equal(page.items[1].key, BYTES_LIT("e")));
    assert_int_equal(engine_visit(&a.c, b->e, &w.visit), E_OK);
    assert_in_range(w.taken, 0, 2);
    if (w.cold)
        snapshot_release(w.snapshot);
    ctx_release(&a.c);
}

static void keep(struct bed *b, struct ask *a, struct walk *w)
{
    *w = (struct walk){
        .visit = {.range = {BYTES_LIT("r"), BYTES_LIT("s")}, .take = walk_take, .cold = walk_cold},
        .bed = b,
        .ask = a};
    ask_init(b, a, 1, 0);
    assert_int_equal(engine_visit(&a->c, b->e, &w->visit), E_OK);
    assert_true(w->cold);
}

/* What was dropped does not come back to ranges while a tombstone hides it, nor after opening what
 * has one; and once it has gone, memory is asked again. */
static void test_dropped_stays_away(void **state)
{
    struct bed *b = *state;
    const struct key_range range = {BYTES_LIT("b"), BYTES_LIT("d")};
    const struct partition_spec p = {.id = 7, .ranges = &range, .range_count = 1};
    struct ask a;
    struct walk w;

    wait_no_tombstone(b);
    assert_int_equal(engine_create(&b->c, b->e, &p, 1), E_OK);
    assert_int_equal(bed_put(b, "a", "1"), E_OK);
    assert_int_equal(bed_put(b, "e", "1"), E_OK);
    b->partition = 7;
    bed_fill(b, "b", 0, DROPPED, 100);
    b->partition = PARTITION_SYSTEM;
    keep(b, &a, &w); /* so that compaction leaves the tombstone and what it hides */
    assert_int_equal(engine_drop(&b->c, b->e, &p), E_OK);
    for (int i = 0; i < 20; i++) {
        assert_false(rocks_tombstones_none(handle_of(b)));
        check_dropped(b);
        usleep(30000);
    }
    snapshot_release(w.snapshot);
    ctx_release(&a.c);
    bed_close(b);
    bed_open(b, "rocks");
    for (int i = 0; i < 20; i++) {
        check_dropped(b);
        usleep(30000);
    }
    /* The next one takes it away, since nobody keeps it. */
    assert_int_equal(engine_create(&b->c, b->e, &p, 1), E_OK);
    b->partition = 7;
    bed_fill(b, "b", 0, DROPPED, 100);
    b->partition = PARTITION_SYSTEM;
    assert_int_equal(engine_drop(&b->c, b->e, &p), E_OK);
    wait_no_tombstone(b);
    check_dropped(b);
}

/* Table files that have a range tombstone. */
static int tables_with_tombstones(const struct bed *b)
{
    char pattern[FOLDER_BYTES + 16];
    glob_t files;
    int count = 0;

    snprintf(pattern, sizeof(pattern), "%s/db/*.sst", b->dir);
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        int fd = open(files.gl_pathv[i], O_RDONLY);
        struct stat st;
        char *text;

        assert_int_equal(fstat(fd, &st), 0);
        text = mem_zalloc((size_t)st.st_size);
        assert_int_equal(pread(fd, text, (size_t)st.st_size, 0), st.st_size);
        count += memmem(text, (size_t)st.st_size, BYTES_LIT("rocksdb.range_del").ptr,
                        BYTES_LIT("rocksdb.range_del").len) != NULL;
        mem_free(text);
        close(fd);
    }
    globfree(&files);
    return count;
}

/* Nor does it where the log alone has the tombstone: on a nearly full disk nothing is compacted. */
static void test_dropped_stays_away_by_the_log(void **state)
{
    struct bed *b = *state;
    struct rocks *r;
    const struct key_range range = {BYTES_LIT("b"), BYTES_LIT("d")};
    const struct partition_spec p = {.id = 7, .ranges = &range, .range_count = 1};
    struct ask a;
    struct walk w;

    assert_int_equal(engine_create(&b->c, b->e, &p, 1), E_OK);
    assert_int_equal(bed_put(b, "a", "1"), E_OK);
    assert_int_equal(bed_put(b, "e", "1"), E_OK);
    b->partition = 7;
    bed_fill(b, "b", 0, DROPPED, 100);
    b->partition = PARTITION_SYSTEM;
    bed_close(b);
    bed_open(b, "rocks"); /* they are in a table file, from which the log cannot take them */
    r = PORT_CONTAINER(b->e, struct rocks, base);
    wait_no_tombstone(b);
    keep(b, &a, &w);
    atomic_store(&r->space_short, true);
    atomic_store(&r->space_checked_us, INT64_MAX / 2); /* it is not asked again */
    assert_int_equal(engine_drop(&b->c, b->e, &p), E_OK);
    for (int i = 0; i < 20; i++) {
        assert_false(rocks_tombstones_none(handle_of(b)));
        assert_true(stored(b) > 2);
        check_dropped(b);
        usleep(30000);
    }
    assert_int_equal(tables_with_tombstones(b), 0);
    snapshot_release(w.snapshot);
    ctx_release(&a.c);
    bed_close(b);
    assert_int_equal(tables_with_tombstones(b), 0);
    bed_open(b, "rocks");
    assert_true(stored(b) > 2);
    for (int i = 0; i < 20; i++) {
        check_dropped(b);
        usleep(30000);
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, bed_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_later_and_then_at_once),
        T(test_without_a_turn),
        T(test_waits_here),
        T(test_past_the_deadline),
        T(test_nobody_waits_for_another),
        T(test_memory_is_not_asked_in_vain),
        T(test_client_gone),
        T(test_reopened_with_reads_queued),
        T(test_damaged),
        T(test_closed_with_reads_under_way),
        T(test_empty_value),
        T(test_many),
        T(test_many_share_a_cap),
        T(test_scan),
        T(test_scan_beside_a_drop),
        T(test_scan_without_a_view),
        T(test_table_not_open),
        T(test_scan_tables_not_open),
        T(test_scan_leaves_nothing_out),
        T(test_visit),
        T(test_dropped_stays_away),
        T(test_dropped_stays_away_by_the_log),
    };
#undef T

    return cmocka_run_group_tests(tests, NULL, NULL);
}
