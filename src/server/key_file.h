/* key_file.h: reading and writing a file that holds secrets. */
#ifndef SERVER_KEY_FILE_H
#define SERVER_KEY_FILE_H

#include "base/log.h"
#include "widerow.h"

#include <stddef.h>

/* A copy of the shared keys has a line of its own (shared_text.c). */
#define KEY_FILE_BYTES_MAX (WR_TEXT_BYTES_MAX + 256)

/* The text of `file` with a NUL behind it, to be freed by key_file_free(). Warns if others than its
 * owner may read it; `log` NULL: they may. Not 0: `message` says in one line what is wrong and how
 * to mend it. */
int key_file_read(const char *file, struct log *log, char **out, char *message,
                  size_t message_size);

/* Writes it whole or not at all, readable by its owner only from the first byte. */
int key_file_write(const char *file, const char *text, char *message, size_t message_size);

/* Overwrites and frees. NULL is allowed. */
void key_file_free(char *text);

#endif
