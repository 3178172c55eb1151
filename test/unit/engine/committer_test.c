/* The committer against a pretended log that checks the order of every step. */
#include "bed.h"

#include "engine/committer.h"

#include <stdatomic.h>
#include <time.h>

/* A log whose entries are numbers. Everything is in order if
 * appended ≥ viewed, synced ≥ viewed ≥ marked ≥ published ≥ acknowledged, at each moment. */
struct fake {
    struct clock clock;
    struct ctx c;
    struct committer *committer;
    atomic_int appended;
    atomic_int synced, marked, published;
    atomic_int views;        /* alive */
    atomic_int fail_at_sync; /* the how-many-th sync fails; 0: none */
    atomic_int fail_at_mark;
    atomic_int syncs, marks, failures, idles;
    atomic_int hold; /* sync waits while it is set */
    atomic_int hold_answered, answered;
};

struct fake_view {
    int upto;
};

static void *fake_view_take(void *arg)
{
    struct fake *f = arg;
    struct fake_view *v;
    int upto = atomic_load(&f->appended);

    if (upto == atomic_load(&f->published))
        return NULL;
    v = mem_alloc(sizeof(*v));
    v->upto = upto;
    atomic_fetch_add(&f->views, 1);
    return v;
}

static void pause_ms(int ms)
{
    struct timespec ts = {ms / 1000, (long)(ms % 1000) * 1000000};

    nanosleep(&ts, NULL);
}

static int fake_sync(void *arg)
{
    struct fake *f = arg;
    int n = atomic_fetch_add(&f->syncs, 1) + 1, upto = atomic_load(&f->appended);

    while (atomic_load(&f->hold))
        pause_ms(1);
    if (n == atomic_load(&f->fail_at_sync))
        return E_UNAVAILABLE;
    atomic_store(&f->synced, upto);
    return E_OK;
}

static int fake_mark(void *arg, void *view)
{
    struct fake *f = arg;
    struct fake_view *v = view;

    assert_true(atomic_load(&f->synced) >= v->upto);
    if (atomic_fetch_add(&f->marks, 1) + 1 == atomic_load(&f->fail_at_mark))
        return E_UNAVAILABLE;
    atomic_store(&f->marked, v->upto);
    return E_OK;
}

static void fake_publish(void *arg, void *view)
{
    struct fake *f = arg;
    struct fake_view *v = view;

    assert_true(atomic_load(&f->marked) >= v->upto);
    atomic_store(&f->published, v->upto);
    atomic_fetch_sub(&f->views, 1);
    mem_free(v);
}

static void fake_view_drop(void *arg, void *view)
{
    struct fake *f = arg;

    atomic_fetch_sub(&f->views, 1);
    mem_free(view);
}

static void fake_failed(void *arg, int code)
{
    struct fake *f = arg;

    assert_int_equal(code, E_UNAVAILABLE);
    atomic_fetch_add(&f->failures, 1);
}

static void fake_idle(void *arg)
{
    atomic_fetch_add(&((struct fake *)arg)->idles, 1);
}

static void fake_answered(void *arg)
{
    struct fake *f = arg;

    while (atomic_load(&f->hold_answered))
        pause_ms(1);
    atomic_fetch_add(&f->answered, 1);
}

static const struct committer_ops fake_ops = {
    .view_take = fake_view_take,
    .sync = fake_sync,
    .mark = fake_mark,
    .publish = fake_publish,
    .answered = fake_answered,
    .view_drop = fake_view_drop,
    .failed = fake_failed,
    .idle = fake_idle,
};

static int setup(void **state)
{
    struct fake *f = mem_zalloc(sizeof(*f));

    clock_real_init(&f->clock);
    ctx_init(&f->c, &f->clock, NULL, NULL, 0);
    assert_int_equal(committer_new(&f->c, &fake_ops, f, &f->committer), E_OK);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fake *f = *state;

    committer_close(f->committer);
    assert_int_equal(atomic_load(&f->views), 0);
    ctx_release(&f->c);
    mem_free(f);
    return 0;
}

struct write {
    struct fake *f;
    int n;
    struct bed_wait w;
};

static void write_done(void *arg, int code)
{
    struct write *w = arg;

    if (code == E_OK)
        assert_true(atomic_load(&w->f->published) >= w->n);
    else
        assert_int_equal(code, E_UNSURE);
    bed_wait_done(&w->w, code);
}

static void write_start(struct fake *f, struct write *w)
{
    *w = (struct write){f, atomic_fetch_add(&f->appended, 1) + 1, BED_WAIT};
    committer_add(f->committer, write_done, w, 10, 1, 0);
}

static void test_one(void **state)
{
    struct fake *f = *state;
    struct committer_stat stat;
    struct write w;

    for (int i = 0; i < 100; i++) {
        write_start(f, &w);
        assert_int_equal(bed_wait(&w.w), E_OK);
    }
    committer_stat(f->committer, &stat);
    assert_int_equal(stat.acked, 100);
    assert_int_equal(stat.unsynced_bytes, 0);
    assert_int_equal(atomic_load(&f->syncs), 100);
}

