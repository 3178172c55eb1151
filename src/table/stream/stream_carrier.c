#include "table/stream/stream_carrier.h"

#include "base/invariant.h"
#include "base/scheduler.h"
#include "table/catalog/catalog.h"
#include "table/stream/stream_carry.h"

#include <pthread.h>
#include <stdio.h>

#define THREADS 4
#define WAITING_MAX 256 /* jobs; each is a request, whose memory is bounded elsewhere */
#define LOOK_US 5000000 /* between two looks at all tables */

/* Rounds of one table. */
struct rounds {
    uint32_t table; /* its id */
    size_t asking;  /* who waits, or carries */
    bool running;
    uint64_t begun, ended; /* how many */
    int code;              /* of the last one that ended */
    struct rounds *next;
};

struct stream_carrier {
    struct wr_db *db;
    struct workers *workers;
    pthread_mutex_t lock;
    pthread_cond_t round_ended;
    struct rounds *rounds; /* of tables of which somebody asks for one */
    size_t waiting;        /* jobs that have not begun */
    uint32_t looked_at;    /* the task's: the last table */
};

/* ---- rounds; under the lock ---- */

static struct rounds *rounds_get(struct stream_carrier *s, uint32_t table)
{
    struct rounds *r = s->rounds;

    while (r && r->table != table)
        r = r->next;
    if (!r) {
        r = mem_zalloc(sizeof(*r));
        r->table = table;
        r->next = s->rounds;
        s->rounds = r;
    }
    r->asking++;
    return r;
}

static void rounds_put(struct stream_carrier *s, struct rounds *r)
{
    struct rounds **at = &s->rounds;

    invariant(r->asking);
    if (--r->asking)
        return;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    mem_free(r);
}

static void round_run(struct stream_carrier *s, struct rounds *r, struct ctx *c, struct table *t)
{
    size_t carried;
    struct ctx own;
    int code;

    r->running = true;
    r->begun++;
    pthread_mutex_unlock(&s->lock);
    ctx_init(&own, c->clock, c->log, NULL, 0);
    code = stream_carry_all(&own, t, &carried);
    ctx_release(&own);
    pthread_mutex_lock(&s->lock);
    r->running = false;
    r->ended = r->begun;
    r->code = code;
    pthread_cond_broadcast(&s->round_ended);
}

int stream_carrier_round(struct stream_carrier *s, struct ctx *c, struct table *t)
{
    struct rounds *r;
    uint64_t wanted;
    int code;

    pthread_mutex_lock(&s->lock);
    r = rounds_get(s, t->schema.id);
    wanted = r->begun + 1;
    while (r->ended < wanted) {
        if (r->running)
            pthread_cond_wait(&s->round_ended, &s->lock);
        else
            round_run(s, r, c, t);
    }
    code = r->code;
    rounds_put(s, r);
    pthread_mutex_unlock(&s->lock);
    return code ? fail_code(c, code) : E_OK;
}

/* ---- jobs ---- */

struct carrier_job {
    struct job job;
    struct stream_carrier *carrier;
    struct job *inner;
};

static void job_run(struct job *job)
{
    struct carrier_job *j = PORT_CONTAINER(job, struct carrier_job, job);
    struct job *inner = j->inner;

    pthread_mutex_lock(&j->carrier->lock);
    j->carrier->waiting--;
    pthread_mutex_unlock(&j->carrier->lock);
    mem_free(j);
    inner->run(inner);
}

bool stream_carrier_run(struct stream_carrier *s, struct job *job)
{
    struct carrier_job *j;
    bool room;

    pthread_mutex_lock(&s->lock);
    room = s->waiting < WAITING_MAX;
    s->waiting += room;
    pthread_mutex_unlock(&s->lock);
    if (!room)
        return false;
    j = mem_alloc(sizeof(*j));
    *j = (struct carrier_job){{.run = job_run}, s, job};
    workers_submit(s->workers, &j->job);
    return true;
}

/* ---- the task ---- */

/* The table with the lowest id above the last one whose rows have records beside them, or had;
 * referenced. NULL: there is none. */
static struct table *next_table(struct stream_carrier *s, struct arena *a)
{
    struct table **tables, *next = NULL;
    size_t n = catalog_all(s->db->catalog, a, &tables);

    for (size_t i = 0; i < n; i++) {
        const struct schema *x = &tables[i]->schema;

        if (x->stream_beside && x->id > s->looked_at && (!next || x->id < next->schema.id)) {
            table_release(next);
            next = tables[i];
        } else {
            table_release(tables[i]);
        }
    }
    return next;
}

static int carrier_step(void *arg, struct task_step *step)
{
    struct stream_carrier *s = arg;
    struct table *t;
    struct ctx c;
    int code = E_OK;

    ctx_init(&c, &s->db->clock, &s->db->log, NULL, 0);
    t = next_table(s, &c.arena);
    s->looked_at = t ? t->schema.id : 0;
    if (t)
        code = stream_carrier_round(s, &c, t);
    table_release(t);
    step->more = t != NULL;
    step->next_us = LOOK_US;
    if (code == E_BUSY)
        code = E_OK; /* it is carried by others, or at the next look */
    if (code)
        snprintf(step->text, sizeof(step->text), "%s", c.text ? c.text : err_info(code)->text);
    ctx_release(&c);
    return code;
}

struct stream_carrier *stream_carrier_start(struct wr_db *db)
{
    struct stream_carrier *s = mem_zalloc(sizeof(*s));
    struct task_spec spec = {.name = "carry",
                             .thread = TASK_LONG,
                             .priority = PRIORITY_SWEEP,
                             .run = carrier_step,
                             .arg = s,
                             .first_us = LOOK_US};

    s->db = db;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->round_ended, NULL);
    s->workers = workers_start("wr-carrier", THREADS);
    if (s->workers && scheduler_add(db->background, &spec))
        return s;
    stream_carrier_free(s);
    return NULL;
}

void stream_carrier_free(struct stream_carrier *s)
{
    if (!s)
        return;
    workers_stop(s->workers);
    invariant(!s->rounds);
    pthread_cond_destroy(&s->round_ended);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}
