/* tunnel_state.h: which client of a tunnel reads which channel, and how far it has come.
 *
 * Pure: the caller reads the state, holds the tunnel's lock, gives the time and stores what came
 * out. A channel is WAIT until it first has an owner, OPEN while it is read, CLOSING while its
 * owner is asked to let go of it, CLOSE when it is free again, TERMINATED when there is nothing
 * left. Clients merge channels by version, the higher one wins: a version only rises, and it rises
 * with each status that the server sets.
 *
 * A channel moves only after its owner has said CLOSE, or has been silent for longer than its
 * timeout. Stream channels open when all base channels are done, a shard's when those of its
 * parents are: so changes of a key come in order, each at least once.
 *
 * No arithmetic overflows, whatever versions, numbers and timeouts a client sends. */
#ifndef TABLE_TUNNEL_TUNNEL_STATE_H
#define TABLE_TUNNEL_TUNNEL_STATE_H

#include "base/bytes.h"

#define TUNNEL_NOBODY 0       /* no client has this number */
#define TUNNEL_NO_PARENT (-1) /* no channel has this place */
#define TUNNEL_TIMEOUT_S 300  /* of a client that names none */
#define TUNNEL_CLIENTS_MAX 1000

/* Numbers of the wire; WAIT is only there as a text. */
enum tunnel_channel_status {
    TUNNEL_WAIT,
    TUNNEL_OPEN,
    TUNNEL_CLOSING,
    TUNNEL_CLOSE,
    TUNNEL_TERMINATED,
};

struct tunnel_channel {
    bytes id;
    bytes token;    /* of the last checkpoint */
    int64_t number; /* of the last checkpoint; 0 before the first */
    int64_t version;
    uint64_t owner; /* a client's number, or TUNNEL_NOBODY */
    int parents[2]; /* places in `channels`, or TUNNEL_NO_PARENT: has none, or it is long gone */
    enum tunnel_channel_status status;
    bool stream; /* of changes; else of rows */
    bool done;   /* all of it has been processed; stays so */
};

struct tunnel_client {
    bytes tag;         /* what it calls itself */
    uint64_t number;   /* never given twice in a tunnel */
    int64_t timeout_s; /* above 0 */
    int64_t heard_ms;  /* last heartbeat, or when it connected */
    bool active;       /* it has sent a heartbeat, so it can be given channels */
};

struct tunnel_state {
    struct tunnel_channel *channels;
    size_t channel_count;
    struct tunnel_client *clients; /* the caller keeps room for one more */
    size_t client_count;
    uint64_t last_client; /* the highest number given; 0 before the first */
};

/* What a heartbeat says of a channel. */
struct tunnel_report {
    bytes id;
    int64_t version;
    enum tunnel_channel_status status;
};

enum tunnel_outcome {
    TUNNEL_OK,
    TUNNEL_GONE,       /* the client is unknown or timed out, or the channel is another's */
    TUNNEL_NOT_NEXT,   /* a checkpoint does not have the number after the last one's */
    TUNNEL_NO_CHANNEL, /* no such channel */
};

/* The token of a channel that is done. */
#define TUNNEL_FINISHED BYTES_LIT("finished")

/* A new client, which gets channels with its first heartbeat; a timeout below 1 is
 * TUNNEL_TIMEOUT_S. `tag` lives as long as the state. Clients that are silent go, and where
 * there is no room, the oldest that was never heard of again. Returns its number; TUNNEL_NOBODY:
 * there are TUNNEL_CLIENTS_MAX clients at work. */
uint64_t tunnel_connect(struct tunnel_state *t, bytes tag, int64_t timeout_s, int64_t now_ms);

/* The client goes; its channels are free at once. Nothing happens if it is unknown. */
void tunnel_shutdown(struct tunnel_state *t, uint64_t client);

/* Takes what a client says of its channels, drops clients that are silent, gives free channels to
 * the clients that have the fewest, and asks for some back where the spread is uneven. The answer
 * is all channels that the client owns afterwards. A report of a channel that is unknown or
 * another's, or whose version is not higher than the one here, or is far above it, is passed by. */
enum tunnel_outcome tunnel_heartbeat(struct tunnel_state *t, uint64_t client,
                                     const struct tunnel_report *reports, size_t count,
                                     int64_t now_ms);

/* The channel `id` as `client` may read it: its own, or a free one, which serves anybody. */
enum tunnel_outcome tunnel_channel_for(struct tunnel_state *t, uint64_t client, bytes id,
                                       struct tunnel_channel **out);

/* Stores `token`, a view that lives as long as the state; TUNNEL_FINISHED makes the channel done.
 * The last checkpoint once more, number and token, is taken as a repeated request. A channel that
 * is done keeps its token; only the number goes on. */
enum tunnel_outcome tunnel_checkpoint(struct tunnel_channel *c, bytes token, int64_t number);

/* Whether no base channel has rows left; then stream channels are open to readers. */
bool tunnel_base_done(const struct tunnel_state *t);

#endif
