/* hostile.h: clients of a running server, good ones and bad ones. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include "base/arena.h"
#include "widerow.h"

#include <netinet/in.h>

/* ---- the server (door.c) */

struct door {
    struct sockaddr_in address;
    int pid;
    int request_timeout_ms;
    struct arena arena; /* of the requests made below */
};

int64_t now_ms(void);

/* A whole HTTP request with signature. */
bytes door_request(struct door *d, const struct wr_request *req);

/* The same head with another length announced and without the body. */
bytes door_head(struct door *d, uint64_t content_length);

/* The head of a PutCell to the table's column c; the body's hash is wrong. */
bytes door_cell_head(struct door *d, const char *key, uint64_t content_length);

/* A connected socket, -1 if there is none to have. */
int door_connect(const struct door *d, bool blocking);

/* Sends a request on a blocking socket and reads the whole answer; the status, or -1 if the
 * connection broke. `text` (NULL: not wanted) gets what fits of the answer, with a NUL. */
int door_ask(int fd, bytes request, char *text, size_t text_size);

/* Resident memory in KiB, and open files, of the server. */
long door_memory_kib(const struct door *d);
long door_log_kib(const struct door *d);
int door_files(const struct door *d);

/* Processor time in milliseconds: of the server, of this program, of everything else on the
 * machine, and all there was, idle included. */
struct door_time {
    double server, clients, others, all;
};
struct door_time door_time(const struct door *d);

/* ---- good clients (good.c) */

struct good {
    double per_s; /* requests answered with 200 */
    long failed;  /* other answers and broken connections */
    long slowest_ms;
    long p99_us; /* so long or less took 99 of 100 */
    double
        server_us; /* the server's processor time for each of them, bad clients' share included */
    double client_us; /* the same of this program without its bad clients */
    double attack_us; /* and of those */
    double others;    /* the share of the processors that went to other programs, 0 to 1 */
};

/* Makes the table and its rows. False if the server does not want to. */
bool good_prepare(struct door *d);

/* Runs the clients for so long. `a`: the attack meanwhile; NULL: there is none. */
struct attack;
struct good good_run(struct door *d, const struct attack *a, int milliseconds);

/* A request whose answer is long: all rows of the table. */
bytes good_long_request(struct door *d);

/* Puts a row with one column of that many bytes; and the request that reads it. */
bool good_put_large(struct door *d, int key, size_t size);
bytes good_get(struct door *d, int key);

/* ---- clients that hold something of the server (hold.c) */

/* Runs `count` clients of a kind for some seconds, and good ones beside them: counts what went
 * wrong by check(). `rss_mib_max`: what the server may take meanwhile. */
void hold_run(struct door *d, const char *kind, int count, int seconds, long rss_mib_max);

/* Begins so many transactions, writes in each, and ends none; how many were begun, and in how many
 * there was no room for either. False: another answer than 200 and 503. (txn_hold.c) */
bool txns_hold(struct door *d, int count, int *begun, int *refused);

/* Prints and counts (main.c). */
void check(bool holds, const char *what);

/* ---- a client with a key that sends the dearest requests (key_holder.c) */

enum holder_kind {
    HOLD_REGEX_BATCH, /* a BatchGetRow of 20 tables, each with an expression that takes seconds */
    HOLD_REGEX_RANGE, /* a whole page with an expression for each row */
    HOLD_WHOLE_RANGE, /* a whole page */
    HOLD_WIDE_BATCH,  /* a BatchGetRow of 100 large rows */
    HOLD_CONDITIONS,  /* a BatchWriteRow of 200 rows, each with such an expression as condition */
    HOLD_DEEP_FILTER, /* a filter nested deeper than is allowed */
    HOLD_BIG_BODY,    /* a batch of 3 MiB */
    HOLDER_KINDS
};

#define HOLDER_CONNECTIONS 16

extern const char *const holder_names[HOLDER_KINDS];

/* Makes its tables and requests. False if the server does not want to. */
bool holder_prepare(struct door *d);
/* Starts threads that send them, each over a connection of its own; and stops them. `asked`: how
 * many of each kind were answered. */
struct holder;
struct holder *holder_start(struct door *d);
void holder_stop(struct holder *h, long asked[HOLDER_KINDS]);

/* ---- bad clients (attack.c) */

enum attack_kind {
    DRIP_LINE,   /* a request line, byte by byte */
    DRIP_HEADER, /* headers without end, byte by byte */
    DRIP_BODY,   /* a body, byte by byte */
    STALL_BODY,  /* all of a body but its last byte */
    HUGE_BODY,   /* announces a body far too large and sends it */
    ENDLESS,     /* a chunked body without end */
    GARBAGE,     /* bytes that are no HTTP */
    NEVER_READ,  /* asks for long answers and reads none */
    SILENT,      /* a connection and not a byte */
    TWO_LENGTHS, /* a request that says two lengths */
    ATTACK_KINDS
};

#define ATTACK_ANSWER_MS 31000 /* the server waits so long for a client to take its answer */

struct attack_stat {
    long opened;     /* connections made */
    long closed;     /* by the server */
    long overdue;    /* open although the deadline was well past */
    long longest_ms; /* from the first byte to the server's closing */
    long answers[6]; /* by hundreds of the status: 2xx is [2] */
    long expected;   /* answers with the status that this kind deserves */
    long memory_kib; /* the most that the server took meanwhile */
    long lag_ms;     /* the longest time for which the attack itself got no processor */
};

extern const char *const attack_names[ATTACK_KINDS];

/* Starts a thread that keeps `count` connections open, of all kinds or of the one named `only`; and
 * stops it, closing them all. */
struct attack *attack_start(struct door *d, int count, const char *only);
/* Processor time its thread has taken, in milliseconds. */
double attack_time(const struct attack *a);
void attack_stop(struct attack *a, struct attack_stat out[ATTACK_KINDS]);

#endif
