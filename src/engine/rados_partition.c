/* rados_partition.c: whole partitions: dropped, repartitioned, measured. All of it blocks.
 *
 * repartition() copies: an object cannot be shared out. The order makes it safe to be killed
 * anywhere and called again, by any process, or by two at once:
 *
 *   1. Make the new objects, which allow nobody to read or write yet.
 *   2. Forbid writes to the old ones. Reads go on; nothing changes there any more.
 *   3. Copy, into objects that do not allow writes yet (compared in each operation, so that a late
 *      copier changes nothing in a partition that is in use).
 *   4. Empty the old objects and mark them gone. From now on whoever still asks them is told
 *      E_PARTITION.
 *   5. Allow reads and writes of the new ones.
 *
 * An old partition that is gone proves that the copy was whole, so a second call goes on at 5. */
#include "engine/rados.h"

#include "base/fault.h"
#include "engine/rados_hints.h"
#include "engine/rados_omap.h"

#include <errno.h>
#include <xxhash.h>

#define COPY_ITEMS 2000
#define COPY_BYTES_MAX (8u << 20)

/* Its keys go, its object stays behind. */
int rados_drop(struct ctx *c, struct engine *e, const struct partition_spec *p)
{
    struct rados *r = PORT_CONTAINER(e, struct rados, base);
    rados_write_op_t op = rados_create_write_op();
    int result;

    rados_write_op_create(op, LIBRADOS_CREATE_IDEMPOTENT, NULL);
    rados_write_op_omap_clear(op);
    rados_set_state(op, RADOS_GONE, RADOS_GONE);
    result = rados_write_now(r, op, p->id);
    rados_hints_forget(r->hints, p->id);
    if (result)
        return rados_refuse(c, r, result, p->id, "dropped");
    return E_OK;
}

/* ---- listings that block ---- */

struct listing {
    struct rados *r;
    partition_id id;
    bytes after;
    rados_omap_iter_t iter;
    unsigned char more;
};

/* Asks for the next items behind l->after; `values` too, or keys alone. */
static int list(struct listing *l, bool values, size_t max)
{
    struct rados_name name = rados_name(l->id);
    rados_read_op_t op = rados_create_read_op();
    int result, part;

    rados_read_op_cmpxattr(op, RADOS_READS, LIBRADOS_CMPXATTR_OP_EQ, RADOS_YES,
                           sizeof(RADOS_YES) - 1);
    if (values)
        rados_read_op_omap_get_vals2(op, l->after.ptr, OMAP_FIRST, max, &l->iter, &l->more, &part);
    else
        rados_read_op_omap_get_keys2(op, l->after.ptr, max, &l->iter, &l->more, &part);
    rados_sent(l->r);
    atomic_fetch_add(&l->r->read_ops, 1);
    result = rados_read_op_operate(op, l->r->pool, name.text, 0);
    rados_answered(l->r, result);
    rados_release_read_op(op);
    return result < 0 ? result : 0; /* comparisons may make it 1 */
}

static bool list_next(struct listing *l, bytes *key, bytes *value)
{
    char *k, *v;
    size_t key_len, value_len;

    if (rados_omap_get_next2(l->iter, &k, &v, &key_len, &value_len) || !k)
        return false;
    atomic_fetch_add(&l->r->read_bytes, key_len + value_len);
    *key = bytes_of(k, key_len);
    *value = bytes_of(v, value_len);
    return true;
}

static void list_end(struct listing *l)
{
    if (l->iter)
        rados_omap_get_end(l->iter);
    l->iter = NULL;
}

static bytes copy_z(struct arena *a, bytes key)
{
    char *z = arena_alloc(a, key.len + 1);

    memcpy(z, key.ptr, key.len);
    z[key.len] = 0;
    return bytes_of(z, key.len);
}

/* ---- repartition ---- */

/* A range's bounds in stored form. */
struct bounds {
    bytes above, stop;
};

static struct bounds bounds_of(struct arena *a, const struct key_range *range)
{
    return (struct bounds){omap_before(a, range->start),
                           range->end.len ? omap_key(a, range->end) : BYTES_NONE};
}

