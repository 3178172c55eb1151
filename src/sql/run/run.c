#include "sql/run/run.h"

#include <strings.h>
#include <unistd.h>

static const struct {
    uint16_t number;
    const char *state;
    const char *format;
} faults[] = {
#define FAULT(name, number, state, text) [FAULT_##name] = {number, state, text},
#include "sql/run/fault.def"
#undef FAULT
};

/* Those that are not the statement's own. */
static const int codes[PORT_COUNT(faults)] = {
    [FAULT_ACCESS] = WR_E_PERMISSION, [FAULT_UNKNOWN_DATABASE] = WR_E_PERMISSION,
    [FAULT_BUSY] = WR_E_BUSY,         [FAULT_TIME] = WR_E_BUSY,
    [FAULT_KILLED] = WR_E_BUSY,       [FAULT_MEMORY] = WR_E_MEMORY};

#define LOCK_WAIT_MS 5000 /* for rows that a transaction has locked, looked at in pauses of */
#define LOCK_PAUSE_US_MIN 1000
#define LOCK_PAUSE_US_MAX 50000

#define SCAN_ROWS_MAX 100000 /* of one statement of Tablestore's, and */
#define SCAN_BYTES_MAX (INT64_C(128) << 20)

int run_fail(struct run *r, enum fault_name name, ...)
{
    va_list args;

    if (r->out->fault.number)
        return -1;
    va_start(args, name);
    r->out->fault = (struct fault){.number = faults[name].number,
                                   .state = faults[name].state,
                                   .text = arena_vprintf(r->arena, faults[name].format, args),
                                   .code = codes[name]};
    va_end(args);
    return -1;
}

bool run_is_killed(const struct run *r)
{
    const int32_t *gone = r->session->conf.gone;

    return gone && __atomic_load_n(gone, __ATOMIC_RELAXED);
}

int run_interrupted(struct run *r)
{
    const struct session_conf *conf = &r->session->conf;

    if (conf->quit && atomic_load_explicit(conf->quit, memory_order_relaxed))
        return run_fail(r, FAULT_TIME, "the server is stopping");
    if (run_is_killed(r))
        return run_fail(r, FAULT_KILLED);
    if (clock_mono_ms(conf->clock) <= r->deadline_ms)
        return 0;
    return run_fail(r, FAULT_TIME,
                    "bound the key more narrowly, or give it more with the hint "
                    "_l_operation_timeout_(milliseconds)");
}

void run_forgive(struct run *r, enum fault_name name)
{
    if (r->out->fault.number == faults[name].number)
        r->out->fault = (struct fault){0};
}

int run_fail_reply(struct run *r, const struct wr_reply *reply)
{
    if (run_is_tablestore(r) && !r->out->fault.number) {
        run_fail(r, FAULT_REPLY, reply->message);
        r->out->fault.code = reply->code;
        return -1;
    }
    if (run_interrupted(r))
        return -1;
    switch (reply->code) {
    case WR_E_PERMISSION:
        return run_fail(r, FAULT_ACCESS, reply->message);
    case WR_E_BUSY:
        return run_fail(r, FAULT_BUSY, reply->message);
    case WR_E_CONFLICT:
        return run_fail(r, FAULT_LOCKED, reply->message);
    case WR_E_SESSION:
        r->session->transaction.lost = true;
        return run_fail(r, FAULT_TRANSACTION_LOST);
    default:
        return run_fail(r, FAULT_STORAGE, wr_error_name(reply->code), reply->message);
    }
}

static void consumed_add(struct run *r, bytes table, int64_t read)
{
    struct consumed **at = &r->out->consumed;

    while (*at && !bytes_equal((*at)->table, table))
        at = &(*at)->next;
    if (!*at) {
        *at = ARENA_NEW(r->arena, struct consumed);
        (*at)->table = table;
    }
    (*at)->read += read;
}

int run_read(struct run *r, bytes table, const struct wr_capacity *consumed, size_t rows)
{
    consumed_add(r, table, consumed->read);
    r->rows_read += rows;
    r->bytes_read += (uint64_t)consumed->read * CAPACITY_BYTES;
    if (run_is_tablestore(r) && (r->rows_read > SCAN_ROWS_MAX || r->bytes_read > SCAN_BYTES_MAX))
        return run_fail(r, FAULT_SCANNED, SCAN_ROWS_MAX, (int)(SCAN_BYTES_MAX >> 20));
    return 0;
}

void run_written(struct run *r, const struct wr_capacity *consumed)
{
    r->out->written += consumed->write;
    r->out->checked += consumed->read;
}

static void reply_release(void *reply)
{
    wr_reply_free(reply);
}

