/* descriptor.h: how the open files that the system allows are shared out, so that connections
 * cannot take those that storage needs. */
#ifndef BASE_DESCRIPTOR_H
#define BASE_DESCRIPTOR_H

/* How many files this process may open: as many as there can be, INT_MAX for no bound. */
int descriptor_limit(void);

/* Lets it open as many as the system allows at most; the new limit. */
int descriptor_limit_raise(void);

/* Of `limit` files: those for tables that storage keeps open, */
int descriptor_tables(int limit);

/* and those for connections: what is left when storage has those, its logs and what it writes. At
 * least a few. */
int descriptor_connections(int limit);

#endif