static bool inside(bytes key, const struct bounds *b)
{
    return bytes_compare(key, b->above) > 0 && (!b->stop.len || bytes_compare(key, b->stop) < 0);
}

struct copy {
    struct rados *r;
    partition_id to;
    rados_write_op_t op;
    size_t bytes;
};

static void copy_begin(struct copy *copy)
{
    copy->op = rados_create_write_op();
    copy->bytes = 0;
    rados_expect(copy->op, RADOS_WRITES, RADOS_MAKING);
}

/* -ECANCELED: somebody else has finished it all. */
static int copy_flush(struct copy *copy)
{
    int result = 0;

    atomic_fetch_add(&copy->r->written_bytes, copy->bytes);
    if (copy->bytes)
        result = rados_write_now(copy->r, copy->op, copy->to);
    else
        rados_release_write_op(copy->op);
    copy->op = NULL;
    return result;
}

static int copy_put(struct copy *copy, bytes key, bytes value)
{
    if (!copy->op)
        copy_begin(copy);
    rados_write_op_omap_set2(copy->op, (const char *const *)&key.ptr,
                             (const char *const *)&value.ptr, &key.len, &value.len, 1);
    copy->bytes += key.len + value.len;
    return copy->bytes > COPY_BYTES_MAX ? copy_flush(copy) : 0;
}

/* All of `from` that lies in a range of `to`. -ECANCELED: all has been copied before. */
static int copy_partition(struct ctx *c, struct rados *r, partition_id from,
                          const struct partition_spec *to)
{
    struct bounds *bounds = ARENA_ARRAY(&c->arena, struct bounds, to->range_count + 1);
    struct listing l = {.r = r, .id = from, .after = BYTES_LIT(OMAP_FIRST), .more = 1};
    struct copy copy = {.r = r, .to = to->id};
    bytes key, value, last = BYTES_NONE;
    int result = 0;

    for (size_t i = 0; i < to->range_count; i++)
        bounds[i] = bounds_of(&c->arena, &to->ranges[i]);
    while (l.more && !result) {
        result = list(&l, true, COPY_ITEMS);
        while (!result && list_next(&l, &key, &value)) {
            last = key;
            for (size_t i = 0; i < to->range_count; i++)
                if (inside(key, &bounds[i])) {
                    result = copy_put(&copy, key, value);
                    break;
                }
        }
        if (last.ptr)
            l.after = copy_z(&c->arena, last);
        last = BYTES_NONE;
        list_end(&l);
        if (copy.op && !result)
            result = copy_flush(&copy);
    }
    if (copy.op)
        rados_release_write_op(copy.op);
    return result;
}

static int change_state(struct rados *r, partition_id id, const char *expected, const char *reads,
                        const char *writes)
{
    rados_write_op_t op = rados_create_write_op();

    rados_expect(op, RADOS_WRITES, expected);
    rados_set_state(op, reads, writes);
    return rados_write_now(r, op, id);
}

/* -ECANCELED: it is gone. */
static int forbid_writes(struct rados *r, partition_id id)
{
    int result = change_state(r, id, RADOS_YES, RADOS_YES, RADOS_NO);

    /* Perhaps somebody did so before. */
    return result == -ECANCELED ? change_state(r, id, RADOS_NO, RADOS_YES, RADOS_NO) : result;
}

/* The greatest mark of the old partitions under that key. */
static int marks_read(struct rados *r, const char *key, const struct partition_spec *from,
                      size_t count, uint64_t *most)
{
    int result = 0;

    *most = 0;
    for (size_t i = 0; i < count && !result; i++) {
        struct rados_name name = rados_name(from[i].id);
        rados_read_op_t op = rados_create_read_op();
        rados_omap_iter_t read = NULL;
        uint64_t mark = 0;
        int asked;

        rados_mark_ask(op, key, &read, &asked);
        rados_sent(r);
        atomic_fetch_add(&r->read_ops, 1);
        result = rados_read_op_operate(op, r->pool, name.text, 0);
        rados_answered(r, result);
        rados_release_read_op(op);
        result = result < 0 ? result : 0;
        if (!result)
            mark = rados_mark_of(r, read);
        if (read)
            rados_omap_get_end(read);
        *most = mark > *most ? mark : *most;
    }
    return result;
}

