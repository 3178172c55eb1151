/* A text is in line, then its sum is being taken, then that is there. Its turn comes once, in one
 * of these states. In the first it takes sums; in the second, whoever takes them calls done() for
 * it; in the third it calls done() itself. So done() is called once, and nobody looks at a text
 * after it, nor after leaving it DONE to its own turn. */
#include "server/op_digest.h"

#include "base/invariant.h"
#include "wire/sign.h"

#include <string.h>

enum { IN_LINE, TAKEN, TAKEN_AND_TURN_CAME, DONE };

void digest_line_init(struct digest_line *d)
{
    pthread_mutex_init(&d->lock, NULL);
    d->head = NULL;
}

void digest_line_destroy(struct digest_line *d)
{
    invariant(!d->head);
    pthread_mutex_destroy(&d->lock);
}

void digest_put(struct digest_line *d, struct digest_wait *w)
{
    w->state = IN_LINE;
    pthread_mutex_lock(&d->lock);
    w->next = d->head;
    d->head = w;
    pthread_mutex_unlock(&d->lock);
}

/* So that nobody waits for much more than what it asked for. */
static bool about_as_long(const struct digest_wait *a, const struct digest_wait *b)
{
    return a->text.len / 2 <= b->text.len && b->text.len / 2 <= a->text.len;
}

/* Takes the texts of one turn out of the line, `w` first: w alone where more would not pay. */
static size_t take(struct digest_line *d, struct digest_wait *w, struct digest_wait *out[MD5_MANY])
{
    size_t count = 1, similar = 0, most;

    for (struct digest_wait *o = d->head; o; o = o->next)
        similar += about_as_long(w, o);
    most = similar < md5_many_least() ? 1 : MD5_MANY;
    out[0] = w;
    for (struct digest_wait **at = &d->head, *o; (o = *at);) {
        if (o == w || (count < most && about_as_long(w, o))) {
            *at = o->next;
            o->state = TAKEN;
            if (o != w)
                out[count++] = o;
        } else {
            at = &o->next;
        }
    }
    return count;
}

static void sum_all(struct digest_wait *const *w, size_t count)
{
    uint8_t sums[MD5_MANY][MD5_BYTES];
    bytes texts[MD5_MANY];

    for (size_t i = 0; i < count; i++)
        texts[i] = w[i]->text;
    if (count == 1)
        sign_md5_sum(texts[0], sums[0]);
    else
        md5_many(texts, count, sums);
    for (size_t i = 0; i < count; i++)
        memcpy(w[i]->sum, sums[i], MD5_BYTES);
}

/* Marks that w's turn has come. The texts whose sums are to be taken now, w first; none if they
 * have been, or are being taken: then `ready` says which. */
static size_t begin_turn(struct digest_line *d, struct digest_wait *w,
                         struct digest_wait *out[MD5_MANY], bool *ready)
{
    size_t count = 0;

    pthread_mutex_lock(&d->lock);
    *ready = w->state == DONE;
    if (w->state == IN_LINE)
        count = take(d, w, out);
    else if (w->state == TAKEN)
        w->state = TAKEN_AND_TURN_CAME;
    pthread_mutex_unlock(&d->lock);
    return count;
}

/* Their sums are there. Keeps in w those whose turn has come, and says how many these are. */
static size_t end_turn(struct digest_line *d, struct digest_wait *w[MD5_MANY], size_t count)
{
    size_t called = 1;

    pthread_mutex_lock(&d->lock);
    for (size_t i = 1; i < count; i++)
        if (w[i]->state == TAKEN_AND_TURN_CAME)
            w[called++] = w[i];
        else
            w[i]->state = DONE;
    pthread_mutex_unlock(&d->lock);
    return called;
}

void digest_turn(struct digest_line *d, struct digest_wait *w)
{
    struct digest_wait *taken[MD5_MANY];
    bool ready;
    size_t count = begin_turn(d, w, taken, &ready);

    if (ready)
        w->done(w);
    if (!count)
        return;
    sum_all(taken, count);
    count = end_turn(d, taken, count);
    for (size_t i = 0; i < count; i++)
        taken[i]->done(taken[i]);
}
