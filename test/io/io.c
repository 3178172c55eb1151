#include "io.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static const char *const call_names[IO_CALLS] = {
#define NAME(name) #name,
    IO_CALL_MAP(NAME)
#undef NAME
};

const char *io_call_name(enum io_call call)
{
    return call_names[call];
}

static void flags_set(struct io *io)
{
    const char *flags[] = {"--admin", io->admin_address, "--memory", "16M"};

    for (size_t i = 0; i < PORT_COUNT(flags); i++)
        io->server.flags[i] = flags[i];
    io->server.flags[PORT_COUNT(flags)] = NULL;
}

void io_init(struct io *io, const char *dir)
{
    int fd;

    io->run.port = crash_port_choose(&io->run.rng);
    io->admin_port = crash_port_choose(&io->run.rng);
    snprintf(io->admin_address, sizeof(io->admin_address), "127.0.0.1:%d", io->admin_port);
    snprintf(io->control_file, sizeof(io->control_file), "%s/control", io->run.work);
    fd = open(io->control_file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(*io->control)) != 0)
        crash_give_up(&io->run, "cannot make %s: %s", io->control_file, strerror(errno));
    io->control = mmap(NULL, sizeof(*io->control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (io->control == MAP_FAILED)
        crash_give_up(&io->run, "cannot map %s: %s", io->control_file, strerror(errno));
    server_init(&io->server, &io->run, dir);
    flags_set(io);
    io_disarm(io);
}

void io_disarm(struct io *io)
{
    atomic_store(&io->control->armed, false);
    memset(io->control, 0, sizeof(*io->control));
    snprintf(io->control->dir, sizeof(io->control->dir), "%s", io->server.dir);
}

bool io_start(struct io *io)
{
    setenv("IO_CONTROL", io->control_file, 1);
    setenv("LD_PRELOAD", io->preload, 1); /* of the child: we ourselves run already */
    server_start(&io->server);
    unsetenv("LD_PRELOAD");
    return server_wait_ready(&io->server);
}

bool io_start_well(struct io *io, const char *where)
{
    char *text;

    if (io_start(io))
        return true;
    text = server_output(&io->server);
    crash_problem(&io->run, "%s: the server does not start (status %d): %s", where,
                  io->server.status, text);
    mem_free(text);
    return false;
}

int io_readyz(struct io *io, char *text, size_t size)
{
    static const char ask[] =
        "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)io->admin_port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {2, 0};
    char answer[2000] = "", *body;
    size_t n = 0;
    ssize_t got;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), status = 0;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        send(fd, ask, sizeof(ask) - 1, MSG_NOSIGNAL) == (ssize_t)sizeof(ask) - 1)
        while (n < sizeof(answer) - 1 &&
               (got = recv(fd, answer + n, sizeof(answer) - 1 - n, 0)) > 0)
            n += (size_t)got;
    close(fd);
    if (sscanf(answer, "HTTP/1.%*d %d", &status) != 1)
        status = 0;
    body = strstr(answer, "\r\n\r\n");
    if (text)
        snprintf(text, size, "%s", body ? body + 4 : "");
    return status;
}

void io_lose_late(struct io *io)
{
    int count = atomic_load(&io->control->lost_count);

    for (int i = 0; i < count && i < IO_LOST_MAX; i++) {
        const struct io_lost *lost = &io->control->lost[i];
        int fd = open(lost->path, O_WRONLY | O_CLOEXEC);
        struct stat st;
        char *zeros;
        size_t n;

        if (fd < 0)
            continue; /* removed or renamed since */
        if (lost->to <= lost->from || fstat(fd, &st) != 0 || st.st_size <= lost->from) {
            close(fd);
            continue;
        }
        n = (size_t)((st.st_size < lost->to ? st.st_size : lost->to) - lost->from);
        zeros = mem_zalloc(n);
        if (pwrite(fd, zeros, n, lost->from) != (ssize_t)n)
            crash_give_up(&io->run, "cannot write %s: %s", lost->path, strerror(errno));
        mem_free(zeros);
        close(fd);
    }
}
