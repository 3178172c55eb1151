/* rocks_status.c: RocksDB's errors. The C API gives a status as text only; here is the one place
 * that reads it. */
#include "engine/rocks.h"

#include "base/buf.h"

static bool text_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

int rocks_status_code(const char *text)
{
    if (strstr(text, "No space left on device") || strstr(text, "Space limit reached"))
        return E_NO_SPACE;
    if (text_starts(text, "Corruption"))
        return E_CORRUPT;
    if (text_starts(text, "IO error")) {
        if (strstr(text, "lock hold by") || strstr(text, "While lock file"))
            return E_LOCKED;
        /* RocksDB misses a file of its own. */
        return strstr(text, "No such file or directory") ? E_CORRUPT : E_UNAVAILABLE;
    }
    if (text_starts(text, "Result incomplete") || text_starts(text, "Resource busy") ||
        text_starts(text, "Operation timed out") || text_starts(text, "Operation failed"))
        return E_BUSY;
    if (text_starts(text, "Shutdown in progress"))
        return E_UNAVAILABLE;
    return E_INTERNAL;
}

/* Records RocksDB's error as the request's and frees its text. */
int rocks_status_fail(struct ctx *c, char *err)
{
    int code = rocks_status_code(err);

    if (code == E_CORRUPT) {
        log_error(c->log, "storage: damaged data: %s", err);
        code = fail(c, code, "Stored data is damaged: %s", err);
    } else {
        code = fail(c, code, "Storage: %s", err);
    }
    rocksdb_free(err);
    return code;
}

/* The same of a request that a client sent: files and folders are the operator's, in the log. */
int rocks_request_fail(struct ctx *c, char *err)
{
    int code = rocks_status_code(err);

    if (code != E_BUSY)
        log_error(c->log, "storage: %s", err);
    rocksdb_free(err);
    return fail(c, code, "%s%s", err_info(code)->text,
                code == E_BUSY ? "" : " The server's log says more.");
}

/* The name of the table file that an error text of RocksDB is about ("000012.sst"), in the arena;
 * empty if it names none. */
bytes rocks_table_named(struct ctx *c, const char *text)
{
    const char *end = strstr(text, ".sst"), *start;

    if (!end)
        end = strstr(text, ".ldb"); /* the name of old, which it tries last */
    if (!end)
        return BYTES_NONE;
    start = end;
    while (start > text && start[-1] >= '0' && start[-1] <= '9')
        start--;
    if (start == end)
        return BYTES_NONE;
    return arena_printf(&c->arena, "%.*s.sst", (int)(end - start), start);
}

/* An error text with the folder's path in place of that of the copy that was looked at. */
const char *rocks_text_moved(struct ctx *c, const char *text, const char *copy, const char *folder)
{
    struct buf b;
    const char *at;

    buf_init(&b, &c->arena, 256);
    while ((at = strstr(text, copy))) {
        buf_put(&b, text, (size_t)(at - text));
        buf_put_bytes(&b, bytes_str(folder));
        text = at + strlen(copy);
    }
    buf_put(&b, text, strlen(text) + 1);
    return buf_bytes(&b).ptr;
}
