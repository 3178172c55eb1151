/* rados.c: the engine on a pool of a Ceph cluster, which any number of processes may share.
 *
 * What replicates, recovers and balances is the cluster's. A partition is an object (rados.h);
 * nothing is kept in this process but batches under way (rados_write.c) and hints (rados_hints.h),
 * so a process may be killed at any moment and others see what it was told. Nothing is atomic over
 * two objects, hence the table of partitions, and that of a bus, as others write too.
 *
 * All calls are asynchronous; completions run on the client library's thread for them. Its own
 * throttle, which would put a submitting loop thread to sleep, is off: reads are bounded by the
 * requests there are, writes by unsynced_bytes_max (E_BUSY).
 *
 * A write that got no answer in time is E_UNSURE, and may still land later: the cluster keeps an
 * operation that a stopped OSD holds. Within one process it lands before those that were sent
 * after it. */
#include "engine/rados.h"

#include "engine/backends.h"
#include "engine/rados_hints.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define HINT_BYTES_MAX (32u << 20)

/* The format of everything in a namespace; kept at the object of the system partition. What is
 * there in the one before is read, and from its first opening on has this one. In that, numbers
 * of processes came again after 1024 openings: whoever knows only that must stay out. */
#define FORM_NAME "form"
#define FORM "2"
#define FORM_BEFORE "1"

/* Longer than this without an answer, and the pool counts as gone. A cluster that loses an OSD
 * answers again in its heartbeat's grace. */
#define SILENT_MS 5000

#define CONNECT_SECONDS "10"
#define ANSWER_SECONDS "15"
/* A watch is confirmed so often, so its age tells a live process from a silent one that soon. */
#define TICK_SECONDS 1

/* ---- open and close ---- */

static const char *option(const struct engine_conf *conf, const char *name, const char *missing)
{
    for (size_t i = 0; i < conf->option_count; i++)
        if (strcmp(conf->options[i].name, name) == 0 && *conf->options[i].value)
            return conf->options[i].value;
    return missing;
}

static int refuse(struct ctx *c, int code, int result, const char *what)
{
    char reason[96];

    return fail(c, code, "%s: %s.", what, strerror_r(-result, reason, sizeof(reason)));
}

/* Unless it does already. */
static int tick_often(struct ctx *c, struct rados *r)
{
    static const char name[] = "objecter_tick_interval";
    char now[32] = "", wanted[16];
    int result = rados_conf_get(r->cluster, name, now, sizeof(now));

    if (!result && atof(now) > 0 && atof(now) <= TICK_SECONDS)
        return E_OK;
    snprintf(wanted, sizeof(wanted), "%d", TICK_SECONDS);
    result = rados_conf_set(r->cluster, name, wanted);
    return result ? refuse(c, E_UNAVAILABLE, result, name) : E_OK;
}

static int connect_cluster(struct ctx *c, struct rados *r, const struct engine_conf *conf)
{
    static const char *const before[][2] = {{"log_to_stderr", "false"}, {"err_to_stderr", "false"}};
    static const char *const after[][2] = {
        {"client_mount_timeout", CONNECT_SECONDS}, {"rados_mon_op_timeout", CONNECT_SECONDS},
        {"rados_osd_op_timeout", ANSWER_SECONDS},  {"objecter_inflight_ops", "0"},
        {"objecter_inflight_op_bytes", "0"},
    };
    const char *file = option(conf, "ceph_conf", "/etc/ceph/ceph.conf");
    int result = rados_create(&r->cluster, option(conf, "ceph_user", "admin"));

    if (result)
        return refuse(c, E_UNAVAILABLE, result, "The client of the cluster cannot be made");
    for (size_t i = 0; i < PORT_COUNT(before); i++)
        rados_conf_set(r->cluster, before[i][0], before[i][1]);
    result = rados_conf_read_file(r->cluster, file);
    if (result)
        return refuse(
            c, E_PARAMETER, result,
            arena_printf(&c->arena, "The cluster's configuration %s cannot be read", file).ptr);
    for (size_t i = 0; i < PORT_COUNT(after); i++) {
        result = rados_conf_set(r->cluster, after[i][0], after[i][1]);
        if (result)
            return refuse(c, E_UNAVAILABLE, result, after[i][0]);
    }
    TRY(tick_often(c, r));
    result = rados_connect(r->cluster);
    if (result)
        return refuse(c, E_UNAVAILABLE, result,
                      arena_printf(&c->arena,
                                   "No monitor that %s names lets us in within %s s; is the "
                                   "cluster up, and the user's key right",
                                   file, CONNECT_SECONDS)
                          .ptr);
    return E_OK;
}

