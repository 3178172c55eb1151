/* text.h: small texts that all processes which share the data agree on (wr_text_load & co). */
#ifndef TABLE_CATALOG_TEXT_H
#define TABLE_CATALOG_TEXT_H

#include "base/ctx.h"
#include "widerow.h"

#include <pthread.h>

/* So many listeners may ask to be told of changes. */
#define TEXT_WATCHERS_MAX 4

struct texts {
    pthread_mutex_t lock; /* held while a `fn` runs */
    struct text_watcher {
        wr_text_fn *fn;
        void *arg;
    } watchers[TEXT_WATCHERS_MAX];
    size_t count;
};

struct texts *texts_new(void);
void texts_free(struct texts *t);

/* Tells the listeners that other processes have changed texts, or may have. Not 0: the texts could
 * not be read. Blocks. */
int texts_changed(struct texts *t);

/* The stored form: version byte, then the text's own version, then its bytes. In the arena. */
bytes text_encode(struct arena *a, const struct wr_text *t);
/* Views into `stored`: out->text points there and has no NUL behind it. E_FORMAT, E_CORRUPT. */
int text_decode(struct ctx *c, bytes stored, struct wr_text *out);

#endif
