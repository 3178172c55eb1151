#include "base/thread.h"

bool thread_start(pthread_t *out, const char *name, void *(*run)(void *arg), void *arg)
{
    if (pthread_create(out, NULL, run, arg) != 0)
        return false;
    (void)pthread_setname_np(*out, name); /* a name that is missing is no fault */
    return true;
}
