/* check.c: a search over the orders in which operations may have happened.
 *
 * Time runs over the events of a history, calls and answers. Operations between the two are under
 * way, and each has a slot, a bit in `happened`. Nothing needs to happen before some answer asks
 * for it: at an answer, if its operation has not happened yet, a chain of operations under way that
 * ends with it is made to happen. Which chain is the choice to make; the search goes depth first
 * and remembers every config (event, state, happened) it has been at, by a 128-bit hash, so none is
 * tried twice.
 *
 * What keeps the choices few, without losing an answer:
 *   - A read, or a refused write, that fits the state happens at once: it changes nothing, so
 *     wherever a later order would place it, here is as good.
 *   - Only operations that touch a common row, in a chain up to the one whose answer is due, need
 *     to happen before it: others may as well happen later.
 *   - A value is written once (but LOCK_FREE), so it cannot come back: a write that ends a value
 *     which somebody has yet to see cannot happen now. This finds most wrong choices at once, not
 *     at the next read.
 *   - The order of trying: first the operation itself, then what makes it fit, then writes that
 *     were answered, and last those that may never have happened.
 *
 * An operation without an answer keeps its slot to the end. */
#include "check.h"

#include "base/port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define CONFIGS_MAX (4u << 20) /* 128 MB of hashes at most */
#define STARTS_MAX 64
#define SHOWN_MAX 120
#define CONTEXT 24 /* operations before the one that cannot be */

/* ---- events */

struct event {
    int64_t ns;
    uint32_t op;
    bool is_return;
    uint32_t pending_at, pending_count; /* returns: who is under way, itself included */
};

struct history {
    const struct op *ops;
    uint16_t *slots; /* of each operation */
    struct event *events;
    size_t event_count;
    uint32_t *pending; /* pool */
    bool too_wide;
    uint32_t *call_event, *return_event; /* of each operation */
    /* Who sees the value first_value + i: observers[observer_at[i]] up to [observer_at[i + 1]]. */
    int32_t first_value;
    size_t value_count;
    uint32_t *observer_at, *observers;
};

static int compare_events(const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    if (x->is_return != y->is_return)
        return x->is_return - y->is_return; /* at one moment they overlap */
    return x->op < y->op ? -1 : x->op > y->op;
}

static void history_slots(struct history *h)
{
    uint32_t under_way[SLOTS_MAX];
    size_t used = 0, capacity = 0, highest = 0;
    bool taken[SLOTS_MAX] = {false};

    for (size_t e = 0; e < h->event_count; e++) {
        struct event *ev = &h->events[e];
        size_t s = 0;

        if (!ev->is_return) {
            while (s < SLOTS_MAX && taken[s])
                s++;
            if (s == SLOTS_MAX) {
                h->too_wide = true;
                return;
            }
            taken[s] = true;
            under_way[s] = ev->op;
            h->slots[ev->op] = (uint16_t)s;
            highest = s >= highest ? s + 1 : highest;
            continue;
        }
        if (used + highest > capacity) {
            capacity = (used + highest) * 2;
            h->pending = mem_realloc(h->pending, capacity * sizeof(*h->pending));
        }
        ev->pending_at = (uint32_t)used;
        for (s = 0; s < highest; s++)
            if (taken[s])
                h->pending[used++] = under_way[s];
        ev->pending_count = (uint32_t)used - ev->pending_at;
        taken[h->slots[ev->op]] = false;
    }
}

/* The values that an operation must have found, in columns v and w, and that do not come back. */
static size_t values_seen(const struct op *o, int32_t *out)
{
    size_t n = 0;

    if (o->type == OP_READ) {
        for (int i = 0; i < GROUP_ROWS; i++)
            for (int k = COLUMN_V; k <= COLUMN_W; k++)
                if (o->rows & 1u << i && o->seen[i].has & 1u << k &&
                    o->seen[i].column[k] != LOCK_FREE)
                    out[n++] = o->seen[i].column[k];
        return n;
    }
    for (int i = 0; o->type == OP_WRITE && i < o->change_count && o->outcome == DONE; i++)
        if (o->changes[i].compares && !o->changes[i].untold && o->changes[i].expect != LOCK_FREE)
            out[n++] = o->changes[i].expect;
    return n;
}

