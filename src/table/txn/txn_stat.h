/* txn_stat.h: what is counted of transactions. */
#ifndef TABLE_TXN_TXN_STAT_H
#define TABLE_TXN_TXN_STAT_H

#include <stdint.h>

struct txn_stat {
    uint64_t open, bytes;                          /* now */
    uint64_t committed, aborted, expired, refused; /* refused: writes and starts that met a lock */
};

#endif
