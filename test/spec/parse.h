/* parse.h: between the files of the parser. */
#ifndef SPEC_PARSE_H
#define SPEC_PARSE_H

#include "spec.h"

/* (a b c[100]): names; c[100] is c0 to c99. False: no list stands there. */
bool parse_list(struct cursor *p, bytes **out, size_t *count);

enum wr_type parse_type(struct cursor *p);

/* The filter at p. */
const struct wr_filter *parse_filter(struct cursor *p);

/* Requests that read or write rows. */
bool parse_row_request(struct cursor *p, struct wr_request *out);

#endif