/* Into new partitions, whose numbers rise above those of the old ones. */
static int mark_copy(struct ctx *c, struct rados *r, const char *name,
                     const struct partition_spec *from, size_t from_count,
                     const struct partition_spec *to, size_t to_count)
{
    bytes key = bytes_str(name), value;
    uint64_t most;
    int result = marks_read(r, name, from, from_count, &most);

    if (!most)
        return result;
    value = rados_mark_value(&c->arena, most);
    for (size_t i = 0; i < to_count && !result; i++) {
        rados_write_op_t op = rados_create_write_op();

        rados_expect(op, RADOS_WRITES, RADOS_MAKING);
        rados_write_op_omap_set2(op, (const char *const *)&key.ptr, (const char *const *)&value.ptr,
                                 &key.len, &value.len, 1);
        result = rados_write_now(r, op, to[i].id);
    }
    return result;
}

static int marks_copy(struct ctx *c, struct rados *r, const struct partition_spec *from,
                      size_t from_count, const struct partition_spec *to, size_t to_count)
{
    int result = mark_copy(c, r, RADOS_MARK, from, from_count, to, to_count);

    return result ? result : mark_copy(c, r, RADOS_NUMBER, from, from_count, to, to_count);
}

/* *gone: an old partition is gone or a new one in use, so all has been copied before. */
static int copy_all(struct ctx *c, struct rados *r, const struct partition_spec *from,
                    size_t from_count, const struct partition_spec *to, size_t to_count, bool *gone)
{
    int result;

    *gone = false;
    for (size_t i = 0; i < from_count && !*gone; i++) {
        result = forbid_writes(r, from[i].id);
        *gone = result == -ECANCELED;
        if (result && !*gone)
            return rados_refuse(c, r, result, from[i].id, "closed to writes");
    }
    (void)fault_hit(FAULT_repartition_closed);
    result = *gone ? 0 : marks_copy(c, r, from, from_count, to, to_count);
    *gone |= result == -ECANCELED;
    if (result && !*gone)
        return rados_refuse(c, r, result, from[0].id, "copied");
    for (size_t i = 0; i < from_count; i++)
        for (size_t k = 0; k < to_count && !*gone; k++) {
            result = copy_partition(c, r, from[i].id, &to[k]);
            (void)fault_hit(FAULT_repartition_copied_half);
            *gone = result == -ECANCELED;
            if (result && !*gone)
                return rados_refuse(c, r, result, from[i].id, "copied");
        }
    return E_OK;
}

int rados_repartition(struct ctx *c, struct engine *e, const struct partition_spec *from,
                      size_t from_count, const struct partition_spec *to, size_t to_count)
{
    struct rados *r = PORT_CONTAINER(e, struct rados, base);
    bool gone;
    int result;

    TRY(rados_make(c, r, to, to_count, RADOS_MAKING));
    (void)fault_hit(FAULT_repartition_made);
    TRY(copy_all(c, r, from, from_count, to, to_count, &gone));
    (void)fault_hit(FAULT_repartition_copied);
    for (size_t i = 0; i < from_count; i++)
        TRY(rados_drop(c, e, &from[i]));
    (void)fault_hit(FAULT_repartition_gone);
    for (size_t i = 0; i < to_count; i++) {
        result = change_state(r, to[i].id, RADOS_MAKING, RADOS_YES, RADOS_YES);
        if (result && result != -ECANCELED)
            return rados_refuse(c, r, result, to[i].id, "opened");
    }
    return E_OK;
}

int rados_erase(struct ctx *c, struct engine *e, const struct partition_spec *p)
{
    struct rados *r = PORT_CONTAINER(e, struct rados, base);
    rados_write_op_t op = rados_create_write_op();
    int result;

    rados_expect(op, RADOS_WRITES, RADOS_YES);
    for (size_t i = 0; i < p->range_count; i++) {
        const struct key_range *range = &p->ranges[i];
        bytes start = omap_before(&c->arena, range->start);
        bytes end = range->end.len ? omap_before(&c->arena, range->end) : BYTES_LIT(OMAP_BEHIND);

        rados_write_op_omap_rm_range2(op, start.ptr, start.len, end.ptr, end.len);
    }
    result = rados_write_now(r, op, p->id);
    if (result)
        return rados_refuse(c, r, result, p->id, "erased in part");
    return E_OK;
}