static void history_observers(struct history *h, size_t count)
{
    int32_t seen[GROUP_ROWS * 2], lowest = INT32_MAX, highest = INT32_MIN;
    size_t total = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t n = values_seen(&h->ops[i], seen); n--; total++) {
            lowest = seen[n] < lowest ? seen[n] : lowest;
            highest = seen[n] > highest ? seen[n] : highest;
        }
    if (!total)
        return;
    h->first_value = lowest;
    h->value_count = (size_t)((int64_t)highest - lowest + 1);
    h->observer_at = mem_zalloc((h->value_count + 2) * sizeof(*h->observer_at));
    h->observers = mem_alloc(total * sizeof(*h->observers));
    for (size_t i = 0; i < count; i++)
        for (size_t n = values_seen(&h->ops[i], seen); n--;)
            h->observer_at[seen[n] - lowest + 2]++;
    for (size_t i = 2; i < h->value_count + 2; i++)
        h->observer_at[i] += h->observer_at[i - 1];
    for (size_t i = 0; i < count; i++)
        for (size_t n = values_seen(&h->ops[i], seen); n--;)
            h->observers[h->observer_at[seen[n] - lowest + 1]++] = (uint32_t)i;
}

static void history_init(struct history *h, const struct op *ops, size_t count)
{
    *h = (struct history){.ops = ops};
    h->slots = mem_zalloc((count + 1) * sizeof(*h->slots));
    h->events = mem_zalloc((count * 2 + 1) * sizeof(*h->events));
    for (size_t i = 0; i < count; i++) {
        h->events[h->event_count++] = (struct event){.ns = ops[i].call_ns, .op = (uint32_t)i};
        if (ops[i].return_ns != NEVER)
            h->events[h->event_count++] =
                (struct event){.ns = ops[i].return_ns, .op = (uint32_t)i, .is_return = true};
    }
    qsort(h->events, h->event_count, sizeof(*h->events), compare_events);
    h->call_event = mem_zalloc((count + 1) * sizeof(*h->call_event));
    h->return_event = mem_alloc((count + 1) * sizeof(*h->return_event));
    memset(h->return_event, 0xFF, (count + 1) * sizeof(*h->return_event));
    for (size_t e = 0; e < h->event_count; e++)
        (h->events[e].is_return ? h->return_event : h->call_event)[h->events[e].op] = (uint32_t)e;
    history_slots(h);
    history_observers(h, count);
}

static void history_release(struct history *h)
{
    mem_free(h->slots);
    mem_free(h->events);
    mem_free(h->pending);
    mem_free(h->call_event);
    mem_free(h->return_event);
    mem_free(h->observer_at);
    mem_free(h->observers);
}

/* ---- what has been seen */

struct seen {
    XXH128_hash_t *table;
    size_t size, count;
};

static bool seen_put(struct seen *s, XXH128_hash_t hash)
{
    size_t i = hash.low64 & (s->size - 1);

    while (s->table[i].low64 | s->table[i].high64) {
        if (XXH128_isEqual(s->table[i], hash))
            return false;
        i = (i + 1) & (s->size - 1);
    }
    s->table[i] = hash;
    s->count++;
    return true;
}

/* True if it is new. */
static bool seen_add(struct seen *s, size_t event, const struct config *c)
{
    if (s->count * 4 >= s->size * 3) {
        struct seen more = {mem_zalloc(s->size * 2 * sizeof(*s->table)), s->size * 2, 0};

        for (size_t i = 0; i < s->size; i++)
            if (s->table[i].low64 | s->table[i].high64)
                seen_put(&more, s->table[i]);
        mem_free(s->table);
        *s = more;
    }
    return seen_put(s, XXH3_128bits_withSeed(c, sizeof(*c), event));
}

/* ---- the search */

