#include "sql/run/parts.h"

#include "sql/run/convert.h"

#define PAGE_ROWS 4000
#define CUTS_MAX 16         /* of one walk */
#define TURN_MS 20          /* of a part, before others of the pool have theirs */
#define TEXT_BYTES_MAX 1000 /* of a key column, as it is cut */
#define DIGITS_MAX 8        /* of a text that are looked at behind what two have in common */
#define DIGIT_BITS 7

/* ---- where to cut ---- */

/* The characters from `at` on as a number of DIGITS_MAX digits. False: not all are ASCII. */
static bool text_number(bytes text, size_t at, uint64_t *out)
{
    *out = 0;
    for (size_t i = at; i < at + DIGITS_MAX; i++) {
        uint8_t digit = i < text.len ? bytes_u8(text)[i] : 0;

        if (digit >> DIGIT_BITS)
            return false;
        *out = *out << DIGIT_BITS | digit;
    }
    return true;
}

/* a is in front of b. */
static bool text_middle(struct arena *arena, bytes a, bytes b, struct wr_value *out)
{
    uint64_t low, high, middle;
    size_t same = 0;
    uint8_t *text;

    while (same < a.len && same < b.len && bytes_u8(a)[same] == bytes_u8(b)[same])
        same++;
    if (same + DIGITS_MAX > TEXT_BYTES_MAX || (same && bytes_u8(a)[same - 1] >> DIGIT_BITS) ||
        !text_number(a, same, &low) || !text_number(b, same, &high) || high <= low + 1)
        return false;
    middle = low + (high - low) / 2;
    text = arena_alloc(arena, same + DIGITS_MAX);
    memcpy(text, a.ptr ? a.ptr : "", same);
    for (int i = DIGITS_MAX - 1; i >= 0; i--, middle >>= DIGIT_BITS)
        text[same + (size_t)i] = middle & ((1u << DIGIT_BITS) - 1);
    out->bytes = bytes_of(text, same + DIGITS_MAX);
    return true;
}

/* A value between two of a column, of which the first is in front in the column's order. */
static bool value_middle(struct arena *arena, const struct table_column *column,
                         const struct wr_value *first, const struct wr_value *last,
                         struct wr_value *out)
{
    const struct wr_value *low = column->descending ? last : first;
    const struct wr_value *high = column->descending ? first : last;
    uint64_t between;

    *out = *low;
    if (low->type != column->type || high->type != column->type)
        return false;
    switch (column->type) {
    case WR_TINYINT:
    case WR_SMALLINT:
    case WR_INTEGER:
    case WR_BIGINT:
        between = (uint64_t)high->integer - (uint64_t)low->integer;
        out->integer = (int64_t)((uint64_t)low->integer + between / 2);
        return low->integer < high->integer && between > 1;
    case WR_VARCHAR:
        return text_middle(arena, low->bytes, high->bytes, out);
    default:
        return false;
    }
}

static bool is_same(const struct wr_value *a, const struct wr_value *b)
{
    if (a->type != b->type || a->type >= WR_INF_MIN)
        return false;
    return a->type == WR_VARCHAR ? bytes_equal(a->bytes, b->bytes) : a->integer == b->integer;
}

/* A key between the page that is next and the last row: of the first column in which they differ.
 */
static bool key_middle(struct part *part, struct wr_key *out)
{
    struct arena *a = part->all->r->arena;
    const struct table_column *columns = part->all->t->columns;
    const struct wr_key *first = &part->page.get_range.start, *last = &part->last;
    struct wr_key_column *middle;
    size_t at = 0;

    if (!first->count || first->count != last->count)
        return false;
    middle = ARENA_ARRAY(a, struct wr_key_column, first->count);
    for (size_t i = 0; i < first->count; i++)
        middle[i] = (struct wr_key_column){columns[i].name, {.type = WR_INF_MIN}};
    for (; at < first->count && is_same(&first->columns[at].value, &last->columns[at].value); at++)
        middle[at].value = last->columns[at].value;
    if (at == first->count || !value_middle(a, &columns[at], &first->columns[at].value,
                                            &last->columns[at].value, &middle[at].value))
        return false;
    *out = (struct wr_key){middle, first->count};
    return true;
}

static struct wr_key key_copied(struct arena *a, const struct wr_key *key)
{
    struct wr_key_column *columns = ARENA_ARRAY(a, struct wr_key_column, key->count);

    for (size_t i = 0; i < key->count; i++) {
        columns[i].name = arena_copy(a, key->columns[i].name);
        columns[i].value = convert_copy(a, &key->columns[i].value);
    }
    return (struct wr_key){columns, key->count};
}

/* The last row that the part may have. What fails is found again by a page. */
static void last_find(struct part *part)
{
    struct wr_request back = part->page;
    struct wr_get_range *g = &back.get_range;
    struct wr_bytes key = part->all->t->columns[0].name;
    struct wr_reply *reply;

    g->start = part->page.get_range.end;
    g->end = part->page.get_range.start;
    g->backward = true;
    g->limit = 1;
    g->on_row = NULL;
    g->read.columns = &key;
    g->read.column_count = 1;
    reply = wr_exec(part->all->r->session->conf.db, &back);
    if (!reply->code && reply->range.row_count == 1)
        part->last = key_copied(part->all->r->arena, &reply->range.rows[0].key);
    wr_reply_free(reply);
}

