/* book.c: the comparison of the book with what a server serves, and the digests of both. */
#include "book.h"

#include "door.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

const char *const book_keys[2] = {"bucket", "id"};
const char *const numbered_keys[2] = {"owner", "number"};

/* ---- a picture of what is stored */

struct picture {
    struct book *book;
    struct arena *arena;
    enum table table;
    struct state states[TABLES][OWNERS][IDS_MAX];
    int64_t counters[COUNTERS];
    struct numbered *numbered[OWNERS];
    int numbered_count[OWNERS], numbered_capacity[OWNERS];
};

static int64_t key_integer(const struct wr_row *row, size_t i)
{
    return row->key.columns[i].value.integer;
}

static bool look_row(void *arg, const struct wr_row *row)
{
    struct picture *p = arg;
    struct crash *run = p->book->run;
    int64_t bucket = key_integer(row, 0), id = key_integer(row, 1), owner = bucket / 1000;
    const char *name = tables[p->table].name, *why = "";
    struct arena a;

    if (bucket == COUNTER_BUCKET && id >= 0 && id < COUNTERS && row->cell_count == 1) {
        p->counters[id] = row->cells[0].value.integer;
        return true;
    }
    if (owner < 0 || owner >= OWNERS || id < 0 || id >= tables[p->table].ids ||
        book_bucket(p->table, (int)owner, (int)id) != bucket) {
        crash_problem(run, "%s (%lld, %lld) was never written", name, (long long)bucket,
                      (long long)id);
        return true;
    }
    arena_init(&a, NULL, 0);
    if (!state_read(&a, p->table, row, &p->states[p->table][owner][id], &why))
        crash_problem(run, "%s (%lld, %lld) is torn: %s", name, (long long)bucket, (long long)id,
                      why);
    arena_release(&a);
    return true;
}

static bool look_numbered(void *arg, const struct wr_row *row)
{
    struct picture *p = arg;
    int64_t owner = key_integer(row, 0), number = key_integer(row, 1);
    int *count;

    if (owner < 0 || owner >= OWNERS || row->cell_count != 1) {
        crash_problem(p->book->run, "numbered (%lld, %lld) was never written", (long long)owner,
                      (long long)number);
        return true;
    }
    count = &p->numbered_count[owner];
    if (*count == p->numbered_capacity[owner]) {
        p->numbered_capacity[owner] = *count ? *count * 2 : 64;
        p->numbered[owner] = mem_realloc(
            p->numbered[owner], sizeof(struct numbered) * (size_t)p->numbered_capacity[owner]);
    }
    p->numbered[owner][(*count)++] =
        (struct numbered){number, (uint64_t)row->cells[0].value.integer};
    return true;
}

/* False: it could not be read. */
static bool look(struct book *b, struct picture *p)
{
    struct door d;
    int code = 0;

    memset(p, 0, sizeof(*p));
    p->book = b;
    door_open(&d, b->run);
    d.client->retry_ms = 30000;
    for (p->table = 0; p->table < TABLES && !code; p->table++)
        code =
            door_scan(&d, tables[p->table].name, book_keys, 2, INT64_MIN, INT64_MAX, look_row, p);
    if (!code)
        code = door_scan(&d, "numbered", numbered_keys, 2, INT64_MIN, INT64_MAX, look_numbered, p);
    if (code)
        crash_problem(b->run, "the tables cannot be read: %s %s", wr_error_name(code),
                      d.c.text ? d.c.text : "");
    door_close(&d);
    return code == 0;
}

/* ---- the comparison */

/* Whether the rows of a maybe are all as before (0), all as after (1), or neither (-1). */
static int maybe_side(const struct owner *o, int owner, const struct maybe *m,
                      const struct picture *p)
{
    bool before = true, after = true;

    for (int i = 0; i < m->count; i++) {
        const struct state *found = &p->states[m->table][owner][m->ids[i]];

        before = before && state_equal(found, &o->states[m->table][m->ids[i]]);
        after = after && state_equal(found, &m->after[i]);
    }
    return before ? 0 : after ? 1 : -1;
}

/* One of the rows of a batch that is not atomic, or of any maybe that was neither. */
static void settle_row(struct book *b, int owner, const struct maybe *m, int i,
                       const struct picture *p, const char *where)
{
    const struct state *found = &p->states[m->table][owner][m->ids[i]];
    struct state *book = &b->owners[owner].states[m->table][m->ids[i]];
    struct arena a;

    if (!state_equal(found, book) && !state_equal(found, &m->after[i])) {
        arena_init(&a, NULL, 0);
        crash_problem(b->run, "%s: %s (%d, %d) is %s, neither %s nor %s", where,
                      tables[m->table].name, owner, m->ids[i], cells_show(&a, found),
                      cells_show(&a, book), cells_show(&a, &m->after[i]));
        arena_release(&a);
    }
    *book = *found;
}

