#include "base/spelling.h"

#include <stdint.h>
#include <string.h>

#define NAME_BYTES_MAX 63

/* Letters to insert, drop or change to get from a to b. */
static size_t distance(const char *a, const char *b)
{
    size_t row[NAME_BYTES_MAX + 1], n = strlen(a), m = strlen(b);

    if (n > NAME_BYTES_MAX || m > NAME_BYTES_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t replaced = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            row[j] = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            if (replaced < row[j])
                row[j] = replaced;
        }
    }
    return row[m];
}

void spelling_init(struct spelling *s, const char *text)
{
    size_t n = strlen(text), far = n / 3 + 2;

    /* Farther away it is no typing error, nor where no letter is the same. */
    *s = (struct spelling){.text = text, .distance = n < far ? n : far};
}

void spelling_offer(struct spelling *s, const char *name)
{
    size_t d = distance(s->text, name);

    if (d < s->distance) {
        s->distance = d;
        s->nearest = name;
    }
}