/* ---- size ----
 *
 * An omap does not tell how large it is. So all keys of the partition are listed, and the values of
 * some of them read, each of which stands for its neighbours; this survey answers all questions
 * about the partition for a while, as whoever looks for its middle asks dozens of them at once: for
 * SURVEY_MS while this process writes nothing, else for SURVEY_BUSY_MS. Who asks the question again
 * that it was made for wants to know how it is now. */

#define SURVEY_KEYS (1u << 16)
#define SURVEY_VALUES 1024
#define SURVEY_VALUES_ONCE 64
#define SURVEY_VALUE_BYTES (8u << 20)
#define SURVEY_MS 2000
#define SURVEY_BUSY_MS 50

struct rados_survey {
    pthread_mutex_t lock;
    partition_id id;
    int64_t taken_ms;   /* 0: there is none */
    uint64_t question;  /* it was made for */
    uint64_t write_ops; /* of this process until then */
    struct arena arena;
    size_t count;
    uint64_t each; /* keys that one entry stands for */
    uint64_t seen, key_bytes;
    struct survey_entry {
        bytes key;
        uint64_t below; /* bytes stored below it */
    } * entries;        /* one more than count: the end */
};

struct rados_survey *rados_survey_new(void)
{
    struct rados_survey *s = mem_zalloc(sizeof(*s));

    pthread_mutex_init(&s->lock, NULL);
    arena_init(&s->arena, NULL, 0);
    return s;
}

