/* compare.c: what a server serves, against the writers' book. */
#include "workload.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- taking a picture */

struct look {
    struct picture *p;
    struct arena *arena;
};

static int64_t key_integer(const struct wr_row *row, size_t i)
{
    return row->key.columns[i].value.integer;
}

static void look_counter(struct picture *p, const struct wr_row *row, int64_t id)
{
    const struct wr_cell *n = door_cell(row, "n");

    if (id < 0 || id >= COUNTERS || !n || row->cell_count != 1) {
        p->foreign++;
        crash_problem(p->run, "counter %lld is no counter", (long long)id);
        return;
    }
    p->counters[id] = n->value.integer;
}

static bool look_row(void *arg, const struct wr_row *row)
{
    struct look *look = arg;
    struct picture *p = look->p;
    int64_t owner = key_integer(row, 0), id = key_integer(row, 1);
    const char *why = "";

    if (owner == COUNTER_OWNER) {
        look_counter(p, row, id);
        return true;
    }
    if (owner < 0 || owner >= OWNERS || id < 0 || id >= KEYS) {
        p->foreign++;
        crash_problem(p->run, "row (%lld, %lld) was never written", (long long)owner,
                      (long long)id);
        return true;
    }
    if (!content_read(look->arena, row, owner, id, &p->states[owner][id], &why)) {
        p->torn++;
        crash_problem(p->run, "row (%lld, %lld) is torn: %s", (long long)owner, (long long)id, why);
    }
    return true;
}

static int get(struct door *d, int64_t owner, int64_t id, struct wr_reply *reply)
{
    struct wr_key_column key[2] = {
        {bytes_str(workload_row_keys[0]), {.type = WR_BIGINT, .integer = owner}},
        {bytes_str(workload_row_keys[1]), {.type = WR_BIGINT, .integer = id}}};
    struct wr_request request = {
        .op = WR_OP_GET_ROW,
        .get_row = {.table = BYTES_LIT("rows"),
                    .key = {key, 2},
                    .read = {.max_versions = 1, .has_max_versions = true}}};

    door_clear(d);
    return door_exec(d, &request, reply);
}

/* Reads one row into the picture. True if that met damage; any other error is a wrong answer. */
static bool look_single(struct door *d, struct picture *p, int64_t owner, int64_t id)
{
    struct look look = {p, &d->c.arena};
    struct wr_reply reply;
    int code = get(d, owner, id, &reply);

    if (code == 0 && reply.row.row.key.count)
        look_row(&look, &reply.row.row);
    if (code == WR_E_NOT_EXIST) {
        p->no_table = true;
        return false;
    }
    if (code && code != WR_E_INTERNAL && !p->foreign++)
        crash_problem(p->run, "reading row (%lld, %lld): %s", (long long)owner, (long long)id,
                      d->c.text);
    p->unknown_count += code != 0;
    return code != 0;
}

/* One by one, since a scan met damage. */
static void look_singly(struct door *d, struct picture *p)
{
    for (int i = 0; i < OWNERS; i++)
        for (int id = 0; id < KEYS; id++)
            p->unknown[i][id] = look_single(d, p, i, id);
    for (int i = 0; i < COUNTERS; i++)
        p->counter_unknown[i] = look_single(d, p, COUNTER_OWNER, i);
}

int workload_look(struct workload *w, struct picture *p)
{
    struct look look = {.p = p};
    struct door d;
    int code;

    memset(p, 0, sizeof(*p));
    p->run = w->run;
    door_open(&d, w->run);
    look.arena = &d.c.arena;
    code = door_scan(&d, "rows", workload_row_keys, 2, INT64_MIN, INT64_MAX, look_row, &look);
    if (code) {
        printf("  a scan of all rows ended with %d: %s\n", code, d.c.text ? d.c.text : "");
        memset(p, 0, sizeof(*p));
        p->run = w->run;
        look_singly(&d, p);
    }
    door_close(&d);
    return code;
}

/* ---- against the book */

/* Whether the rows of a maybe are all as before (0), all as after (1), or neither (-1). Rows that
 * the change leaves as they are count as both. */
static int maybe_side(const struct writer *me, const struct maybe *m, const struct picture *p)
{
    bool before = true, after = true;

    for (int i = 0; i < m->count; i++) {
        const struct state *found = &p->states[me->owner][m->ids[i]];

        if (p->unknown[me->owner][m->ids[i]])
            continue;
        before = before && state_equal(found, &me->states[m->ids[i]]);
        after = after && state_equal(found, &m->after[i]);
    }
    return before ? 0 : after ? 1 : -1;
}

static int compare_row(struct writer *me, int id, const struct state *after,
                       const struct picture *p, const char *where)
{
    const struct state *found = &p->states[me->owner][id];
    struct arena arena;

    if (p->unknown[me->owner][id] || state_equal(found, &me->states[id]) ||
        (after && state_equal(found, after)))
        return 0;
    arena_init(&arena, NULL, 0);
    crash_problem(me->w->run, "%s: row (%d, %d) is %s, acknowledged was %s%s%s", where, me->owner,
                  id, content_show(&arena, found), content_show(&arena, &me->states[id]),
                  after ? ", unanswered " : "", after ? content_show(&arena, after) : "");
    arena_release(&arena);
    return 1;
}

