/* import_split.h: where a new table is split before an import fills it, told from a sample of the
 * records' keys, so that the writes of a load in any order go to several partitions at once. */
#ifndef CLI_TRANSFER_IMPORT_SPLIT_H
#define CLI_TRANSFER_IMPORT_SPLIT_H

#include "cli/transfer/import.h"

#define IMPORT_PARTITIONS_MAX 256

/* The partitions that the user asks for, or, where nobody has said, one a 64 MiB of a plain file,
 * at most 16. Only a table of layout plain is split: in others the layout spreads the keys. */
size_t import_split_wanted(const struct import *im);

/* The ranges of `wanted` partitions with about as many of the sampled records each, in the arena of
 * c. Fewer, if the first key column has too few different values; 0: one. */
size_t import_split_points(struct ctx *c, const struct import *im, size_t wanted,
                           const struct wr_partition_range **out);

/* Do the sampled records come in the order of their key's first column? */
bool import_split_is_ordered(const struct import *im);

#endif
