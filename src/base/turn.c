#include "base/turn.h"

static _Thread_local bool waits;

void turn_wait_here(bool may)
{
    waits = may;
}

bool turn_waits_here(void)
{
    return waits;
}
