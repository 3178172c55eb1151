/* One suite, run on every engine: on a Ceph pool if TEST_CEPH_CONF names the configuration of a
 * cluster, with a namespace for each test. */
#include "bed.h"

#include "base/rng.h"

static const char *engine_name;

static bool is_rados(void)
{
    return strcmp(engine_name, "rados") == 0;
}

static int setup(void **state)
{
    struct bed *b;

    bed_set_up(state, NULL);
    b = *state;
    if (is_rados()) {
        b->options[0] = (struct engine_option){"ceph_conf", getenv("TEST_CEPH_CONF")};
        b->options[1] = (struct engine_option){"pool", "data"};
        b->options[2] = (struct engine_option){"namespace", b->dir};
        b->conf.options = b->options;
        b->conf.option_count = 3;
    }
    bed_open(b, engine_name);
    return 0;
}

static bool is_mem(void)
{
    return strcmp(engine_name, "mem") == 0;
}

/* Keys of one page, parted by blanks, and "+" if there is more. */
static const char *page_text(struct bed *b, const struct page *p)
{
    bytes text = BYTES_LIT("");
    size_t total = 0;

    for (size_t i = 0; i < p->count; i++) {
        text = arena_printf(&b->c.arena, "%.*s%s%.*s", BYTES_FMT(text), i ? " " : "",
                            BYTES_FMT(p->items[i].key));
        total += p->items[i].key.len + p->items[i].value.len;
    }
    assert_int_equal(p->bytes, total);
    return arena_printf(&b->c.arena, "%.*s%s", BYTES_FMT(text), p->more ? "+" : "").ptr;
}

static const char *scan_text(struct bed *b, const char *start, const char *end, bool backward,
                             size_t items_max, size_t bytes_max)
{
    struct key_range range = {bytes_str(start), bytes_str(end)};
    struct page page;
    struct scan s = {.ranges = &range,
                     .range_count = 1,
                     .backward = backward,
                     .items_max = items_max,
                     .bytes_max = bytes_max,
                     .pages = &page};

    assert_int_equal(bed_scan(b, &s), E_OK);
    return page_text(b, &page);
}

static bool one_map(struct bed *b)
{
    return engine_one_key_space(b->e);
}

static void test_unknown_engine(void **state)
{
    struct bed *b = *state;
    struct engine *e;

    assert_int_equal(engine_open(&b->c, "stone", &b->conf, &e), E_PARAMETER);
    assert_non_null(strstr(b->c.text, "mem"));
    assert_non_null(strstr(b->c.text, "rocks"));
    ctx_clear(&b->c);
}

static void test_unknown_option(void **state)
{
    struct bed *b = *state;
    struct engine_option option = {"colour", "red"};
    struct engine_conf conf = {.dir = b->dir, .options = &option, .option_count = 1};
    struct engine *e;

    assert_int_equal(engine_open(&b->c, engine_name, &conf, &e), E_PARAMETER);
    assert_non_null(strstr(b->c.text, "colour"));
    ctx_clear(&b->c);
}

static void test_get_put_delete(void **state)
{
    struct bed *b = *state;

    bed_expect(b, "a", "-");
    assert_int_equal(bed_put(b, "a", "1"), E_OK);
    bed_expect(b, "a", "1");
    assert_int_equal(bed_put(b, "a", "22"), E_OK);
    bed_expect(b, "a", "22");
    assert_string_equal(bed_get(b, "a", VIEW_LATEST), "22");
    assert_int_equal(bed_put(b, "a", ""), E_OK);
    bed_expect(b, "a", "");
    assert_int_equal(bed_delete(b, "a"), E_OK);
    bed_expect(b, "a", "-");
    assert_int_equal(bed_delete(b, "a"), E_OK);
}

static void test_any_bytes(void **state)
{
    struct bed *b = *state;
    static const char k0[] = {0}, k1[] = {0, 0}, k2[] = {0, 'a', 0}, k3[] = {'\xff', '\xff'};
    const bytes keys[] = {{k0, 1}, {k1, 2}, {k2, 3}, {k3, 2}};
    struct edit edits[4];
    struct key_range all = {BYTES_NONE, BYTES_NONE};
    struct page page;
    struct scan s = {
        .ranges = &all, .range_count = 1, .items_max = 10, .bytes_max = 100, .pages = &page};

    for (int i = 0; i < 4; i++)
        edits[i] = (struct edit){EDIT_PUT, keys[3 - i], keys[3 - i]};
    assert_int_equal(bed_apply(b, &(struct write_batch){.edits = edits, .edit_count = 4}), E_OK);
    for (int backward = 0; backward < 2; backward++) {
        s.backward = backward;
        assert_int_equal(bed_scan(b, &s), E_OK);
        assert_int_equal(page.count, 4);
        assert_false(page.more);
        for (int i = 0; i < 4; i++) {
            assert_true(bytes_equal(page.items[i].key, keys[backward ? 3 - i : i]));
            assert_true(bytes_equal(page.items[i].value, keys[backward ? 3 - i : i]));
        }
    }
}

static void test_big_value(void **state)
{
    struct bed *b = *state;
    size_t size = 3 << 20;
    char *value = mem_alloc(size);
    struct edit edit = {EDIT_PUT, BYTES_LIT("big"), {value, size}};
    struct get g = {.key = BYTES_LIT("big")};
    struct ctx capped;

    for (size_t i = 0; i < size; i++)
        value[i] = (char)(i * 31 >> 3);
    assert_int_equal(bed_apply(b, &(struct write_batch){.edits = &edit, .edit_count = 1}), E_OK);
    assert_int_equal(bed_wait_get(&b->c, b->e, &g), E_OK);
    assert_true(g.found && bytes_equal(g.value, edit.value));

    ctx_init(&capped, &b->clock, NULL, NULL, 0);
    capped.arena.cap = 1 << 20;
    assert_int_equal(bed_wait_get(&capped, b->e, &g), E_MEMORY);
    ctx_release(&capped);
    mem_free(value);
}

static void test_scan(void **state)
{
    struct bed *b = *state;

    assert_string_equal(scan_text(b, "", "", false, 5, 1000), "");
    assert_string_equal(scan_text(b, "", "", true, 5, 1000), "");
    for (const char *k = "hdbfacge"; *k; k++) {
        char key[2] = {*k, 0};

        assert_int_equal(bed_put(b, key, "123456789"), E_OK); /* 10 bytes with the key */
    }
    assert_string_equal(scan_text(b, "", "", false, 100, 1000), "a b c d e f g h");
    assert_string_equal(scan_text(b, "", "", true, 100, 1000), "h g f e d c b a");
    assert_string_equal(scan_text(b, "b", "e", false, 100, 1000), "b c d");
    assert_string_equal(scan_text(b, "b", "e", true, 100, 1000), "d c b");
    assert_string_equal(scan_text(b, "bb", "dd", false, 100, 1000), "c d");
    assert_string_equal(scan_text(b, "bb", "dd", true, 100, 1000), "d c");
    assert_string_equal(scan_text(b, "f", "", false, 100, 1000), "f g h");
    assert_string_equal(scan_text(b, "f", "", true, 100, 1000), "h g f");
    assert_string_equal(scan_text(b, "", "c", true, 100, 1000), "b a");
    assert_string_equal(scan_text(b, "c", "c", false, 100, 1000), "");
    assert_string_equal(scan_text(b, "c", "c", true, 100, 1000), "");
    assert_string_equal(scan_text(b, "x", "z", false, 100, 1000), "");
    assert_string_equal(scan_text(b, "x", "z", true, 100, 1000), "");
    /* caps */
    assert_string_equal(scan_text(b, "b", "f", false, 2, 1000), "b c+");
    assert_string_equal(scan_text(b, "b", "f", true, 2, 1000), "e d+");
    assert_string_equal(scan_text(b, "b", "f", false, 4, 1000), "b c d e");
    assert_string_equal(scan_text(b, "b", "f", false, 100, 0), "b+");
    assert_string_equal(scan_text(b, "b", "f", false, 100, 10), "b c+");
    assert_string_equal(scan_text(b, "b", "f", false, 100, 11), "b c+");
    assert_string_equal(scan_text(b, "b", "f", true, 100, 19), "e d+");
    assert_string_equal(scan_text(b, "b", "f", true, 100, 39), "e d c b");
}

