/* tunnel_change.h: a request that works on the state of a tunnel.
 *
 * The state is read, `decide` looks at it and may change it, and what came out is stored in one
 * batch, guarded by what was read: if another server was faster, all begins anew. So any thread,
 * and any server over the data, may take a client's next request. Requests of one server take
 * turns, by the lock of the state's key, so that none of them is overtaken for ever. Nothing is
 * stored if nothing changed. */
#ifndef TABLE_TUNNEL_TUNNEL_CHANGE_H
#define TABLE_TUNNEL_TUNNEL_CHANGE_H

#include "table/core/call.h"
#include "table/sync/row_lock.h"
#include "table/tunnel/tunnel_name.h"
#include "table/tunnel/tunnel_state.h"

/* A tunnel as the table's description has it: a copy in the arena of the call. */
struct tunnel_ref {
    struct schema_tunnel made;
    bytes table;
    bytes stream;                    /* id of the table's stream; empty: it has none */
    const struct limits *limits;     /* the database's */
    const struct wr_key_schema *key; /* the table's key columns */
    size_t key_count;
    uint32_t location; /* of the stream's records */
    int64_t enable_us; /* when the stream was switched on */
    uint64_t oldest;   /* number of the first record of changes that is kept */
    bool recorded;     /* every change that is acknowledged from now on has a record */
    bytes state_key;
};

/* The tunnel `made` of the table. */
void tunnel_ref_of(struct call *call, const struct table *t, const struct schema_tunnel *made,
                   struct tunnel_ref *out);

/* The table of that name, referenced. E_PARAMETER: there is none; E_UNSUPPORTED: no tunnels are
 * kept here. */
int tunnel_open_table(struct call *call, bytes name, struct table **out);

/* The tunnel of that id. E_PARAMETER: there is none. */
int tunnel_ref_open(struct call *call, bytes id, struct tunnel_ref *out);
int tunnel_fail_missing(struct ctx *c);

/* Did changes go before they were read, so that a tunnel that begins with rows cannot end right? */
bool tunnel_is_expired(const struct tunnel_ref *ref, const struct tunnel_state *t);

/* Reads a token of the channel; of a channel of changes also what its iterator names. E_PARAMETER:
 * it is none, or another channel's. */
struct stream_place;
int tunnel_place_read(struct ctx *c, const struct tunnel_ref *ref,
                      const struct tunnel_channel *channel, bytes token, struct tunnel_place *out,
                      struct stream_place *changes);

/* The key that a token of rows names, of the table's columns: views into `at`, in the arena of c.
 * E_PARAMETER: no row of the table can have it. */
int tunnel_row_key(struct ctx *c, const struct tunnel_ref *ref, bytes at, struct wr_key *out);

/* The first microsecond that is not before it. */
static inline uint64_t tunnel_us(uint64_t ns)
{
    return ns / 1000 + (ns % 1000 != 0);
}

/* E_OK, or the failure of what came out. */
int tunnel_check(struct ctx *c, enum tunnel_outcome outcome);

struct tunnel_change {
    /* The owner's. */
    struct call *call;
    struct tunnel_ref ref;
    bool reads;  /* it changes nothing */
    bool leaves; /* it is taken on a nearly full disk */
    /* Not 0: it has failed. It may be called again, with what was stored meanwhile; then what it
     * put into the reply is of no account. */
    int (*decide)(struct tunnel_change *x, struct tunnel_state *t);
    void (*then)(struct tunnel_change *x); /* instead of call_finish(), after decide; or NULL */

    struct row_lock lock; /* without a key: it changes nothing */
    struct get get;
    struct guard guard;
    struct edit edit;
    int tries;
};

/* For the tunnel of that id. x lies in the arena of the call, all zeros. */
int tunnel_change_init(struct tunnel_change *x, struct call *call, bytes id,
                       int (*decide)(struct tunnel_change *x, struct tunnel_state *t));
/* Ends with call_finish(), or `then`. E_OK. */
int tunnel_change_begin(struct tunnel_change *x);

/* The stored state of a tunnel, as its clients are to be seen now. */
int tunnel_state_read(struct call *call, bytes stored, struct tunnel_state *out);

#endif
