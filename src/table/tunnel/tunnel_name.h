/* tunnel_name.h: the texts by which clients name tunnels, clients, and places in channels.
 *
 *   tunnel   TABLE_NUMBER, of which wr_stream_table() tells the table
 *   client   TAG_NUMBER, in hexadecimal
 *   token    a place in a channel: doc/format.md, "Tunnels"
 *
 * To clients they are opaque. They mean the same on every server and after a restart. */
#ifndef TABLE_TUNNEL_TUNNEL_NAME_H
#define TABLE_TUNNEL_TUNNEL_NAME_H

#include "base/ctx.h"

/* In the arena. */
bytes tunnel_id(struct arena *a, bytes table, uint64_t number);
bytes tunnel_client_id(struct arena *a, bytes tag, uint64_t number);

/* The table, a view, and the number of a tunnel. False: it is not the id of one. */
bool tunnel_id_read(bytes id, bytes *table, uint64_t *number);
/* The number of a client; 0: it is not the id of one. */
uint64_t tunnel_client_number(bytes id);

/* How far a channel was read. */
struct tunnel_place {
    bool finished;    /* to its end; the rest is not told then */
    bool stream;      /* in a channel of changes, else of rows */
    uint64_t count;   /* of rows or changes before */
    uint64_t seen_us; /* in a channel of changes: nothing was behind it then, UTC; 0: not known */
    bytes at; /* a shard's iterator; of rows the encoded key columns of the next one, empty at the
                 beginning */
};

#define TUNNEL_TIME_MAX_US ((uint64_t)INT64_MAX / 1000) /* clients are told nanoseconds */

/* In the arena. */
bytes tunnel_token(struct arena *a, const struct tunnel_place *place);
/* `at` is a view into the token. E_PARAMETER: it was altered, or never given out. */
int tunnel_token_read(struct ctx *c, bytes token, struct tunnel_place *out);

#endif
