/* moment.h: what SQL computes with moments: intervals, formats, days between. A moment is, as
 * SQLite holds it, milliseconds since 1970 in UTC, or a text. */
#ifndef SQL_RUN_MOMENT_H
#define SQL_RUN_MOMENT_H

#include "base/bytes.h"

struct sqlite3;

/* Makes the functions known to an SQLite connection: wr_moment(x), wr_interval(x, n, unit),
 * wr_date_format(x, format), wr_datediff(x, y), wr_unix_timestamp(x). All are NULL where there is
 * no such moment. */
int moment_register(struct sqlite3 *sqlite);

/* Is it the name of a unit that wr_interval() takes? */
bool moment_is_unit(bytes name);

#endif
