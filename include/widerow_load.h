/* widerow_load.h: many rows into a table that has none yet, past the log: they are sorted, written
 * as table files of storage, and become visible all at once. For a database on RocksDB that this
 * process has open; over HTTP rows are written in batches.
 *
 * All pointers are views, as in widerow.h: what a call is given is the caller's again when it
 * returns. One thread at a time uses a load. */
#include "widerow.h"

#ifndef WIDEROW_LOAD_H
#define WIDEROW_LOAD_H

#ifdef __cplusplus
extern "C" {
#endif

struct wr_load;

/* Begins. The table must hold no row, and nobody else may write to it until wr_load_free(); it must
 * not have what follows its changes: indexes, streams, search indexes, local transactions, periods
 * of a series, and no auto-increment column. WR_E_PARAMETER says which it has, WR_E_UNSUPPORTED
 * that this is no database for it. `spill_dir`: where sorted runs of rows go that memory does not
 * hold, without a name, so that nothing is left of them by a crash. `memory_bytes`: for sorting,
 * from 512 KiB to 1 GiB; rows may come to about 16 times its square in MiB. A failure's text goes
 * to message. */
WR_API int wr_load_open(struct wr_db *db, struct wr_bytes instance, struct wr_bytes table,
                        const char *spill_dir, size_t memory_bytes, struct wr_load **out,
                        char *message, size_t message_size);

/* A put of the whole row, checked as PutRow checks it. Of rows with the same key the one that was
 * put last stays. A row that is refused (WR_E_PARAMETER, WR_E_INVALID_PK, ...) changes nothing, and
 * the load goes on; after WR_E_NO_SPACE and WR_E_UNAVAILABLE it does not. */
WR_API int wr_load_put(struct wr_load *load, const struct wr_row *row, char *message,
                       size_t message_size);

/* All rows are there, durable and visible, or, after an error, none. *rows: how many. */
WR_API int wr_load_finish(struct wr_load *load, uint64_t *rows, char *message, size_t message_size);

WR_API void wr_load_free(struct wr_load *load); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
