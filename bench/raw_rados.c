/* raw_rados.c: the ceiling that the engine on a Ceph pool is measured against: the same omap operations by librados alone.
 *
 *   raw_rados CONF POOL set|guard|get IN_FLIGHT SECONDS [OBJECTS] [VALUE_BYTES]
 *
 * set: one key an operation; guard: with a comparison of an attribute, as every write of the engine has; get: one key,
 * which is there: all keys are stored before the clock starts. */
#include <errno.h>
#include <pthread.h>
#include <rados/librados.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEYS 10000
#define FILL 500 /* keys an operation when they are stored beforehand */

static rados_ioctx_t io;
static const char *kind;
static int objects = 1;
static size_t value_bytes = 1000;
static char value[1 << 20];
static atomic_ullong done, next;
static atomic_int out;
static atomic_bool stop;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;

struct one {
    rados_write_op_t write;
    rados_read_op_t read;
    rados_omap_iter_t iter;
    int result;
};

static void start(struct one *o);

static void on_done(rados_completion_t c, void *arg)
{
    struct one *o = arg;
    int r = rados_aio_get_return_value(c);

    rados_aio_release(c);
    if (o->iter && r >= 0 && rados_omap_iter_size(o->iter) != 1)
        r = -ENOENT;
    if (o->iter)
        rados_omap_get_end(o->iter);
    if (o->write)
        rados_release_write_op(o->write);
    if (o->read)
        rados_release_read_op(o->read);
    memset(o, 0, sizeof(*o));
    if (r < 0) {
        fprintf(stderr, "raw_rados: %s\n", strerror(-r));
        exit(1);
    }
    atomic_fetch_add(&done, 1);
    if (!atomic_load(&stop)) {
        start(o);
        return;
    }
    pthread_mutex_lock(&lock);
    if (atomic_fetch_sub(&out, 1) == 1)
        pthread_cond_signal(&idle);
    pthread_mutex_unlock(&lock);
}

static void start(struct one *o)
{
    unsigned long long n = atomic_fetch_add(&next, 1) * 7919;
    char object[32], key[32];
    const char *k = key, *v = value;
    size_t kl, vl = value_bytes;
    rados_completion_t c;

    snprintf(object, sizeof(object), "raw%llu", n % (unsigned)objects);
    kl = (size_t)snprintf(key, sizeof(key), "k%012llu", n % KEYS);
    rados_aio_create_completion2(o, on_done, &c);
    if (strcmp(kind, "get") == 0) {
        o->read = rados_create_read_op();
        rados_read_op_omap_get_vals_by_keys2(o->read, &k, 1, &kl, &o->iter, &o->result);
        rados_aio_read_op_operate(o->read, io, c, object, 0);
        return;
    }
    o->write = rados_create_write_op();
    if (strcmp(kind, "guard") == 0)
        rados_write_op_cmpxattr(o->write, "a", LIBRADOS_CMPXATTR_OP_EQ, "y", 1);
    rados_write_op_omap_set2(o->write, &k, &v, &kl, &vl, 1);
    rados_aio_write_op_operate(o->write, io, c, object, NULL, 0);
}

/* Stores all keys of an object. */
static void fill(const char *object)
{
    static char keys[FILL][32];
    const char *k[FILL], *v[FILL];
    size_t kl[FILL], vl[FILL];

    for (unsigned first = 0; first < KEYS; first += FILL) {
        rados_write_op_t op = rados_create_write_op();
        int r;

        for (unsigned i = 0; i < FILL; i++) {
            kl[i] = (size_t)snprintf(keys[i], sizeof(keys[i]), "k%012u", first + i);
            k[i] = keys[i];
            v[i] = value;
            vl[i] = value_bytes;
        }
        rados_write_op_omap_set2(op, k, v, kl, vl, FILL);
        r = rados_write_op_operate2(op, io, object, NULL, 0);
        rados_release_write_op(op);
        if (r < 0) {
            fprintf(stderr, "raw_rados: %s\n", strerror(-r));
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    struct timespec a, b;
    rados_t cluster;
    int depth;

    if (argc < 6) {
        fprintf(stderr, "usage: raw_rados CONF POOL set|guard|get IN_FLIGHT SECONDS [OBJECTS] [VALUE_BYTES]\n");
        return 2;
    }
    kind = argv[3];
    depth = (int)strtol(argv[4], NULL, 10);
    if (argc > 6)
        objects = (int)strtol(argv[6], NULL, 10);
    if (argc > 7 && strtoul(argv[7], NULL, 10) <= sizeof(value))
        value_bytes = strtoul(argv[7], NULL, 10);
    if (rados_create(&cluster, "admin") || rados_conf_read_file(cluster, argv[1]) || rados_connect(cluster) ||
        rados_ioctx_create(cluster, argv[2], &io)) {
        fprintf(stderr, "raw_rados: no pool %s by %s\n", argv[2], argv[1]);
        return 1;
    }
    for (int i = 0; i < objects; i++) {
        char object[32];

        snprintf(object, sizeof(object), "raw%d", i);
        rados_setxattr(io, object, "a", "y", 1);
        if (strcmp(kind, "get") == 0)
            fill(object);
    }
    atomic_store(&out, depth);
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < depth; i++)
        start(calloc(1, sizeof(struct one)));
    nanosleep(&(struct timespec){strtol(argv[5], NULL, 10), 0}, NULL);
    atomic_store(&stop, true);
    pthread_mutex_lock(&lock);
    while (atomic_load(&out))
        pthread_cond_wait(&idle, &lock);
    pthread_mutex_unlock(&lock);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%s: %.0f a second, %d in flight, %d objects\n", kind,
           (double)atomic_load(&done) / ((double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9), depth, objects);
    rados_ioctx_destroy(io);
    rados_shutdown(cluster);
    return 0;
}
