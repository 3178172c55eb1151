#include "cli/transfer/ordered.h"

#include "base/port.h"

#include <string.h>

void ordered_init(struct ordered *o, FILE *out)
{
    *o = (struct ordered){.out = out};
    pthread_mutex_init(&o->mutex, NULL);
    pthread_cond_init(&o->wake, NULL);
}

void ordered_destroy(struct ordered *o)
{
    pthread_mutex_destroy(&o->mutex);
    pthread_cond_destroy(&o->wake);
}

void ordered_text_release(struct ordered_text *text)
{
    mem_free(text->data);
    *text = (struct ordered_text){0};
}

static void keep(struct ordered_text *kept, bytes more)
{
    if (kept->capacity - kept->len < more.len) {
        kept->capacity = (kept->len + more.len) + (kept->len + more.len) / 2;
        kept->data = mem_realloc(kept->data, kept->capacity);
    }
    if (more.len)
        memcpy(kept->data + kept->len, more.ptr, more.len);
    kept->len += more.len;
}

static bool is_turn(struct ordered *o, size_t piece, bool wait)
{
    bool is;

    pthread_mutex_lock(&o->mutex);
    while (wait && o->turn != piece && !o->stopped)
        pthread_cond_wait(&o->wake, &o->mutex);
    is = o->turn == piece && !o->stopped;
    pthread_mutex_unlock(&o->mutex);
    return is;
}

/* Only the piece whose turn it is writes. */
static bool write_out(struct ordered *o, struct ordered_text *kept, bytes more)
{
    size_t n = kept->len;

    kept->len = 0;
    return (!n || fwrite(kept->data, 1, n, o->out) == n) &&
           (!more.len || fwrite(more.ptr, 1, more.len, o->out) == more.len);
}

bool ordered_put(struct ordered *o, size_t piece, struct ordered_text *kept, bytes more)
{
    if (is_turn(o, piece, false))
        return write_out(o, kept, more);
    keep(kept, more);
    return kept->len < ORDERED_KEPT_MAX ||
           (is_turn(o, piece, true) && write_out(o, kept, BYTES_NONE));
}

bool ordered_end(struct ordered *o, size_t piece, struct ordered_text *kept)
{
    if (!is_turn(o, piece, true) || !write_out(o, kept, BYTES_NONE))
        return false;
    pthread_mutex_lock(&o->mutex);
    o->turn++;
    pthread_cond_broadcast(&o->wake);
    pthread_mutex_unlock(&o->mutex);
    return true;
}

void ordered_stop(struct ordered *o)
{
    pthread_mutex_lock(&o->mutex);
    o->stopped = true;
    pthread_cond_broadcast(&o->wake);
    pthread_mutex_unlock(&o->mutex);
}
