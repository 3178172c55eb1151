/* bed.h: what the engine's tests share: a folder of their own, an open engine, blocking calls. */
#ifndef TEST_ENGINE_BED_H
#define TEST_ENGINE_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* ours is another */

#include "../folder.h"
#include "base/fault.h"
#include "engine/engine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bed {
    struct clock clock;
    struct log log;
    struct ctx c;
    struct engine *e;
    struct engine_conf conf;
    struct engine_option options[3];
    partition_id partition; /* of the calls below; the system's at first */
    char dir[FOLDER_BYTES];
    char logged[8192]; /* what was logged, cut off when full */
    pthread_mutex_t lock;
};

static inline void bed_sink(void *arg, char level, const char *line)
{
    struct bed *b = arg;
    size_t n;

    (void)level;
    pthread_mutex_lock(&b->lock);
    n = strlen(b->logged);
    snprintf(b->logged + n, sizeof(b->logged) - n, "%s\n", line);
    pthread_mutex_unlock(&b->lock);
}

static inline void bed_ctx(struct bed *b)
{
    ctx_init(&b->c, &b->clock, &b->log, NULL, 0);
}

/* A file of its folder, in the arena. */
static inline const char *bed_path(struct bed *b, const char *name)
{
    return arena_printf(&b->c.arena, "%s/%s", b->dir, name).ptr;
}

/* A fresh context: what was in the arena is gone. */
static inline void bed_ctx_again(struct bed *b)
{
    ctx_release(&b->c);
    bed_ctx(b);
}

static inline void bed_init(struct bed *b)
{
    memset(b, 0, sizeof(*b));
    clock_real_init(&b->clock);
    pthread_mutex_init(&b->lock, NULL);
    b->log = (struct log){.level = 'I', .sink = bed_sink, .arg = b, .clock = &b->clock};
    folder_make(b->dir);
    b->conf = (struct engine_conf){
        .dir = b->dir, .memory_bytes = 16 << 20, .clock = &b->clock, .log = &b->log};
    bed_ctx(b);
}

static inline void bed_release(struct bed *b)
{
    ctx_release(&b->c);
    engine_close(b->e);
    folder_remove(b->dir);
    pthread_mutex_destroy(&b->lock);
}

static inline int bed_try_open(struct bed *b, const char *name)
{
    bed_ctx_again(b);
    return engine_open(&b->c, name, &b->conf, &b->e);
}

static inline void bed_open(struct bed *b, const char *name)
{
    int code = bed_try_open(b, name);

    if (code != E_OK)
        print_error("open: %s\n", b->c.text);
    assert_int_equal(code, E_OK);
}

/* What a test finds in *state, with an engine of that name open; NULL: with none. */
static inline int bed_set_up(void **state, const char *engine)
{
    struct bed *b = mem_alloc(sizeof(*b));

    bed_init(b);
    if (engine)
        bed_open(b, engine);
    *state = b;
    return 0;
}

static inline int bed_tear_down(void **state)
{
#ifdef WR_FAULTS
    fault_arm(NULL);
#endif
    bed_release(*state);
    mem_free(*state);
    return 0;
}

static inline void bed_close(struct bed *b)
{
    bed_ctx_again(b);
    engine_close(b->e);
    b->e = NULL;
}

struct bed_wait {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool called;
    int code;
};

#define BED_WAIT                                                                                   \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER                        \
    }

static inline void bed_wait_done(void *arg, int code)
{
    struct bed_wait *w = arg;

    pthread_mutex_lock(&w->lock);
    assert_false(w->called);
    w->called = true;
    w->code = code;
    pthread_cond_broadcast(&w->cond);
    pthread_mutex_unlock(&w->lock);
}

static inline int bed_wait(struct bed_wait *w)
{
    pthread_mutex_lock(&w->lock);
    while (!w->called)
        pthread_cond_wait(&w->cond, &w->lock);
    pthread_mutex_unlock(&w->lock);
    return w->code;
}

