/* pieces.h: a large value in one row by ordinary requests alone: what clients do where a cell is
 * limited to 2 MiB.
 *
 * The value is split into pieces of 1 MB, each in a column of its own, COLUMN.ID.NUMBER. The column
 * itself holds the state as a text, {id;done;todo}: which pieces are meant, how many are there and
 * how many are to come. Every step is an UpdateRow under the condition that the state still is what
 * the step before left, so that two writers notice one another, and a reader refuses a value of
 * which pieces are to come. */
#ifndef CLI_TRANSFER_PIECES_H
#define CLI_TRANSFER_PIECES_H

#include "client/client.h"

#define PIECE_BYTES 1000000

/* As client_ops' put_cell and get_cell. */
int pieces_put(struct ctx *c, struct client *cl, const struct client_cell *cell);
int pieces_get(struct ctx *c, struct client *cl, const struct client_cell *cell);

#endif