static int open_pool(struct ctx *c, struct rados *r, const struct engine_conf *conf)
{
    const char *pool = option(conf, "pool", "widerow");
    int result = rados_ioctx_create(r->cluster, pool, &r->pool);

    if (result == -ENOENT)
        return fail(c, E_PARAMETER,
                    "The cluster has no pool '%s'. Make it (`ceph osd pool create %s`) or name "
                    "another with --pool.",
                    pool, pool);
    if (result)
        return refuse(c, E_UNAVAILABLE, result,
                      arena_printf(&c->arena, "The pool '%s' cannot be opened", pool).ptr);
    rados_ioctx_set_namespace(r->pool, option(conf, "namespace", "widerow"));
    /* Else the client library holds back, in a full pool, also what renews a watch (rados_bus.c).
     */
    rados_set_pool_full_try(r->pool);
    return E_OK;
}

/* The form that the namespace has: `form` holds it, with `*len`. */
static int read_form(struct ctx *c, struct rados *r, char form[8], size_t *len)
{
    struct rados_name name = rados_name(PARTITION_SYSTEM);
    int result = rados_getxattr(r->pool, name.text, FORM_NAME, form, 8);

    *len = result > 0 ? (size_t)result : 0;
    return result < 0 && result != -ENODATA && result != -ERANGE
               ? refuse(c, E_UNAVAILABLE, result, "The pool cannot be read")
               : E_OK;
}

static bool is_form(const char *form, size_t len, const char *which)
{
    return len == strlen(which) && memcmp(form, which, len) == 0;
}

/* Several may do it at once. */
static void raise_form(struct rados *r)
{
    rados_write_op_t op = rados_create_write_op();

    rados_expect(op, FORM_NAME, FORM_BEFORE);
    rados_write_op_setxattr(op, FORM_NAME, FORM, sizeof(FORM) - 1);
    if (!rados_write_now(r, op, PARTITION_SYSTEM))
        log_info(r->log, "engine: the namespace has form " FORM
                         " from now on; older versions of Widerow do not open it any more");
}

/* The system partition is made by whoever comes first. */
static int open_system(struct ctx *c, struct rados *r)
{
    rados_write_op_t op = rados_create_write_op();
    char form[8];
    size_t len;
    int result;

    rados_write_op_create(op, LIBRADOS_CREATE_EXCLUSIVE, NULL);
    rados_write_op_setxattr(op, FORM_NAME, FORM, sizeof(FORM) - 1);
    rados_set_state(op, RADOS_YES, RADOS_YES);
    result = rados_write_now(r, op, PARTITION_SYSTEM);
    if (result && result != -EEXIST)
        return refuse(c, E_UNAVAILABLE, result,
                      "The pool takes no writes; has it enough OSDs, space, and this user the "
                      "right to write");
    TRY(read_form(c, r, form, &len));
    if (is_form(form, len, FORM_BEFORE)) {
        raise_form(r);
        TRY(read_form(c, r, form, &len));
    }
    if (!is_form(form, len, FORM))
        return fail(c, E_FORMAT,
                    "The pool's namespace holds data of another version; this one reads "
                    "version %s. Use another namespace.",
                    FORM);
    return E_OK;
}

static void rados_free(struct rados *r)
{
    if (r->pool)
        rados_ioctx_destroy(r->pool);
    if (r->cluster)
        rados_shutdown(r->cluster);
    rados_publications_free(r);
    mem_free(r->lease);
    rados_gather_free(r->gather);
    rados_hints_free(r->hints);
    rados_survey_free(r->survey);
    pthread_cond_destroy(&r->idle);
    pthread_mutex_destroy(&r->watch_lock);
    pthread_mutex_destroy(&r->lock);
    mem_free(r);
}

static int rados_open(struct ctx *c, const struct engine_conf *conf, struct engine **out)
{
    struct rados *r = mem_zalloc(sizeof(*r));
    int code;

    r->base.ops = &engine_rados;
    r->clock = conf->clock;
    r->log = conf->log;
    r->pending_bytes_max = engine_unsynced_bytes_max(conf);
    r->gather = rados_gather_new();
    r->hints = rados_hints_new(HINT_BYTES_MAX);
    r->survey = rados_survey_new();
    pthread_mutex_init(&r->lock, NULL);
    pthread_mutex_init(&r->watch_lock, NULL);
    pthread_cond_init(&r->idle, NULL);
    code = connect_cluster(c, r, conf);
    if (!code)
        code = open_pool(c, r, conf);
    if (!code)
        code = open_system(c, r);
    if (code) {
        rados_free(r);
        return code;
    }
    r->osds = rados_osds_start(r);
    r->lease = rados_lease_start(r);
    *out = &r->base;
    return E_OK;
}

