/* txn_gate.h: the lock of one partition-key value of a table whose rows may be in local
 * transactions.
 *
 * It is no row lock. A write outside of transactions enters by its row's gate, with any number of
 * others, and leaves when it is durable or has failed. A transaction closes the gate: from then on
 * nobody enters, and it owns the value once those who are inside have left. So nothing that it
 * reads at the durable view can change, but for what expires. Nobody ever waits to enter, so no
 * writes pile up behind a transaction, and none can wait in a circle.
 *
 * A gate is there as long as somebody is inside or owns it. All functions are called under the lock
 * of the transactions (txn.c). */
#ifndef TABLE_TXN_TXN_GATE_H
#define TABLE_TXN_TXN_GATE_H

#include "base/bytes.h"

struct txn;

struct txn_gate {
    bytes key;
    uint64_t hash;
    size_t inside;     /* writes outside of transactions */
    struct txn *owner; /* NULL: open */
    struct txn_gate *chain;
};

#define TXN_GATE_BUCKETS 4096

struct txn_gates {
    struct txn_gate *buckets[TXN_GATE_BUCKETS];
};

/* The gate of the key, which is copied; made if it is not there. */
struct txn_gate *txn_gate_get(struct txn_gates *all, bytes key);

/* The gate goes, if it is open and nobody is inside. */
void txn_gate_put(struct txn_gates *all, struct txn_gate *g);

#endif
