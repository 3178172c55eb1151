/* store.h: s3://BUCKET/KEY on the command line: which store, and the object that an export writes
 * or an import reads. */
#ifndef CLI_TRANSFER_STORE_H
#define CLI_TRANSFER_STORE_H

#include "cli/console/option.h"
#include "s3/s3.h"

#include <signal.h>
#include <stdio.h>

#define STORE_ROW(type, name, value, text, member)                                                 \
    {                                                                                              \
        name, value, text, OPTION_TEXT, offsetof(type, member), 0, 0                               \
    }

/* Flags of a command whose options have a member `struct s3_words s3`. */
#define STORE_ROWS(type)                                                                           \
    STORE_ROW(type, "s3-endpoint", "URL",                                                          \
              "of s3://: the store (default: AWS_ENDPOINT_URL, else Amazon's)", s3.endpoint),      \
        STORE_ROW(type, "s3-region", "REGION",                                                     \
                  "of s3://: its region (default: AWS_REGION, else us-east-1)", s3.region),        \
        STORE_ROW(type, "s3-profile", "NAME",                                                      \
                  "of s3://: credentials of that profile in ~/.aws/credentials (default: "         \
                  "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)",                                  \
                  s3.profile),                                                                     \
        STORE_ROW(type, "s3-ca-file", "FILE", "of s3://: certificates to trust, PEM", s3.ca_file)

struct store {
    struct s3_conf conf;
    struct s3 *s3; /* NULL: not open */
    const char *bucket, *key;
};

/* `stop`: NULL, or when it is set nothing is tried again. Texts are in the arena of c. Close it in
 * any case. */
int store_open(struct ctx *c, struct store *s, const struct s3_words *words, const char *url,
               const volatile sig_atomic_t *stop);
void store_close(struct store *s);

/* ---- writing */

/* Where an export goes: standard output, a file, or an object. The latter two are there once they
 * are whole: a file is written beside what it replaces, unless that is a device or a pipe, or the
 * folder takes no files, and is on the disk before it takes its place. */
struct sink {
    FILE *file;
    const char *name; /* of a file or an object; NULL: standard output */
    /* The file, links followed, and its name until it is whole, in the arena of sink_open()'s c;
     * NULL: it is written where it is. */
    const char *target, *new;
    int lock; /* of `new`, so that no other export writes it; -1: none */
    struct store store;
    struct s3_upload *upload; /* NULL: it is none */
    struct ctx c;             /* of the upload: what went wrong */
};

/* `name`: NULL, a path, or s3://…. Close it in any case, also if this fails. */
int sink_open(struct ctx *c, struct sink *s, const struct s3_words *words, const char *name);
/* `whole`: all was written; an object is made only then. */
int sink_close(struct ctx *c, struct sink *s, bool whole);
/* Why writing to s->file has failed. */
const char *sink_reason(const struct sink *s);

/* ---- reading */

/* An object as something to read from one place on, for input_from(), or at any place. */
struct object {
    struct store store;
    struct s3_object head;
    uint64_t at;
    uint8_t *window; /* window[window_at..window_end) was read and not taken */
    size_t window_at, window_end;
};

int object_open(struct ctx *c, struct object *o, const struct s3_words *words, const char *url,
                const volatile sig_atomic_t *stop);
void object_close(struct object *o);

/* As input.h's input_read_fn. `o` is a struct object. */
ssize_t object_read(void *o, void *buf, size_t n, char *why, size_t why_size);

/* As parquet/source.h has it. */
bool object_read_at(void *o, uint64_t offset, void *buf, size_t n, char *why, size_t why_size);

#endif
