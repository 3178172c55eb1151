/* gather.h: for how many writes a round of the group commit waits, and for how long.
 *
 * A sync costs the same for one write as for fifty, and with many clients the next round would
 * begin with the one write that came first after the answers went out. So a round waits until a
 * part of those are there that lately were under way: those answered by the round before, whose
 * clients are about to write again, and those that were waiting when it ended.
 *
 * Which part. While one part goes to disk, the loops serve the other. Where a round takes less time
 * than all writers take to come round once, processors are what is short: two fifths will do, for
 * whoever waits for more lets the disk idle while the loops serve, and them while it syncs. Where a
 * round takes longer, the disk is what is short, and half of them is better: who misses a round
 * waits for all of the next one. How long the writers take is known from how fast they came after
 * the answers of rounds before.
 *
 * Not thread-safe: the committer's lock. Times are monotonic microseconds. */
#ifndef ENGINE_GATHER_H
#define ENGINE_GATHER_H

#include <stddef.h>
#include <stdint.h>

struct gather {
    size_t answered;        /* writes of the round before */
    int64_t end_us, run_us; /* when that ended, how long it took */
    size_t came;            /* writes since then */
    int64_t came_us;        /* when the newest of them did */
    int64_t apart_ns;       /* from one to the next, a mean over rounds */
};

/* Writes came. */
void gather_came(struct gather *g, size_t count, int64_t now_us);

/* A round of so many writes is answered. */
void gather_ended(struct gather *g, size_t count, int64_t began_us, int64_t now_us);

/* So many writes are enough to begin the next round with, where `coming` are there; 0: with those
 * that are there. */
size_t gather_enough(const struct gather *g, size_t coming);

/* It begins then in any case. */
int64_t gather_until_us(const struct gather *g);

#endif
