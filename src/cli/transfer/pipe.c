/* A ring of boxes. The giving thread fills one while the other empties those before it; a box is
 * handed over when it is full, so that pieces of any size cost few locks. */
#include "cli/transfer/pipe.h"

#include "base/thread.h"

#include <string.h>

#define BOXES 4
#define BOX_BYTES ((size_t)256 << 10)

struct pipe {
    pipe_fn *take;
    void *arg;
    pthread_t thread;
    size_t fill; /* of the box that is being filled */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned in,
        out; /* boxes that were handed over, and emptied; under the lock, as what follows */
    size_t lens[BOXES];
    bool ended, failed;
    uint8_t boxes[BOXES][BOX_BYTES];
};

static void *pipe_main(void *arg)
{
    struct pipe *b = arg;

    pthread_mutex_lock(&b->lock);
    while (b->in != b->out || !b->ended) {
        unsigned at = b->out % BOXES;
        bool good;

        if (b->in == b->out) {
            pthread_cond_wait(&b->changed, &b->lock);
            continue;
        }
        good = !b->failed;
        pthread_mutex_unlock(&b->lock);
        good = good && b->take(b->arg, b->boxes[at], b->lens[at]);
        pthread_mutex_lock(&b->lock);
        b->failed |= !good;
        b->out++;
        pthread_cond_signal(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

struct pipe *pipe_start(pipe_fn *take, void *arg)
{
    struct pipe *b = mem_alloc(sizeof(*b));

    memset(b, 0, offsetof(struct pipe, boxes));
    b->take = take;
    b->arg = arg;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    if (thread_start(&b->thread, "wr-pipe", pipe_main, b))
        return b;
    mem_free(b);
    return NULL;
}

/* Hands the box over that was filled, and waits for an empty one. */
static bool pipe_hand_over(struct pipe *b)
{
    bool failed;

    pthread_mutex_lock(&b->lock);
    b->lens[b->in % BOXES] = b->fill;
    b->in++;
    b->fill = 0;
    pthread_cond_signal(&b->changed);
    while (b->in - b->out == BOXES)
        pthread_cond_wait(&b->changed, &b->lock);
    failed = b->failed;
    pthread_mutex_unlock(&b->lock);
    return !failed;
}

bool pipe_put(struct pipe *b, const uint8_t *data, size_t size)
{
    while (size) {
        size_t room = BOX_BYTES - b->fill, n = size < room ? size : room;

        memcpy(b->boxes[b->in % BOXES] + b->fill, data, n);
        b->fill += n;
        data += n;
        size -= n;
        if (b->fill == BOX_BYTES && !pipe_hand_over(b))
            return false;
    }
    return true;
}

bool pipe_end(struct pipe *b)
{
    bool failed;

    if (b->fill)
        pipe_hand_over(b);
    pthread_mutex_lock(&b->lock);
    b->ended = true;
    pthread_cond_signal(&b->changed);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    failed = b->failed;
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->changed);
    mem_free(b);
    return !failed;
}