int run_allowed(struct run *r, const struct wr_request *request)
{
    const struct access *access = &r->session->conf.access;
    struct ctx c;
    int code;

    ctx_init(&c, r->session->conf.clock, NULL, NULL, 0);
    code = access->check(access->arg, &c, request);
    if (code)
        run_fail(r, FAULT_ACCESS, c.text ? c.text : "The access key may not do this");
    ctx_release(&c);
    return code ? -1 : 0;
}

/* MySQL's clients expect to wait for rows that somebody else has locked. */
static struct wr_reply *exec_patiently(struct run *r, const struct wr_request *request)
{
    struct session_conf *conf = &r->session->conf;
    int64_t until = clock_mono_ms(conf->clock) + LOCK_WAIT_MS;
    struct wr_reply *reply = wr_exec(conf->db, request);

    for (useconds_t pause = LOCK_PAUSE_US_MIN; reply->code == WR_E_CONFLICT; pause *= 2) {
        int64_t now = clock_mono_ms(conf->clock);

        if (now > until || now > r->deadline_ms || run_is_killed(r))
            break;
        wr_reply_free(reply);
        usleep(pause > LOCK_PAUSE_US_MAX ? (pause = LOCK_PAUSE_US_MAX) : pause);
        reply = wr_exec(conf->db, request);
    }
    return reply;
}

static void request_fill(struct run *r, struct wr_request *request)
{
    request->instance = request->instance.ptr ? request->instance : r->session->database;
    request->client = r->session->conf.client;
    request->deadline_ms = r->deadline_ms;
    request->gone = r->session->conf.gone;
}

static const struct wr_reply *reply_take(struct run *r, struct wr_reply *reply)
{
    arena_on_release(r->arena, reply_release, reply);
    return reply;
}

int run_exec(struct run *r, struct wr_request *request, const struct wr_reply **out)
{
    if (r->deferred)
        return run_whole(r);
    request_fill(r, request);
    *out = reply_take(r, exec_patiently(r, request));
    return (*out)->code ? run_fail_reply(r, *out) : 0;
}

int run_request(struct run *r, struct wr_request *request, const struct wr_reply **out)
{
    request->instance = request->instance.ptr ? request->instance : r->session->database;
    RUN_TRY(run_allowed(r, request));
    return run_exec(r, request, out);
}

/* ---- statements that must not wait ---- */

int run_whole(struct run *r)
{
    r->deferred->whole = true;
    return -1;
}

int run_last(struct run *r, struct wr_request *request, run_end_fn *end, void *of)
{
    request_fill(r, request);
    RUN_TRY(run_allowed(r, request));
    r->out->single = true;
    if (!r->deferred)
        return end(r, of, reply_take(r, exec_patiently(r, request)));
    r->deferred->request = *request;
    r->deferred->end = end;
    r->deferred->of = of;
    return 0;
}

const struct wr_request *deferred_request(const struct deferred *d)
{
    return &d->request;
}

bool deferred_end(struct deferred *d, struct wr_reply *reply)
{
    const struct wr_reply *held = reply_take(&d->run, reply);

    /* Waited for where one may wait, unless nobody wants it any more. */
    if (held->code == WR_E_CONFLICT && !run_is_killed(&d->run))
        return false;
    d->end(&d->run, d->of, held);
    return true;
}

bool run_is_word(bytes word, const char *spelled)
{
    return strlen(spelled) == word.len && strncasecmp(word.ptr, spelled, word.len) == 0;
}

bool run_is_name(bool any_case, bytes a, bytes b)
{
    return any_case ? a.len == b.len && strncasecmp(a.ptr, b.ptr, a.len) == 0 : bytes_equal(a, b);
}

void run_affected(struct run *r, uint64_t rows)
{
    r->out->affected += rows;
}

/* ---- permits ---- */

void permits_init(struct permits *p, int count)
{
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->given, NULL);
    p->free = count;
}

void permits_destroy(struct permits *p)
{
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->given);
}

void run_permit_take(struct session *s)
{
    struct permits *p = s->conf.permits;

    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    while (!p->free)
        pthread_cond_wait(&p->given, &p->lock);
    p->free--;
    pthread_mutex_unlock(&p->lock);
    s->permitted = true;
}

void run_permit_give(struct session *s)
{
    struct permits *p = s->conf.permits;

    if (!s->permitted)
        return;
    s->permitted = false;
    pthread_mutex_lock(&p->lock);
    p->free++;
    pthread_cond_signal(&p->given);
    pthread_mutex_unlock(&p->lock);
}

void session_wait_begin(struct session *s)
{
    s->waits = s->permitted;
    run_permit_give(s);
}

void session_wait_end(struct session *s)
{
    if (s->waits)
        run_permit_take(s);
    s->waits = false;
}