static void test_scan_ranges(void **state)
{
    struct bed *b = *state;
    const struct key_range ranges[] = {
        {BYTES_LIT("k2"), BYTES_LIT("k4")},
        {BYTES_LIT("x"), BYTES_LIT("y")},
        {BYTES_LIT("k0"), BYTES_LIT("k9")},
    };
    struct page pages[3];
    struct scan s = {
        .ranges = ranges, .range_count = 3, .items_max = 3, .bytes_max = 1000, .pages = pages};

    for (int i = 0; i < 6; i++) {
        char key[3] = {'k', (char)('0' + i), 0};

        assert_int_equal(bed_put(b, key, "v"), E_OK);
    }
    for (int view = 0; view < 2; view++) {
        s.view = view ? VIEW_LATEST : VIEW_DURABLE;
        s.backward = false;
        assert_int_equal(bed_scan(b, &s), E_OK);
        assert_string_equal(page_text(b, &pages[0]), "k2 k3");
        assert_string_equal(page_text(b, &pages[1]), "");
        assert_string_equal(page_text(b, &pages[2]), "k0 k1 k2+");
        s.backward = true;
        assert_int_equal(bed_scan(b, &s), E_OK);
        assert_string_equal(page_text(b, &pages[0]), "k3 k2");
        assert_string_equal(page_text(b, &pages[1]), "");
        assert_string_equal(page_text(b, &pages[2]), "k5 k4 k3+");
    }
}

static void test_last_edit_wins(void **state)
{
    struct bed *b = *state;
    const struct edit edits[] = {
        {EDIT_PUT, BYTES_LIT("a"), BYTES_LIT("1")}, {EDIT_PUT, BYTES_LIT("a"), BYTES_LIT("2")},
        {EDIT_PUT, BYTES_LIT("b"), BYTES_LIT("1")}, {EDIT_DELETE, BYTES_LIT("b"), BYTES_NONE},
        {EDIT_DELETE, BYTES_LIT("c"), BYTES_NONE},  {EDIT_PUT, BYTES_LIT("c"), BYTES_LIT("3")},
    };

    assert_int_equal(bed_apply(b, &(struct write_batch){.edits = edits, .edit_count = 6}), E_OK);
    bed_expect(b, "a", "2");
    bed_expect(b, "b", "-");
    bed_expect(b, "c", "3");
}

static int guarded(struct bed *b, const char *key, const char *value, const char *put)
{
    const struct guard guards[] = {
        {BYTES_LIT("never"), BYTES_NONE, true},
        {bytes_str(key), bytes_str(value ? value : ""), value == NULL},
    };
    const struct edit edits[] = {{EDIT_PUT, bytes_str(key), bytes_str(put)},
                                 {EDIT_PUT, BYTES_LIT("side"), bytes_str(put)}};

    return bed_apply(b, &(struct write_batch){
                            .guards = guards, .guard_count = 2, .edits = edits, .edit_count = 2});
}

static void test_guards(void **state)
{
    struct bed *b = *state;

    assert_int_equal(guarded(b, "a", "x", "1"), E_GUARD);
    bed_expect(b, "a", "-");
    bed_expect(b, "side", "-");
    assert_int_equal(guarded(b, "a", NULL, "1"), E_OK);
    assert_int_equal(guarded(b, "a", NULL, "2"), E_GUARD);
    assert_int_equal(guarded(b, "a", "11", "2"), E_GUARD);
    assert_int_equal(guarded(b, "a", "", "2"), E_GUARD);
    bed_expect(b, "side", "1");
    assert_int_equal(guarded(b, "a", "1", ""), E_OK);
    assert_int_equal(guarded(b, "a", "", "3"), E_OK); /* an empty value is a value */
    bed_expect(b, "a", "3");
}

/* Guards alone, and a barrier behind what was written. */
static void test_guards_without_edits(void **state)
{
    struct bed *b = *state;
    struct guard g = {BYTES_LIT("a"), BYTES_LIT("1"), false};

    assert_int_equal(bed_apply(b, &(struct write_batch){.guards = &g, .guard_count = 1}), E_GUARD);
    assert_int_equal(bed_put(b, "a", "1"), E_OK);
    assert_int_equal(bed_apply(b, &(struct write_batch){.guards = &g, .guard_count = 1}), E_OK);
}

struct counter {
    struct bed *b;
    int won;
};

/* Adds 1 to the number at "n" a hundred times, by read, guard and retry. */
static void *count_up(void *arg)
{
    struct counter *t = arg;

    for (int i = 0; i < 100;) {
        struct ctx c;
        struct get g = {.key = BYTES_LIT("n"), .view = VIEW_LATEST};
        struct bed_wait w = BED_WAIT;
        struct guard guard = {BYTES_LIT("n"), BYTES_NONE, false};
        struct edit edit = {EDIT_PUT, BYTES_LIT("n"), BYTES_NONE};
        struct write_batch batch = {
            .guards = &guard, .guard_count = 1, .edits = &edit, .edit_count = 1};

        ctx_init(&c, &t->b->clock, NULL, NULL, 0);
        assert_int_equal(bed_wait_get(&c, t->b->e, &g), E_OK);
        guard.absent = !g.found;
        guard.value = g.value;
        edit.value = arena_printf(&c.arena, "%d",
                                  atoi(arena_printf(&c.arena, "%.*s", BYTES_FMT(g.value)).ptr) + 1);
        engine_apply(&c, t->b->e, &batch, bed_wait_done, &w);
        if (bed_wait(&w) == E_OK) {
            i++;
            t->won++;
        } else {
            assert_int_equal(w.code, E_GUARD);
        }
        ctx_release(&c);
    }
    return NULL;
}

