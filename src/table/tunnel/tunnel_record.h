/* tunnel_record.h: the state of a tunnel as stored bytes (doc/format.md, "Tunnels").
 *
 * It is one value, since each change of it is decided by all of it. Whoever changes it guards what
 * he has read, so that any server may take a client's next request. */
#ifndef TABLE_TUNNEL_TUNNEL_RECORD_H
#define TABLE_TUNNEL_TUNNEL_RECORD_H

#include "base/ctx.h"
#include "table/tunnel/tunnel_state.h"

/* In the arena. */
bytes tunnel_record_encode(struct arena *a, const struct tunnel_state *t);

/* Reads it back; the lists lie in the arena of c, with room for one more client, and texts are
 * views into `value`. E_CORRUPT, E_FORMAT. */
int tunnel_record_decode(struct ctx *c, bytes value, struct tunnel_state *out);

#endif
