/* A text is in line until somebody takes it out to take its sum, in its own turn or in that of
 * another. So done() is called once, and a turn that finds its text no longer in line has nothing
 * to do: it knows the text by its number only, as that may be gone. */
#include "server/op_digest.h"

#include "base/invariant.h"
#include "base/port.h"
#include "wire/sign.h"

#include <string.h>

struct digest_turn {
    struct digest_line *line;
    uint64_t number;
};

void digest_line_init(struct digest_line *d)
{
    pthread_mutex_init(&d->lock, NULL);
    d->head = NULL;
    d->last = 0;
}

void digest_line_destroy(struct digest_line *d)
{
    invariant(!d->head);
    pthread_mutex_destroy(&d->lock);
}

/* So that nobody waits for much more than what it asked for. */
static bool about_as_long(const struct digest_wait *a, const struct digest_wait *b)
{
    return a->text.len / 2 <= b->text.len && b->text.len / 2 <= a->text.len;
}

/* How many in line could be taken with `w`, which is in line, too. */
static size_t count_similar(const struct digest_line *d, const struct digest_wait *w)
{
    size_t similar = 0;

    for (const struct digest_wait *o = d->head; o; o = o->next)
        similar += about_as_long(w, o);
    return similar;
}

struct digest_turn *digest_put(struct digest_line *d, struct digest_wait *w, bool *enough)
{
    struct digest_turn *turn = mem_alloc(sizeof(*turn));

    pthread_mutex_lock(&d->lock);
    *turn = (struct digest_turn){d, ++d->last};
    w->number = turn->number;
    w->next = d->head;
    d->head = w;
    *enough = count_similar(d, w) >= MD5_MANY;
    pthread_mutex_unlock(&d->lock);
    return turn;
}

static struct digest_wait *find(const struct digest_line *d, uint64_t number)
{
    struct digest_wait *w = d->head;

    while (w && w->number != number)
        w = w->next;
    return w;
}

/* Takes the texts of one turn out of the line, `w` first: w alone where more would not pay. */
static size_t take(struct digest_line *d, struct digest_wait *w, struct digest_wait *out[MD5_MANY])
{
    size_t count = 1, most = count_similar(d, w) < md5_many_least() ? 1 : MD5_MANY;

    out[0] = w;
    for (struct digest_wait **at = &d->head, *o; (o = *at);) {
        if (o == w || (count < most && about_as_long(w, o))) {
            *at = o->next;
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

void digest_turn(void *arg)
{
    struct digest_turn turn = *(struct digest_turn *)arg;
    struct digest_line *d = turn.line;
    struct digest_wait *taken[MD5_MANY], *w;
    size_t count = 0;

    mem_free(arg);
    pthread_mutex_lock(&d->lock);
    w = find(d, turn.number);
    if (w)
        count = take(d, w, taken);
    pthread_mutex_unlock(&d->lock);
    if (!count)
        return;
    sum_all(taken, count);
    for (size_t i = count; i-- > 0;) /* its own last, as that may take long */
        taken[i]->done(taken[i], i == 0);
}
