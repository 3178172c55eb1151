#include "cli/transfer/stop.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t wanted;

static void on_stop(int sig)
{
    (void)sig;
    wanted = 1;
}

void stop_catch(void)
{
    struct sigaction action = {.sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool stop_wanted(void)
{
    return wanted;
}
