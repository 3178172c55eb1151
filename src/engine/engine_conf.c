/* engine_conf.c: what settings of an engine stand for when they are left out. */
#include "engine/engine.h"

#define MEMORY_BYTES_DEFAULT (256ull << 20)
#define UNSYNCED_BYTES_LEAST (8ull << 20)
#define UNSYNCED_BYTES_MOST (128ull << 20)

uint64_t engine_unsynced_bytes_max(const struct engine_conf *conf)
{
    uint64_t memory = conf->memory_bytes ? conf->memory_bytes : MEMORY_BYTES_DEFAULT;
    uint64_t share = memory / 7 * 2;

    if (conf->unsynced_bytes_max)
        return conf->unsynced_bytes_max;
    return share < UNSYNCED_BYTES_LEAST  ? UNSYNCED_BYTES_LEAST
           : share > UNSYNCED_BYTES_MOST ? UNSYNCED_BYTES_MOST
                                         : share;
}
