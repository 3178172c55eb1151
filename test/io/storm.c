/* storm.c: libfiu makes calls fail at random, on whatever they are for, while clients work.
 *
 * The server runs with libfiu's POSIX library; through its named pipes one kind of call after the
 * other is made to fail with some probability for a while. When the storm is over writes must be
 * taken again; then the server is killed, and all that was acknowledged must be there.
 *
 * Of write() only EINTR is made here, the rest is left to nth.c, which fails it on files only:
 * libfiu would also take away the wake-ups that loops get through an eventfd, for good, which no
 * kernel does.
 *
 * libfiu holds a lock while it allocates, and runs into itself when the allocator maps memory, as
 * jemalloc does at any time. So libc and libstdc++ are named behind it: their allocators are then
 * found first. */
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIBRARY_DIR "/usr/lib/fiu"
#define LIBRARIES                                                                                  \
    LIBRARY_DIR "/fiu_run_preload.so " LIBRARY_DIR "/fiu_posix_preload.so libc.so.6 "              \
                "libstdc++.so.6"
#define STORM_MS 250
#define BACK_MS_MAX 40000 /* tries to reopen come with growing pauses, up to 30 s */
#define ROWS 40
#define POLL_US 1000
#define LULLS_NIGHTLY 20

static const struct gust {
    const char *point;
    const char *probability;
    int error; /* 0: libfiu chooses */
} gusts[] = {
    {"posix/io/sync/fdatasync", "0.05", EIO},
    {"posix/io/sync/fdatasync", "0.05", EINTR},
    {"posix/io/sync/fsync", "0.2", EIO},
    {"posix/io/rw/pwrite", "0.05", ENOSPC},
    {"posix/io/rw/pwrite/reduce", "0.2", 0},
    {"posix/io/oc/open", "0.3", EMFILE},
    {"posix/io/rw/pread", "0.1", EIO},
    {"posix/io/rw/p*", "0.05", 0},
    {"posix/io/rw/write", "0.5", EINTR},
    {"posix/io/sync/*", "0.1", 0},
    {"posix/io/dir/*", "0.5", 0},
};

struct storm {
    struct io *io;
    struct book *book;
    char pipes[300];
    int worse; /* gusts during which writes were not acknowledged */
};

/* libfiu's answer is a number on a line, 0 if all is well. */
static bool fiu_ask(struct storm *s, const char *command)
{
    char path[340], answer[16] = "";
    size_t n = strlen(command);
    struct pollfd ready = {.events = POLLIN};
    int in, out;
    bool ok;

    snprintf(path, sizeof(path), "%s-%d.in", s->pipes, (int)s->io->server.pid);
    in = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    snprintf(path, sizeof(path), "%s-%d.out", s->pipes, (int)s->io->server.pid);
    out = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    ready.fd = out;
    ok = in >= 0 && out >= 0 && write(in, command, n) == (ssize_t)n && poll(&ready, 1, 5000) == 1 &&
         read(out, answer, sizeof(answer) - 1) > 0 && strtol(answer, NULL, 10) == 0;
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return ok;
}

static bool start(struct storm *s)
{
    bool ready;

    setenv("FIU_CTRL_FIFO", s->pipes, 1);
    setenv("FIU_ENABLE", "", 1);
    setenv("LD_PRELOAD", LIBRARIES, 1);
    server_start(&s->io->server);
    unsetenv("LD_PRELOAD");
    ready = server_wait_ready(&s->io->server);
    if (!ready) {
        char *text = server_output(&s->io->server);

        crash_problem(&s->io->run, "the server does not start: %s", text);
        mem_free(text);
    }
    return ready;
}

static void wait_acked(struct storm *s, const char *where)
{
    struct crash *run = &s->io->run;
    int target = atomic_load(&s->book->acked) + 10;
    int64_t until_ms = clock_mono_ms(&run->clock) + BACK_MS_MAX;

    while (atomic_load(&s->book->acked) < target && !server_ended(&s->io->server)) {
        if (clock_mono_ms(&run->clock) > until_ms) {
            crash_problem(run, "%s: writes are not taken again", where);
            return;
        }
        crash_sleep_us(POLL_US);
    }
}

static void one_gust(struct storm *s, const struct gust *g)
{
    struct io *io = s->io;
    char where[100], command[200];
    int n;

    snprintf(where, sizeof(where), "%s %s", g->point, g->error ? strerror(g->error) : "at will");
    crash_case_begin(&io->run);
    n = snprintf(command, sizeof(command), "enable_random name=%s,probability=%s", g->point,
                 g->probability);
    if (g->error)
        snprintf(command + n, sizeof(command) - (size_t)n, ",failinfo=%d", g->error);
    strncat(command, "\n", sizeof(command) - strlen(command) - 1);
    book_start(s->book);
    wait_acked(s, where);
    if (!fiu_ask(s, command))
        crash_problem(&io->run, "%s: libfiu does not take: %s", where, command);
    crash_sleep_us(STORM_MS * 1000);
    snprintf(command, sizeof(command), "disable name=%s\n", g->point);
    /* Its own pipes are among what fails. */
    for (int i = 0; i < 50 && !server_ended(&io->server) && !fiu_ask(s, command); i++)
        crash_sleep_us(10 * POLL_US);
    wait_acked(s, where);
    s->worse += s->book->refused + s->book->unsure > 0;
    if (server_ended(&io->server))
        crash_problem(&io->run, "%s: the server ended, status %d", where, io->server.status);
    server_kill(&io->server);
    book_stop(s->book);
    if (start(s))
        book_check(s->book, where);
    crash_case_end(&io->run);
}

void storm_part(struct io *io)
{
    struct storm s = {.io = io, .book = book_new(&io->run, ROWS, 500, 60000)};
    int times = io->run.nightly ? LULLS_NIGHTLY : 1;

    if (access(LIBRARY_DIR "/fiu_posix_preload.so", R_OK) != 0) {
        printf("SKIPPED: libfiu is not installed (fiu-utils)\n");
        io->run.skipped++;
        book_free(s.book);
        return;
    }
    snprintf(s.pipes, sizeof(s.pipes), "%.200s/fiu", io->run.work);
    if (!start(&s) || !book_create_table(s.book))
        crash_give_up(&io->run, "no server under libfiu");
    for (int i = 0; i < times * (int)PORT_COUNT(gusts) && io->server.pid; i++)
        one_gust(&s, &gusts[i % (int)PORT_COUNT(gusts)]);
    server_kill(&io->server);
    printf("  %d kinds of failures at random, %d times; writes were refused in %d\n",
           (int)PORT_COUNT(gusts), times, s.worse);
    book_free(s.book);
}
