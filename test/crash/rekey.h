/* rekey.h: asks for other key layouts of the workload's tables, so that crashes land in all phases
 * of a rekeying while writers work. */
#ifndef CRASH_REKEY_H
#define CRASH_REKEY_H

#include "crash.h"

/* The nth request: starts another layout for each table, or now and then cancels. One that is
 * refused because the last is still under way is no problem. Any answer may be missing. */
void rekey_ask(struct crash *run, int n);

#endif
