/* handshake.h: the first packets of a MySQL connection: the server's greeting, the client's answer
 * to it, and COM_CHANGE_USER, which answers anew. Pure: no sockets. */
#ifndef SQL_MYSQL_HANDSHAKE_H
#define SQL_MYSQL_HANDSHAKE_H

#include "sql/mysql/auth.h"
#include "sql/mysql/packet.h"

/* Capabilities: what both ends must say of themselves. Those that are not named are not used. */
enum capability {
    CAN_FOUND_ROWS = 1 << 1,
    CAN_CONNECT_WITH_DB = 1 << 3,
    CAN_PROTOCOL_41 = 1 << 9,
    CAN_TLS = 1 << 11,
    CAN_TRANSACTIONS = 1 << 13,
    CAN_SECURE = 1 << 15,
    CAN_MULTI_RESULTS = 1 << 17,
    CAN_PREPARED_MULTI_RESULTS = 1 << 18,
    CAN_PLUGIN_AUTH = 1 << 19,
    CAN_ATTRIBUTES = 1 << 20,
    CAN_COUNTED_AUTH = 1 << 21,
    CAN_DEPRECATE_EOF = 1 << 24,
};

struct greeting {
    uint32_t connection; /* its number, as SHOW PROCESSLIST and KILL know it */
    uint8_t nonce[AUTH_NONCE_BYTES];
    bytes version; /* of the server; begins as MySQL's do, since drivers read it */
    bool tls;      /* the client may ask for it */
};

/* The payload of the greeting. */
void greeting_put(struct buf *b, const struct greeting *g);

/* Asks for the answer by another method, with the same nonce. */
void auth_switch_put(struct buf *b, enum auth_method m, const uint8_t nonce[AUTH_NONCE_BYTES]);

/* What a client said of itself. Texts are views into its packet. */
struct handshake {
    uint32_t capabilities; /* that both ends have */
    bytes user;            /* the access key's id */
    bytes answer;          /* by `method` */
    bytes database;        /* the instance; empty: none yet */
    enum auth_method method;
};

enum handshake_kind {
    HANDSHAKE_WHOLE,
    HANDSHAKE_TLS, /* it wants TLS first; then this packet comes again, whole */
    HANDSHAKE_BAD, /* no client of ours says that */
};

enum handshake_kind handshake_parse(bytes payload, struct handshake *out);

/* The payload of COM_CHANGE_USER behind its first byte; `capabilities` are the connection's. */
bool change_user_parse(bytes payload, uint32_t capabilities, struct handshake *out);

#endif
