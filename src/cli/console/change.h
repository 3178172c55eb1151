/* change.h: a change of a row, out of a stream, as one line. */
#ifndef CLI_CONSOLE_CHANGE_H
#define CLI_CONSOLE_CHANGE_H

#include "base/buf.h"
#include "widerow.h"

/* For programs, appended; values as value.h has them, times of cells in milliseconds:
 *   {"time":MICROSECONDS,"action":"put|update|delete","key":{...},"cells":[CELL,...],"before":{...}}
 * A CELL is one of
 *   {"column":"x","value":1,"time":MS}   {"column":"x","deleted":"all"}
 *   {"column":"x","deleted":"one","time":MS}
 * `before` has the values of before, if the stream keeps them and the row was there. */
void change_put_json(struct buf *b, const struct wr_stream_record *r);

/* For people, appended: when (UTC), what, the key, cells as x=1, -x and -x@MS. */
void change_put_line(struct buf *b, const struct wr_stream_record *r);

#endif