static int compare_writer(struct writer *me, const struct picture *p, const char *where)
{
    int wrong = 0;

    for (int id = 0; id < KEYS; id++)
        if (!me->in_doubt[id])
            wrong += compare_row(me, id, NULL, p, where);
    for (int i = 0; i < me->maybe_count; i++) {
        const struct maybe *m = &me->maybes[i];

        for (int j = 0; j < m->count; j++)
            wrong += compare_row(me, m->ids[j], &m->after[j], p, where);
        if (m->atomic && maybe_side(me, m, p) < 0) {
            crash_problem(me->w->run, "%s: an atomic batch of writer %d is half there", where,
                          me->owner);
            wrong++;
        }
    }
    return wrong;
}

static int compare_counter(struct workload *w, int which, const struct picture *p,
                           const char *where)
{
    int64_t low = w->counter_base[which], high, seen = 0, found = p->counters[which];

    for (int i = 0; i < OWNERS; i++)
        low += w->writers[i].counter_acked[which];
    high = low;
    for (int i = 0; i < OWNERS; i++) {
        high += w->writers[i].counter_maybe[which];
        seen = w->writers[i].counter_seen[which] > seen ? w->writers[i].counter_seen[which] : seen;
    }
    if (p->counter_unknown[which] || (found >= low && found <= high && found >= seen))
        return 0;
    crash_problem(w->run, "%s: counter %d is %lld, acknowledged %lld, at most %lld, seen %lld",
                  where, which, (long long)found, (long long)low, (long long)high, (long long)seen);
    return 1;
}

static void settle(struct workload *w, const struct picture *p)
{
    for (int i = 0; i < OWNERS; i++) {
        struct writer *me = &w->writers[i];

        for (int m = 0; m < me->maybe_count; m++)
            for (int j = 0; j < me->maybes[m].count; j++) {
                int id = me->maybes[m].ids[j];

                if (!state_equal(&me->states[id], &p->states[i][id]))
                    workload_keep(me, id, &p->states[i][id]);
                me->in_doubt[id] = false;
            }
        me->maybe_count = 0;
        memset(me->counter_acked, 0, sizeof(me->counter_acked));
        memset(me->counter_maybe, 0, sizeof(me->counter_maybe));
    }
    memcpy(w->counter_base, p->counters, sizeof(w->counter_base));
}

int workload_compare(struct workload *w, const struct picture *p, const char *where, bool adopt)
{
    int wrong = p->torn + p->foreign;

    if (p->no_table) {
        crash_problem(w->run, "%s: the table is gone", where);
        return wrong + 1;
    }
    for (int i = 0; i < OWNERS; i++)
        wrong += compare_writer(&w->writers[i], p, where);
    for (int i = 0; i < COUNTERS; i++)
        wrong += compare_counter(w, i, p, where);
    if (adopt)
        settle(w, p);
    return wrong;
}

/* ---- against the past */

/* A row that an unanswered request is about may be as that request would leave it. */
static bool row_maybe(const struct writer *me, int id, const struct state *found)
{
    for (int i = 0; i < me->maybe_count; i++)
        for (int j = 0; j < me->maybes[i].count; j++)
            if (me->maybes[i].ids[j] == id && state_equal(&me->maybes[i].after[j], found))
                return true;
    return false;
}

/* Replays the changes of one writer and looks for the newest moment, with at least `needed`
 * changes, at which every row is as in the picture. Returns how many changes came after it; -1:
 * there is no such moment. */
static int writer_moment(struct writer *me, const struct picture *p, int needed)
{
    const struct state *found = p->states[me->owner];
    struct state now[KEYS] = {0};
    int differ = 0, moment = -1;
    bool skip[KEYS];

    for (int id = 0; id < KEYS; id++) {
        skip[id] = row_maybe(me, id, &found[id]);
        differ += !skip[id] && state_present(&found[id]);
    }
    for (int i = 0; i <= me->change_count; i++) {
        const struct change *change = &me->changes[i];

        if (!differ && i >= needed)
            moment = i;
        if (i == me->change_count)
            break;
        if (!skip[change->id])
            differ -= !state_equal(&now[change->id], &found[change->id]);
        now[change->id] = change->after;
        if (!skip[change->id])
            differ += !state_equal(&now[change->id], &found[change->id]);
    }
    return moment < 0 ? -1 : me->change_count - moment;
}

bool workload_is_prefix(struct workload *w, const struct picture *p, int *lost)
{
    *lost = 0;
    for (int i = 0; i < OWNERS; i++) {
        int n = writer_moment(&w->writers[i], p, 0);

        if (n < 0)
            return false;
        *lost += n;
    }
    return p->torn + p->foreign == 0;
}

