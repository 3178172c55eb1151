/* import_check.h: an import that writes nothing: every line is read and converted, and what is
 * wrong is told, all of it. What only the server knows (the sizes that it takes) is not tried. */
#ifndef CLI_TRANSFER_IMPORT_CHECK_H
#define CLI_TRANSFER_IMPORT_CHECK_H

#include "cli/transfer/import.h"

/* Gets the fields of each line that would be loaded; they live until it returns. */
typedef void import_check_fn(void *arg, const struct csv_record *record);

/* Tells on stdout how many lines would be loaded. E_PARAMETER: some would not. */
int import_check(struct ctx *c, struct import *im, import_check_fn *fn, void *arg);

#endif