void rados_survey_free(struct rados_survey *s)
{
    arena_release(&s->arena);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

static void survey_key(struct rados_survey *s, bytes key)
{
    s->key_bytes += key.len;
    if (s->seen++ % s->each)
        return;
    if (s->count == SURVEY_KEYS) {
        for (size_t i = 0; i < SURVEY_KEYS / 2; i++)
            s->entries[i] = s->entries[2 * i];
        s->count = SURVEY_KEYS / 2;
        s->each *= 2;
        if ((s->seen - 1) % s->each)
            return;
    }
    s->entries[s->count++].key = copy_z(&s->arena, key);
}

static int survey_keys(struct rados *r, partition_id id, struct rados_survey *s)
{
    struct listing l = {.r = r, .id = id, .after = BYTES_LIT(OMAP_FIRST), .more = 1};
    bytes key, value, last;
    int result = 0;

    while (l.more && !result) {
        result = list(&l, false, RADOS_LISTING_MAX);
        last = BYTES_NONE;
        while (!result && list_next(&l, &key, &value)) {
            last = key;
            survey_key(s, key);
        }
        if (last.ptr)
            l.after = copy_z(&s->arena, last);
        else
            l.more = 0;
        list_end(&l);
    }
    return result;
}

/* The lengths of the values of entries first, first + step, ... into their `below`, at most
 * SURVEY_VALUES_ONCE of them. */
static int survey_values(struct rados *r, partition_id id, struct rados_survey *s, size_t first,
                         size_t step, uint64_t *total)
{
    struct rados_name name = rados_name(id);
    const char *keys[SURVEY_VALUES_ONCE];
    size_t lens[SURVEY_VALUES_ONCE], n = 0, at = first;
    struct listing l = {.r = r};
    rados_read_op_t op = rados_create_read_op();
    bytes key, value;
    int result, part;

    for (size_t i = first; i < s->count && n < SURVEY_VALUES_ONCE; i += step, n++) {
        keys[n] = s->entries[i].key.ptr;
        lens[n] = s->entries[i].key.len;
    }
    rados_read_op_omap_get_vals_by_keys2(op, keys, n, lens, &l.iter, &part);
    rados_sent(r);
    atomic_fetch_add(&r->read_ops, 1);
    result = rados_read_op_operate(op, r->pool, name.text, 0);
    rados_answered(r, result);
    rados_release_read_op(op);
    /* They come in order; one that was deleted since is left out. */
    while (result >= 0 && list_next(&l, &key, &value)) {
        while (at < s->count && !bytes_equal(s->entries[at].key, key))
            at += step;
        if (at < s->count)
            s->entries[at].below = value.len;
        *total += value.len;
    }
    list_end(&l);
    return result < 0 ? result : 0;
}

/* Adds up: an entry's key and value, as often as it stands for one. */
static void survey_sum(struct rados_survey *s, size_t step, size_t known, uint64_t mean)
{
    uint64_t key_mean = s->seen ? s->key_bytes / s->seen : 0, sum = 0, value = 0;

    for (size_t i = 0; i < s->count; i++) {
        if (i % step == 0)
            value = i < known ? s->entries[i].below : mean;
        s->entries[i].below = sum;
        sum += s->each * (key_mean + value);
    }
    s->entries[s->count].below = sum;
}

static int survey_take(struct rados *r, partition_id id, uint64_t question, struct rados_survey *s)
{
    size_t step, at = 0;
    uint64_t total = 0, asked = 0, write_ops = atomic_load(&r->write_ops);
    int result;

    arena_release(&s->arena);
    arena_init(&s->arena, NULL, 0);
    s->entries = ARENA_ARRAY(&s->arena, struct survey_entry, SURVEY_KEYS + 1);
    s->count = 0;
    s->seen = s->key_bytes = 0;
    s->each = 1;
    s->taken_ms = 0;
    result = survey_keys(r, id, s);
    step = s->count / SURVEY_VALUES + 1;
    while (!result && at < s->count && total < SURVEY_VALUE_BYTES) {
        result = survey_values(r, id, s, at, step, &total);
        at += step * SURVEY_VALUES_ONCE;
        asked += SURVEY_VALUES_ONCE;
    }
    if (result)
        return result;
    survey_sum(s, step, at, asked ? total / asked : 0);
    s->id = id;
    s->question = question;
    s->write_ops = write_ops;
    s->taken_ms = clock_mono_ms(r->clock);
    return 0;
}

/* Bytes below the first key that is not below `bound`. */
static uint64_t survey_below(const struct rados_survey *s, bytes bound)
{
    size_t low = 0, high = s->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (bytes_compare(s->entries[middle].key, bound) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return s->entries[low].below;
}

static uint64_t question_of(const struct partition_spec *p)
{
    uint64_t h = p->id;

    for (size_t i = 0; i < p->range_count; i++) {
        h = XXH3_64bits_withSeed(p->ranges[i].start.ptr, p->ranges[i].start.len, h);
        h = XXH3_64bits_withSeed(p->ranges[i].end.ptr, p->ranges[i].end.len, h);
    }
    return h;
}

static bool survey_is_fresh(struct rados *r, const struct rados_survey *s)
{
    int64_t age = clock_mono_ms(r->clock) - s->taken_ms;

    return s->taken_ms &&
           age <= (atomic_load(&r->write_ops) == s->write_ops ? SURVEY_MS : SURVEY_BUSY_MS);
}

int rados_size(struct ctx *c, struct engine *e, const struct partition_spec *p, uint64_t *out)
{
    struct rados *r = PORT_CONTAINER(e, struct rados, base);
    struct rados_survey *s = r->survey;
    uint64_t question = question_of(p);
    int result = 0;

    *out = 0;
    pthread_mutex_lock(&s->lock);
    if (s->id != p->id || s->question == question || !survey_is_fresh(r, s))
        result = survey_take(r, p->id, question, s);
    for (size_t i = 0; i < p->range_count && !result; i++) {
        struct bounds bounds = bounds_of(&c->arena, &p->ranges[i]);
        uint64_t from = survey_below(s, bounds.above);
        uint64_t to = bounds.stop.len ? survey_below(s, bounds.stop) : s->entries[s->count].below;

        *out += to > from ? to - from : 0;
    }
    pthread_mutex_unlock(&s->lock);
    if (result)
        return fail(c, rados_read_code(r, result), "The size of partition %llu cannot be told.",
                    (unsigned long long)p->id);
    return E_OK;
}
