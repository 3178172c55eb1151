#include "cli/transfer/shuffle_buffer.h"

#define WINDOW_BYTES_MAX (128u << 20)

void shuffle_buffer_init(struct shuffle_buffer *w, size_t capacity, size_t batch_rows,
                         size_t batch_bytes, enum row_order order, uint64_t seed)
{
    *w = (struct shuffle_buffer){.capacity = capacity > batch_rows ? capacity : batch_rows,
                                 .bytes_max = WINDOW_BYTES_MAX,
                                 .batch_rows = batch_rows,
                                 .batch_bytes = batch_bytes,
                                 .order = order};
    w->slots = mem_alloc(sizeof(struct import_row *) * w->capacity);
    rng_init(&w->rng, seed);
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->room, NULL);
    pthread_cond_init(&w->rows, NULL);
}

static struct import_row **shuffle_buffer_slot(struct shuffle_buffer *w, size_t i)
{
    return &w->slots[(w->head + i) % w->capacity];
}

void shuffle_buffer_release(struct shuffle_buffer *w)
{
    for (size_t i = 0; i < w->count; i++)
        mem_free(*shuffle_buffer_slot(w, i));
    mem_free(w->slots);
    pthread_mutex_destroy(&w->mutex);
    pthread_cond_destroy(&w->room);
    pthread_cond_destroy(&w->rows);
}

static bool shuffle_buffer_full(const struct shuffle_buffer *w)
{
    return w->count == w->capacity || w->bytes >= w->bytes_max;
}

/* Enough to take a batch from? */
static bool shuffle_buffer_ready(const struct shuffle_buffer *w)
{
    bool shuffle = w->order == ROWS_SHUFFLED;
    size_t rows = shuffle ? w->capacity / 2 : w->batch_rows;

    if (w->closed || w->stopped || w->arranged)
        return true;
    return (w->due && w->count) || w->count >= (rows ? rows : 1) ||
           w->bytes >= (shuffle ? w->bytes_max / 2 : w->batch_bytes);
}

void shuffle_buffer_put(struct shuffle_buffer *w, struct import_row *const *rows, size_t count)
{
    size_t taken = 0;

    pthread_mutex_lock(&w->mutex);
    while (taken < count) {
        while (shuffle_buffer_full(w) && !w->stopped)
            pthread_cond_wait(&w->room, &w->mutex);
        if (w->stopped)
            break;
        *shuffle_buffer_slot(w, w->count++) = rows[taken];
        w->bytes += rows[taken++]->source_bytes;
        if (shuffle_buffer_ready(w) && (taken == count || shuffle_buffer_full(w)))
            pthread_cond_signal(&w->rows);
    }
    pthread_mutex_unlock(&w->mutex);
    for (; taken < count; taken++)
        mem_free(rows[taken]);
}

/* Brings the row that is to go next to the front. */
static struct import_row **shuffle_buffer_next(struct shuffle_buffer *w)
{
    struct import_row **front = shuffle_buffer_slot(w, 0);

    if (w->order == ROWS_SHUFFLED) {
        struct import_row **chosen = shuffle_buffer_slot(w, rng_below(&w->rng, w->count)),
                          *row = *chosen;

        *chosen = *front;
        *front = row;
    }
    return front;
}

/* All that is there. The reader goes on meanwhile, behind it; who takes waits. */
static void shuffle_buffer_arrange(struct shuffle_buffer *w)
{
    size_t n = w->count;
    struct import_row **rows = mem_alloc(sizeof(*rows) * n);

    for (size_t i = 0; i < n; i++)
        rows[i] = *shuffle_buffer_slot(w, i);
    w->arranging = true;
    pthread_mutex_unlock(&w->mutex);
    row_order_arrange(rows, n, w->key_count, w->batch_rows);
    pthread_mutex_lock(&w->mutex);
    w->arranging = false;
    for (size_t i = 0; i < n; i++)
        *shuffle_buffer_slot(w, i) = rows[i];
    w->arranged = n;
    mem_free(rows);
    pthread_cond_broadcast(&w->rows);
}

/* Until there is a batch, or will be none. */
static void shuffle_buffer_wait(struct shuffle_buffer *w)
{
    while (w->arranging || !shuffle_buffer_ready(w))
        pthread_cond_wait(&w->rows, &w->mutex);
    if (w->order == ROWS_BY_KEY && !w->arranged && w->count && !w->stopped)
        shuffle_buffer_arrange(w);
}

size_t shuffle_buffer_take(struct shuffle_buffer *w, struct import_row **rows)
{
    size_t n = 0, batch_bytes = 0;

    pthread_mutex_lock(&w->mutex);
    shuffle_buffer_wait(w);
    while (!w->stopped && w->count && n < w->batch_rows) {
        struct import_row *row = *shuffle_buffer_next(w);

        if (n && batch_bytes + row->bytes > w->batch_bytes)
            break;
        rows[n++] = row;
        batch_bytes += row->bytes;
        w->bytes -= row->source_bytes;
        w->head = (w->head + 1) % w->capacity;
        w->count--;
        if (w->arranged && --w->arranged == 0)
            break;
    }
    w->due &= w->count > 0;
    if (n && shuffle_buffer_ready(w))
        pthread_cond_signal(&w->rows); /* the reader signals one worker a row; pass it on */
    pthread_cond_signal(&w->room);
    pthread_mutex_unlock(&w->mutex);
    return n;
}

static void shuffle_buffer_end(struct shuffle_buffer *w, bool *flag)
{
    pthread_mutex_lock(&w->mutex);
    *flag = true;
    pthread_cond_broadcast(&w->rows);
    pthread_cond_broadcast(&w->room);
    pthread_mutex_unlock(&w->mutex);
}

void shuffle_buffer_flush(struct shuffle_buffer *w)
{
    shuffle_buffer_end(w, &w->due);
}

void shuffle_buffer_close(struct shuffle_buffer *w)
{
    shuffle_buffer_end(w, &w->closed);
}

void shuffle_buffer_stop(struct shuffle_buffer *w)
{
    shuffle_buffer_end(w, &w->stopped);
}