/* A config at the answer of an operation that has not happened yet, and what may happen next. */
struct frame {
    struct config config;
    uint32_t event;
    uint32_t choice_at, choice_end; /* in the pool; tried from the end */
};

struct search {
    const struct history *h;
    size_t end; /* event to stop before */
    struct seen seen;
    struct frame *frames;
    size_t frame_count, frame_capacity;
    uint32_t *choices;
    size_t choice_count, choice_capacity;
    bool reached; /* the end */
    /* If wanted: all configs at the end. */
    struct config *ends;
    size_t end_count, ends_max;
};

static bool has_happened(const struct config *c, unsigned slot)
{
    return c->happened[slot / 64] >> slot % 64 & 1;
}

static bool changes_nothing(const struct op *o)
{
    return o->type == OP_READ || o->outcome == REFUSED;
}

static void absorb(const struct history *h, const struct event *ev, struct config *c)
{
    for (uint32_t i = 0; i < ev->pending_count; i++) {
        uint32_t p = h->pending[ev->pending_at + i];
        unsigned slot = h->slots[p];
        struct state out;

        if (changes_nothing(&h->ops[p]) && !has_happened(c, slot) &&
            model_step(&h->ops[p], &c->state, &out))
            c->happened[slot / 64] |= 1ull << slot % 64;
    }
}

static void choice_add(struct search *s, uint32_t op)
{
    if (s->choice_count == s->choice_capacity) {
        s->choice_capacity = s->choice_capacity ? s->choice_capacity * 2 : 1024;
        s->choices = mem_realloc(s->choices, s->choice_capacity * sizeof(*s->choices));
    }
    s->choices[s->choice_count++] = op;
}

/* Rows that a chain of operations under way links with those of the one due. Reads of several rows
 * are links too: one may have to see a row before the due operation changes it, and another row
 * after somebody else did. */
static uint8_t linked_rows(const struct history *h, const struct event *ev, const struct config *c)
{
    uint8_t rows = h->ops[ev->op].rows, before;

    do {
        before = rows;
        for (uint32_t i = 0; i < ev->pending_count; i++) {
            uint32_t p = h->pending[ev->pending_at + i];

            if (!has_happened(c, h->slots[p]) && h->ops[p].rows & rows)
                rows |= h->ops[p].rows;
        }
    } while (rows != before);
    return rows;
}

/* 3: try first. 0: not at all. */
static int choice_rank(const struct op *due, const struct op *p, const struct config *c)
{
    struct state out, after;

    if (!model_step(p, &c->state, &out))
        return 0;
    if (p == due)
        return 4;
    if (changes_nothing(p))
        return 0;
    if (p->outcome == MAYBE && memcmp(&out, &c->state, sizeof(out)) == 0)
        return 0;
    if (model_step(due, &out, &after))
        return p->outcome == MAYBE ? 2 : 3;
    return 1;
}

static void find_choices(struct search *s, struct frame *f)
{
    const struct history *h = s->h;
    const struct event *ev = &h->events[f->event];
    uint8_t rows = linked_rows(h, ev, &f->config);

    f->choice_at = (uint32_t)s->choice_count;
    for (int rank = 1; rank <= 4; rank++)
        for (uint32_t i = 0; i < ev->pending_count; i++) {
            uint32_t p = h->pending[ev->pending_at + i];

            if (h->ops[p].rows & rows && !has_happened(&f->config, h->slots[p]) &&
                choice_rank(&h->ops[ev->op], &h->ops[p], &f->config) == rank)
                choice_add(s, p);
        }
    f->choice_end = (uint32_t)s->choice_count;
}

static void add_end(struct search *s, const struct config *c)
{
    s->reached = true;
    if (s->end_count < s->ends_max)
        s->ends[s->end_count++] = *c;
}

/* Goes on from `event` to the next answer whose operation has not happened; a frame is made there
 * if nobody was there before. */
