/* mapping.h: Tablestore's mapping tables: which columns SQL sees of a table whose rows may have
 * any, and of which types. CREATE TABLE makes one for a table that is there, and nothing of its
 * rows changes; without one, SQL sees the key and the defined columns. It is kept in the table's
 * annotation (doc/format.md). */
#ifndef SQL_RUN_MAPPING_H
#define SQL_RUN_MAPPING_H

#include "sql/run/run.h"

struct mapping_column {
    bytes name;
    enum wr_type type;
};

/* In the order of its CREATE TABLE, the key's columns among them. */
struct mapping {
    struct mapping_column *columns;
    size_t count; /* 0: none was created */
};

/* Names are views of the description. */
int mapping_read(struct run *r, const struct wr_table_description *d, struct mapping *out);

/* Instead of the one that `d` has, if the table still is as `d` says; count 0: none. */
int mapping_store(struct run *r, bytes database, const struct wr_table_description *d,
                  const struct mapping *m);

/* A type as DESCRIBE tells it. */
bytes mapping_type_text(struct arena *a, enum wr_type type, bool key, uint32_t length);

#endif
