/* visit.h: who uses a connection, and what he has left there between two commands. Used by one
 * thread at a time: the connection's own, or the loop that it was handed to (loop.h). */
#ifndef SQL_DOOR_VISIT_H
#define SQL_DOOR_VISIT_H

#include "sql/door/door_own.h"
#include "sql/mysql/handshake.h"
#include "sql/mysql/parameters.h"
#include "sql/mysql/reply.h"

enum command {
    COMMAND_QUIT = 1,
    COMMAND_INIT_DB = 2,
    COMMAND_QUERY = 3,
    COMMAND_STATISTICS = 9,
    COMMAND_KILL = 12,
    COMMAND_PING = 14,
    COMMAND_CHANGE_USER = 17,
    COMMAND_PREPARE = 22,
    COMMAND_EXECUTE = 23,
    COMMAND_LONG_DATA = 24,
    COMMAND_CLOSE_STATEMENT = 25,
    COMMAND_RESET_STATEMENT = 26,
    COMMAND_SET_OPTION = 27,
    COMMAND_RESET_CONNECTION = 31,
};

/* A prepared statement. What it holds is in its arena. */
struct prepared {
    struct prepared *next;
    uint32_t number;
    struct arena arena;
    bytes sql;
    const struct statement *tree; /* as it was understood; NULL: it is read when it runs */
    size_t count;                 /* of question marks */
    struct parameter_type *types;
    struct buf *longs; /* of each, what came beforehand, in ... */
    struct arena long_arena;
    bool longs_lost; /* there was no room for all of it */
    bool known;
};

/* Where the rows of a statement go, and what else came of it. */
struct answer {
    struct sink sink;
    struct visit *visit;
    size_t columns; /* 0: none were said */
    bool binary;
    struct prepared *prepared; /* NULL: it came as a text */
    struct outcome outcome;
};

struct visit {
    struct connection *connection;
    struct session *session;
    struct door_guest guest;
    const void *key;
    uint8_t nonce[AUTH_NONCE_BYTES];
    uint32_t capabilities;
    struct prepared *prepared;
    uint32_t last_statement;
    size_t prepared_count;
    /* Of the command that is served: */
    struct arena arena; /* of the command */
    struct arena room;  /* of what is being sent */
    struct packet_out out;
    struct buf buf;
    bool lost; /* the client takes no more */
    struct answer answer;
    uint16_t warnings; /* that the end of an answer tells of */
    /* Statements of one request, one behind the other: their client goes on so, mostly. */
    int singles;
    /* Of a loop: */
    struct deferred *deferred; /* what waits for its reply; NULL: nothing */
    size_t packet_bytes;       /* of the command that is served; they are taken when it has ended */
    size_t sent;               /* of `buf`, when the client did not take all of it */
};

/* ---- visit.c: memory, and what is sent ---- */

/* What all connections hold together of what clients have sent is bounded; so is this one. */
void bounded_arena_init(struct visit *v, struct arena *a);

/* Is there something that visit_rest() would give back, of who has said nothing for so many
 * milliseconds? On the connection's thread, like the next. */
bool visit_should_rest(const struct visit *v, int64_t silent_ms);

/* The connection's thread will wait for its client, or for the loop that serves it: what only
 * statements that compute need goes back. */
void visit_rest(struct visit *v);

/* Begins what is sent next, with that number. */
void send_begin(struct visit *v, uint8_t number);

/* Sends what is gathered; waits for the client. False: he has gone. */
bool send_now(struct visit *v);

void send_error(struct visit *v, uint16_t number, const char *state, bytes text);
void send_done(struct visit *v, uint64_t affected);
void send_column(struct visit *v, const struct column *column);
/* The end of columns, or of rows. */
void send_end(struct visit *v);

/* ---- answer.c ---- */

/* A statement is about to run: its rows are gathered in the answer. */
void answer_begin(struct visit *v, bool binary, struct prepared *p);

/* It has run: what closes its answer is gathered, too. */
void answer_end(struct visit *v);

/* Runs one between the two. */
void serve_statement(struct visit *v, bytes sql, const struct statement *tree,
                     const struct wr_value *values, size_t n);

/* ---- prepared.c ---- */

/* Where it is linked; *it is NULL: there is none of that number. */
struct prepared **prepared_find(struct visit *v, uint32_t number);
void prepared_remove(struct visit *v, struct prepared **at);

/* The values that came ahead of an execution are used up. */
void prepared_forget(struct prepared *p);

void serve_prepare(struct visit *v, bytes sql);
void serve_execute(struct visit *v, bytes payload);

/* A statement that is to be executed, with its values. False: it cannot be, and an error that says
 * so is gathered; *out is NULL if there is no such statement. */
bool execute_read(struct visit *v, bytes payload, struct prepared **out, struct wr_value **values);

/* A piece of a parameter's value. It has no answer. */
void take_long(struct visit *v, bytes payload);

#endif