static void go_on(struct search *s, size_t event, struct config *c)
{
    const struct history *h = s->h;
    struct frame *f;

    for (; event < s->end; event++) {
        const struct event *ev = &h->events[event];
        unsigned slot = h->slots[ev->op];

        if (!ev->is_return)
            continue;
        if (!has_happened(c, slot))
            absorb(h, ev, c);
        if (!has_happened(c, slot))
            break;
        c->happened[slot / 64] &= ~(1ull << slot % 64);
    }
    if (!seen_add(&s->seen, event, c))
        return;
    if (event >= s->end) {
        add_end(s, c);
        return;
    }
    if (s->frame_count == s->frame_capacity) {
        s->frame_capacity = s->frame_capacity ? s->frame_capacity * 2 : 256;
        s->frames = mem_realloc(s->frames, s->frame_capacity * sizeof(*s->frames));
    }
    f = &s->frames[s->frame_count++];
    f->config = *c;
    f->event = (uint32_t)event;
    find_choices(s, f);
}

/* True if somebody has yet to see this value, `event` being the next to come. */
static bool still_wanted(const struct history *h, const struct config *c, size_t event,
                         int32_t value)
{
    int64_t at = (int64_t)value - h->first_value;

    if (!h->value_count || at < 0 || at >= (int64_t)h->value_count)
        return false;
    for (uint32_t i = h->observer_at[at]; i < h->observer_at[at + 1]; i++) {
        uint32_t o = h->observers[i];

        if (h->call_event[o] > event)
            return true;
        if (h->return_event[o] >= event && !has_happened(c, h->slots[o]))
            return true;
    }
    return false;
}

static bool ends_wanted_value(const struct history *h, const struct config *c, size_t event,
                              const struct state *before)
{
    for (int i = 0; i < GROUP_ROWS; i++) {
        const struct row_state *a = &before->rows[i], *b = &c->state.rows[i];

        if (a->has & 1 && a->column[COLUMN_V] != b->column[COLUMN_V] &&
            still_wanted(h, c, event, a->column[COLUMN_V]))
            return true;
    }
    return false;
}

static void make_happen(struct search *s, struct frame *f, uint32_t op)
{
    struct config c = f->config;
    unsigned slot = s->h->slots[op];

    model_step(&s->h->ops[op], &f->config.state, &c.state);
    c.happened[slot / 64] |= 1ull << slot % 64;
    if (!ends_wanted_value(s->h, &c, f->event, &f->config.state))
        go_on(s, f->event, &c);
}

/* From any of the starts at event `begin`. With ends_max the whole tree is walked. */
static enum verdict search_run(struct search *s, size_t begin, const struct config *starts,
                               size_t start_count)
{
    size_t next_start = 0;

    s->seen = (struct seen){mem_zalloc(1024 * sizeof(XXH128_hash_t)), 1024, 0};
    while (!s->reached || s->ends_max) {
        struct frame *f;

        if (s->seen.count > CONFIGS_MAX || s->end_count > STARTS_MAX)
            return UNDECIDED;
        if (!s->frame_count) {
            struct config c;

            if (next_start == start_count)
                break;
            c = starts[next_start++];
            go_on(s, begin, &c);
            continue;
        }
        f = &s->frames[s->frame_count - 1];
        if (f->choice_end == f->choice_at) {
            s->choice_count = f->choice_at;
            s->frame_count--;
            continue;
        }
        make_happen(s, f, s->choices[--f->choice_end]);
    }
    return s->reached ? LINEARIZABLE : VIOLATION;
}

static void search_release(struct search *s)
{
    mem_free(s->seen.table);
    mem_free(s->frames);
    mem_free(s->choices);
}

/* ---- checking */

static void check_from(const struct op *ops, size_t count, const struct config *starts,
                       size_t start_count, struct result *out)
{
    struct history h;
    struct search s = {0};

    *out = (struct result){.verdict = UNDECIDED};
    history_init(&h, ops, count);
    if (!h.too_wide) {
        s.h = &h;
        s.end = h.event_count;
        out->verdict = search_run(&s, 0, starts, start_count);
        out->configs = s.seen.count;
        search_release(&s);
    }
    history_release(&h);
}

void check_history(const struct op *ops, size_t count, struct result *out)
{
    struct config start = {0};

    check_from(ops, count, &start, 1, out);
}