static void test_guards_race(void **state)
{
    struct bed *b = *state;
    struct counter t[4] = {{b, 0}, {b, 0}, {b, 0}, {b, 0}};
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, count_up, &t[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    bed_expect(b, "n", "400");
}

static void test_barrier(void **state)
{
    struct bed *b = *state;
    struct bed_wait w[20], barrier = BED_WAIT;
    struct engine_stat stat;

    assert_int_equal(bed_barrier(b), E_OK);
    for (int i = 0; i < 20; i++) {
        struct edit edit = {EDIT_PUT, arena_printf(&b->c.arena, "k%02d", i), BYTES_LIT("v")};
        struct write_batch *batch = ARENA_NEW(&b->c.arena, struct write_batch);

        w[i] = (struct bed_wait)BED_WAIT;
        batch->edits = memcpy(arena_alloc(&b->c.arena, sizeof(edit)), &edit, sizeof(edit));
        batch->edit_count = 1;
        engine_apply(&b->c, b->e, batch, bed_wait_done, &w[i]);
        assert_string_equal(bed_get(b, arena_printf(&b->c.arena, "k%02d", i).ptr, VIEW_LATEST),
                            "v");
    }
    engine_apply(&b->c, b->e, &(struct write_batch){0}, bed_wait_done, &barrier);
    assert_int_equal(bed_wait(&barrier), E_OK);
    bed_expect(b, "k00", "v");
    bed_expect(b, "k19", "v");
    for (int i = 0; i < 20; i++)
        assert_int_equal(bed_wait(&w[i]), E_OK);
    engine_stat(b->e, &stat);
    assert_true(stat.writable);
    assert_int_equal(stat.acked, 22);
    assert_int_equal(stat.unsynced_bytes, 0);
}

/* A batch is the caller's again as soon as apply() returns, its edits when it is done. */
static void test_batch_on_stack(void **state)
{
    enum { BATCHES = 50 };
    struct bed *b = *state;
    static struct bed_wait w[BATCHES];
    static struct edit edits[BATCHES];
    struct write_batch batch;

    for (int i = 0; i < BATCHES; i++) {
        w[i] = (struct bed_wait)BED_WAIT;
        edits[i] = (struct edit){EDIT_PUT, arena_printf(&b->c.arena, "k%02d", i), BYTES_LIT("v")};
        batch =
            (struct write_batch){.partition = b->partition, .edits = &edits[i], .edit_count = 1};
        engine_apply(&b->c, b->e, &batch, bed_wait_done, &w[i]);
        memset(&batch, 0xA5, sizeof(batch));
    }
    for (int i = 0; i < BATCHES; i++)
        assert_int_equal(bed_wait(&w[i]), E_OK);
    bed_expect(b, "k00", "v");
    bed_expect(b, "k49", "v");
}

static uint64_t size_of(struct bed *b, const char *start, const char *end)
{
    struct key_range range = {bytes_str(start), bytes_str(end)};
    uint64_t size = 0;

    assert_int_equal(engine_size(&b->c, b->e,
                                 &(struct partition_spec){.ranges = &range, .range_count = 1},
                                 &size),
                     E_OK);
    return size;
}

static void test_size(void **state)
{
    struct bed *b = *state;
    uint64_t size;

    assert_int_equal(size_of(b, "a", "b"), 0);
    assert_int_equal(size_of(b, "", ""), 0);
    bed_fill(b, "a", 0, 2000, 500);
    bed_fill(b, "b", 0, 1000, 500);
    size = size_of(b, "a", "b");
    assert_in_range(size, 1000000 / 2, 1000000 * 2);
    size = size_of(b, "b", "");
    assert_in_range(size, 500000 / 2, 500000 * 2);
    size = size_of(b, "a000500", "a000600");
    assert_in_range(size, 50000 / 2, 50000 * 2);
    assert_int_equal(size_of(b, "c", ""), 0);
}

static void test_drop(void **state)
{
    struct bed *b = *state;
    const struct key_range ranges[] = {{BYTES_LIT("b"), BYTES_LIT("c")},
                                       {BYTES_LIT("e"), BYTES_NONE}};
    const struct partition_spec p = {.id = 7, .ranges = ranges, .range_count = 2};

    assert_int_equal(engine_create(&b->c, b->e, &p, 1), E_OK);
    assert_int_equal(engine_create(&b->c, b->e, &p, 1), E_OK); /* called again */
    assert_int_equal(bed_put(b, "az", "1"), E_OK);
    assert_int_equal(bed_put(b, "c", "1"), E_OK);
    b->partition = 7;
    assert_int_equal(bed_put(b, "f", "1"), E_OK);
    bed_fill(b, "b", 0, 3000, 20);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(engine_drop(&b->c, b->e, &p), E_OK);
        if (one_map(b)) {
            assert_string_equal(scan_text(b, "", "", false, 100, 1000), "az c");
            continue;
        }
        /* It never comes back, not even when somebody makes it. */
        assert_int_equal(engine_create(&b->c, b->e, &p, 1), E_OK);
        bed_expect(b, "f", "!PARTITION");
        ctx_clear(&b->c);
        assert_int_equal(bed_put(b, "f", "1"), E_PARTITION);
    }
    b->partition = PARTITION_SYSTEM;
    if (!is_mem()) {
        bed_close(b);
        bed_open(b, engine_name);
        assert_string_equal(scan_text(b, "", "", false, 100, 1000), "az c");
    }
}

#define PARTITIONS 300

/* More than are under way at a time; again when some are there, one of them with a row, and one was
 * dropped. */
static void test_create_many(void **state)
{
    struct bed *b = *state;
    const struct key_range range = {BYTES_LIT("a"), BYTES_LIT("b")};
    struct partition_spec p[PARTITIONS];
    struct engine_stat before = {0}, after = {0};

    for (size_t i = 0; i < PARTITIONS; i++)
        p[i] = (struct partition_spec){1000 + i, &range, 1};
    assert_int_equal(engine_create(&b->c, b->e, p, 0), E_OK);
    assert_int_equal(engine_create(&b->c, b->e, p, 100), E_OK);
    b->partition = 1099;
    assert_int_equal(bed_put(b, "a", "kept"), E_OK);
    if (!one_map(b))
        assert_int_equal(engine_drop(&b->c, b->e, &p[7]), E_OK);
    engine_stat(b->e, &before);
    assert_int_equal(engine_create(&b->c, b->e, p, PARTITIONS), E_OK);
    engine_stat(b->e, &after);
    assert_int_equal(after.remote_writes - before.remote_writes, is_rados() ? PARTITIONS : 0);
    bed_expect(b, "a", "kept");
    if (one_map(b))
        return;
    for (size_t i = 0; i < PARTITIONS; i++) {
        b->partition = p[i].id;
        if (i == 7)
            bed_expect(b, "a", "!PARTITION");
        else
            bed_expect(b, "a", i == 99 ? "kept" : "-");
        ctx_clear(&b->c);
    }
}

