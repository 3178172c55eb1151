/* echo.c: the ceiling of the network: a libmicrohttpd server that answers every request with the
 * same bytes and looks at nothing. Usage: echo PORT BYTES. Ends at SIGTERM or SIGINT. */
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 2
#define BYTES_MAX (64u << 20)

static enum MHD_Result answer(void *cls, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload_data,
                              size_t *upload_data_size, void **request)
{
    (void)url;
    (void)method;
    (void)version;
    (void)upload_data;
    if (!*request || *upload_data_size) {
        *request = cls; /* the head has been seen, or a part of the body */
        *upload_data_size = 0;
        return MHD_YES;
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, cls);
}

int main(int argc, char **argv)
{
    unsigned long port = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    unsigned long size = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    struct MHD_Response *response;
    struct MHD_Daemon *daemon;
    char *body;
    sigset_t ends;
    int got;

    if (port == 0 || port > 65535 || size == 0 || size > BYTES_MAX) {
        fprintf(stderr, "usage: echo PORT BYTES\n");
        return 2;
    }
    body = malloc(size);
    if (!body)
        return 1;
    memset(body, 'x', size);
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* in the daemon's threads too */
    response = MHD_create_response_from_buffer(size, body, MHD_RESPMEM_PERSISTENT);
    daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, (uint16_t)port, NULL, NULL, answer,
                              response, MHD_OPTION_THREAD_POOL_SIZE, THREADS,
                              MHD_OPTION_CONNECTION_LIMIT, 1000u, MHD_OPTION_END);
    if (!daemon) {
        fprintf(stderr, "echo: cannot listen on port %lu\n", port);
        return 1;
    }
    sigwait(&ends, &got);
    MHD_stop_daemon(daemon);
    MHD_destroy_response(response);
    free(body);
    return 0;
}
