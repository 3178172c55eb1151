#include "cli/sides.h"

int sides_open(struct ctx *c, const struct target_conf *from, const struct target_conf *to,
               struct target *source, struct target *target)
{
    if (!from->endpoint || !to->endpoint)
        return fail(c, E_PARAMETER, "--from URL and --to URL say which servers");
    TRY(target_open(c, from, source));
    TRY(target_open(c, to, target));
    if (strcmp(source->endpoint, target->endpoint) == 0 &&
        bytes_equal(source->instance, target->instance))
        return fail(c, E_PARAMETER, "--from and --to are the same instance of the same server");
    return 0;
}
