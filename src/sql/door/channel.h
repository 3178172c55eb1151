/* channel.h: a client's socket, with or without TLS, on which one thread waits. */
#ifndef SQL_DOOR_CHANNEL_H
#define SQL_DOOR_CHANNEL_H

#include "base/arena.h"

#include <openssl/types.h>

#define CHANNEL_AHEAD_BYTES 4096
#define CHANNEL_HEAD_BYTES 7

struct channel {
    int fd;
    SSL *ssl;      /* NULL: no TLS (yet) */
    int write_s;   /* how long the client may take for a piece */
    bool overfull; /* the last packet was, and began with `head` */
    uint8_t head[CHANNEL_HEAD_BYTES];
    /* Asked each second in which the client takes nothing; true: it is waited for no longer. */
    bool (*hurry)(void);
    /* What came with what was read, once `reads_ahead`: mostly the rest of a command. Not before
     * TLS could begin, whose first bytes may follow the client's wish for it at once. */
    bool reads_ahead;
    uint16_t ahead_from, ahead_to;
    uint8_t ahead[CHANNEL_AHEAD_BYTES];
};

/* All of it, or false: the client has gone, was too slow, or the socket was shut down. */
bool channel_read(struct channel *c, void *to, size_t size);
bool channel_write(struct channel *c, bytes b);

/* Waits for what the client says next, so long at most. False: nothing has come. */
bool channel_wait(const struct channel *c, int ms);

/* How long the client may take for each piece that it sends or takes. */
void channel_patience(struct channel *c, int read_s, int write_s);

/* The handshake of TLS, as its server. */
bool channel_secure(struct channel *c, SSL_CTX *context);

/* A packet's payload, put together, in `a`. False: as above, or it is longer than `max`, or its
 * number is not `*number`, which rises; or, and `overfull` says so, there was no room for it in the
 * bounds of `a`: it was read and forgotten, and the next one may come. */
bool channel_packet(struct channel *c, struct arena *a, size_t max, uint8_t *number, bytes *out);

/* ---- for who must not wait; without TLS ---- */

/* Are there bytes that were read ahead and not taken? */
static inline bool channel_is_ahead(const struct channel *c)
{
    return c->ahead_from < c->ahead_to;
}

/* The payload of the packet that begins a command, if all of it was read ahead: a view, for as long
 * as nothing is read; *size is what the packet takes. */
bool channel_peek(const struct channel *c, bytes *payload, size_t *size);

/* It is done with. */
void channel_skip(struct channel *c, size_t size);

/* Reads ahead what is there. False: nothing can be: the client has gone, or there is no room.
 * *more: there may be more of it already. */
bool channel_fill(struct channel *c, bool *more);

/* Sends what the client takes now; how much. */
size_t channel_offer(struct channel *c, bytes b);

void channel_close(struct channel *c);

#endif
