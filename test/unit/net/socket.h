/* socket.h: a server on a free port of loopback, and raw sockets to it. */
#ifndef UNIT_NET_SOCKET_H
#define UNIT_NET_SOCKET_H

#include "net/http.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

/* Opens a server as `conf` says, with an address of port 0. Gives its port; the test fails if it does not open. */
static int socket_serve(const struct http_conf *conf, struct http **http)
{
    char message[256] = "";

    if (http_open(conf, http, message, sizeof(message)))
        fail_msg("%s", message);
    return atoi(strrchr(http_address(*http), ':') + 1);
}

/* A connection to that port; a read waits for `wait_s` seconds and then fails. */
static int socket_dial(int port, int wait_s)
{
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval wait = {wait_s, 0};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    return fd;
}

#endif
