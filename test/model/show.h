/* show.h: requests and rows as text that a person can read. */
#ifndef MODEL_SHOW_H
#define MODEL_SHOW_H

#include "base/bytes.h"
#include "widerow.h"

#include <stdio.h>

void show_bytes(FILE *out, bytes b);
void show_value(FILE *out, const struct wr_value *v);
void show_key(FILE *out, const struct wr_key *key);
void show_row(FILE *out, const struct wr_row *row);
/* Several lines, the last one ended. */
void show_request(FILE *out, const struct wr_request *req);
void show_reply(FILE *out, const struct wr_reply *reply);

#endif
