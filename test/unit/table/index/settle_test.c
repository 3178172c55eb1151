/* Outbox records, and entries that drainers bring to their keys: as bytes, and under any mixture of
 * writers whose clocks differ, drainers that stop anywhere, and batches that land late. */
#include "table/index/settle.h"

#include "../../engine/bed.h"
#include "base/rng.h"

#define VALUES 3
#define DRAINERS 3
#define LATE_MAX 16
#define ROUNDS 150
#define STEPS 300

enum plant { PLANT_NONE, PLANT_NO_FENCE, PLANT_LATE_FENCE, PLANT_NO_STAMP };

/* A drainer's way through one note. */
struct drainer {
    struct settle_fence fence; /* read before the note */
    bytes note;
    struct outbox outbox;
    size_t at;               /* of the note's keys */
    bool has_batch, unmarks; /* a batch that waits to land */
    struct batch_builder batch;
};

struct sim {
    struct bed *bed;
    struct rng rng;
    enum plant plant;
    struct location base, index;
    bytes row; /* its key columns */
    bytes cols[VALUES];
    int value;      /* of the row; -1: it is not there */
    uint64_t stamp; /* of the row that is there */
    uint64_t time;
    struct drainer drainers[DRAINERS];
    struct batch_builder late[LATE_MAX];
    size_t late_count;
};

static struct arena *memory(struct sim *s)
{
    return &s->bed->c.arena;
}

static bytes stored(struct sim *s, bytes key)
{
    struct get g = {.key = key, .view = VIEW_LATEST};

    assert_int_equal(bed_wait_get(&s->bed->c, s->bed->e, &g), E_OK);
    return g.found ? arena_copy(memory(s), g.value) : BYTES_NONE;
}

static int land(struct sim *s, const struct batch_builder *e)
{
    struct write_batch b = {.guards = e->guards,
                            .guard_count = e->guard_count,
                            .edits = e->items,
                            .edit_count = e->count};

    return bed_apply(s->bed, &b);
}

static bytes note_key(struct sim *s)
{
    return beside_key(memory(s), &s->base, s->row, BESIDE_OUTBOX);
}

static bytes record_key(struct sim *s, bytes cols)
{
    struct buf b;

    buf_init(&b, memory(s), 32);
    layout_put_key(&b, &s->index, KIND_RECORD, cols);
    return buf_bytes(&b);
}

static struct index_entry entry_at(struct sim *s, int value, uint64_t stamp)
{
    struct index_entry e = {.there = false};

    if (value < 0)
        return e;
    return (struct index_entry){
        .there = true, .cols = s->cols[value], .row = {.there = true, .stamp = stamp}};
}

/* ---- writers ---- */

/* Of servers whose clocks differ by more than the time that a mark stays. */
static void write_row(struct sim *s)
{
    struct batch_builder e = {.arena = memory(s)};
    int value = (int)rng_below(&s->rng, VALUES + 1) - 1;
    bytes note = stored(s, note_key(s));
    uint64_t stamp = s->time - rng_below(&s->rng, 400), last = 0;
    struct index_entry old = entry_at(s, s->value, s->stamp), now;
    struct outbox o = {.count = 0};

    if (value == s->value)
        return;
    if (note.ptr)
        assert_int_equal(outbox_decode(&s->bed->c, note, &o), E_OK);
    if (s->plant != PLANT_NO_STAMP)
        last = outbox_stamp(&o);
    if (s->value >= 0 && s->stamp > last)
        last = s->stamp;
    if (stamp <= last)
        stamp = last + 1;
    now = entry_at(s, value, stamp);
    assert_true(outbox_merge(memory(s), &o, 6, stamp, &old, &now));
    batch_add(&e, EDIT_PUT, note_key(s), outbox_encode(memory(s), &o));
    assert_int_equal(land(s, &e), E_OK);
    s->value = value;
    s->stamp = stamp;
}

/* ---- drainers ---- */

