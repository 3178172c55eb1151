/* follow.h: a reader of the table's stream who always reads to the end while clients write, and
 * whether what he read is what they did.
 *
 * He asks one server after the other. Afterwards each write that was acknowledged must have its
 * record, once, none that came to nothing one; a record is there for whoever begins to read to the
 * end when its write has been acknowledged; and of two writes of a row (of a shard, where all
 * numbers are drawn by one server) of which one ended before the other began, the records are in
 * that order. What the records make of the rows is what the rows are. */
#ifndef LINEAR_FOLLOW_H
#define LINEAR_FOLLOW_H

#include "workload.h"

struct follower;

/* What a reader shows who does not see what is there, in the place of planted bugs of the server.
 */
enum follow_bug {
    FOLLOW_SOUND,
    FOLLOW_PASSES,  /* a record in a hundred is never seen: its number is below what was read */
    FOLLOW_REPEATS, /* one in a hundred is seen twice */
    FOLLOW_LATE,    /* one in a hundred is seen when its read has come to the end */
    FOLLOW_DRAWN,   /* none: the server draws numbers before it appends */
    FOLLOW_BUGS,
};

/* Begins to read the stream of the table, which has just been made. NULL, with a line on stderr. */
struct follower *follow_start(struct workload *w);

/* Once all clients have ended: reads to the end once more, compares, and says in w->followed what
 * there was. Frees the follower. */
void follow_end(struct follower *f);

#endif
