#include "net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of an answer, so much may lie in the kernel before it can be sent. The kernel would take 4 MB for
 * each client that does not read, and a few hundred of those slow down every socket of the machine.
 */
#define UNSENT_BYTES_MAX (256 << 10)

void address_format(const struct sockaddr *sa, char *out, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "?";

    if (sa->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)sa;

        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
        snprintf(out, size, "%s:%u", host, ntohs(v4->sin_port));
    } else if (sa->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const void *)sa;

        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
        snprintf(out, size, "[%s]:%u", host, ntohs(v6->sin6_port));
    } else {
        snprintf(out, size, "?");
    }
}

/* Splits "host:port" or "[v6]:port". False: it is neither. */
static bool address_split(const char *address, char *host, size_t host_size, char *port,
                          size_t port_size)
{
    const char *colon = strrchr(address, ':');
    const char *from = address, *to = colon;
    char *end;
    unsigned long number;

    if (!colon || !colon[1])
        return false;
    if (*from == '[') {
        from++;
        if (to == from || to[-1] != ']')
            return false;
        to--;
    } else if (memchr(from, ':', (size_t)(to - from))) {
        return false;
    }
    number = strtoul(colon + 1, &end, 10);
    if (colon[1] < '0' || colon[1] > '9' || *end || number > 65535 || to == from ||
        (size_t)(to - from) >= host_size)
        return false;
    memcpy(host, from, (size_t)(to - from));
    host[to - from] = 0;
    snprintf(port, port_size, "%lu", number);
    return true;
}

bool address_is_well_formed(const char *address)
{
    char host[256], port[8];

    return address_split(address, host, sizeof(host), port, sizeof(port));
}

static const char *bind_advice(int error)
{
    switch (error) {
    case EADDRINUSE:
        return "Stop the server that has it, or choose another port";
    case EACCES:
        return "Ports below 1024 need a privilege; choose another port";
    case EADDRNOTAVAIL:
        return "This machine has no such address; choose one of its own";
    default:
        return "Choose another address";
    }
}

static int listen_on(const struct addrinfo *at)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1,
        unsent = UNSENT_BYTES_MAX;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    /* What is accepted inherits these two. */
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (bind(fd, at->ai_addr, at->ai_addrlen) || listen(fd, 1024)) {
        int error = errno;

        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

int address_listen(const char *address, const char *setting, char *message, size_t size)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char host[256], port[8];
    int fd = -1, error;

    if (!address_split(address, host, sizeof(host), port, sizeof(port))) {
        snprintf(message, size,
                 "%s: '%s' is not ADDRESS:PORT. Write it like 127.0.0.1:8600 or [::1]:8600.",
                 setting, address);
        return -1;
    }
    error = getaddrinfo(host, port, &hints, &found);
    if (error) {
        snprintf(message, size, "%s: no address is known for '%s' (%s). Give a numeric address.",
                 setting, host, gai_strerror(error));
        return -1;
    }
    for (struct addrinfo *at = found; at && fd < 0; at = at->ai_next)
        fd = listen_on(at);
    if (fd < 0)
        snprintf(message, size, "cannot listen on %s: %s. %s with %s ADDRESS:PORT.", address,
                 strerror(errno), bind_advice(errno), setting);
    freeaddrinfo(found);
    return fd;
}
