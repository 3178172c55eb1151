/* shared_keys.h: access keys that all servers over the same data share.
 *
 * They are one text in the database (wr_text_load), in the form of a `credentials` file. Each
 * server keeps a copy of it in its data folder, which begins with a line that tells of which
 * version it is one. Whoever edits such a copy and sends its server SIGHUP changes the keys of all
 * servers; a copy of an older version cannot replace a newer one by mistake. A server that starts
 * takes the keys that are there; the first of all makes them, out of its own file if it has one. */
#ifndef SERVER_SHARED_KEYS_H
#define SERVER_SHARED_KEYS_H

#include "server/credential.h"
#include "widerow.h"

struct shared_keys;

/* Fills `store` (opened with `shared`) and keeps it so. Both and `log` are used until
 * shared_keys_close(). On failure returns an error code, *out is NULL and `message` says in one
 * line what is wrong. Blocks, like all of these. */
int shared_keys_open(struct wr_db *db, struct credential_store *store, struct log *log,
                     struct shared_keys **out, char *message, size_t message_size);
/* NULL is allowed. */
void shared_keys_close(struct shared_keys *k);

/* Reads the file again; if it was edited, its keys become those of all servers. E_OK: every server
 * uses what the database has now. Else `message`; no key was changed, except with E_UNSURE, when
 * some servers may not know of the change yet. One thread at a time. */
int shared_keys_publish(struct shared_keys *k, char *message, size_t message_size);

/* The version in use. */
uint64_t shared_keys_version(struct shared_keys *k);

/* ---- copies; pure, for tests too ---- */

/* What to do about a file, given what the database has. */
enum keys_step {
    KEYS_SAME,    /* nothing */
    KEYS_WRITE,   /* it is missing, or an unchanged copy of another version: write it anew */
    KEYS_PUBLISH, /* it was edited, and from the version that is there */
    KEYS_STALE,   /* it was edited, but not from the version that is there */
    KEYS_MAKE,    /* there are neither: make keys */
};

/* `file`: its text, NULL: it is missing. */
enum keys_step keys_step_of(const char *file, const struct wr_text *stored);
/* The keys behind the line that tells of the version. */
const char *keys_body(const char *file);
/* The file of a version; key_file_free() it. */
char *keys_file_text(const struct wr_text *stored);

#endif
