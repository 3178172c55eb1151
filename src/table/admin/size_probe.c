#include "table/admin/size_probe.h"

#define UNDER_WAY_MAX 64

struct probing;

/* One question. Its context is the engine's while it is under way. */
struct probe {
    struct probing *all;
    struct ctx c;
    struct scan scan;
    struct page page;
    struct partition *partition; /* NULL: free */
    uint64_t written;            /* there, before it was asked */
    bool ended;                  /* under the lock: the answer is there */
};

struct probing {
    struct call *call;
    struct key_range range; /* all keys of the table */
    uint8_t bounds[8];
    pthread_mutex_t lock;
    pthread_cond_t one_ended;
    struct probe probes[UNDER_WAY_MAX];
};

static void probe_on_answer(struct scan *s)
{
    struct probe *p = PORT_CONTAINER(s, struct probe, scan);
    struct probing *all = p->all;

    pthread_mutex_lock(&all->lock);
    p->ended = true;
    pthread_cond_signal(&all->one_ended);
    pthread_mutex_unlock(&all->lock);
}

/* The answer is taken, and the probe is free. */
static void probe_end(struct probe *p)
{
    if (!p->scan.code && !p->page.count)
        partition_measured(p->partition, 0, p->written, clock_mono_us(p->all->call->c.clock));
    ctx_release(&p->c);
    p->partition = NULL;
    p->ended = false;
}

static void probe_begin(struct probe *p, struct partition *partition)
{
    struct wr_db *db = p->all->call->db;
    int code;

    ctx_init(&p->c, &db->clock, &db->log, NULL, 0);
    p->page = (struct page){0};
    p->partition = partition;
    p->written = partition_counts(partition).write_bytes;
    p->scan = (struct scan){.partition = partition->id,
                            .view = VIEW_DURABLE,
                            .ranges = &p->all->range,
                            .range_count = 1,
                            .items_max = 1,
                            .bytes_max = 1,
                            .pages = &p->page,
                            .done = probe_on_answer};
    code = engine_scan(&p->c, db->engine, &p->scan);
    if (code == E_LATER)
        return;
    p->scan.code = code;
    probe_end(p);
}

/* A probe that is free, once there is one. With `any` false: NULL, once all are. */
static struct probe *probe_free(struct probing *all, bool any)
{
    struct probe *found = NULL;
    size_t busy;

    pthread_mutex_lock(&all->lock);
    for (;;) {
        busy = 0;
        for (size_t i = 0; i < UNDER_WAY_MAX; i++) {
            struct probe *p = &all->probes[i];

            if (p->ended)
                probe_end(p);
            if (!p->partition)
                found = p;
            else
                busy++;
        }
        if (any ? found != NULL : !busy)
            break;
        pthread_cond_wait(&all->one_ended, &all->lock);
    }
    pthread_mutex_unlock(&all->lock);
    return any ? found : NULL;
}

static void range_of(struct probing *all, uint32_t table)
{
    store_u32_be(all->bounds, table);
    store_u32_be(all->bounds + 4, table + 1);
    all->range = (struct key_range){bytes_of(all->bounds, 4), bytes_of(all->bounds + 4, 4)};
}

int size_probe(struct call *call, const struct table *t, const size_t *which, size_t count)
{
    struct probing *all = mem_zalloc(sizeof(*all));
    int code = E_OK;

    all->call = call;
    range_of(all, t->schema.location.id);
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->one_ended, NULL);
    for (size_t i = 0; i < UNDER_WAY_MAX; i++)
        all->probes[i].all = all;
    for (size_t i = 0; i < count && !code; i++) {
        code = call_check_deadline(call);
        if (!code)
            probe_begin(probe_free(all, true), partition_at(&t->partitions, which[i])->partition);
    }
    (void)probe_free(all, false);
    pthread_cond_destroy(&all->one_ended);
    pthread_mutex_destroy(&all->lock);
    mem_free(all);
    return code;
}
