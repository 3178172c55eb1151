#include "engine/warm_list.h"

#include "base/buf.h"
#include "base/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define FILE_VERSION 1
#define HEAD_BYTES 16
#define SUM_BYTES 8
#define FILE_BYTES_MAX (64 << 20)

static const char file_magic[8] = "WRWARMKY";

struct warm_key {
    uint8_t len;
    uint8_t bytes[WARM_KEY_BYTES];
};

struct warm_list {
    size_t capacity;
    pthread_mutex_t lock; /* over what follows */
    _Atomic size_t count; /* read without it, too */
    size_t next;          /* where the next key goes */
    struct warm_key keys[];
};

struct warm_list *warm_list_new(size_t capacity)
{
    struct warm_list *l = mem_zalloc(sizeof(*l) + capacity * sizeof(l->keys[0]));

    l->capacity = capacity;
    pthread_mutex_init(&l->lock, NULL);
    return l;
}

void warm_list_free(struct warm_list *l)
{
    if (!l)
        return;
    pthread_mutex_destroy(&l->lock);
    mem_free(l);
}

static void add_locked(struct warm_list *l, bytes key)
{
    struct warm_key *to = &l->keys[l->next];

    to->len = (uint8_t)key.len;
    memcpy(to->bytes, key.ptr, key.len);
    l->next = (l->next + 1) % l->capacity;
    if (l->count < l->capacity)
        l->count++;
}

void warm_list_add(struct warm_list *l, bytes key)
{
    if (!key.len || key.len > WARM_KEY_BYTES || pthread_mutex_trylock(&l->lock))
        return;
    add_locked(l, key);
    pthread_mutex_unlock(&l->lock);
}

bool warm_list_is_full(const struct warm_list *l)
{
    return atomic_load_explicit(&l->count, memory_order_relaxed) == l->capacity;
}

size_t warm_list_count(struct warm_list *l)
{
    return atomic_load_explicit(&l->count, memory_order_relaxed);
}

static const struct warm_key *key_locked(const struct warm_list *l, size_t back)
{
    return &l->keys[(l->next + l->capacity - 1 - back) % l->capacity];
}

size_t warm_list_get(struct warm_list *l, size_t back, uint8_t *out)
{
    size_t len = 0;

    pthread_mutex_lock(&l->lock);
    if (back < l->count) {
        const struct warm_key *key = key_locked(l, back);

        len = key->len;
        memcpy(out, key->bytes, len);
    }
    pthread_mutex_unlock(&l->lock);
    return len;
}

/* ---- the file */

/* The oldest key first. */
static bytes encode(struct ctx *c, struct warm_list *l)
{
    uint8_t head[HEAD_BYTES], sum[SUM_BYTES];
    struct buf b;

    pthread_mutex_lock(&l->lock);
    buf_init(&b, &c->arena, HEAD_BYTES + l->count * 48);
    memcpy(head, file_magic, sizeof(file_magic));
    store_u32(head + 8, FILE_VERSION);
    store_u32(head + 12, (uint32_t)l->count);
    buf_put(&b, head, sizeof(head));
    for (size_t back = l->count; back-- > 0;) {
        const struct warm_key *key = key_locked(l, back);

        buf_put_u8(&b, key->len);
        buf_put(&b, key->bytes, key->len);
    }
    pthread_mutex_unlock(&l->lock);
    store_u64(sum, XXH3_64bits(b.data, b.len));
    buf_put(&b, sum, sizeof(sum));
    return buf_bytes(&b);
}

int warm_list_save(struct ctx *c, struct warm_list *l, const char *path)
{
    const char *made = arena_printf(&c->arena, "%s.tmp", path).ptr;
    int error = durable_replace(path, made, 0600, encode(c, l));

    if (!error)
        return E_OK;
    return fail(c, error == ENOSPC || error == EDQUOT ? E_NO_SPACE : E_UNAVAILABLE,
                "Cannot write %s: %s.", path, strerror(error));
}

/* All of the file; nothing if it is larger than any list. */
static bytes read_file(struct ctx *c, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    bytes out = BYTES_NONE;

    if (fd < 0)
        return out;
    if (fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size <= FILE_BYTES_MAX) {
        uint8_t *data = arena_alloc(&c->arena, (size_t)st.st_size);

        if (pread(fd, data, (size_t)st.st_size, 0) == st.st_size)
            out = bytes_of(data, (size_t)st.st_size);
    }
    close(fd);
    return out;
}

static bool is_whole(bytes file)
{
    const uint8_t *p = file.ptr;

    return file.len >= HEAD_BYTES + SUM_BYTES && memcmp(p, file_magic, sizeof(file_magic)) == 0 &&
           load_u32(p + 8) == FILE_VERSION &&
           load_u64(p + file.len - SUM_BYTES) == XXH3_64bits(p, file.len - SUM_BYTES);
}

void warm_list_load(struct ctx *c, struct warm_list *l, const char *path)
{
    bytes file = read_file(c, path);
    const uint8_t *p = file.ptr, *end;

    if (!is_whole(file))
        return;
    end = p + file.len - SUM_BYTES;
    pthread_mutex_lock(&l->lock);
    /* Of a list that is larger than ours, the newest stay: they come last. */
    for (p += HEAD_BYTES; p < end && *p <= WARM_KEY_BYTES && *p < end - p; p += 1 + *p)
        if (*p)
            add_locked(l, bytes_of(p + 1, *p));
    pthread_mutex_unlock(&l->lock);
}
