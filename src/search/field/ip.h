/* ip.h: IP fields of search indexes: addresses as 16 bytes whose order is numeric. An IPv4 address
 * a.b.c.d is the IPv6 address ::ffff:a.b.c.d. */
#ifndef SEARCH_FIELD_IP_H
#define SEARCH_FIELD_IP_H

#include "base/bytes.h"

#define IP_BYTES 16

/* An address of either kind, nothing around it. False: it is none. */
bool ip_of_text(struct wr_bytes text, uint8_t out[IP_BYTES]);

/* The first and the last address of a block "192.168.1.1/24", or of a single address. Bits behind
 * the prefix are without meaning. */
bool ip_range_of_cidr(struct wr_bytes text, uint8_t low[IP_BYTES], uint8_t high[IP_BYTES]);

#endif
