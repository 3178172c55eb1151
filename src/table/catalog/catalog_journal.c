#include "table/catalog/catalog_journal.h"

#include "base/buf.h"
#include "base/invariant.h"
#include "table/catalog/catalog.h"
#include "table/core/db.h"
#include "table/model/key.h"

#define FORM 1

bytes journal_key(struct arena *a, uint64_t number)
{
    struct buf b;

    buf_init(&b, a, KEY_PREFIX_BYTES + 8);
    buf_put_bytes(&b, catalog_plain_key(a, CATALOG_JOURNAL));
    store_u64_be(buf_reserve(&b, 8), number);
    buf_commit(&b, 8);
    return buf_bytes(&b);
}

bytes journal_encode(struct arena *a, const struct journal_entry *entry)
{
    struct buf b;

    invariant(entry->instance.len || (!entry->name.len && !entry->id));
    buf_init(&b, a, 32 + entry->instance.len + entry->name.len);
    buf_put_u8(&b, FORM);
    buf_put_varint(&b, entry->id);
    buf_put_varint(&b, entry->version);
    buf_put_counted(&b, entry->instance);
    buf_put_bytes(&b, entry->name);
    return buf_bytes(&b);
}

int journal_decode(struct ctx *c, bytes stored, struct journal_entry *out)
{
    struct reader r = reader_of(stored);
    unsigned form = read_u8(&r);

    if (!r.bad && form != FORM)
        return fail(c, E_FORMAT, "A journal entry is of version %u; this program reads %d.", form,
                    FORM);
    out->id = (uint32_t)read_varint(&r);
    out->version = read_varint(&r);
    out->instance = read_counted(&r);
    out->name = read_bytes(&r, reader_left(&r));
    return r.bad ? fail(c, E_CORRUPT, "A journal entry is damaged.") : E_OK;
}

void journal_add(struct wr_db *db, struct batch_builder *e, const struct journal_entry *entry)
{
    if (db_is_shared(db))
        batch_add(e, EDIT_PUT, journal_key(e->arena, catalog_next_number(db->catalog)),
                  journal_encode(e->arena, entry));
}