/* ---- explaining */

static int compare_calls(const void *a, const void *b)
{
    const struct op *x = a, *y = b;

    return x->call_ns < y->call_ns ? -1 : x->call_ns > y->call_ns;
}

/* What was called by the moment at which the search stuck, cut to `rows`; what was answered later
 * may or may not have happened. */
static size_t cut(const struct op *ops, size_t count, uint8_t rows, int64_t until_ns,
                  struct op *out)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        if (ops[i].call_ns > until_ns || !model_project(&ops[i], rows, &out[n]))
            continue;
        if (out[n].return_ns > until_ns) {
            if (changes_nothing(&out[n]))
                continue;
            out[n].return_ns = NEVER;
            out[n].returned = false;
            out[n].outcome = MAYBE;
        }
        n++;
    }
    qsort(out, n, sizeof(*out), compare_calls);
    return n;
}

static bool violates(const struct op *ops, size_t count, const struct config *starts,
                     size_t start_count)
{
    struct result r;

    check_from(ops, count, starts, start_count, &r);
    return r.verdict == VIOLATION;
}

/* The last moment at which only unanswered operations are under way; and none of those, since a
 * start says nothing of slots. Returns how many operations (by call) are before it. */
static size_t quiet_before(const struct op *ops, size_t limit)
{
    int64_t latest = 0;
    size_t best = 0;

    for (size_t i = 0; i < limit; i++) {
        if (i && latest < ops[i].call_ns)
            best = i;
        if (ops[i].return_ns > latest)
            latest = ops[i].return_ns;
    }
    return best;
}

/* All states that the first `count` operations can end in, none under way. False: too many. */
static bool all_ends(const struct op *ops, size_t count, struct config *ends, size_t *end_count)
{
    struct config start = {0};
    struct history h;
    struct search s = {.h = &h, .ends = ends, .ends_max = STARTS_MAX + 1};
    enum verdict v;

    history_init(&h, ops, count);
    s.end = h.event_count;
    v = h.too_wide ? UNDECIDED : search_run(&s, 0, &start, 1);
    *end_count = s.end_count;
    search_release(&s);
    history_release(&h);
    return v == LINEARIZABLE && *end_count <= STARTS_MAX;
}

/* Drops what changes nothing and is not needed, in pieces that get smaller. */
static size_t shrink(struct op *ops, size_t count, const struct config *starts, size_t start_count)
{
    struct op *fewer = mem_alloc((count + 1) * sizeof(*ops));

    for (size_t piece = count / 2 ? count / 2 : 1;; piece /= 2) {
        for (size_t at = 0; at < count; at += piece) {
            size_t n = 0;

            for (size_t i = 0; i < count; i++)
                if (i < at || i >= at + piece || !changes_nothing(&ops[i]))
                    fewer[n++] = ops[i];
            if (n < count && violates(fewer, n, starts, start_count)) {
                memcpy(ops, fewer, n * sizeof(*ops));
                count = n;
            }
        }
        if (piece == 1)
            break;
    }
    mem_free(fewer);
    return count;
}

