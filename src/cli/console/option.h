/* option.h: command-line flags, from tables.
 *
 * A command lists its flags as rows; the same rows parse the command line, print the help and
 * suggest the nearest name for one that is unknown. */
#ifndef CLI_CONSOLE_OPTION_H
#define CLI_CONSOLE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_FLAG,  /* bool: no value */
    OPTION_TEXT,  /* const char *: a view of argv */
    OPTION_COUNT, /* uint64_t: a decimal number, `min` to `max` */
    OPTION_LIST,  /* struct option_list: may be given again and again */
};

#define OPTION_LIST_MAX 16

struct option_list {
    const char *texts[OPTION_LIST_MAX]; /* views of argv, in the order given */
    size_t count;
};

struct option_row {
    const char *name;  /* "workers", without the dashes */
    const char *value; /* what stands for the value in the help; NULL for a flag */
    const char *help;
    enum option_kind kind;
    size_t offset; /* of the member in the struct it fills */
    uint64_t min, max;
};

/* A table of rows and the struct it fills. */
struct option_set {
    const struct option_row *rows; /* ends with a row without a name */
    void *target;
};

/* Parses argv[0..argc). Flags may stand anywhere, as "--name value" or "--name=value"; behind "--"
 * nothing is a flag. Positional arguments are moved to the front of argv and counted in *left.
 * Returns 0, or -1 with one line in `message`. A "--help" sets *help. */
int option_parse(int argc, char **argv, const struct option_set *sets, size_t set_count, int *left,
                 bool *help, char *message, size_t message_size);

/* Prints a table for --help. */
void option_print(const struct option_row *rows);

/* The name among names[0..count) that was probably meant by `text`, or NULL. */
const char *option_nearest(const char *text, const char *const *names, size_t count);

#endif
