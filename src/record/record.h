/* record.h: records out of a CSV or JSON Lines file as a stream: for commands that look at every
 * field of a file of any size, once.
 *
 * Columns have numbers. CSV has them from its header; in JSON Lines a column gets the next number
 * when its name first appears. What is malformed costs that line alone. Memory is one buffer, which
 * grows to the longest record. One thread. */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include "base/ctx.h"
#include "record/csv.h"
#include "record/input.h"

#include <signal.h>

#define RECORD_COLUMNS_MAX 1024

enum record_format { RECORD_CSV, RECORD_JSONL };

struct record_reader {
    enum record_format format;
    bool dynamodb;  /* JSON Lines as DynamoDB exports them: {"Item":{"id":{"N":"7"}}} */
    char delimiter; /* of a CSV's fields: , or what its first line has most of: ; TAB | */
    struct input *input;
    const volatile sig_atomic_t
        *stop;            /* NULL, or: reading ends when it is set. Set it before record_begin() */
    uint64_t total_bytes; /* of the file; 0: not known, or it is compressed */
    bytes names[RECORD_COLUMNS_MAX];
    size_t column_count;
    /* The current record, valid until the next record_next(): by column number. A NULL text: the
     * record has no such field. `quoted` in JSON Lines: it is a string. */
    struct csv_field fields[RECORD_COLUMNS_MAX];
    uint64_t line;     /* where it begins, from 1 */
    uint64_t offset;   /* bytes read, up to and with it */
    char message[192]; /* what RECORD_BAD or RECORD_FAILED was about */
    struct csv_raw raw;
    bytes record_text; /* of the current one, if raw.wanted */
    /* Private. */
    char *data;
    size_t at, end, capacity;
    bool eof;
    uint64_t next_line;
    size_t order[RECORD_COLUMNS_MAX]; /* column of the n-th member of the last line */
    struct arena *arena;              /* of the names */
    char *made;                       /* values of the record that do not stand in data */
    size_t made_size, made_capacity;
};

enum record_result { RECORD_OK, RECORD_END, RECORD_BAD, RECORD_FAILED };

/* What a user says of a file; NULL: it is told from its first bytes and its first line. */
struct record_form {
    const char *format;    /* "csv", "jsonl", "dynamodb"; others are none of this room */
    const char *delimiter; /* one character, or "tab" */
};

/* Opens `path` ("-": standard input), which may be compressed (input.h), and reads a CSV's header.
 * Release it in any case. The names live in the arena of c. */
int record_open(struct ctx *c, struct record_reader *r, const char *path,
                const struct record_form *form);
void record_release(struct record_reader *r);

/* The same for a file that is open, which becomes the reader's. */
int record_open_fd(struct ctx *c, struct record_reader *r, int fd, const char *name,
                   const struct record_form *form);

/* record_begin() of something that is no file, which becomes the reader's; total_bytes: 0, if
 * nobody knows. NULL: it could not be read, errno tells. */
int record_begin_input(struct ctx *c, struct record_reader *r, struct input *in,
                       uint64_t total_bytes, const char *name, const struct record_form *form);

/* Only tells the format, and of a CSV the delimiter; its header is not read yet. What was read of
 * the file to tell is data[at..end). */
int record_begin(struct ctx *c, struct record_reader *r, int fd, const char *name,
                 const struct record_form *form);

enum record_result record_next(struct record_reader *r);

/* Gives the next column number to a name, as if it had appeared. False: there are too many. */
bool record_add_column(struct record_reader *r, bytes name);

/* The number of a column, or SIZE_MAX. */
size_t record_column(const struct record_reader *r, bytes name);

/* Does a text begin as DynamoDB's export does? For record.c, too. */
bool record_is_dynamodb(char *p, char *end);

/* One line of JSON, an object, into r->fields; for record.c. False: malformed, r->message says. */
bool record_parse_json(struct record_reader *r, char *p, char *end);

#endif
