/* logs.c: a record of a log is a batch of changes. It begins with the sequence number of the first
 * (8 bytes) and how many there are (4); the next batch begins where this one ends.
 *
 * Within one log whatever does not continue is its end: behind it may lie what a crash left of
 * writes that nobody had been answered, in any order. A gap is what lies between the end of one log
 * that has more than could be read, and the beginning of the next, for a log is begun only when the
 * one before it is whole. (After a log that was read to its end one may be missing: logs that are
 * no longer needed go newest first, and that may be interrupted. Those that are needed RocksDB
 * misses itself.) */
#include "engine/logs.h"

#include "base/buf.h"
#include "engine/log_file.h"
#include "engine/manifest.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_HEADER_BYTES 12
#define PATH_BYTES_MAX 4096

/* The next batch that is there whole. */
static bool batch_next(struct log_file *f, uint64_t *first, uint64_t *count)
{
    uint8_t head[BATCH_HEADER_BYTES];
    size_t have;

    if (!log_file_entry(f, head, sizeof(head), &have) || have < sizeof(head))
        return false;
    *first = load_u64(head);
    *count = load_u32(head + 8);
    return true;
}

struct follow {
    uint64_t next; /* sequence number that the next log is to begin with; 0: any */
    uint64_t log;  /* the one that says so, */
    bool cut;      /* which has more than could be read */
};

/* The sequence number that the log begins with, if some are left out before it; else 0. Where the
 * `last` log ends nobody asks. */
static uint64_t log_follow(struct log_file *f, struct follow *at, uint64_t number, bool last)
{
    uint64_t first, count, expected, whole;

    if (!batch_next(f, &first, &count)) {
        if (f->size && !at->next) /* there was something, so the next one does not begin anywhere */
            *at = (struct follow){1, number, true};
        return 0;
    }
    if (at->next && first > at->next)
        return first;
    if (last)
        return 0;
    do {
        expected = first + count;
        whole = f->end;
    } while (batch_next(f, &first, &count) && first == expected);
    if (expected > at->next)
        *at = (struct follow){expected, number, whole < f->size};
    return 0;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* The numbers of the logs in `db` that are still needed, oldest first, in the arena. */
static size_t logs_list(struct ctx *c, const char *db, uint64_t **out)
{
    uint64_t oldest = manifest_oldest_log(db);
    DIR *d = opendir(db);
    struct dirent *entry;
    struct buf numbers;
    size_t n;

    buf_init(&numbers, &c->arena, 0);
    while (d && (entry = readdir(d))) {
        char *end;
        uint64_t number = strtoull(entry->d_name, &end, 10);

        if (end != entry->d_name && strcmp(end, ".log") == 0 && number >= oldest)
            buf_put(&numbers, &number, sizeof(number));
    }
    if (d)
        closedir(d);
    *out = (uint64_t *)(void *)numbers.data;
    n = numbers.len / sizeof(**out);
    if (n)
        qsort(*out, n, sizeof(**out), by_number);
    return n;
}

int logs_check(struct ctx *c, const char *db, uint64_t acked)
{
    uint64_t *logs, found = 0, i;
    size_t count = logs_list(c, db, &logs);
    char path[PATH_BYTES_MAX];
    struct follow at = {0};
    struct log_file f;

    for (i = 0; i < count && !found; i++) {
        snprintf(path, sizeof(path), "%s/%06llu.log", db, (unsigned long long)logs[i]);
        if (!log_file_open(&f, path))
            continue; /* RocksDB will say what it thinks of that */
        found = log_follow(&f, &at, logs[i], i + 1 == count);
        log_file_close(&f);
    }
    if (!found || !at.cut || at.next > acked)
        return E_OK;
    return fail(c, E_CORRUPT,
                "%s/%06llu.log can be read up to sequence number %llu only, but %06llu.log begins "
                "with %llu, and writes up to %llu were acknowledged",
                db, (unsigned long long)at.log, (unsigned long long)at.next - 1,
                (unsigned long long)logs[i - 1], (unsigned long long)found,
                (unsigned long long)acked);
}
