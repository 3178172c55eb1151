/* import_table.h: the table of an import: found or made, and taken away again if nothing came into
 * it. */
#ifndef CLI_TRANSFER_IMPORT_TABLE_H
#define CLI_TRANSFER_IMPORT_TABLE_H

#include "cli/transfer/import.h"

/* Brings the plan and the table together: types that nobody has said are guessed from the first
 * lines, and a table that is missing is made. */
int import_table_prepare(struct ctx *c, struct import *im);

/* An import that made its table and loaded nothing takes it away again: unless there are rows in
 * it, which may be another client's, or a row of this import may still come. */
void import_table_remove(struct ctx *c, struct import *im);

#endif