/* One into two, one of these into two, and all of them into one. */
static void test_repartition(void **state)
{
    struct bed *b = *state;
    const struct key_range all = {BYTES_LIT("k"), BYTES_LIT("l")},
                           low = {BYTES_LIT("k"), BYTES_LIT("k001000")},
                           high = {BYTES_LIT("k001000"), BYTES_LIT("l")},
                           mid = {BYTES_LIT("k001000"), BYTES_LIT("k001500")},
                           top = {BYTES_LIT("k001500"), BYTES_LIT("l")};
    const struct partition_spec one = {7, &all, 1}, two[] = {{8, &low, 1}, {9, &high, 1}},
                                more[] = {{10, &mid, 1}, {11, &top, 1}},
                                three[] = {two[0], more[0], more[1]}, end = {12, &all, 1};
    uint64_t size = 0;

    assert_int_equal(engine_create(&b->c, b->e, &one, 1), E_OK);
    b->partition = 7;
    bed_fill(b, "k", 0, 2000, 50);
    for (int again = 0; again < 2; again++)
        assert_int_equal(engine_repartition(&b->c, b->e, &one, 1, two, 2), E_OK);
    if (!one_map(b)) {
        bed_expect(b, "k000000", "!PARTITION");
        ctx_clear(&b->c);
        assert_int_equal(bed_put(b, "k000000", "x"), E_PARTITION);
    }
    b->partition = 8;
    assert_int_equal(bed_put(b, "k000001", "new"), E_OK);
    /* Somebody slow comes with the same again: nothing of the old may come back. */
    assert_int_equal(engine_repartition(&b->c, b->e, &one, 1, two, 2), E_OK);
    bed_expect(b, "k000001", "new");
    assert_string_equal(scan_text(b, "k000998", "k001000", false, 100, 10000), "k000998 k000999");
    if (!one_map(b))
        bed_expect(b, "k001000", "-");
    assert_int_equal(engine_repartition(&b->c, b->e, &two[1], 1, more, 2), E_OK);
    b->partition = 10;
    assert_string_equal(scan_text(b, "k001498", "k001500", true, 100, 10000), "k001499 k001498");
    assert_int_equal(engine_repartition(&b->c, b->e, three, 3, &end, 1), E_OK);
    b->partition = 12;
    bed_expect(b, "k000001", "new");
    assert_int_equal(engine_size(&b->c, b->e, &end, &size), E_OK);
    assert_in_range(size, 2000 * 57 / 2, 2000 * 57 * 2);
}

#define REACH 1000

/* A batch of rising numbers through one of two processes. *met: what was found there. */
static int rise(struct bed *b, struct engine *e, uint64_t least, uint64_t most, uint64_t *met)
{
    struct engine *own = b->e;
    _Atomic uint64_t found = 0;
    struct rising rising = {.least = least, .most = most, .reach = least + REACH, .met = &found};
    struct edit edit = {EDIT_PUT, BYTES_LIT("k"), BYTES_LIT("v")};
    int code;

    b->e = e;
    code = bed_apply(b, &(struct write_batch){.edits = &edit, .edit_count = 1, .rising = &rising});
    b->e = own;
    *met = atomic_load(&found);
    return code;
}

/* Whoever begins after another has ended has a greater number, whoever made it. */
static void test_rising(void **state)
{
    struct bed *b = *state;
    const struct key_range all = {BYTES_LIT("k"), BYTES_LIT("m")},
                           low = {BYTES_LIT("k"), BYTES_LIT("l")},
                           high = {BYTES_LIT("l"), BYTES_LIT("m")};
    const struct partition_spec one = {7, &all, 1}, two[] = {{8, &low, 1}, {9, &high, 1}},
                                end = {10, &all, 1};
    struct engine *other;
    uint64_t met;

    if (!is_rados()) /* nobody else draws numbers */
        return;
    assert_int_equal(engine_open(&b->c, "rados", &b->conf, &other), E_OK);
    assert_int_equal(engine_create(&b->c, b->e, &one, 1), E_OK);
    b->partition = 7;
    assert_int_equal(rise(b, b->e, 0x90, 0xc0, &met), E_OK);
    assert_int_equal(rise(b, other, 0xb0, 0xb1, &met), E_GUARD);
    assert_int_equal(met, 0xc0);
    assert_int_equal(rise(b, other, 0xc0, 0xc0, &met), E_GUARD);
    assert_int_equal(rise(b, other, 0xc1, 0x100, &met), E_OK);
    assert_int_equal(rise(b, b->e, 0xff, 0x101, &met), E_GUARD); /* its least counts */
    assert_int_equal(met, 0x100);
    assert_int_equal(rise(b, b->e, 0x101, 0x7ff, &met), E_OK);
    /* Wherever the rows go. */
    assert_int_equal(engine_repartition(&b->c, b->e, &one, 1, two, 2), E_OK);
    b->partition = 9;
    assert_int_equal(rise(b, other, 0x7ff, 0x800, &met), E_GUARD);
    assert_int_equal(rise(b, other, 0x801, 0x801, &met), E_OK);
    b->partition = 8;
    assert_int_equal(rise(b, other, 0x7ff, 0x800, &met), E_GUARD);
    assert_int_equal(engine_repartition(&b->c, b->e, two, 2, &end, 1), E_OK);
    b->partition = 10;
    assert_int_equal(rise(b, b->e, 0x800, 0x801, &met), E_GUARD);
    assert_int_equal(met, 0x801);
    /* Numbers that nobody can reach are not in the others' way. */
    assert_int_equal(rise(b, other, 0x10000000, 0x10000000, &met), E_OK);
    assert_int_equal(rise(b, b->e, 0x900, 0x900, &met), E_OK);
    assert_int_equal(rise(b, other, 0x8ff, 0x8ff, &met), E_GUARD);
    engine_close(other);
}

/* More than one listing of the engine, walked in pages in both directions, while keys go. */
static void test_walk(void **state)
{
    struct bed *b = *state;
    struct page page;
    enum { KEYS = 3000 };

    bed_fill(b, "k", 0, KEYS, 100);
    for (int round = 0; round < 3; round++)
        for (int backward = 0; backward < 2; backward++) {
            struct key_range range = {BYTES_LIT("k"), BYTES_LIT("l")};
            struct scan s = {.ranges = &range,
                             .range_count = 1,
                             .backward = backward,
                             .items_max = 97,
                             .bytes_max = 1 << 20,
                             .pages = &page};
            /* The last round walks over a hole of 1000 keys. */
            int next = backward ? KEYS - 1 : 0, step = backward ? -1 : 1, seen = 0;

            do {
                assert_int_equal(bed_scan(b, &s), E_OK);
                assert_true(page.count || !page.more);
                for (size_t i = 0; i < page.count; i++, seen++, next += step) {
                    if (round == 2 && next == (backward ? 1999 : 1000))
                        next += 1000 * step;
                    assert_true(
                        bytes_equal(page.items[i].key, arena_printf(&b->c.arena, "k%06d", next)));
                    assert_int_equal(page.items[i].value.len, 100);
                }
                if (page.count && backward)
                    range.end = page.items[page.count - 1].key;
                else if (page.count)
                    range.start = arena_printf(&b->c.arena, "%.*s!",
                                               BYTES_FMT(page.items[page.count - 1].key));
            } while (page.more);
            assert_int_equal(seen, round == 2 ? KEYS - 1000 : KEYS);
            for (int i = 1000; round == 1 && backward && i < 2000; i++)
                assert_int_equal(bed_delete(b, arena_printf(&b->c.arena, "k%06d", i).ptr), E_OK);
        }
}

/* What LATEST shows of a batch under way may come to nothing; then a guard on it fails. */
static void test_guard_on_unsettled(void **state)
{
    struct bed *b = *state;
    const struct guard wrong = {BYTES_LIT("n"), BYTES_LIT("7"), false},
                       on_it = {BYTES_LIT("a"), BYTES_LIT("2"), false};
    const struct edit two = {EDIT_PUT, BYTES_LIT("a"), BYTES_LIT("2")},
                      three = {EDIT_PUT, BYTES_LIT("a"), BYTES_LIT("3")};
    struct write_batch first = {.guards = &wrong, .guard_count = 1, .edits = &two, .edit_count = 1};
    struct write_batch second = {
        .guards = &on_it, .guard_count = 1, .edits = &three, .edit_count = 1};
    struct bed_wait w[3] = {BED_WAIT, BED_WAIT, BED_WAIT};

    assert_int_equal(bed_put(b, "a", "1"), E_OK);
    assert_int_equal(bed_put(b, "n", "1"), E_OK);
    engine_apply(&b->c, b->e, &(struct write_batch){.edits = &two, .edit_count = 0}, bed_wait_done,
                 &w[2]);
    engine_apply(&b->c, b->e, &first, bed_wait_done, &w[0]);
    engine_apply(&b->c, b->e, &second, bed_wait_done, &w[1]);
    assert_int_equal(bed_wait(&w[0]), E_GUARD);
    assert_int_equal(bed_wait(&w[1]), E_GUARD);
    assert_int_equal(bed_wait(&w[2]), E_OK);
    bed_expect(b, "a", "1");
}

