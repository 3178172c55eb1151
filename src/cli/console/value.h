/* value.h: how every command writes and reads one typed value.
 *
 *   integer   12           64 bits, exact
 *   double    1.0  5e+22   a point or an exponent shows that it is one; the fewest digits that give
 *                          the same number again; {"double":"inf"}, "-inf" and "nan"
 *   boolean   true, false
 *   string    "a text"     as JSON writes it
 *   binary    {"base64":"AQI="}   {"binary":"0102"}, in hexadecimal, is read too: so it was once
 *
 * What value_put() writes, value_of_word(), `widerow import` and JSON itself read as the same
 * value. The line of a shell needs fewer quotes: there a word that is none of these is a string as
 * it stands, and where the type is known (a key column's, or NAME:type=) the word is taken for
 * that.
 */
#ifndef CLI_CONSOLE_VALUE_H
#define CLI_CONSOLE_VALUE_H

#include "base/buf.h"
#include "base/ctx.h"
#include "widerow.h"

#define VALUE_TYPE_OPEN WR_NULL /* as the word itself says */

/* The text of a value, appended; null for the placeholders. */
void value_put(struct buf *b, const struct wr_value *v);

/* A text as a JSON string, appended. What is not UTF-8 passes as it is. */
void value_put_string(struct buf *b, bytes text);

/* As a field of CSV, appended: a text in quotes if it could be read as something else, a binary as
 * its bytes. The column's header says the type. */
void value_put_csv_text(struct buf *b, bytes text);
void value_put_csv(struct buf *b, const struct wr_value *v);

/* A value out of a bare text that is of `type`, one of the five. Texts and binaries are views of
 * it. False: it is none such. */
bool value_of_text(bytes text, enum wr_type type, struct wr_value *out);

/* A value written as an object. What it decodes to goes to `to`, which has room for text.len bytes;
 * NULL: only out->type is told. False: it is no such object. */
bool value_of_object(bytes text, uint8_t *to, struct wr_value *out);

/* A value out of a word as a person types it, in the arena of c; the failure names the mend, and
 * begins with `of` ("column amount: "). */
int value_of_word(struct ctx *c, const char *of, bytes word, enum wr_type type,
                  struct wr_value *out);

#endif
