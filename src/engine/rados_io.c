/* rados_io.c: what every operation on the pool needs: the object's name, the count of what is under
 * way, and what a result means. */
#include "engine/rados.h"

#include "base/invariant.h"
#include "engine/rados_omap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define LOG_MS 1000

struct rados_name rados_name(partition_id id)
{
    struct rados_name name;

    snprintf(name.text, sizeof(name.text), "p%016llx", (unsigned long long)id);
    return name;
}

void rados_hold(struct rados *r)
{
    pthread_mutex_lock(&r->lock);
    r->under_way++;
    pthread_mutex_unlock(&r->lock);
}

void rados_release(struct rados *r)
{
    pthread_mutex_lock(&r->lock);
    invariant(r->under_way);
    if (--r->under_way == 0)
        pthread_cond_broadcast(&r->idle);
    pthread_mutex_unlock(&r->lock);
}

void rados_sent(struct rados *r)
{
    if (atomic_fetch_add(&r->asked, 1) == 0)
        atomic_store(&r->asked_since_ms, clock_mono_ms(r->clock));
}

void rados_answered(struct rados *r, int result)
{
    uint64_t asked = atomic_fetch_sub(&r->asked, 1);

    invariant(asked);
    if (result == -ETIMEDOUT)
        return;
    atomic_store(&r->answered_ms, clock_mono_ms(r->clock));
}

void rados_room_learn(struct rados *r, bool full)
{
    if (atomic_exchange(&r->full, full) == full)
        return;
    if (full)
        log_error(r->log, "engine: the pool is full; only what removes is still written");
    else
        log_info(r->log, "engine: the pool has room again");
}

/* One line a second at most: a cluster that refuses refuses everything. */
static void log_strange(struct rados *r, const char *what, int result)
{
    int64_t now = clock_mono_ms(r->clock), last = atomic_load(&r->logged_ms);
    char reason[96];

    if (now - last < LOG_MS || !atomic_compare_exchange_strong(&r->logged_ms, &last, now))
        return;
    log_warn(r->log, "engine: the pool refused a %s: %s", what,
             strerror_r(-result, reason, sizeof(reason)));
}

int rados_read_code(struct rados *r, int result)
{
    switch (result >= 0 ? 0 : result) {
    case 0:
        return E_OK;
    case -ENOENT:
    case -ECANCELED:
        return E_PARTITION;
    default:
        log_strange(r, "read", result);
        return E_UNAVAILABLE;
    }
}

int rados_write_code(struct rados *r, int result)
{
    switch (result >= 0 ? 0 : result) {
    case 0:
        return E_OK;
    case -ENOENT:
    case -ECANCELED:
        return E_PARTITION;
    case -ENOSPC:
    case -EDQUOT:
        rados_room_learn(r, true);
        return E_NO_SPACE;
    case -EMSGSIZE:
        return E_MEMORY;
    case -EPERM:
    case -EACCES:
    case -EROFS:
    case -ESHUTDOWN: /* this client was shut out */
        log_strange(r, "write", result);
        return E_UNAVAILABLE;
    default:
        log_strange(r, "write", result);
        return E_UNSURE;
    }
}

void rados_expect(rados_write_op_t op, const char *attribute, const char *state)
{
    rados_write_op_assert_exists(op);
    rados_write_op_cmpxattr(op, attribute, LIBRADOS_CMPXATTR_OP_EQ, state, strlen(state));
}

void rados_set_state(rados_write_op_t op, const char *reads, const char *writes)
{
    rados_write_op_setxattr(op, RADOS_READS, reads, strlen(reads));
    rados_write_op_setxattr(op, RADOS_WRITES, writes, strlen(writes));
}

/* In digits, for comparisons of an omap take bytes above 127 for negative. */
bytes rados_mark_value(struct arena *a, uint64_t number)
{
    return omap_value(a, arena_printf(a, "%016llx", (unsigned long long)number));
}

void rados_mark_ask(rados_read_op_t op, const char *key, rados_omap_iter_t *read, int *result)
{
    size_t len = strlen(key);

    rados_read_op_omap_get_vals_by_keys2(op, &key, 1, &len, read, result);
}

uint64_t rados_mark_of(struct rados *r, rados_omap_iter_t read)
{
    char *key, *stored, digits[17];
    size_t key_len, len;
    bytes value;

    if (rados_omap_get_next2(read, &key, &stored, &key_len, &len) || !key)
        return 0;
    atomic_fetch_add(&r->read_bytes, key_len + len);
    if (!omap_value_decode(bytes_of(stored, len), &value) || value.len != sizeof(digits) - 1)
        return 0;
    memcpy(digits, value.ptr, value.len);
    digits[value.len] = 0;
    return strtoull(digits, NULL, 16);
}

int rados_write_now(struct rados *r, rados_write_op_t op, partition_id id)
{
    struct rados_name name = rados_name(id);
    int result;

    rados_sent(r);
    atomic_fetch_add(&r->write_ops, 1);
    result = rados_write_op_operate(op, r->pool, name.text, NULL, LIBRADOS_OPERATION_FULL_TRY);
    rados_answered(r, result);
    rados_release_write_op(op);
    return result < 0 ? result : 0;
}

int rados_refuse(struct ctx *c, struct rados *r, int result, partition_id id, const char *what)
{
    char reason[96];

    return fail(c, rados_write_code(r, result), "Partition %llu cannot be %s: %s.",
                (unsigned long long)id, what, strerror_r(-result, reason, sizeof(reason)));
}