static inline int bed_apply(struct bed *b, const struct write_batch *batch)
{
    struct bed_wait w = BED_WAIT;
    struct write_batch here = *batch;

    here.partition = b->partition;
    engine_apply(&b->c, b->e, &here, bed_wait_done, &w);
    return bed_wait(&w);
}

struct bed_read {
    struct get get;
    struct scan scan;
    struct bed_wait w;
};

static inline void bed_get_done(struct get *g)
{
    bed_wait_done(&PORT_CONTAINER(g, struct bed_read, get)->w, g->code);
}

static inline void bed_scan_done(struct scan *s)
{
    bed_wait_done(&PORT_CONTAINER(s, struct bed_read, scan)->w, s->code);
}

/* These wait on engines that answer later, with any context. */
static inline int bed_wait_get(struct ctx *c, struct engine *e, struct get *g)
{
    struct bed_read read = {.get = *g, .w = BED_WAIT};
    int code;

    read.get.done = bed_get_done;
    code = engine_get(c, e, &read.get);
    if (code == E_LATER)
        code = bed_wait(&read.w);
    assert_int_equal(code, read.get.code);
    *g = read.get;
    return code;
}

static inline int bed_scan(struct bed *b, struct scan *s)
{
    struct bed_read read = {.scan = *s, .w = BED_WAIT};
    int code;

    read.scan.done = bed_scan_done;
    read.scan.partition = b->partition;
    code = engine_scan(&b->c, b->e, &read.scan);
    if (code == E_LATER)
        code = bed_wait(&read.w);
    assert_int_equal(code, read.scan.code);
    *s = read.scan;
    return code;
}

static inline int bed_barrier(struct bed *b)
{
    return bed_apply(b, &(struct write_batch){0});
}

static inline int bed_put(struct bed *b, const char *key, const char *value)
{
    struct edit edit = {EDIT_PUT, bytes_str(key), bytes_str(value)};

    return bed_apply(b, &(struct write_batch){.edits = &edit, .edit_count = 1});
}

static inline int bed_delete(struct bed *b, const char *key)
{
    struct edit edit = {EDIT_DELETE, bytes_str(key), BYTES_NONE};

    return bed_apply(b, &(struct write_batch){.edits = &edit, .edit_count = 1});
}

/* The value, "-" if the key is absent, or "!" and the error. Valid until the next bed_ctx_again().
 */
static inline const char *bed_get(struct bed *b, const char *key, enum engine_view view)
{
    struct get g = {.partition = b->partition, .key = bytes_str(key), .view = view};
    int code = bed_wait_get(&b->c, b->e, &g);

    if (code != E_OK)
        return arena_printf(&b->c.arena, "!%s", err_info(code)->name).ptr;
    if (!g.found)
        return "-";
    return arena_printf(&b->c.arena, "%.*s", BYTES_FMT(g.value)).ptr;
}

static inline void bed_expect(struct bed *b, const char *key, const char *value)
{
    assert_string_equal(bed_get(b, key, VIEW_DURABLE), value);
}

/* "N" key rows k000000… with values of `size` bytes, in batches. */
static inline void bed_fill(struct bed *b, const char *prefix, int from, int to, size_t size)
{
    enum { BATCH = 100 };
    struct edit edits[BATCH];
    char *value = mem_alloc(size);
    size_t n = 0;

    for (size_t i = 0; i < size; i++)
        value[i] = (char)('a' + (i * 7 + (size_t)random()) % 26);
    for (int i = from; i < to; i++) {
        edits[n++] = (struct edit){EDIT_PUT, arena_printf(&b->c.arena, "%s%06d", prefix, i),
                                   bytes_of(value, size)};
        if (n == BATCH || i + 1 == to) {
            assert_int_equal(bed_apply(b, &(struct write_batch){.edits = edits, .edit_count = n}),
                             E_OK);
            n = 0;
            bed_ctx_again(b);
        }
    }
    mem_free(value);
}

#endif
