#include "table/stream/stream_carrier.h"

#include "base/invariant.h"
#include "base/scheduler.h"
#include "table/catalog/catalog.h"
#include "table/stream/stream_carry.h"
#include "table/sync/wait.h"

#include <pthread.h>
#include <stdio.h>

#define THREADS 4       /* that read logs */
#define ROUND_THREADS 2 /* of tables of few partitions */
#define FEW_PARTITIONS 32
#define LOOK_SHARE                                                                                 \
    20                  /* a look at a table nobody reads comes after so many times what one takes \
                         */
#define LOOKS_MAX 64    /* tables that take long, of which that is remembered */
#define WAITING_MAX 256 /* jobs; each is a request, whose memory is bounded elsewhere */
#define LOOK_US 5000000 /* between two looks at all tables */

/* Rounds of one table. */
struct rounds {
    struct stream_carrier *carrier;
    uint32_t table;        /* its id */
    size_t asking;         /* who waits, and the job */
    bool scheduled;        /* the job is in a queue, or runs */
    uint64_t begun, ended; /* how many */
    struct stream_round *waiting;
    struct job job;
    struct rounds *next;
};

/* When the task may look at a table again that takes long. */
struct look {
    uint32_t table; /* its id; 0: a free place */
    int64_t again_us;
};

struct stream_carrier {
    struct wr_db *db;
    struct workers *workers, *few, *many; /* that read logs; for rounds, by partitions */
    pthread_mutex_t lock;
    struct rounds *rounds; /* of tables of which somebody asks for one */
    size_t waiting;        /* jobs that have not begun */
    /* The task's. */
    uint32_t looked_at; /* the last table */
    struct look looks[LOOKS_MAX];
    size_t next_look; /* the place that is used again */
};

/* ---- rounds; under the lock ---- */

static struct rounds *rounds_get(struct stream_carrier *s, uint32_t table)
{
    struct rounds *r = s->rounds;

    while (r && r->table != table)
        r = r->next;
    if (!r) {
        r = mem_zalloc(sizeof(*r));
        r->carrier = s;
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

static void round_job(struct job *job);

/* If anybody waits for one that has not begun. */
static void rounds_schedule(struct stream_carrier *s, struct rounds *r)
{
    bool few = r->waiting && r->waiting->table->schema.partition_count <= FEW_PARTITIONS;

    if (!r->waiting || r->scheduled)
        return;
    r->scheduled = true;
    r->asking++;
    r->job.run = round_job;
    workers_submit(few ? s->few : s->many, &r->job);
}

/* Those whose round it was go on. Their tables are their own again. */
static void rounds_ended(struct stream_carrier *s, struct rounds *r, int code)
{
    struct stream_round **at = &r->waiting;

    while (*at) {
        struct stream_round *w = *at;

        if (w->wanted > r->ended) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        w->code = code;
        r->asking--;
        workers_submit(s->workers, w->then);
    }
}

static void round_job(struct job *job)
{
    struct rounds *r = PORT_CONTAINER(job, struct rounds, job);
    struct stream_carrier *s = r->carrier;
    struct table *t;
    size_t carried;
    struct ctx c;
    int code;

    pthread_mutex_lock(&s->lock);
    t = table_ref(r->waiting->table);
    r->begun++;
    pthread_mutex_unlock(&s->lock);
    ctx_init(&c, &s->db->clock, &s->db->log, NULL, 0);
    code = stream_carry_all(&c, t, &carried);
    ctx_release(&c);
    table_release(t);
    pthread_mutex_lock(&s->lock);
    r->ended = r->begun;
    r->scheduled = false;
    rounds_ended(s, r, code);
    rounds_schedule(s, r);
    rounds_put(s, r);
    pthread_mutex_unlock(&s->lock);
}

void stream_carrier_round(struct stream_carrier *s, struct stream_round *round)
{
    struct rounds *r;

    pthread_mutex_lock(&s->lock);
    r = rounds_get(s, round->table->schema.id);
    round->wanted = r->begun + 1;
    round->next = r->waiting;
    r->waiting = round;
    rounds_schedule(s, r);
    pthread_mutex_unlock(&s->lock);
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

static struct look *look_find(struct stream_carrier *s, uint32_t table)
{
    for (size_t i = 0; i < LOOKS_MAX; i++)
        if (s->looks[i].table == table)
            return &s->looks[i];
    return NULL;
}

static bool is_due(struct stream_carrier *s, uint32_t table)
{
    const struct look *l = look_find(s, table);

    return !l || clock_mono_us(&s->db->clock) >= l->again_us;
}

static void look_note(struct stream_carrier *s, uint32_t table, int64_t took_us)
{
    struct look *l = look_find(s, table);

    if (!l && LOOK_SHARE * took_us <= LOOK_US)
        return;
    if (!l)
        l = &s->looks[s->next_look++ % LOOKS_MAX];
    *l = (struct look){table, clock_mono_us(&s->db->clock) + LOOK_SHARE * took_us};
}

/* The table with the lowest id above the last one whose rows have records beside them, or had;
 * referenced. NULL: there is none. */
static struct table *next_table(struct stream_carrier *s, struct arena *a)
{
    struct table **tables, *next = NULL;
    size_t n = catalog_all(s->db->catalog, a, &tables);

    for (size_t i = 0; i < n; i++) {
        const struct schema *x = &tables[i]->schema;

        if (x->stream_beside && x->id > s->looked_at && is_due(s, x->id) &&
            (!next || x->id < next->schema.id)) {
            table_release(next);
            next = tables[i];
        } else {
            table_release(tables[i]);
        }
    }
    return next;
}

/* The task's wait. */
struct step_wait {
    struct stream_round round;
    struct job job;
    struct waiter waiter;
};

static void step_woken(struct job *job)
{
    waiter_wake(&PORT_CONTAINER(job, struct step_wait, job)->waiter, E_OK);
}

static int wait_round(struct stream_carrier *s, struct table *t)
{
    struct step_wait w = {.job.run = step_woken};

    w.round = (struct stream_round){.table = t, .then = &w.job};
    waiter_init(&w.waiter);
    stream_carrier_round(s, &w.round);
    (void)waiter_wait(&w.waiter);
    return w.round.code;
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
    if (t) {
        int64_t begun_us = clock_mono_us(&s->db->clock);

        code = wait_round(s, t);
        look_note(s, t->schema.id, clock_mono_us(&s->db->clock) - begun_us);
    }
    table_release(t);
    step->more = t != NULL;
    step->next_us = LOOK_US;
    if (code == E_BUSY)
        code = E_OK; /* it is carried by others, or at the next look */
    if (code)
        snprintf(step->text, sizeof(step->text), "%s", err_info(code)->text);
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
    s->workers = workers_start("wr-carrier", THREADS);
    s->few = workers_start("wr-carry", ROUND_THREADS);
    s->many = workers_start("wr-carry-many", 1);
    if (s->workers && s->few && s->many && scheduler_add(db->background, &spec))
        return s;
    stream_carrier_free(s);
    return NULL;
}

void stream_carrier_free(struct stream_carrier *s)
{
    if (!s)
        return;
    workers_stop(s->few); /* these submit to the others */
    workers_stop(s->many);
    workers_stop(s->workers);
    invariant(!s->rounds);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}
