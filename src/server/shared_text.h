/* shared_text.h: a text that all servers over the same data share and an operator may edit: access
 * keys (shared_keys.h), settings (shared_settings.h).
 *
 * It lies in the database (wr_text_load). Each server keeps a copy of it in its data folder, which
 * begins with a line that tells of which version it is one. Whoever edits such a copy and sends its
 * server SIGHUP changes the text of all servers; a copy of an older version cannot replace a newer
 * one by mistake. A server that starts takes the text that is there; the first of all makes it, out
 * of its own file if it has one. */
#ifndef SERVER_SHARED_TEXT_H
#define SERVER_SHARED_TEXT_H

#include "base/log.h"
#include "widerow.h"

struct shared_text;

/* What one of them is. Calls come from one thread at a time and may block. */
struct shared_text_kind {
    const char *noun; /* its name in the database, in the first line and in the log; a to z */
    const char *what; /* "access keys" */
    bool secret;      /* nobody but its owner should read a copy */
    /* Uses `text`, which is known to all from now on; `made`: by this server's make(). On failure
     * what was used before stays. */
    int (*take)(void *arg, const char *text, bool made, char *message, size_t message_size);
    /* Is `text` such as it must be? `source` names the file in the message. */
    int (*check)(void *arg, const char *source, const char *text, char *message,
                 size_t message_size);
    /* The first text of all; to be freed by key_file_free(). */
    int (*make)(void *arg, char **text, char *message, size_t message_size);
};

/* Takes what is there, or makes it, and keeps it so: `file` is the copy. `kind`, `arg`, `db` and
 * `log` are used until shared_text_close(). On failure returns an error code, *out is NULL and
 * `message` says in one line what is wrong. Blocks, like all of these. */
int shared_text_open(const struct shared_text_kind *kind, void *arg, struct wr_db *db,
                     const char *file, struct log *log, struct shared_text **out, char *message,
                     size_t message_size);
/* NULL is allowed. */
void shared_text_close(struct shared_text *t);

/* Reads the file again; if it was edited, it becomes the text of all servers. E_OK: this server
 * uses what the database has now, and every other does after wr_text_tell(), which is the caller's
 * to call, once for several texts. Else `message`; nothing was changed, except perhaps with
 * E_UNSURE. One thread at a time. */
int shared_text_reconcile(struct shared_text *t, char *message, size_t message_size);

/* The version in use. */
uint64_t shared_text_version(struct shared_text *t);

/* ---- copies; pure, for tests too ---- */

/* What to do about a file, given what the database has. */
enum text_step {
    TEXT_SAME,    /* nothing */
    TEXT_WRITE,   /* it is missing, or an unchanged copy of another version: write it anew */
    TEXT_PUBLISH, /* it was edited, and from the version that is there */
    TEXT_STALE,   /* it was edited, but not from the version that is there */
    TEXT_MAKE,    /* there are neither: make it */
};

/* `file`: its text, NULL: it is missing. */
enum text_step text_step_of(const struct shared_text_kind *kind, const char *file,
                            const struct wr_text *stored);
/* What stands behind the line that tells of the version. */
const char *text_body(const struct shared_text_kind *kind, const char *file);
/* The file of a version; key_file_free() it. */
char *text_file(const struct shared_text_kind *kind, const struct wr_text *stored);

#endif