#define CHAIN 200

/* Batches that each rest on the one before come to nothing all at once with the first, down to one
 * that rests on nothing: not one operation of the pool each. Others are not touched. */
static void test_guards_in_a_chain(void **state)
{
    struct bed *b = *state;
    struct guard guards[CHAIN];
    struct edit edits[CHAIN];
    struct bed_wait w[CHAIN];
    struct engine_stat before = {0}, after = {0};

    assert_int_equal(bed_put(b, "a", "1"), E_OK);
    engine_stat(b->e, &before);
    for (int i = 0; i < CHAIN; i++) {
        bool other = i % 10 == 9, blind = i == CHAIN / 2;
        struct write_batch batch = {.guards = &guards[i],
                                    .guard_count = !other && !blind,
                                    .edits = &edits[i],
                                    .edit_count = 1};

        w[i] = (struct bed_wait)BED_WAIT;
        guards[i] = (struct guard){BYTES_LIT("a"), BYTES_LIT("never"), false};
        if (i)
            guards[i].value = arena_printf(&b->c.arena, "value %d", i % 10 ? i - 1 : i - 2);
        edits[i] = (struct edit){EDIT_PUT, other ? BYTES_LIT("b") : BYTES_LIT("a"),
                                 arena_printf(&b->c.arena, "value %d", i)};
        engine_apply(&b->c, b->e, &batch, bed_wait_done, &w[i]);
    }
    for (int i = 0; i < CHAIN; i++)
        assert_int_equal(bed_wait(&w[i]), i % 10 == 9 || i >= CHAIN / 2 ? E_OK : E_GUARD);
    engine_stat(b->e, &after);
    /* One by one there are 91; a few more than two where this thread had to wait while it asked. */
    if (is_rados())
        assert_in_range(after.remote_writes - before.remote_writes, 1, CHAIN / 4);
    bed_expect(b, "a", arena_printf(&b->c.arena, "value %d", CHAIN - 2).ptr);
    bed_expect(b, "b", arena_printf(&b->c.arena, "value %d", CHAIN - 1).ptr);
}

/* Of a chain that is longer than two operations on the pool, as much at a time. */
static void test_guards_in_a_long_chain(void **state)
{
    enum { LONG = 50, EDITS = 500 };
    struct bed *b = *state;
    struct edit *edits = ARENA_ARRAY(&b->c.arena, struct edit, LONG * EDITS);
    struct guard guards[LONG];
    struct bed_wait w[LONG];
    struct engine_stat before = {0}, after = {0};
    bytes value = BYTES_LIT("never");

    for (int i = 0; i < LONG; i++) {
        guards[i] = (struct guard){BYTES_LIT("k000"), value, false};
        value = arena_printf(&b->c.arena, "value %d", i);
        for (int k = 0; k < EDITS; k++)
            edits[i * EDITS + k] =
                (struct edit){EDIT_PUT, arena_printf(&b->c.arena, "k%03d", k), value};
        w[i] = (struct bed_wait)BED_WAIT;
    }
    engine_stat(b->e, &before);
    for (int i = 0; i < LONG; i++) {
        struct write_batch batch = {.guards = &guards[i],
                                    .guard_count = i < LONG - 1,
                                    .edits = &edits[i * EDITS],
                                    .edit_count = EDITS};

        engine_apply(&b->c, b->e, &batch, bed_wait_done, &w[i]);
    }
    for (int i = 0; i < LONG; i++)
        assert_int_equal(bed_wait(&w[i]), i < LONG - 1 ? E_GUARD : E_OK);
    engine_stat(b->e, &after);
    /* An operation has 8000 edits and guards at most, and as many behind it are looked at. */
    if (is_rados())
        assert_in_range(after.remote_writes - before.remote_writes, 3, LONG);
    bed_expect(b, "k000", "value 49");
    bed_expect(b, "k499", "value 49");
    assert_int_equal(bed_put(b, "k000", "1"), E_OK);
    bed_expect(b, "k000", "1");
}

/* Enough for whole files, a range tombstone and the compaction behind it. */
static void test_drop_large(void **state)
{
    struct bed *b = *state;
    const struct key_range range = {BYTES_LIT("b"), BYTES_LIT("c")};
    const struct partition_spec p = {.id = 7, .ranges = &range, .range_count = 1};

    bed_fill(b, "a", 0, 100, 10);
    bed_fill(b, "c", 0, 100, 10);
    assert_int_equal(engine_create(&b->c, b->e, &p, 1), E_OK);
    b->partition = 7;
    bed_fill(b, "b", 0, 30000, 400);
    b->partition = PARTITION_SYSTEM;
    assert_int_equal(engine_drop(&b->c, b->e, &p), E_OK);
    assert_string_equal(scan_text(b, "b", "c", false, 10, 1000), "");
    assert_string_equal(scan_text(b, "a", "", false, 1, 1000), "a000000+");
    bed_expect(b, "a000099", bed_get(b, "a000098", VIEW_DURABLE));
    bed_expect(b, "c000000", bed_get(b, "c000099", VIEW_DURABLE));
    assert_true(strlen(bed_get(b, "c000000", VIEW_DURABLE)) == 10);
    assert_true(size_of(b, "b", "c") < 100000);
}

static void test_reopen(void **state)
{
    struct bed *b = *state;

    if (is_mem())
        skip();
    bed_fill(b, "k", 0, 500, 100);
    assert_int_equal(bed_delete(b, "k000007"), E_OK);
    for (int i = 0; i < 3; i++) {
        bed_close(b);
        bed_open(b, engine_name);
        assert_string_equal(scan_text(b, "k000005", "k000009", false, 100, 10000),
                            "k000005 k000006 k000008");
        assert_int_equal(bed_put(b, "n", "1"), E_OK);
    }
}

/* Random batches against a plain array of what should be there. */
static void test_random(void **state)
{
    struct bed *b = *state;
    char model[64] = {0};
    struct rng rng;

    rng_init(&rng, 42);
    for (int round = 0; round < 300; round++) {
        struct edit edits[4];
        struct write_batch batch = {.edits = edits, .edit_count = 1 + rng_below(&rng, 4)};
        int low = (int)rng_below(&rng, 64), high = low + (int)rng_below(&rng, 65 - (uint64_t)low);
        struct key_range range;
        struct page page;
        struct scan s = {.ranges = &range,
                         .range_count = 1,
                         .items_max = 100,
                         .bytes_max = 10000,
                         .pages = &page};
        size_t at = 0;

        for (size_t i = 0; i < batch.edit_count; i++) {
            int k = (int)rng_below(&rng, 64);
            bool put = rng_below(&rng, 3) > 0;

            model[k] = put ? (char)('A' + rng_below(&rng, 26)) : 0;
            edits[i] =
                (struct edit){put ? EDIT_PUT : EDIT_DELETE, arena_printf(&b->c.arena, "%02d", k),
                              arena_copy(&b->c.arena, bytes_of(&model[k], put ? 1 : 0))};
        }
        assert_int_equal(bed_apply(b, &batch), E_OK);
        range.start = arena_printf(&b->c.arena, "%02d", low);
        range.end = arena_printf(&b->c.arena, "%02d", high);
        s.backward = rng_below(&rng, 2);
        assert_int_equal(bed_scan(b, &s), E_OK);
        for (int i = low; i < high; i++) {
            int k = s.backward ? high - 1 - (i - low) : i;

            if (!model[k])
                continue;
            assert_true(at < page.count);
            assert_int_equal(
                atoi(arena_printf(&b->c.arena, "%.*s", BYTES_FMT(page.items[at].key)).ptr), k);
            assert_int_equal(*bytes_u8(page.items[at].value), model[k]);
            at++;
        }
        assert_int_equal(at, page.count);
        bed_ctx_again(b);
    }
}