static struct settle_fence fence_of(struct sim *s)
{
    struct settle_fence f = {.key = settle_fence_key(memory(s), s->index.id, BYTES_NONE)};

    f.value = stored(s, f.key);
    return f;
}

static struct settle_seen seen_at(struct sim *s, bytes cols)
{
    return (struct settle_seen){.record = stored(s, record_key(s, cols)),
                                .mark =
                                    stored(s, beside_key(memory(s), &s->index, cols, BESIDE_MARK))};
}

/* The next key's batch; false: there is none left. */
static bool prepare_key(struct sim *s, struct drainer *d)
{
    const struct outbox_index *x = &d->outbox.indexes[0];
    bool entry = d->at >= x->other_count, needed;
    bytes cols = entry ? x->cols : x->others[d->at];
    struct settle_seen seen;

    if (d->at >= x->other_count + (x->there ? 1 : 0))
        return false;
    seen = seen_at(s, cols);
    d->batch = (struct batch_builder){.arena = memory(s)};
    assert_int_equal(settle_key(&s->bed->c, &d->batch, &s->index, cols, x->stamp,
                                entry ? x->value : BYTES_NONE, &seen, &needed),
                     E_OK);
    if (s->plant == PLANT_LATE_FENCE)
        d->fence = fence_of(s);
    if (s->plant != PLANT_NO_FENCE)
        settle_guard_fence(&d->batch, &d->fence);
    d->has_batch = needed;
    d->at += !needed;
    return true;
}

static void prepare_unmark(struct sim *s, struct drainer *d)
{
    const struct outbox_index *x = &d->outbox.indexes[0];

    d->batch = (struct batch_builder){.arena = memory(s)};
    for (size_t i = 0; i < x->other_count; i++)
        assert_int_equal(settle_unmark(&s->bed->c, &d->batch, &s->index, x->others[i], x->stamp,
                                       seen_at(s, x->others[i]).mark),
                         E_OK);
    assert_int_equal(settle_move_fence(&s->bed->c, &d->batch, &d->fence), E_OK);
    d->has_batch = d->unmarks = true;
}

/* The note is done with, unless it has changed. */
static void end_note(struct sim *s, struct drainer *d)
{
    struct batch_builder e = {.arena = memory(s)};

    batch_add_guard(&e, (struct guard){.key = note_key(s), .value = d->note});
    if (d->unmarks)
        d->outbox.count = 0;
    else
        outbox_settle(&d->outbox);
    if (d->outbox.count)
        batch_add(&e, EDIT_PUT, note_key(s), outbox_encode(memory(s), &d->outbox));
    else
        batch_add(&e, EDIT_DELETE, note_key(s), BYTES_NONE);
    (void)land(s, &e); /* E_GUARD: it is drained again */
    *d = (struct drainer){.at = 0};
}

static void land_or_stop(struct sim *s, struct drainer *d)
{
    uint64_t luck = rng_below(&s->rng, 8);
    int code;

    if (luck == 0 && s->late_count < LATE_MAX) { /* killed; its batch is on its way all the same */
        s->late[s->late_count++] = d->batch;
        *d = (struct drainer){.at = 0};
        return;
    }
    code = land(s, &d->batch);
    assert_true(code == E_OK || code == E_GUARD);
    d->has_batch = false;
    if (code) /* from the fence on */
        *d = (struct drainer){.at = 0};
    else if (d->unmarks)
        end_note(s, d);
    else
        d->at++;
}

static void drain_step(struct sim *s, struct drainer *d)
{
    if (d->has_batch) {
        land_or_stop(s, d);
        return;
    }
    if (!d->note.ptr) {
        d->fence = fence_of(s);
        d->note = stored(s, note_key(s));
        if (d->note.ptr)
            assert_int_equal(outbox_decode(&s->bed->c, d->note, &d->outbox), E_OK);
        return;
    }
    if (d->outbox.indexes[0].settled && s->time > d->outbox.indexes[0].stamp + 100)
        prepare_unmark(s, d);
    else if (d->outbox.indexes[0].settled)
        *d = (struct drainer){.at = 0};
    else if (!prepare_key(s, d))
        end_note(s, d);
}

