#include "table/stream/stream_observer.h"

#include "table/model/change_point.h"
#include "table/model/name.h"
#include "table/stream/stream_beside.h"
#include "table/stream/stream_record.h"

static void stream_record_change(const struct row_observer *o, const struct row_change *change,
                                 struct batch_builder *e)
{
    const struct schema *s = &change->table->schema;

    if (change->kind == ROW_EXPIRE)
        return;
    batch_add(e, EDIT_PUT_NUMBERED,
              stream_record_prefix(e->arena, s->stream.location, stream_shard(s, change->cols)),
              stream_record_encode(e->arena, change, o->columns, o->column_count));
}

/* Sorted, none twice. */
static size_t original_columns(struct arena *a, const struct wr_stream_spec *spec, bytes **out)
{
    bytes *names = ARENA_ARRAY(a, bytes, spec->column_count);

    for (size_t i = 0; i < spec->column_count; i++)
        names[i] = spec->columns_to_get[i];
    *out = names;
    return names_sort_unique(names, spec->column_count);
}

void stream_observe_by(struct table *t,
                       void (*record)(const struct row_observer *o, const struct row_change *change,
                                      struct batch_builder *e))
{
    struct row_observer *o = ARENA_NEW(&t->ctx.arena, struct row_observer);
    bytes *columns;
    size_t count = original_columns(&t->ctx.arena, &t->schema.d.stream, &columns);

    *o = (struct row_observer){.needs = count ? OLD_ROW_ALWAYS : OLD_ROW_NEVER,
                               .columns = columns,
                               .column_count = count,
                               .record = record};
    change_point_observe(t, o);
}

void stream_observe(struct wr_db *db, struct table *t)
{
    if (db->keeps_streams && t->schema.stream.location)
        stream_observe_by(t, t->schema.stream_beside ? stream_beside_record : stream_record_change);
}