/* ---- many reads at once ---- */

enum { MANY = 300, MANY_KEYS = 200 };

/* A get of a key that is there or of one that is not, or a scan of five. */
struct one_read {
    struct ctx c;
    struct bed_read read;
    struct key_range range;
    struct page page;
    int number, code;
};

static void one_ask(struct bed *b, struct one_read *o, int number)
{
    int k = number * 7 % (MANY_KEYS - 5);

    *o = (struct one_read){.read.w = BED_WAIT, .number = k};
    ctx_init(&o->c, &b->clock, &b->log, NULL, 0);
    if (number % 3 == 2) {
        o->range.start = arena_printf(&o->c.arena, "k%06d", k);
        o->range.end = arena_printf(&o->c.arena, "k%06d", k + 5);
        o->read.scan = (struct scan){.partition = b->partition,
                                     .ranges = &o->range,
                                     .range_count = 1,
                                     .items_max = 10,
                                     .bytes_max = 10000,
                                     .pages = &o->page,
                                     .done = bed_scan_done};
        o->code = engine_scan(&o->c, b->e, &o->read.scan);
        return;
    }
    o->read.get = (struct get){.partition = b->partition,
                               .key = arena_printf(&o->c.arena, number % 3 ? "k%06d-" : "k%06d", k),
                               .done = bed_get_done};
    o->code = engine_get(&o->c, b->e, &o->read.get);
}

/* Right, or with `gone` E_PARTITION. */
static int one_check(struct one_read *o, int number, bool gone)
{
    int code = o->code == E_LATER ? bed_wait(&o->read.w) : o->code;

    if (code == E_PARTITION && gone) {
        /* nothing was told */
    } else if (number % 3 == 2) {
        assert_int_equal(code, E_OK);
        assert_int_equal(o->page.count, 5);
        assert_string_equal(arena_printf(&o->c.arena, "%.*s", BYTES_FMT(o->page.items[4].key)).ptr,
                            arena_printf(&o->c.arena, "k%06d", o->number + 4).ptr);
    } else {
        assert_int_equal(code, E_OK);
        assert_int_equal(o->read.get.found, number % 3 == 0);
        if (o->read.get.found)
            assert_string_equal(arena_printf(&o->c.arena, "%.*s", BYTES_FMT(o->read.get.value)).ptr,
                                arena_printf(&o->c.arena, "value %d", o->number).ptr);
    }
    ctx_release(&o->c);
    return code;
}

static void many_fill(struct bed *b, const struct partition_spec *p)
{
    assert_int_equal(engine_create(&b->c, b->e, p, 1), E_OK);
    b->partition = p->id;
    for (int i = 0; i < MANY_KEYS; i++)
        assert_int_equal(bed_put(b, arena_printf(&b->c.arena, "k%06d", i).ptr,
                                 arena_printf(&b->c.arena, "value %d", i).ptr),
                         E_OK);
}

/* Each gets its own answer, whatever company it goes out in, and company there is. */
static void test_many_reads(void **state)
{
    struct bed *b = *state;
    const struct key_range all = {BYTES_LIT("k"), BYTES_LIT("l")};
    const struct partition_spec p = {20, &all, 1};
    struct one_read *reads = mem_zalloc(sizeof(*reads) * MANY);
    struct engine_stat before = {0}, after = {0};

    many_fill(b, &p);
    engine_stat(b->e, &before);
    for (int i = 0; i < MANY; i++)
        one_ask(b, &reads[i], i);
    for (int i = 0; i < MANY; i++)
        one_check(&reads[i], i, false);
    engine_stat(b->e, &after);
    assert_in_range(after.remote_reads - before.remote_reads, is_rados() ? 2 : 0,
                    is_rados() ? MANY / 2 : 0);
    mem_free(reads);
}

/* A partition that goes while it is read tells each read so, or each was before. */
static void test_many_reads_of_what_goes(void **state)
{
    struct bed *b = *state;
    const struct key_range all = {BYTES_LIT("k"), BYTES_LIT("l")};
    const struct partition_spec p = {21, &all, 1};
    struct one_read *reads = mem_zalloc(sizeof(*reads) * MANY);

    many_fill(b, &p);
    for (int i = 0; i < MANY / 2; i++)
        one_ask(b, &reads[i], i);
    assert_int_equal(engine_drop(&b->c, b->e, &p), E_OK);
    for (int i = MANY / 2; i < MANY && !one_map(b); i++)
        one_ask(b, &reads[i], i);
    for (int i = 0; i < MANY / 2; i++)
        one_check(&reads[i], i, true);
    for (int i = MANY / 2; i < MANY && !one_map(b); i++)
        assert_int_equal(one_check(&reads[i], i, true), E_PARTITION);
    mem_free(reads);
}

/* ---- snapshots */

/* What is at and behind `start` as of the snapshot: "key=value key=value", backward if asked. */
static const char *snapshot_text(struct bed *b, struct snapshot *snapshot, bool backward)
{
    struct key_range range = {BYTES_LIT("s"), BYTES_LIT("t")};
    bytes text = BYTES_LIT("");
    struct page page;
    struct scan s = {.snapshot = snapshot,
                     .ranges = &range,
                     .range_count = 1,
                     .backward = backward,
                     .items_max = 100,
                     .bytes_max = 10000,
                     .pages = &page};
    int code = bed_scan(b, &s);

    if (code)
        return arena_printf(&b->c.arena, "!%s", err_info(code)->name).ptr;
    for (size_t i = 0; i < page.count; i++) {
        struct get g = {.partition = b->partition, .key = page.items[i].key, .snapshot = snapshot};

        assert_int_equal(bed_wait_get(&b->c, b->e, &g), E_OK);
        assert_true(g.found && bytes_equal(g.value, page.items[i].value));
        text = arena_printf(&b->c.arena, "%.*s%s%.*s=%.*s", BYTES_FMT(text), i ? " " : "",
                            BYTES_FMT(page.items[i].key), BYTES_FMT(page.items[i].value));
    }
    return text.ptr;
}

static struct snapshot *snapshot_take(struct bed *b)
{
    struct snapshot *s;

    assert_int_equal(engine_snapshot(&b->c, b->e, NULL, &s), E_OK);
    return s;
}