static void settle(struct book *b, int owner, const struct picture *p, const char *where)
{
    struct owner *o = &b->owners[owner];

    for (int k = 0; k < o->maybe_count; k++) {
        const struct maybe *m = &o->maybes[k];

        if (m->atomic && maybe_side(o, owner, m, p) < 0)
            crash_problem(b->run, "%s: an atomic batch of owner %d at %s %d is torn", where, owner,
                          tables[m->table].name, m->ids[0]);
        for (int i = 0; i < m->count; i++)
            settle_row(b, owner, m, i, p, where);
        for (int i = 0; i < m->count; i++)
            o->in_doubt[m->table][m->ids[i]] = false;
    }
    o->maybe_count = 0;
}

static void compare_rows(struct book *b, int owner, const struct picture *p, const char *where)
{
    struct owner *o = &b->owners[owner];
    struct arena a;

    arena_init(&a, NULL, 0);
    for (enum table t = 0; t < TABLES; t++)
        for (int id = 0; id < tables[t].ids; id++) {
            if (o->in_doubt[t][id] || state_equal(&o->states[t][id], &p->states[t][owner][id]))
                continue;
            crash_problem(b->run, "%s: %s (%d, %d) is %s, not %s", where, tables[t].name, owner, id,
                          cells_show(&a, &p->states[t][owner][id]),
                          cells_show(&a, &o->states[t][id]));
            o->states[t][id] = p->states[t][owner][id];
        }
    arena_release(&a);
}

static void compare_counters(struct book *b, const struct picture *p, const char *where)
{
    for (int i = 0; i < COUNTERS; i++) {
        int64_t low = b->counter_base[i], high;

        for (int o = 0; o < OWNERS; o++)
            low += b->owners[o].counter_acked[i];
        high = low;
        for (int o = 0; o < OWNERS; o++)
            high += b->owners[o].counter_maybe[i];
        if (p->counters[i] < low || p->counters[i] > high)
            crash_problem(b->run, "%s: counter %d is %lld, not from %lld to %lld", where, i,
                          (long long)p->counters[i], (long long)low, (long long)high);
        b->counter_base[i] = p->counters[i];
    }
    for (int o = 0; o < OWNERS; o++) {
        memset(b->owners[o].counter_acked, 0, sizeof(b->owners[o].counter_acked));
        memset(b->owners[o].counter_maybe, 0, sizeof(b->owners[o].counter_maybe));
    }
}

static bool is_maybe(struct owner *o, uint64_t tag)
{
    for (int i = 0; i < o->number_maybe_count; i++)
        if (o->number_maybe[i] == tag)
            return true;
    return false;
}

static int find_number(const struct numbered *list, int count, int64_t number)
{
    for (int i = 0; i < count; i++)
        if (list[i].number == number)
            return i;
    return -1;
}

/* Every acknowledged row is there as it was, and what else is there was asked for and not answered.
 */
static void compare_numbered(struct book *b, int owner, const struct picture *p, const char *where)
{
    struct owner *o = &b->owners[owner];
    const struct numbered *found = p->numbered[owner];
    int count = p->numbered_count[owner];

    for (int i = 0; i < o->numbered_count; i++) {
        int at = find_number(found, count, o->numbered[i].number);

        if (at < 0 && o->delete_maybe == o->numbered[i].number)
            continue;
        if (at < 0 || found[at].tag != o->numbered[i].tag)
            crash_problem(b->run, "%s: numbered (%d, %lld) is %s", where, owner,
                          (long long)o->numbered[i].number, at < 0 ? "gone" : "another one");
    }
    for (int i = 0; i < count; i++) {
        if (find_number(o->numbered, o->numbered_count, found[i].number) < 0 &&
            !is_maybe(o, found[i].tag))
            crash_problem(b->run, "%s: numbered (%d, %lld) with tag %llx should not be there",
                          where, owner, (long long)found[i].number,
                          (unsigned long long)found[i].tag);
    }
}

