#include "widerow.h"

/* The file VERSION, which the build gives as bare words. */
#define TEXT(words) #words
#define VERSION_TEXT(words) TEXT(words)

const char *wr_version(void)
{
    return VERSION_TEXT(WR_VERSION);
}
