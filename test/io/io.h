/* io.h: disk full and I/O errors, seen through the HTTP port of a real server.
 *
 * Built on the crash tests' server, client and counting (test/crash/server.h, door.h, crash.h);
 * what is added here is the shared page with the failing library, and the admin port. */
#ifndef IO_IO_H
#define IO_IO_H

#include "book.h"
#include "control.h"
#include "crash.h"
#include "server.h"

struct io {
    struct crash run;
    const char *preload; /* preload.c, built */
    struct io_control *control;
    char control_file[256];
    char admin_address[32];
    int admin_port;
    struct server server;
};

/* Gives the process ports, a control page and a server on `dir`, all below run.work. */
void io_init(struct io *io, const char *dir);

/* Clears the page: nothing fails any more, all counts are 0. */
void io_disarm(struct io *io);

/* Starts the server, with the failing library in it, and waits until it is ready. False: it has
 * ended. */
bool io_start(struct io *io);

/* The same; false with a problem that tells what the server said. */
bool io_start_well(struct io *io, const char *where);

/* The HTTP status of /readyz; 0: no answer. The first bytes of the body go into `text`. */
int io_readyz(struct io *io, char *text, size_t size);

/* Zeroes what failed syncs of the dead server were to lose late. */
void io_lose_late(struct io *io);

const char *io_call_name(enum io_call call);

/* The parts. */
void nth_part(struct io *io);
void full_part(struct io *io);
void storm_part(struct io *io);

#endif
