/* rados_bulk.c: large values, collected into operations of some MiB, each waited for. */
#include "engine/rados.h"
#include "engine/rados_omap.h"

#define OP_BYTES (4u << 20)

struct rados_bulk {
    struct bulk base;
    struct rados *r;
    partition_id partition;
    rados_write_op_t op; /* NULL: nothing collected */
    size_t bytes;
};

static int flush(struct ctx *c, struct rados_bulk *b)
{
    int result;

    if (!b->op)
        return E_OK;
    atomic_fetch_add(&b->r->written_bytes, b->bytes);
    result = rados_write_now(b->r, b->op, b->partition);
    b->op = NULL;
    b->bytes = 0;
    if (result)
        return fail_code(c, rados_write_code(b->r, result));
    return E_OK;
}

static int bulk_put_one(struct ctx *c, struct bulk *bulk, bytes key, bytes value)
{
    struct rados_bulk *b = PORT_CONTAINER(bulk, struct rados_bulk, base);
    struct arena a;
    bytes k, v;

    if (!b->op) {
        b->op = rados_create_write_op();
        rados_expect(b->op, RADOS_WRITES, RADOS_YES);
    }
    arena_init(&a, NULL, 0);
    k = omap_key(&a, key);
    v = omap_value(&a, value);
    /* The operation keeps copies. */
    rados_write_op_omap_set2(b->op, (const char *const *)&k.ptr, (const char *const *)&v.ptr,
                             &k.len, &v.len, 1);
    arena_release(&a);
    b->bytes += k.len + v.len;
    return b->bytes >= OP_BYTES ? flush(c, b) : E_OK;
}

static int bulk_finish_all(struct ctx *c, struct bulk *bulk)
{
    return flush(c, PORT_CONTAINER(bulk, struct rados_bulk, base));
}

static void bulk_free(struct bulk *bulk)
{
    struct rados_bulk *b = PORT_CONTAINER(bulk, struct rados_bulk, base);

    if (b->op)
        rados_release_write_op(b->op);
    rados_release(b->r);
    mem_free(b);
}

static const struct bulk_ops bulk_ops = {
    .put = bulk_put_one, .finish = bulk_finish_all, .close = bulk_free};

int rados_bulk(struct ctx *c, struct engine *e, partition_id partition, struct bulk **out)
{
    struct rados_bulk *b = mem_zalloc(sizeof(*b));

    (void)c;
    b->base.ops = &bulk_ops;
    b->r = PORT_CONTAINER(e, struct rados, base);
    b->partition = partition;
    rados_hold(b->r);
    *out = &b->base;
    return E_OK;
}
