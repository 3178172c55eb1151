/* warning.h: what SHOW WARNINGS tells of a session's last statement: what was passed over, and why
 * it failed. */
#ifndef SQL_RUN_WARNING_H
#define SQL_RUN_WARNING_H

#include "sql/run/run.h"

/* A new statement begins, or the session ends. */
void warnings_forget(struct session *s);

/* Something of the statement was passed over; `number` is MySQL's for it. Past WARNINGS_MAX it is
 * not kept, as there. Not for who asks for columns alone. */
#define WARNINGS_MAX 64
void warning_add(struct run *r, uint16_t number, bytes text);

/* The statement has failed. */
void warning_add_fault(struct session *s, const struct fault *fault);

/* How many there are but for faults, which clients are told with a statement's end. */
uint16_t warnings_count(const struct session *s);

/* SHOW WARNINGS; SHOW ERRORS: `errors` alone. */
int warnings_show(struct run *r, bool errors);

#endif
