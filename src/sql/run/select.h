/* select.h: what a session keeps between its SELECTs. */
#ifndef SQL_RUN_SELECT_H
#define SQL_RUN_SELECT_H

struct select_engine;

/* NULL is allowed. */
void select_engine_free(struct select_engine *e);

#endif
