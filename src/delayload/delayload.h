/* delayload.h: shared libraries that only some commands of a program need are loaded when the first
 * function of theirs is called, so that all others start sooner and need less installed. A file
 * beside this one defines such functions under their own names and passes each call on; a program
 * is linked with it instead of with the library. */
#ifndef DELAYLOAD_H
#define DELAYLOAD_H

#include <stdbool.h>

/* The function of that name in the shared library `file`, which is looked for beside the running
 * program, in ../lib and ../lib64 from there and where the system has its libraries. Not there, or
 * of another version than check() wants (NULL: of any; it gets the library's handle and says what
 * is wrong, or NULL): one line that names `package` to install, and the process ends with status 1.
 * The handle stays open. Any thread. */
void *delayload(const char *file, const char *package, const char *name,
                const char *(*check)(void *library));

/* Would it be found? Then it is open from now on. */
bool delayload_has(const char *file);

/* Defines the function `name` of the library LIBRARY in package PACKAGE, checked by CHECK. */
#define DELAYLOAD_FIND(name)                                                                       \
    static __typeof__(name) *_Atomic found;                                                        \
    __typeof__(name) *f = atomic_load_explicit(&found, memory_order_acquire);                      \
                                                                                                   \
    if (!f) {                                                                                      \
        *(void **)&f = delayload(LIBRARY, PACKAGE, #name, CHECK);                                  \
        atomic_store_explicit(&found, f, memory_order_release);                                    \
    }

#define DELAYLOAD(type, name, parameters, arguments)                                               \
    type name parameters                                                                           \
    {                                                                                              \
        DELAYLOAD_FIND(name)                                                                       \
        return f arguments;                                                                        \
    }

#define DELAYLOAD_VOID(name, parameters, arguments)                                                \
    void name parameters                                                                           \
    {                                                                                              \
        DELAYLOAD_FIND(name)                                                                       \
        f arguments;                                                                               \
    }

#endif