static bool counter_fits(struct workload *w, const struct picture *p, int which, int64_t position)
{
    int64_t low = 0, seen = 0;

    for (int i = 0; i < OWNERS; i++) {
        const struct writer *me = &w->writers[i];

        for (int j = 0; j < me->news_count && me->news[j].position <= position; j++) {
            if (me->news[j].which != which)
                continue;
            low += !me->news[j].seen;
            seen = me->news[j].seen > seen ? me->news[j].seen : seen;
        }
    }
    return p->counters[which] >= low && p->counters[which] >= seen;
}

bool workload_is_prefix_from(struct workload *w, const struct picture *p, int64_t position)
{
    for (int i = 0; i < OWNERS; i++) {
        struct writer *me = &w->writers[i];
        int needed = 0;

        while (needed < me->change_count && me->changes[needed].position <= position)
            needed++;
        if (writer_moment(me, p, needed) < 0)
            return false;
    }
    for (int i = 0; i < COUNTERS; i++)
        if (!counter_fits(w, p, i, position))
            return false;
    return p->torn + p->foreign == 0 && !p->no_table;
}

static bool row_was(const struct writer *me, int id, const struct state *found)
{
    if (!state_present(found) || row_maybe(me, id, found))
        return true;
    for (int i = 0; i < me->change_count; i++)
        if (me->changes[i].id == id && state_equal(&me->changes[i].after, found))
            return true;
    return false;
}

bool workload_is_past(struct workload *w, const struct picture *p)
{
    for (int i = 0; i < OWNERS; i++)
        for (int id = 0; id < KEYS; id++)
            if (!p->unknown[i][id] && !row_was(&w->writers[i], id, &p->states[i][id]))
                return false;
    return p->torn + p->foreign == 0;
}

/* ---- the chains */

struct link_row {
    struct link at, before;
    int owner;
    bool visited;
};

struct links {
    struct crash *run;
    struct link_row *rows; /* in key order, as the scan gives them */
    size_t count, capacity;
};

static bool links_add(void *arg, const struct wr_row *row)
{
    const struct wr_cell *check = door_cell(row, "check");
    const struct wr_cell *epoch = door_cell(row, "epoch_before");
    const struct wr_cell *key = door_cell(row, "key_before");
    struct links *l = arg;
    struct link_row r = {.at = {key_integer(row, 0), key_integer(row, 2)},
                         .owner = (int)key_integer(row, 1)};

    if (l->count == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 1024;
        l->rows = mem_realloc(l->rows, l->capacity * sizeof(*l->rows));
    }
    if (check && epoch && key && row->cell_count == 3)
        r.before = (struct link){epoch->value.integer, key->value.integer};
    if (!check || workload_link_check(r.owner, r.at, r.before) != check->value.integer)
        crash_problem(l->run, "link (%lld, %d, %lld) is torn", (long long)r.at.epoch, r.owner,
                      (long long)r.at.key);
    l->rows[l->count++] = r;
    return true;
}

static int link_compare(const void *a, const void *b)
{
    const struct link_row *x = a, *y = b;

    if (x->at.epoch != y->at.epoch)
        return x->at.epoch < y->at.epoch ? -1 : 1;
    if (x->owner != y->owner)
        return x->owner < y->owner ? -1 : 1;
    return x->at.key < y->at.key ? -1 : x->at.key > y->at.key;
}

static struct link_row *links_find(struct links *l, int owner, struct link at)
{
    struct link_row want = {.at = at, .owner = owner};

    if (!l->count)
        return NULL;
    return bsearch(&want, l->rows, l->count, sizeof(*l->rows), link_compare);
}

/* From the newest link back to the first one of `from`. */
static void follow_writer(struct writer *me, struct links *l, int64_t from, int64_t expected,
                          const char *where)
{
    struct link at = me->head;
    int64_t n = 0;

    while (at.epoch >= from && at.epoch) {
        struct link_row *r = links_find(l, me->owner, at);

        if (!r || r->visited) {
            crash_problem(l->run, "%s: the chain of writer %d breaks after %lld of %lld links",
                          where, me->owner, (long long)n, (long long)expected);
            return;
        }
        r->visited = true;
        at = r->before;
        n++;
    }
    if (n != expected)
        crash_problem(l->run, "%s: the chain of writer %d has %lld links, %lld were acknowledged",
                      where, me->owner, (long long)n, (long long)expected);
}

int workload_follow(struct workload *w, const char *where, bool whole)
{
    int64_t from = whole ? 1 : w->epoch, strays = 0, allowed = 0;
    struct links l = {.run = w->run};
    struct door d;
    int code;

    door_open(&d, w->run);
    code = door_scan(&d, "chain", workload_chain_keys, 3, from, INT64_MAX, links_add, &l);
    for (int i = 0; i < OWNERS && !code; i++) {
        struct writer *me = &w->writers[i];

        follow_writer(me, &l, from, whole ? me->chain_total : me->chain_acked, where);
        allowed += whole ? me->chain_maybes : me->chain_maybe.epoch != 0;
    }
    for (size_t i = 0; i < l.count; i++)
        strays += !l.rows[i].visited;
    if (!code && strays > allowed)
        crash_problem(w->run, "%s: %lld links that nobody asked for", where,
                      (long long)(strays - allowed));
    mem_free(l.rows);
    door_close(&d);
    return code;
}
