/* batch_builder.h: a write batch that grows, in an arena. */
#ifndef TABLE_MODEL_BATCH_BUILDER_H
#define TABLE_MODEL_BATCH_BUILDER_H

#include "engine/engine.h"
#include "table/model/schema.h"

struct batch_builder {
    struct arena *arena;
    struct edit *items;
    size_t count, capacity;
    size_t bytes; /* of keys and values */
    struct guard *guards;
    size_t guard_count, guard_capacity;
    bool stores; /* rows; else they only remove, or note what is to be removed or is left */
};

/* Key and value are not copied. */
void batch_add(struct batch_builder *e, enum edit_type type, bytes key, bytes value);

/* The batch lands only if this is so. Key and value are not copied. */
void batch_add_guard(struct batch_builder *e, struct guard guard);

/* Repeats the edits from index `from` on in the table's shadow copy, if it has one. */
void batch_add_shadow(struct batch_builder *e, size_t from, const struct schema *s);

#endif
