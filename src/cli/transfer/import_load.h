/* import_load.h: lines of the source to rows in the table.
 *
 * The calling thread reads, checks and converts, so that bad lines are found in the order of the
 * file; the loader's workers only send. */
#ifndef CLI_TRANSFER_IMPORT_LOAD_H
#define CLI_TRANSFER_IMPORT_LOAD_H

#include "cli/transfer/import.h"

/* Loads what there is, tells on stdout how it went, and keeps the notes of --resume. */
int import_load(struct ctx *c, struct import *im);

#endif