static void part_begin(struct part *part);

/* Gives the far half of what a part has left to another one, which has ended. Under the lock. */
static void part_cut(struct part *part, struct part *idle)
{
    struct parts *all = part->all;
    struct wr_key middle;

    if (all->cuts++ >= CUTS_MAX)
        return;
    if (!part->last.count)
        last_find(part);
    if (!part->last.count || !key_middle(part, &middle))
        return;
    wr_reply_free(idle->before);
    idle->before = NULL;
    idle->page.get_range.start = middle;
    idle->page.get_range.end = part->page.get_range.end;
    idle->last = part->last;
    part->page.get_range.end = part->last = middle;
    part_begin(idle);
}

/* ---- pages ---- */

static int part_row(void *arg, const struct wr_row *row)
{
    struct part *part = arg;
    int code = part->all->on_row(part->arg, row);

    part->rows++;
    part->refused = code != 0;
    return code;
}

/* The reply of a page stays until the next one is there, which begins at a key of it. *more: there
 * is one. Under the lock, as all that the statement is told. */
static int page_end(struct part *part, struct wr_reply *reply, bool *more)
{
    struct run *r = part->all->r;

    *more = false;
    wr_reply_free(part->before);
    part->before = reply;
    if (reply->code && part->refused)
        return run_fail(r, part->all->refusal);
    if (reply->code)
        return run_fail_reply(r, reply);
    RUN_TRY(run_read(r, part->all->t->name, &reply->range.consumed, part->rows));
    RUN_TRY(run_interrupted(r));
    *more = reply->range.next.count;
    if (*more)
        part->page.get_range.start = reply->range.next;
    return 0;
}

/* One that has ended; NULL: there is none. */
static struct part *idle_find(struct parts *p)
{
    for (int i = 0; i < p->count; i++)
        if (!p->list[i].busy)
            return &p->list[i];
    return NULL;
}

/* A page. False: it was the part's last one. The access key is asked each time whether it may still
 * read the table. */
static bool page_read(struct part *part)
{
    struct parts *all = part->all;
    struct wr_reply *reply;
    struct part *idle;
    bool more;

    part->rows = 0;
    reply = wr_exec(all->r->session->conf.db, &part->page);
    pthread_mutex_lock(&all->lock);
    if (page_end(part, reply, &more) || (more && run_allowed(all->r, &part->page)))
        all->code = -1;
    idle = more && !all->code ? idle_find(all) : NULL;
    if (idle)
        part_cut(part, idle);
    more &= !all->code;
    part->busy = more;
    if (!more)
        pthread_cond_signal(&all->done); /* the part may be gone with the lock */
    pthread_mutex_unlock(&all->lock);
    return more;
}

/* Pages, one after the other on the thread that has begun: to hand each of them back to the
 * statement's own took two switches of threads a page, a third of a COUNT's time. After a turn
 * others have theirs. */
static void part_turn(struct pool_job *job)
{
    struct part *part = PORT_CONTAINER(job, struct part, job);
    struct session *s = part->all->r->session;
    int64_t until_ms = clock_mono_ms(s->conf.clock) + TURN_MS;

    while (page_read(part))
        if (s->conf.walkers && clock_mono_ms(s->conf.clock) >= until_ms) {
            pool_submit(s->conf.walkers, s->conf.client, &part->job, false);
            return;
        }
}

static void part_begin(struct part *part)
{
    struct session *s = part->all->r->session;

    part->busy = true;
    part->job.run = part_turn;
    if (s->conf.walkers)
        pool_submit(s->conf.walkers, s->conf.client, &part->job, false);
    else
        part_turn(&part->job); /* it is the only part */
}

static bool is_busy(const struct parts *p)
{
    for (int i = 0; i < p->count; i++)
        if (p->list[i].busy)
            return true;
    return false;
}

static int parts_run(struct parts *p)
{
    struct session *s = p->r->session;

    RUN_TRY(run_allowed(p->r, &p->list[0].page));
    session_wait_begin(s);
    part_begin(&p->list[0]);
    pthread_mutex_lock(&p->lock);
    while (is_busy(p))
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
    session_wait_end(s);
    return p->code;
}

int parts_walk(struct parts *p)
{
    int code;

    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->done, NULL);
    for (int i = 0; i < p->count; i++) {
        struct part *part = &p->list[i];

        *part = (struct part){.all = p, .page = *p->range, .arg = p->args[i]};
        part->page.get_range.has_limit = true;
        part->page.get_range.limit = PAGE_ROWS;
        part->page.get_range.on_row = part_row;
        part->page.get_range.on_row_arg = part;
    }
    run_permit_take(p->r->session);
    code = parts_run(p);
    run_permit_give(p->r->session);
    for (int i = 0; i < p->count; i++)
        wr_reply_free(p->list[i].before);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->done);
    return code;
}
