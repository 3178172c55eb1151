/* echo.c: the ceiling of the network: our HTTP transport (src/net) with a handler that answers
 * every request with the same bytes and looks at nothing. Usage: echo PORT BYTES. Ends at SIGTERM
 * or SIGINT. */
#include "net/http.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define BYTES_MAX (64u << 20)

static void answer(void *arg, struct http_request *r)
{
    http_known(r, 1);
    http_reply(r, r->fault ? r->fault : 200, NULL, 0, *(bytes *)arg);
}

int main(int argc, char **argv)
{
    unsigned long port = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    unsigned long size = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    struct http_conf conf = {.setting = "PORT", .on_request = answer};
    char address[32], message[256];
    struct clock clock;
    struct http *http;
    sigset_t ends;
    bytes body;
    int got;

    if (port == 0 || port > 65535 || size == 0 || size > BYTES_MAX) {
        fprintf(stderr, "usage: echo PORT BYTES\n");
        return 2;
    }
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* in the loops' threads too */
    clock_real_init(&clock);
    body = bytes_of(memset(mem_alloc(size), 'x', size), size);
    snprintf(address, sizeof(address), "127.0.0.1:%lu", port);
    conf.address = address;
    conf.clock = &clock;
    conf.arg = &body;
    if (http_open(&conf, &http, message, sizeof(message))) {
        fprintf(stderr, "echo: %s\n", message);
        return 1;
    }
    sigwait(&ends, &got);
    http_close(http, 0);
    mem_free((void *)(uintptr_t)body.ptr);
    return 0;
}