/* Each snapshot goes on showing its moment, whatever is put, deleted and put again. */
static void test_snapshots(void **state)
{
    struct bed *b = *state;
    struct snapshot *s[4];

    bed_put(b, "s1", "a");
    s[0] = snapshot_take(b);
    if (is_rados()) {
        assert_null(s[0]);
        return;
    }
    bed_put(b, "s1", "b");
    bed_put(b, "s2", "c");
    s[1] = snapshot_take(b);
    bed_delete(b, "s1");
    bed_delete(b, "s2");
    bed_put(b, "s0", "z");
    s[2] = snapshot_take(b);
    bed_put(b, "s2", "d");
    bed_put(b, "s2", "e");
    s[3] = snapshot_take(b);
    bed_delete(b, "s0");
    for (int i = 0; i < 2; i++) {
        assert_string_equal(snapshot_text(b, s[0], i), "s1=a");
        assert_string_equal(snapshot_text(b, s[1], i), i ? "s2=c s1=b" : "s1=b s2=c");
        assert_string_equal(snapshot_text(b, s[3], i), i ? "s2=e s0=z" : "s0=z s2=e");
        assert_string_equal(snapshot_text(b, NULL, i), "s2=e");
    }
    snapshot_release(s[1]);
    assert_string_equal(snapshot_text(b, s[0], false), "s1=a");
    assert_string_equal(snapshot_text(b, s[2], false), "s0=z");
    snapshot_release(s[0]);
    bed_put(b, "s1", "f");
    snapshot_release(s[3]);
    assert_string_equal(snapshot_text(b, s[2], true), "s0=z");
    snapshot_release(s[2]);
    assert_string_equal(snapshot_text(b, NULL, false), "s1=f s2=e");
}

/* It ends with the deadline of the context that it was taken with. */
static void test_snapshot_deadline(void **state)
{
    struct bed *b = *state;
    struct snapshot *s;

    bed_put(b, "s1", "a");
    b->c.deadline_ms = clock_mono_ms(&b->clock) - 1;
    s = snapshot_take(b);
    b->c.deadline_ms = 0;
    if (!s)
        return;
    bed_put(b, "s1", "b"); /* a commit revokes it */
    assert_string_equal(snapshot_text(b, s, false), "!BUSY");
    assert_false(s->revoked);
    snapshot_release(s);
}

struct snapshot_model {
    struct snapshot *s;
    const char *text;
    struct ctx c;
};

/* Ten at a time of all ages beside random edits: each shows what was there when it was taken. */
static void test_snapshots_random(void **state)
{
    struct bed *b = *state;
    struct snapshot_model at[10] = {0};
    struct rng r;

    rng_init(&r, 7);
    for (int i = 0; i < 2000; i++) {
        struct snapshot_model *m = &at[rng_below(&r, PORT_COUNT(at))];
        const char *key = arena_printf(&b->c.arena, "s%d", (int)rng_below(&r, 12)).ptr;

        if (m->s) {
            assert_string_equal(snapshot_text(b, m->s, false), m->text);
            snapshot_release(m->s);
            ctx_release(&m->c);
            m->s = NULL;
        } else {
            m->s = snapshot_take(b);
            if (!m->s)
                return;
            ctx_init(&m->c, &b->clock, &b->log, NULL, 0);
            m->text = arena_printf(&m->c.arena, "%s", snapshot_text(b, NULL, false)).ptr;
        }
        if (rng_below(&r, 3))
            bed_put(b, key, arena_printf(&b->c.arena, "%d", i).ptr);
        else
            bed_delete(b, key);
        bed_ctx_again(b);
    }
    for (size_t i = 0; i < PORT_COUNT(at); i++) {
        if (!at[i].s)
            continue;
        snapshot_release(at[i].s);
        ctx_release(&at[i].c);
    }
}

/* A snapshot of a walk's moment, taken in the middle of it. */
struct visit_pin {
    struct visit v;
    struct bed *b;
    struct snapshot *s;
};

static bool visit_pin_take(struct visit *v, bytes key, bytes value)
{
    struct visit_pin *p = PORT_CONTAINER(v, struct visit_pin, v);

    (void)key;
    (void)value;
    bed_put(p->b, "s1", "b");
    assert_int_equal(engine_snapshot(&p->b->c, p->b->e, v, &p->s), E_OK);
    return false;
}

static void test_snapshot_of_visit(void **state)
{
    struct bed *b = *state;
    struct visit_pin p = {.v = {.range = {BYTES_LIT("s"), BYTES_LIT("t")}, .take = visit_pin_take},
                          .b = b};

    if (!engine_can_visit(b->e))
        return;
    bed_put(b, "s1", "a");
    assert_int_equal(engine_visit(&b->c, b->e, &p.v), E_OK);
    assert_string_equal(snapshot_text(b, p.s, false), "s1=a");
    assert_string_equal(snapshot_text(b, NULL, false), "s1=b");
    snapshot_release(p.s);
}

/* Many gets in one call, which all take part in one wait. */
struct many {
    struct get_many m;
    struct bed_wait w;
};

static void many_done(struct get_many *m)
{
    bed_wait_done(&PORT_CONTAINER(m, struct many, m)->w, E_OK);
}

static void get_many(struct bed *b, struct get *gets, size_t count, struct ctx *const *contexts)
{
    struct many many = {
        .m = {.gets = gets, .count = count, .contexts = contexts, .done = many_done},
        .w = BED_WAIT};
    int code = engine_get_many(&b->c, b->e, &many.m);

    if (code == E_LATER)
        code = bed_wait(&many.w);
    assert_int_equal(code, E_OK);
}

#define MANY 300 /* more than one operation takes */

struct many_keys {
    char text[MANY][16];
    struct get gets[MANY];
};

/* Gets of "k000000" and on, the first from 0, each `step` further, in the bed's partition. */
static void many_init(struct bed *b, struct many_keys *k, int step, enum engine_view view)
{
    for (int i = 0; i < MANY; i++) {
        snprintf(k->text[i], sizeof(k->text[i]), "k%06d", i * step);
        k->gets[i] = (struct get){
            .partition = b->partition, .key = bytes_str(k->text[i]), .view = view, .code = -1};
    }
}

static void test_get_many(void **state)
{
    struct bed *b = *state;
    struct many_keys *k = mem_alloc(sizeof(*k));
    struct engine_stat before, after;

    bed_fill(b, "k", 0, MANY, 40);
    get_many(b, NULL, 0, NULL);
    for (int view = VIEW_DURABLE; view <= VIEW_LATEST; view++) {
        many_init(b, k, 2, (enum engine_view)view); /* the second half is not there */
        k->gets[7].key = k->gets[3].key;            /* one twice, and not in order */
        engine_stat(b->e, &before);
        get_many(b, k->gets, MANY, NULL);
        engine_stat(b->e, &after);
        for (int i = 0; i < MANY; i++) {
            struct get alone = {.key = k->gets[i].key, .view = (enum engine_view)view};

            assert_int_equal(k->gets[i].code, E_OK);
            assert_int_equal(k->gets[i].found, i < MANY / 2);
            assert_int_equal(bed_wait_get(&b->c, b->e, &alone), E_OK);
            assert_true(bytes_equal(alone.value, k->gets[i].value));
        }
        if (is_rados())
            assert_in_range(after.remote_reads - before.remote_reads, 1, MANY / 32);
    }
    mem_free(k);
}