/* What comes while a sync runs is taken together. */
static void test_group(void **state)
{
    struct fake *f = *state;
    static struct write w[1000];

    atomic_store(&f->hold, 1);
    write_start(f, &w[0]);
    while (atomic_load(&f->syncs) == 0)
        pause_ms(1);
    for (int i = 1; i < 1000; i++)
        write_start(f, &w[i]);
    assert_int_equal(committer_unsynced_bytes(f->committer), 10000);
    atomic_store(&f->hold, 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(bed_wait(&w[i].w), E_OK);
    assert_int_equal(atomic_load(&f->syncs), 2);
    assert_int_equal(committer_unsynced_bytes(f->committer), 0);
}

/* What comes behind the answers keeps nobody waiting who got one, and the next round waits for it:
 * a failure of it is known before anything else is answered. */
static void test_answered(void **state)
{
    struct fake *f = *state;
    struct write w[2];

    atomic_store(&f->hold_answered, 1);
    write_start(f, &w[0]);
    assert_int_equal(bed_wait(&w[0].w), E_OK);
    assert_int_equal(atomic_load(&f->answered), 0);
    write_start(f, &w[1]);
    pause_ms(20);
    assert_int_equal(atomic_load(&f->syncs), 1);
    atomic_store(&f->hold_answered, 0);
    assert_int_equal(bed_wait(&w[1].w), E_OK);
    assert_int_equal(atomic_load(&f->syncs), 2);
    assert_true(atomic_load(&f->answered) >= 1);
}

/* A barrier when all is durable costs no sync. */
static void test_barrier(void **state)
{
    struct fake *f = *state;
    struct bed_wait barrier = BED_WAIT;

    committer_add(f->committer, bed_wait_done, &barrier, 0, 1, 0);
    assert_int_equal(bed_wait(&barrier), E_OK);
    assert_int_equal(atomic_load(&f->syncs), 0);
}

struct loader {
    struct fake *f;
    int ok, unsure;
};

static void *load_main(void *arg)
{
    struct loader *l = arg;

    for (int i = 0; i < 2000; i++) {
        struct write w;

        write_start(l->f, &w);
        if (bed_wait(&w.w) == E_OK)
            l->ok++;
        else
            l->unsure++;
    }
    return NULL;
}

static void run_load(struct fake *f, int *ok, int *unsure)
{
    struct loader l[4];
    pthread_t threads[4];

    *ok = *unsure = 0;
    for (int i = 0; i < 4; i++) {
        l[i] = (struct loader){.f = f};
        pthread_create(&threads[i], NULL, load_main, &l[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        *ok += l[i].ok;
        *unsure += l[i].unsure;
    }
}

static void test_load(void **state)
{
    int ok, unsure;

    run_load(*state, &ok, &unsure);
    assert_int_equal(ok, 8000);
}

/* After a failed sync nobody gets a yes, until it is reset. */
static void check_fails(struct fake *f)
{
    struct write w;
    int ok, unsure;

    run_load(f, &ok, &unsure);
    assert_int_equal(ok + unsure, 8000);
    assert_true(ok > 0 && unsure > 7000);
    assert_int_equal(atomic_load(&f->failures), 1);
    committer_settle(f->committer);
    assert_int_equal(atomic_load(&f->views), 0);
    committer_reset(f->committer);
    write_start(f, &w);
    assert_int_equal(bed_wait(&w.w), E_OK);
}

static void test_sync_fails(void **state)
{
    struct fake *f = *state;

    atomic_store(&f->fail_at_sync, 5);
    check_fails(f);
}

static void test_mark_fails(void **state)
{
    struct fake *f = *state;

    atomic_store(&f->fail_at_mark, 5);
    check_fails(f);
}

/* A failure seen by somebody else than the committer. */
static void test_fail_from_outside(void **state)
{
    struct fake *f = *state;
    struct write w[2];

    atomic_store(&f->hold, 1);
    write_start(f, &w[0]);
    while (atomic_load(&f->syncs) == 0)
        pause_ms(1);
    committer_fail(f->committer);
    write_start(f, &w[1]);
    atomic_store(&f->hold, 0);
    assert_int_equal(bed_wait(&w[0].w), E_OK); /* its sync went well */
    assert_int_equal(bed_wait(&w[1].w), E_UNSURE);
}

/* Called once after work, and not again and again. */
static void test_idle(void **state)
{
    struct fake *f = *state;
    struct write w;

    write_start(f, &w);
    assert_int_equal(bed_wait(&w.w), E_OK);
    while (!atomic_load(&f->idles))
        pause_ms(1);
    pause_ms(350);
    assert_in_range(atomic_load(&f->idles), 1, 2);
}

/* A completion may write again. */
static void again_done(void *arg, int code)
{
    struct write *w = arg;

    assert_int_equal(code, E_OK);
    if (w->n++ < 50) {
        atomic_fetch_add(&w->f->appended, 1);
        committer_add(w->f->committer, again_done, w, 1, 1, 0);
    } else {
        bed_wait_done(&w->w, code);
    }
}

static void test_again(void **state)
{
    struct write w = {*state, 0, BED_WAIT};

    atomic_fetch_add(&w.f->appended, 1);
    committer_add(w.f->committer, again_done, &w, 1, 1, 0);
    assert_int_equal(bed_wait(&w.w), E_OK);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_one),        T(test_group),      T(test_barrier),           T(test_load),
        T(test_sync_fails), T(test_mark_fails), T(test_fail_from_outside), T(test_idle),
        T(test_again),      T(test_answered),
    };
#undef T

    return cmocka_run_group_tests(tests, NULL, NULL);
}
