#include "table/core/catalog_key.h"

#include "table/model/key.h"
#include "table/sync/wait.h"

static struct buf catalog_key(struct arena *a, enum catalog_kind kind)
{
    struct buf b;

    buf_init(&b, a, 64);
    key_put_prefix(&b, 0, 0, (enum key_kind)kind);
    return b;
}

bytes catalog_table_key(struct arena *a, bytes instance, bytes name)
{
    struct buf b = catalog_key(a, CATALOG_TABLE);

    key_put_text(&b, instance);
    key_put_text(&b, name);
    return buf_bytes(&b);
}

bytes catalog_dropped_key(struct arena *a, uint32_t id)
{
    struct buf b = catalog_key(a, CATALOG_DROPPED);

    store_u32_be(buf_reserve(&b, 4), id);
    buf_commit(&b, 4);
    return buf_bytes(&b);
}

bytes catalog_rekey_key(struct arena *a, uint32_t table_id)
{
    struct buf b = catalog_key(a, CATALOG_REKEY);

    store_u32_be(buf_reserve(&b, 4), table_id);
    buf_commit(&b, 4);
    return buf_bytes(&b);
}

bytes catalog_text_key(struct arena *a, bytes name)
{
    struct buf b = catalog_key(a, CATALOG_TEXT);

    key_put_text(&b, name);
    return buf_bytes(&b);
}

bytes catalog_plain_key(struct arena *a, enum catalog_kind kind)
{
    struct buf b = catalog_key(a, kind);

    return buf_bytes(&b);
}

bytes catalog_number_value(struct arena *a, uint64_t v)
{
    uint8_t *p = arena_alloc(a, 8);

    store_u64(p, v);
    return bytes_of(p, 8);
}

/* Of what has a number within a table or a location. */
static bytes numbered_key(struct arena *a, enum catalog_kind kind, uint32_t id, uint64_t number)
{
    struct buf b = catalog_key(a, kind);

    store_u32_be(buf_reserve(&b, 4), id);
    buf_commit(&b, 4);
    store_u64_be(buf_reserve(&b, 8), number);
    buf_commit(&b, 8);
    return buf_bytes(&b);
}

bytes catalog_page_key(struct arena *a, uint32_t location_id, uint64_t page_id)
{
    return numbered_key(a, CATALOG_PAGE, location_id, page_id);
}

bytes catalog_tunnel_key(struct arena *a, uint32_t table_id, uint64_t number)
{
    return numbered_key(a, CATALOG_TUNNEL, table_id, number);
}

uint64_t catalog_page_key_id(bytes key)
{
    return key.len == KEY_PREFIX_BYTES + 12 ? load_u64_be(bytes_u8(key) + KEY_PREFIX_BYTES + 4) : 0;
}

int catalog_load_number(struct ctx *c, struct engine *e, enum catalog_kind kind, uint64_t *out)
{
    struct get get = {.partition = PARTITION_SYSTEM,
                      .key = catalog_plain_key(&c->arena, kind),
                      .view = VIEW_LATEST};

    TRY(wait_get(c, e, &get));
    if (get.found && get.value.len != 8)
        return fail(c, E_CORRUPT, "A number of the catalog is damaged.");
    *out = get.found ? load_u64(get.value.ptr) : 0;
    return E_OK;
}

/* ---- notifications ---- */

bytes catalog_notification_text(struct arena *a, bytes instance, bytes name)
{
    struct buf b;

    buf_init(&b, a, 16 + instance.len + name.len);
    buf_put_counted(&b, instance);
    buf_put_bytes(&b, name);
    return buf_bytes(&b);
}

/* No instance has an empty name. */
bytes catalog_notification_of_texts(struct arena *a)
{
    return catalog_notification_text(a, BYTES_NONE, BYTES_NONE);
}

enum catalog_notice catalog_notice_of(bytes text, bytes *instance, bytes *name)
{
    struct reader r = reader_of(text);

    *instance = read_counted(&r);
    *name = read_bytes(&r, reader_left(&r));
    if (r.bad)
        return NOTICE_DAMAGED;
    if (instance->len)
        return NOTICE_TABLE;
    return name->len ? NOTICE_QUESTION : NOTICE_TEXTS;
}