/* The book takes over what is there. */
static void settle_numbered(struct owner *o, const struct numbered *found, int count)
{
    o->numbered_count = 0;
    o->number_maybe_count = 0;
    o->delete_maybe = 0;
    for (int i = 0; i < count; i++) {
        if (o->numbered_count < NUMBERED_MAX)
            o->numbered[o->numbered_count++] = found[i];
        if (found[i].number > o->number_last)
            o->number_last = found[i].number;
    }
}

void book_compare(struct book *b, const char *where, bool settles)
{
    struct picture *p = mem_zalloc(sizeof(*p));

    if (look(b, p)) {
        for (int o = 0; o < OWNERS; o++) {
            if (settles)
                settle(b, o, p, where);
            compare_rows(b, o, p, where);
            compare_numbered(b, o, p, where);
            if (settles)
                settle_numbered(&b->owners[o], p->numbered[o], p->numbered_count[o]);
        }
        if (settles)
            compare_counters(b, p, where);
    }
    for (int o = 0; o < OWNERS; o++)
        mem_free(p->numbered[o]);
    mem_free(p);
}

/* ---- digests */

static void put_text(EVP_MD_CTX *sha, bytes text)
{
    uint64_t len = text.len;

    EVP_DigestUpdate(sha, &len, sizeof(len));
    EVP_DigestUpdate(sha, text.ptr ? text.ptr : "", text.len);
}

static void put_row(EVP_MD_CTX *sha, enum table table, int64_t bucket, int64_t id,
                    const struct wr_cell *cells, size_t count)
{
    int64_t numbers[4] = {table, bucket, id, (int64_t)count};

    EVP_DigestUpdate(sha, numbers, sizeof(numbers));
    for (size_t i = 0; i < count; i++) {
        const struct wr_value *v = &cells[i].value;
        uint64_t type = v->type, bits = 0;

        put_text(sha, cells[i].name);
        EVP_DigestUpdate(sha, &type, sizeof(type));
        if (v->type == WR_VARCHAR || v->type == WR_VARBINARY) {
            put_text(sha, v->bytes);
            continue;
        }
        if (v->type == WR_BOOLEAN)
            bits = v->boolean;
        else
            memcpy(&bits, &v->integer, sizeof(bits)); /* or the double's */
        EVP_DigestUpdate(sha, &bits, sizeof(bits));
    }
}

static EVP_MD_CTX *begin(void)
{
    EVP_MD_CTX *sha = EVP_MD_CTX_new();

    EVP_DigestInit_ex(sha, EVP_sha256(), NULL);
    return sha;
}

static void finish(EVP_MD_CTX *sha, char out[BOOK_DIGEST_TEXT + 1])
{
    uint8_t sum[BOOK_DIGEST_TEXT / 2];

    EVP_DigestFinal_ex(sha, sum, NULL);
    EVP_MD_CTX_free(sha);
    for (size_t i = 0; i < sizeof(sum); i++)
        snprintf(out + 2 * i, 3, "%02x", sum[i]);
}

void book_digest(struct book *b, char out[BOOK_DIGEST_TEXT + 1])
{
    EVP_MD_CTX *sha = begin();

    for (enum table t = 0; t < TABLES; t++)
        for (int o = 0; o < OWNERS; o++)
            for (int id = 0; id < tables[t].ids; id++) {
                const struct state *s = &b->owners[o].states[t][id];
                struct wr_cell *cells;
                struct arena a;
                size_t count;

                if (!state_present(s))
                    continue;
                arena_init(&a, NULL, 0);
                cells = cells_of_row(&a, t, book_bucket(t, o, id), id, s, &count);
                put_row(sha, t, book_bucket(t, o, id), id, cells, count);
                arena_release(&a);
            }
    finish(sha, out);
}

struct digest_look {
    EVP_MD_CTX *sha;
    enum table table;
};

static bool digest_row(void *arg, const struct wr_row *row)
{
    struct digest_look *l = arg;

    if (key_integer(row, 0) != COUNTER_BUCKET)
        put_row(l->sha, l->table, key_integer(row, 0), key_integer(row, 1), row->cells,
                row->cell_count);
    return true;
}

bool book_digest_stored(struct book *b, char out[BOOK_DIGEST_TEXT + 1])
{
    struct digest_look l = {begin(), 0};
    struct door d;
    int code = 0;

    door_open(&d, b->run);
    for (l.table = 0; l.table < TABLES && !code; l.table++)
        code =
            door_scan(&d, tables[l.table].name, book_keys, 2, INT64_MIN, INT64_MAX, digest_row, &l);
    door_close(&d);
    finish(l.sha, out);
    return code == 0;
}
