/* rekey.h: gives a table another key layout while it is being used.
 *
 * A task in the background copies rows; rekey.c has the scheme. Rekeying survives a restart
 * and goes on where it was. */
#ifndef TABLE_MAINT_REKEY_H
#define TABLE_MAINT_REKEY_H

#include "table/model/schema.h"

struct rekeyer;
struct call;

/* NULL: the system gives no thread. */
struct rekeyer *rekeyer_start(struct wr_db *db);

/* After the scheduler was stopped, for which it ends within a page of rows; what is left is done
 * after the next start. NULL is allowed. */
void rekeyer_free(struct rekeyer *r);

/* RekeyTable's checks, under the catalog's change lock, of the table as it is: E_PARAMETER,
 * E_UNSUPPORTED. *out is the layout asked for. */
int rekey_check_start(struct call *call, const struct schema *s, struct layout *out);
int rekey_check_cancel(struct call *call, const struct schema *s);

/* Fills in the reply of RekeyTable, and lets the rekeyer have a look. */
void rekey_describe(struct call *call, const struct schema *s);

#endif