/* Who wrote the values that the stuck operation saw. */
static void print_writers(const struct op *all, size_t count, const struct op *stuck)
{
    char text[600];
    int shown = 0;

    for (int r = 0; r < GROUP_ROWS && stuck->type == OP_READ; r++)
        for (size_t i = 0; i < count && (stuck->rows & 1u << r) && shown < 8; i++) {
            const struct op *o = &all[i];

            for (int k = 0; o->type == OP_WRITE && k < o->change_count; k++) {
                const struct change *c = &o->changes[k];

                if (c->row != r || !(c->sets & stuck->seen[r].has & 3))
                    continue;
                if ((c->sets & 1 && stuck->seen[r].has & 1 &&
                     c->column[0] == stuck->seen[r].column[0]) ||
                    (c->sets & 2 && stuck->seen[r].has & 2 &&
                     c->column[1] == stuck->seen[r].column[1])) {
                    printf("    it saw what was written by %s\n",
                           model_print_op(o, all[0].call_ns, text, sizeof(text)));
                    shown++;
                    break;
                }
            }
        }
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* The first answer up to which the history already cannot be explained. The search itself may have
 * stuck earlier, since it looks ahead for who sees a value. */
static int64_t first_violation(const struct op *ops, size_t count, uint8_t rows, struct op *h)
{
    int64_t *times = mem_alloc((count + 1) * sizeof(*times)), found = NEVER;
    struct config start = {0};
    size_t n = 0, low = 0, high;

    for (size_t i = 0; i < count; i++)
        if (ops[i].return_ns != NEVER && ops[i].rows & rows)
            times[n++] = ops[i].return_ns;
    qsort(times, n, sizeof(*times), compare_times);
    for (high = n; low < high;) {
        size_t middle = (low + high) / 2;

        if (violates(h, cut(ops, count, rows, times[middle], h), &start, 1))
            high = middle;
        else
            low = middle + 1;
    }
    if (low < n)
        found = times[low];
    mem_free(times);
    return found;
}

static void print_history(const struct op *h, size_t n, const struct config *starts,
                          size_t start_count, uint8_t rows, int64_t zero_ns)
{
    int64_t last_ns = 0;
    char text[600];

    for (size_t i = 0; i < start_count && i < 8; i++)
        printf("    state %s\n", model_print_state(&starts[i].state, rows, text, sizeof(text)));
    for (size_t i = 0; i < n; i++)
        if (h[i].return_ns != NEVER && h[i].return_ns > last_ns)
            last_ns = h[i].return_ns;
    for (size_t i = 0; i < n && i < SHOWN_MAX; i++)
        printf("    %s%s\n", model_print_op(&h[i], zero_ns, text, sizeof(text)),
               h[i].return_ns == last_ns ? "   <-- cannot be" : "");
    if (n > SHOWN_MAX)
        printf("    ... and %zu more\n", n - SHOWN_MAX);
}

/* The rows to show: one that alone violates, else all. */
static uint8_t choose_rows(const struct op *ops, size_t count, struct op *h, int64_t *until_ns)
{
    for (int i = 0; i < GROUP_ROWS; i++) {
        *until_ns = first_violation(ops, count, (uint8_t)(1u << i), h);
        if (*until_ns != NEVER)
            return (uint8_t)(1u << i);
    }
    *until_ns = first_violation(ops, count, (1u << GROUP_ROWS) - 1, h);
    return (1u << GROUP_ROWS) - 1;
}

void check_explain(const struct op *ops, size_t count)
{
    struct op *h = mem_alloc((count + 1) * sizeof(*h)), last = {.type = OP_WRITE};
    struct config *starts = mem_zalloc((STARTS_MAX + 1) * sizeof(*starts));
    size_t n, start_count = 1, before;
    int64_t zero_ns = NEVER, until_ns;
    uint8_t rows = choose_rows(ops, count, h, &until_ns);

    n = cut(ops, count, rows, until_ns, h);
    for (size_t i = 0; i < count; i++)
        zero_ns = ops[i].call_ns < zero_ns ? ops[i].call_ns : zero_ns;
    for (size_t i = 0; i < n; i++)
        if (h[i].return_ns == until_ns)
            last = h[i];
    /* Some context is worth more than the shortest proof. */
    for (before = quiet_before(h, n > CONTEXT ? n - CONTEXT : 0); before;
         before = quiet_before(h, before)) {
        if (!all_ends(h, before, starts, &start_count))
            continue;
        memmove(h, h + before, (n - before) * sizeof(*h));
        n -= before;
        break;
    }
    if (!before) {
        memset(starts, 0, sizeof(*starts));
        start_count = 1;
    }
    n = shrink(h, n, starts, start_count);
    printf("    no order explains these %zu operations of group %d (cut from %zu), from %s:\n", n,
           ops[0].group, count, start_count > 1 ? "any of these states" : "this state");
    print_history(h, n, starts, start_count, rows, zero_ns);
    print_writers(ops, count, &last);
    mem_free(starts);
    mem_free(h);
}
