/* parse.h: between the files of the parser. */
#ifndef SPEC_PARSE_H
#define SPEC_PARSE_H

#include "spec.h"

/* (a b c[100]): names; c[100] is c0 to c99. False: no list stands there. */
bool parse_list(struct cursor *p, bytes **out, size_t *count);

enum wr_type parse_type(struct cursor *p);

/* The filter at p. */
const struct wr_filter *parse_filter(struct cursor *p);

/* name= */
bool take_option(struct cursor *p, const char *name);

/* A value that is a text, as "..." or $variable. */
bytes parse_text(struct cursor *p);

/* The table that an id names, or the id, which then names none. */
bytes table_of(bytes id);

/* Requests about series, and what a series has besides a table. */
bool parse_series_request(struct cursor *p, struct wr_request *out);
bool parse_series_option(struct cursor *p, struct wr_series_spec *out);

/* Requests of tunnels. */
bool parse_tunnel_request(struct cursor *p, struct wr_request *out);

/* Requests of search indexes. */
bool parse_search_request(struct cursor *p, struct wr_request *out);

/* Requests that read or write rows. */
bool parse_row_request(struct cursor *p, struct wr_request *out);

#endif
