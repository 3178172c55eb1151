/* engine_program.h: programs of engines that the server itself does not link.
 *
 * An engine may need libraries that most machines do not have. The same server with engine NAME
 * linked in is then the program widerowd-NAME; it lies beside widerowd, or in ../lib/widerow where
 * it is installed. */
#ifndef SERVER_ENGINE_PROGRAM_H
#define SERVER_ENGINE_PROGRAM_H

/* Becomes the program of that engine, with the same arguments, environment and process id. Returns
 * if this is it, or if there is none: wr_open() then opens the engine, or says what to install. To
 * be called before threads are started. */
void engine_program_become(const char *engine, char **argv);

#endif
