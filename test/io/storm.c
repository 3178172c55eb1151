#include "io.h"
void storm_part(struct io *io)
{
    (void)io;
}