static void rados_close(struct engine *e)
{
    struct rados *r = PORT_CONTAINER(e, struct rados, base);

    rados_unsubscribe(r);
    rados_osds_stop(r->osds);
    rados_lease_stop(r->lease);
    pthread_mutex_lock(&r->lock);
    while (r->under_way)
        pthread_cond_wait(&r->idle, &r->lock);
    pthread_mutex_unlock(&r->lock);
    rados_free(r);
}

/* ---- state ---- */

static void on_probe(rados_completion_t completion, void *arg)
{
    struct rados *r = arg;

    rados_answered(r, rados_aio_get_return_value(completion));
    rados_aio_release(completion);
    rados_release(r);
}

/* Without requests nothing would tell that the cluster went away or came back. */
static void probe(struct rados *r)
{
    struct rados_name name = rados_name(PARTITION_SYSTEM);
    rados_completion_t completion;

    rados_aio_create_completion2(r, on_probe, &completion);
    rados_hold(r);
    rados_sent(r);
    if (rados_aio_stat(r->pool, name.text, completion, NULL, NULL)) {
        rados_aio_release(completion);
        rados_answered(r, -ETIMEDOUT);
        rados_release(r);
    }
}

static void rados_engine_stat(struct engine *e, struct engine_stat *out)
{
    struct rados *r = PORT_CONTAINER(e, struct rados, base);
    int64_t now = clock_mono_ms(r->clock), since = atomic_load(&r->asked_since_ms);
    int64_t answered = atomic_load(&r->answered_ms);

    if (answered > since)
        since = answered;
    out->writable = !atomic_load(&r->asked) || now - since < SILENT_MS;
    if (!out->writable)
        snprintf(out->reason, sizeof(out->reason), "the cluster has not answered for %lld s",
                 (long long)(now - since) / 1000);
    if (!atomic_load(&r->asked))
        probe(r);
    rados_room_look(r);
    if (out->writable && atomic_load(&r->full)) {
        out->writable = false;
        snprintf(out->reason, sizeof(out->reason), "the pool is full");
    } else if (out->writable && atomic_load(&r->tight)) {
        out->writable = false;
        snprintf(out->reason, sizeof(out->reason), "an OSD has too little room left for rows");
    }
    out->acked = atomic_load(&r->acked);
    out->syncs = atomic_load(&r->write_ops);
    out->remote_reads = atomic_load(&r->read_ops);
    out->remote_writes = atomic_load(&r->write_ops);
    out->remote_read_bytes = atomic_load(&r->read_bytes);
    out->remote_written_bytes = atomic_load(&r->written_bytes);
    out->stalls = atomic_load(&r->refused_busy);
    pthread_mutex_lock(&r->lock);
    out->unsynced_bytes = r->pending_bytes;
    pthread_mutex_unlock(&r->lock);
}

/* A returning OSD copies a changed object whole, and its writes wait. */
#define PARTITION_BYTES (10u << 20)

static const char *const options[] = {"ceph_conf", "ceph_user", "pool", "namespace", NULL};

static const struct partition_ops partition_ops = {.bytes_max = PARTITION_BYTES,
                                                   .create = rados_create_partitions,
                                                   .drop = rados_drop,
                                                   .repartition = rados_repartition};

static const struct bus_ops bus_ops = {.subscribe = rados_subscribe,
                                       .done = rados_notification_done,
                                       .publish = rados_publish,
                                       .query = rados_query,
                                       .lease_age_ms = rados_lease_age_ms,
                                       .leave = rados_leave};

const struct engine_ops engine_rados = {
    .name = "rados",
    .options = options,
    .partitions = &partition_ops,
    .bus = &bus_ops,
    .numbers = true,
    .open = rados_open,
    .close = rados_close,
    .get = rados_get,
    .get_many = rados_get_many,
    .scan = rados_scan,
    .apply = rados_apply,
    .bulk = rados_bulk,
    .erase = rados_erase,
    .size = rados_size,
    .stat = rados_engine_stat,
};
