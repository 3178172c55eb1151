/* sql_port.h: a MySQL port of the model's database, which lets one key in. */
#ifndef MODEL_SQL_PORT_H
#define MODEL_SQL_PORT_H

#include "widerow.h"

#define SQL_PORT_USER "model-key"
#define SQL_PORT_PASSWORD "model-secret"

struct sql_port;

/* Ends the process with a message if it cannot be had. */
struct sql_port *sql_port_open(struct wr_db *db);
/* NULL is allowed. */
void sql_port_close(struct sql_port *p);
unsigned sql_port_number(const struct sql_port *p);

#endif