/* ---- a life ---- */

static void step(struct sim *s)
{
    uint64_t what = rng_below(&s->rng, 16);

    s->time += rng_below(&s->rng, 20);
    if (what == 0)
        write_row(s);
    else if (what == 1 && s->late_count)
        (void)land(s, &s->late[--s->late_count]);
    else
        drain_step(s, &s->drainers[rng_below(&s->rng, DRAINERS)]);
}

/* Nobody writes any more, until there is no note; and then what was on its way lands. */
static void come_to_rest(struct sim *s)
{
    for (int i = 0; i < 100000 && stored(s, note_key(s)).ptr; i++) {
        s->time += 20;
        drain_step(s, &s->drainers[rng_below(&s->rng, DRAINERS)]);
    }
    assert_null(stored(s, note_key(s)).ptr);
    while (s->late_count)
        (void)land(s, &s->late[--s->late_count]);
    for (int i = 0; i < DRAINERS; i++)
        if (s->drainers[i].has_batch)
            (void)land(s, &s->drainers[i].batch);
}

/* Keys that are not as the row has them. */
static size_t differences(struct sim *s)
{
    size_t count = 0;

    for (int i = 0; i < VALUES; i++) {
        struct settle_seen seen = seen_at(s, s->cols[i]);

        count += (seen.record.ptr != NULL) != (i == s->value);
        count += seen.mark.ptr != NULL;
    }
    return count;
}

static size_t live(struct bed *b, uint64_t seed, enum plant plant)
{
    struct sim s = {.bed = b,
                    .plant = plant,
                    .base = {.id = 5, .layout = {.buckets = 1, .partition_cols = 1}},
                    .index = {.id = 6, .layout = {.buckets = 1, .partition_cols = 1}},
                    .value = -1,
                    .time = 1000};

    bed_ctx_again(b);
    rng_init(&s.rng, seed);
    s.row = arena_printf(&b->c.arena, "row%06llu", (unsigned long long)seed);
    for (int i = 0; i < VALUES; i++)
        s.cols[i] = arena_printf(&b->c.arena, "%d%.*s", i, BYTES_FMT(s.row));
    for (int i = 0; i < STEPS; i++)
        step(&s);
    come_to_rest(&s);
    return differences(&s);
}

static size_t lives(struct bed *b, enum plant plant)
{
    size_t count = 0;

    for (uint64_t seed = 1; seed <= ROUNDS; seed++)
        count += live(b, seed + ROUNDS * (uint64_t)plant, plant);
    return count;
}

static void entries_become_the_rows(void **state)
{
    assert_int_equal(lives(*state, PLANT_NONE), 0);
}

/* Each rule is needed: without it, entries stay that no row has, or are missing. */
static void without_a_fence_they_do_not(void **state)
{
    assert_true(lives(*state, PLANT_NO_FENCE) > 0);
}

static void with_a_fence_read_after_the_note_they_do_not(void **state)
{
    assert_true(lives(*state, PLANT_LATE_FENCE) > 0);
}

static void without_the_records_stamp_they_do_not(void **state)
{
    assert_true(lives(*state, PLANT_NO_STAMP) > 0);
}

/* ---- bytes ---- */

static struct outbox sample(void)
{
    static bytes others[] = {BYTES_LIT("old"), BYTES_LIT("")};
    static struct outbox_index indexes[] = {
        {.id = 300,
         .stamp = 0x0102030405060708,
         .there = true,
         .cols = BYTES_LIT("now"),
         .value = BYTES_LIT("v")},
        {.id = 7, .stamp = 9, .settled = true, .others = others, .other_count = 2}};

