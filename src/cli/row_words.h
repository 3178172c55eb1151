/* row_words.h: keys, cells and rows out of the words of a command line.
 *
 *   KEY...              a word for each key column, in order, of that column's type; auto: the
 *                       server numbers it
 *   COLUMN=VALUE        a cell; COLUMN:type=VALUE says its type (value.h)
 *   COLUMN+=NUMBER      adds to what is there (update)
 *   {"id":1,"v":2.5}    a whole row, as `get` and `scan` print it
 *   --pk, --attr        the same in the JSON of Tablestore's own command line */
#ifndef CLI_ROW_WORDS_H
#define CLI_ROW_WORDS_H

#include "base/ctx.h"
#include "widerow.h"

/* A key from words, for the first columns of the table's key; the rest is filled up with `fill`. */
int row_words_key(struct ctx *c, const struct wr_table_description *t, char **words, size_t count,
                  enum wr_type fill, struct wr_key *out);

/* A whole key, from --pk if that is not NULL, else from words. */
int row_words_whole_key(struct ctx *c, const struct wr_table_description *t, const char *pk,
                        char **words, size_t count, struct wr_key *out);

/* Cells from words. */
int row_words_cells(struct ctx *c, const struct wr_table_description *t, char **words, size_t count,
                    struct wr_row *out);

/* A row from one object; null members are no cells. */
int row_words_object(struct ctx *c, const struct wr_table_description *t, bytes text,
                     struct wr_row *out);

/* --pk '["86",6771]': all values of the key; null for the column that the server numbers. */
int row_words_pk(struct ctx *c, const struct wr_table_description *t, bytes text,
                 struct wr_key *out);

/* --attr '[{"c":"name","v":"red","t":"string","ts":1700000000000}]'. */
int row_words_attr(struct ctx *c, bytes text, struct wr_row *out);

/* -i FILE of that command line: {"PK":{"Values":[...]},"Attr":{"Values":[...]}}. */
int row_words_document(struct ctx *c, const struct wr_table_description *t, bytes text,
                       struct wr_row *out);

#endif
