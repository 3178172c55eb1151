/* import_line.h: one line of the source to one row of the table, or to what is wrong with it. */
#ifndef CLI_TRANSFER_IMPORT_LINE_H
#define CLI_TRANSFER_IMPORT_LINE_H

#include "cli/transfer/import.h"

struct import_line {
    struct import_row *row; /* mem_free() it; NULL: it is none */
    char reason[256];       /* why */
};

/* `record` is the source's last one, which came with `result`: CSV_RECORD or CSV_BAD. */
struct import_line import_line_read(const struct import *im, enum csv_result result,
                                    struct csv_record *record);

#endif
