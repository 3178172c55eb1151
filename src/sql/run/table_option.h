/* table_option.h: what MySQL's tables are made with and ours are not: ENGINE=InnoDB, CHARSET,
 * COLLATE, COMMENT, ROW_FORMAT and the like, which programs for MySQL send without being asked. */
#ifndef SQL_RUN_TABLE_OPTION_H
#define SQL_RUN_TABLE_OPTION_H

#include "sql/run/run.h"

/* *out is the CREATE TABLE without them; SHOW WARNINGS has each that means something else here. */
void table_options_pass(struct run *r, const struct statement *s, struct statement *out);

#endif