    return (struct outbox){indexes, 2};
}

static void bytes_stay(void **state)
{
    struct bed *b = *state;
    struct outbox o = sample(), back;
    bytes all = outbox_encode(&b->c.arena, &o);
    static const char golden[] = "\1\2\254\2\10\7\6\5\4\3\2\1\2\3now\1v\0"
                                 "\7\11\0\0\0\0\0\0\0\1\2\3old\0";

    assert_int_equal(all.len, sizeof(golden) - 1);
    assert_memory_equal(all.ptr, golden, all.len);
    assert_int_equal(outbox_decode(&b->c, all, &back), E_OK);
    assert_int_equal(outbox_stamp(&back), o.indexes[0].stamp);
    assert_true(bytes_equal(outbox_encode(&b->c.arena, &back), all));
}

static void damaged_bytes_are_refused(void **state)
{
    struct bed *b = *state;
    struct outbox o = sample(), back;
    bytes all = outbox_encode(&b->c.arena, &o);
    uint8_t *newer = ARENA_ARRAY(&b->c.arena, uint8_t, all.len);

    for (size_t n = 0; n < all.len; n++) {
        assert_int_equal(outbox_decode(&b->c, bytes_of(all.ptr, n), &back), E_CORRUPT);
        ctx_clear(&b->c);
    }
    memcpy(newer, all.ptr, all.len);
    newer[0]++;
    assert_int_equal(outbox_decode(&b->c, bytes_of(newer, all.len), &back), E_FORMAT);
    ctx_clear(&b->c);
}

static void what_is_damaged_at_a_key_is_not_replaced(void **state)
{
    static const struct settle_seen bad[] = {{.mark = BYTES_LIT("\1short")},
                                             {.mark = BYTES_LIT("\0"
                                                                "12345678")},
                                             {.record = BYTES_LIT("\1")}};
    struct bed *b = *state;
    const struct location p = {.id = 6, .layout = {.buckets = 1, .partition_cols = 1}};

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct batch_builder e = {.arena = &b->c.arena};
        bool needed;

        assert_int_equal(settle_key(&b->c, &e, &p, BYTES_LIT("k"), 9, BYTES_NONE, &bad[i], &needed),
                         E_CORRUPT);
        assert_int_equal(e.count + e.guard_count, 0);
        ctx_clear(&b->c);
    }
}

static void too_many_keys_change_nothing(void **state)
{
    struct bed *b = *state;
    struct arena *a = &b->c.arena;
    struct index_entry old = {.there = false}, now = {.there = true, .row = {.there = true}};
    struct outbox o = {.count = 0};

    for (uint64_t i = 1; i <= OUTBOX_KEYS_MAX + 1; i++) {
        now.cols = arena_printf(a, "%03d", (int)i);
        now.row.stamp = i;
        assert_true(outbox_merge(a, &o, 6, i, &old, &now));
        old = now;
    }
    assert_int_equal(o.indexes[0].other_count, OUTBOX_KEYS_MAX);
    now.cols = BYTES_LIT("more");
    assert_false(outbox_merge(a, &o, 6, 99, &old, &now));
    assert_int_equal(outbox_stamp(&o), OUTBOX_KEYS_MAX + 1);
    outbox_settle(&o);
    assert_true(o.count == 1 && o.indexes[0].settled && !o.indexes[0].there);
}

static int set_up(void **state)
{
    return bed_set_up(state, "mem");
}

#define LIFE(f) cmocka_unit_test_setup_teardown(f, set_up, bed_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIFE(bytes_stay),
        LIFE(damaged_bytes_are_refused),
        LIFE(what_is_damaged_at_a_key_is_not_replaced),
        LIFE(too_many_keys_change_nothing),
        LIFE(entries_become_the_rows),
        LIFE(without_a_fence_they_do_not),
        LIFE(with_a_fence_read_after_the_note_they_do_not),
        LIFE(without_the_records_stamp_they_do_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
