/* descriptor.h: how the open files that the system allows are shared out, so that connections
 * cannot take those that storage needs. */
#ifndef BASE_DESCRIPTOR_H
#define BASE_DESCRIPTOR_H

/* How many files this process may open: as many as there can be, INT_MAX for no bound. */
int descriptor_limit(void);

/* Lets it open as many as the system allows at most; the new limit. */
int descriptor_limit_raise(void);

/* Of `limit` files, storage may keep so many table files open. */
int descriptor_tables(int limit);

/* Of `limit` files, so many may be connections: those that are left when storage has its table
 * files, its logs and what it writes. There are always a few. */
int descriptor_connections(int limit);

/* Two ports may have so many connections together. In: how many each is set to; out: how many each
 * may have, no more than it is set to. Where there are too few the second one has a third of them,
 * and what the first one does not ask for. */
void descriptor_share(int connections, int *first, int *second);

#endif
