/* peers.h: what the other servers over the same data know.
 *
 * Each server counts what it serves itself. Whoever is asked about a table asks the others in turn,
 * by news (engine.h), and adds their answers to what it knows. Nothing of it is stored. Where
 * engine_is_shared() is false there are no others, and all of it answers at once. */
#ifndef TABLE_CATALOG_PEERS_H
#define TABLE_CATALOG_PEERS_H

#include "base/buf.h"
#include "table/core/db.h"
#include "base/workers.h"

#define PEERS_WAIT_MS 3000 /* for all answers */
#define PEERS_ANSWER_BYTES (512u << 10)

/* X(what is asked for, who answers it). They are sent as numbers, in this order. */
#define PEER_QUESTIONS(X)                                                                          \
    X(HEAT, heat_answer)                                                                           \
    X(TRAFFIC, traffic_answer)                                                                     \
    X(SIZES, sizes_answer)                                                                         \
    X(READERS, readers_answer)                                                                     \
    X(IDLE, balance_answer)

enum peer_question {
    PEERS_COUNT, /* how many there are */
#define X(name, answer) PEERS_##name,
    PEER_QUESTIONS(X)
#undef X
};

struct waiter;

struct peers_ask {
    enum peer_question question;
    struct wr_db *db;
    struct table *table;                /* NULL: it is about none; its reference is the owner's */
    bytes more;                         /* what is to be known besides */
    struct arena *a;                    /* takes the answers; left alone until they are there */
    void (*run)(struct peers_ask *ask); /* on the thread for jobs */

    bytes *answers;
    size_t count;
    size_t silent; /* servers that did not answer in time, or in another language */
    bool asked;    /* false: nobody could be asked, so nothing is known of any */

    struct job job; /* the asking's own, as all below */
    void (*end)(struct peers_ask *ask);
    struct waiter *waiter;
};

/* Any thread. The owner keeps it until run(). Requests alone may ask so: wr_close() waits for them.
 */
void peers_ask(struct peers_ask *ask);
/* Blocks instead of run(): not for the threads for news, which answer others. */
void peers_ask_now(struct peers_ask *ask);

/* Is the news a question, and the answer to it (empty: none). On a thread for news. */
bool peers_is_question(bytes news);
bytes peers_answer(struct ctx *c, struct wr_db *db, bytes news);

/* Asks, now and then, how many servers there are. For the sweeper. */
void peers_sweep(struct wr_db *db);
/* How many there are, this one included, as far as it is known. */
uint32_t peers_servers(const struct wr_db *db);

/* An answer is written behind what `out` has; `in` is the question's `more`. */
#define X(name, answer)                                                                            \
    void answer(struct ctx *c, struct wr_db *db, struct table *t, struct reader *in,               \
                struct buf *out);
PEER_QUESTIONS(X)
#undef X

#endif
