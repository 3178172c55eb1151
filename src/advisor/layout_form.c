#include "advisor/layout_form.h"

#include <stdio.h>

const char *layout_form_format(struct layout_form layout, char *out)
{
    static const char *const names[] = {"plain", "hash", "splice", "reverse", "random"};

    if (layout.kind == LAYOUT_FORM_PLAIN)
        snprintf(out, LAYOUT_FORM_BYTES, "plain");
    else
        snprintf(out, LAYOUT_FORM_BYTES, "%s:%u", names[layout.kind], layout.n);
    return out;
}
