/* address.h: network addresses as people write them. */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

struct sockaddr;

/* "192.0.2.7:50000", "[2001:db8::1]:80", or "?" for what is neither IPv4 nor IPv6. */
void address_format(const struct sockaddr *sa, char *out, size_t size);

/* True: the text is "host:port" or "[v6]:port", whether or not there is such a host. */
bool address_is_well_formed(const char *address);

/* Listens on "host:port" or "[v6]:port". Returns the socket, which does not block, or -1 with one
 * line in `message` that says what is wrong and how to mend it; `setting` is how the operator names
 * the address there. */
int address_listen(const char *address, const char *setting, char *message, size_t size);

#endif
