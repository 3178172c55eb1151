/* dictionary.h: the different values of a column chunk that is being written, numbered as they
 * come, as long as they are few enough. */
#ifndef PARQUET_DICTIONARY_H
#define PARQUET_DICTIONARY_H

#include "parquet/thrift.h"

#define DICTIONARY_BYTES_MAX (1u << 20)
#define DICTIONARY_FULL UINT32_MAX

struct dictionary {
    bool counted;         /* texts: their lengths stand in front */
    struct thrift values; /* PLAIN, one behind the other */
    uint32_t count;
    struct dictionary_slot *slots; /* open addressing; NULL: none yet */
    uint32_t slot_count;
    uint32_t last, last_at, last_len; /* the value that was numbered last, in `values` */
};

/* The number of a value; DICTIONARY_FULL: there is no room. */
uint32_t dictionary_number(struct dictionary *d, bytes value);

void dictionary_release(struct dictionary *d);

#endif
