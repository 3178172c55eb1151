/* peers.h: what the other servers over the same data know.
 *
 * Each server counts what it serves itself. Whoever is asked about a table asks the others in turn,
 * by a notification (engine.h), and adds their answers to what it knows. Nothing of it is stored.
 * Where engine_is_shared() is false there are no others, and all of it answers at once. */
#ifndef TABLE_CATALOG_PEERS_H
#define TABLE_CATALOG_PEERS_H

#include "base/buf.h"
#include "table/core/db.h"
#include "base/workers.h"

#define PEERS_WAIT_MS 3000 /* for all answers */
#define PEERS_ANSWER_BYTES (512u << 10)

/* What is asked for. They are sent as numbers, in this order. */
enum peer_question {
    PEERS_COUNT, /* how many there are */
    PEERS_HEAT,
    PEERS_TRAFFIC,
    PEERS_SIZES,
    PEERS_READERS,
    PEERS_IDLE,
    PEERS_INDEX,
    PEERS_STREAM,
    PEERS_QUESTIONS
};

/* Answers a question about a table, of which `in` has the `more`: adds the answer to `out`. Runs on
 * a thread for notifications. */
typedef void peers_answer_fn(struct ctx *c, struct wr_db *db, struct table *t, struct reader *in,
                             struct buf *out);
/* All of them, which wr_open() registers (db->answers). PEERS_COUNT is answered by peers.c itself.
 */
struct peers_answers {
    peers_answer_fn *each[PEERS_QUESTIONS];
};

struct waiter;

struct peers_query {
    enum peer_question question;
    struct wr_db *db;
    struct table *table;                    /* its reference is the owner's */
    bytes more;                             /* what is to be known besides */
    struct arena *a;                        /* takes the answers; left alone until they are there */
    void (*run)(struct peers_query *query); /* on the thread for jobs */

    bytes *answers;
    size_t count;
    size_t silent; /* servers that did not answer in time, or in another language */
    bool sent;     /* false: nobody could be asked, so nothing is known of any */

    struct job job; /* the asking's own, as all below */
    void (*end)(struct peers_query *query);
    struct waiter *waiter;
};

/* Any thread. The owner keeps it until run(). Requests alone may ask so: wr_close() waits for them.
 */
void peers_query(struct peers_query *query);
/* Blocks instead of run(): not for the threads for notifications, which answer others. */
void peers_query_now(struct peers_query *query);

/* Answers a question by db->answers; empty: there is no answer. Runs on a thread for notifications.
 */
bytes peers_answer(struct ctx *c, struct wr_db *db, bytes question);

/* Asks, now and then, how many servers there are. The sweeper calls it. */
void peers_sweep(struct wr_db *db);
/* The number of servers, this one included, as far as it is known. */
uint32_t peers_servers(const struct wr_db *db);

#endif