/* Each with a context of its own: one that has no room fails alone. And one for all of them. */
static void test_get_many_contexts(void **state)
{
    struct bed *b = *state;
    struct many_keys *k = mem_alloc(sizeof(*k));
    struct ctx own[3], *contexts[MANY];

    bed_fill(b, "k", 0, MANY, 5000);
    for (size_t i = 0; i < PORT_COUNT(own); i++)
        ctx_init(&own[i], &b->clock, &b->log, NULL, 0);
    own[1].arena.cap = 3000;
    for (size_t i = 0; i < MANY; i++)
        contexts[i] = &own[i % PORT_COUNT(own)];
    many_init(b, k, 1, VIEW_DURABLE);
    get_many(b, k->gets, PORT_COUNT(own), contexts);
    for (size_t i = 0; i < PORT_COUNT(own); i++) {
        assert_int_equal(k->gets[i].code, i == 1 ? E_MEMORY : E_OK);
        assert_int_equal(k->gets[i].found, i != 1);
        assert_int_equal(own[i].code, k->gets[i].code);
        ctx_release(&own[i]);
    }
    b->c.arena.cap = b->c.arena.used + 100 * 5100; /* of all for about a third */
    many_init(b, k, 1, VIEW_DURABLE);
    get_many(b, k->gets, MANY, NULL);
    own[0].arena.used = 0;
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(k->gets[i].found, k->gets[i].code == E_OK);
        if (k->gets[i].code)
            assert_int_equal(k->gets[i].code, E_MEMORY);
        else
            own[0].arena.used++;
    }
    assert_in_range(own[0].arena.used, 50, 150);
    ctx_clear(&b->c);
    mem_free(k);
}

/* What is not durable yet is seen at VIEW_LATEST, in one call with what is. */
static void test_get_many_latest(void **state)
{
    struct bed *b = *state;
    struct many_keys *k = mem_alloc(sizeof(*k));
    struct bed_wait w[MANY];
    struct edit edits[MANY];

    bed_fill(b, "k", 0, MANY, 20);
    many_init(b, k, 1, VIEW_LATEST);
    for (int i = 0; i < MANY; i += 2) {
        edits[i] = (struct edit){i % 4 ? EDIT_PUT : EDIT_DELETE, k->gets[i].key, k->gets[i].key};
        w[i] = (struct bed_wait)BED_WAIT;
        engine_apply(
            &b->c, b->e,
            &(struct write_batch){.partition = b->partition, .edits = &edits[i], .edit_count = 1},
            bed_wait_done, &w[i]);
    }
    get_many(b, k->gets, MANY, NULL);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(k->gets[i].code, E_OK);
        assert_int_equal(k->gets[i].found, i % 4 != 0);
        if (i % 4 == 2)
            assert_true(bytes_equal(k->gets[i].value, k->gets[i].key));
        else if (i % 4)
            assert_int_equal(k->gets[i].value.len, 20);
    }
    for (int i = 0; i < MANY; i += 2)
        assert_int_equal(bed_wait(&w[i]), E_OK);
    mem_free(k);
}

/* Of several partitions, one of which is gone: its gets fail alone. */
static void test_get_many_partitions(void **state)
{
    struct bed *b = *state;
    const struct key_range range = {BYTES_LIT("k"), BYTES_LIT("l")};
    struct partition_spec p[4];
    struct many_keys *k = mem_alloc(sizeof(*k));
    struct engine_stat before, after;

    many_init(b, k, 1, VIEW_DURABLE);
    for (size_t i = 0; i < PORT_COUNT(p); i++)
        p[i] = (struct partition_spec){20 + i, &range, 1};
    assert_int_equal(engine_create(&b->c, b->e, p, PORT_COUNT(p)), E_OK);
    for (size_t i = 0; i < MANY; i++) {
        b->partition = k->gets[i].partition = p[i % PORT_COUNT(p)].id;
        assert_int_equal(bed_put(b, k->text[i], k->text[i]), E_OK);
        bed_ctx_again(b);
    }
    if (!one_map(b))
        assert_int_equal(engine_drop(&b->c, b->e, &p[1]), E_OK);
    engine_stat(b->e, &before);
    get_many(b, k->gets, MANY, NULL);
    engine_stat(b->e, &after);
    for (size_t i = 0; i < MANY; i++) {
        bool gone = !one_map(b) && i % PORT_COUNT(p) == 1;

        assert_int_equal(k->gets[i].code, gone ? E_PARTITION : E_OK);
        assert_int_equal(k->gets[i].found, !gone);
        if (!gone)
            assert_string_equal(arena_printf(&b->c.arena, "%.*s", BYTES_FMT(k->gets[i].value)).ptr,
                                k->text[i]);
    }
    if (is_rados())
        assert_in_range(after.remote_reads - before.remote_reads, PORT_COUNT(p), 16);
    ctx_clear(&b->c);
    mem_free(k);
}

#define READERS 4

static void *many_reader(void *arg)
{
    struct bed *b = arg;
    struct many_keys *k = mem_alloc(sizeof(*k));
    struct bed own = {.e = b->e};

    many_init(b, k, 1, VIEW_DURABLE);
    for (int i = 0; i < 20; i++) {
        ctx_init(&own.c, &b->clock, &b->log, NULL, 0);
        get_many(&own, k->gets, MANY, NULL);
        for (int j = 0; j < MANY; j++)
            assert_true(k->gets[j].found);
        ctx_release(&own.c);
    }
    mem_free(k);
    return NULL;
}

/* Several calls at the same time, mixed with gets and scans of the same keys. */
static void test_get_many_at_once(void **state)
{
    struct bed *b = *state;
    pthread_t threads[READERS];

    bed_fill(b, "k", 0, MANY, 40);
    for (size_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, many_reader, b), 0);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(strlen(bed_get(b, "k000100", VIEW_DURABLE)), 40);
        assert_string_equal(scan_text(b, "k000001", "k000003", false, 10, 1000), "k000001 k000002");
    }
    for (size_t i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    static const char *const names[] = {"mem", "rocks", "rados"};
    int failed = 0;

#define T(f) cmocka_unit_test_setup_teardown(f, setup, bed_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_unknown_engine),
        T(test_get_put_delete),
        T(test_any_bytes),
        T(test_big_value),
        T(test_scan),
        T(test_scan_ranges),
        T(test_last_edit_wins),
        T(test_guards),
        T(test_guards_without_edits),
        T(test_guards_race),
        T(test_barrier),
        T(test_batch_on_stack),
        T(test_size),
        T(test_drop),
        T(test_drop_large),
        T(test_reopen),
        T(test_random),
        T(test_unknown_option),
        T(test_create_many),
        T(test_repartition),
        T(test_rising),
        T(test_walk),
        T(test_guard_on_unsettled),
        T(test_guards_in_a_chain),
        T(test_guards_in_a_long_chain),
        T(test_many_reads),
        T(test_many_reads_of_what_goes),
        T(test_snapshots),
        T(test_snapshot_deadline),
        T(test_snapshots_random),
        T(test_snapshot_of_visit),
        T(test_get_many),
        T(test_get_many_contexts),
        T(test_get_many_latest),
        T(test_get_many_partitions),
        T(test_get_many_at_once),
    };
#undef T

    for (size_t i = 0; i < PORT_COUNT(names); i++) {
        engine_name = names[i];
        if (is_rados() && !getenv("TEST_CEPH_CONF"))
            continue; /* the suite `rados` of test/run.sh has one */
        failed += cmocka_run_group_tests_name(names[i], tests, NULL, NULL);
    }
    return failed;
}
