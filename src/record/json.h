/* json.h: the pieces of JSON, taken one by one from a text in memory.
 *
 * Strings are unescaped where they stand, so the text is changed; what is taken are views of it. A
 * function that answers false has said in `fault` what is wrong, and the reader is used no more. */
#ifndef RECORD_JSON_H
#define RECORD_JSON_H

#include "record/csv.h"

struct json_reader {
    char *at, *end;
    const char *fault;
};

struct json_reader json_reader_of(char *text, size_t size);

/* A code point as UTF-8, at most 4 bytes; returns where it ends. */
char *json_put_utf8(char *to, uint32_t code);

void json_skip_space(struct json_reader *j);

/* Takes one character, and the space in front of it. False: another one stands there. */
bool json_take(struct json_reader *j, char ch);

/* A string from behind its first quote. */
bool json_take_string(struct json_reader *j, bytes *out);

/* Any value: of a string its text, `quoted`; of null no text (ptr NULL); all else as written, what
 * is nested, too. */
bool json_take_value(struct json_reader *j, struct csv_field *out);

/* "NAME": of an object; then a value follows. */
bool json_take_name(struct json_reader *j, bytes *out);

/* Behind a value of an object or array that ends with `close`: true if another one follows. False
 * without a fault: it has ended. */
bool json_take_next(struct json_reader *j, char close);

#endif
