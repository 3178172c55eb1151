/* engine_program.h: the server's second program, which holds the engine on Ceph pools.
 *
 * widerowd itself does not link Ceph's client library, so that a machine without pools need not
 * have it. `widerowd-rados` is the same server with that engine linked in; it lies beside widerowd,
 * or in ../lib/widerow where it is installed. */
#ifndef SERVER_ENGINE_PROGRAM_H
#define SERVER_ENGINE_PROGRAM_H

/* Becomes that program, with the same arguments, environment and process id, if the engine is
 * "rados" and this is not it yet. Returns if it is, if another engine is meant, or if the program
 * is not there: then wr_open() says what to install. To be called before threads are started. */
void engine_program_become(const char *engine, char **argv);

#endif
