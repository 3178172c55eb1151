/* lock_key.h: the byte behind a value of the first key column that tells keys of kind 4 of its lock
 * (table/txn/txn_record.h) from those of records beside rows: no key column begins with it. On
 * disk. */
#ifndef TABLE_MODEL_LOCK_KEY_H
#define TABLE_MODEL_LOCK_KEY_H

#include "table/model/layout.h"

#define LOCK_KEY_BYTE 4

/* Is the key of kind 4 one of a lock's? */
static inline bool key_is_of_lock(const struct location *p, bytes key)
{
    bytes rest = bytes_skip(key, KEY_PREFIX_BYTES);
    size_t length = key_columns_length(p->key, rest, 1);

    return rest.len > length && bytes_u8(rest)[length] == LOCK_KEY_BYTE;
}

#endif
