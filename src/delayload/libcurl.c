/* libcurl.c: libcurl's functions, for requests to a server. It brings some thirty libraries along.
 */
#define CURL_DISABLE_TYPECHECK
#include "delayload/delayload.h"

#include <curl/curl.h>
#include <stdarg.h>
#include <stdatomic.h>

#define LIBRARY "libcurl.so.4"
#define PACKAGE "libcurl4"
#define CHECK NULL

#undef curl_easy_setopt
#undef curl_easy_getinfo

DELAYLOAD(CURL *, curl_easy_init, (void), ())
DELAYLOAD(CURL *, curl_easy_duphandle, (CURL * curl), (curl))
DELAYLOAD(CURLcode, curl_easy_perform, (CURL * curl), (curl))
DELAYLOAD(const char *, curl_easy_strerror, (CURLcode code), (code))
DELAYLOAD_VOID(curl_easy_cleanup, (CURL * curl), (curl))
DELAYLOAD(struct curl_slist *, curl_slist_append, (struct curl_slist * list, const char *data),
          (list, data))
DELAYLOAD_VOID(curl_slist_free_all, (struct curl_slist * list), (list))

/* The third argument of these two is a pointer, a long or a curl_off_t, by the option. All are
 * passed alike. */
_Static_assert(sizeof(long) == sizeof(void *) && sizeof(curl_off_t) == sizeof(void *), "");

CURLcode curl_easy_setopt(CURL *curl, CURLoption option, ...)
{
    DELAYLOAD_FIND(curl_easy_setopt)
    va_list a;
    void *value;

    va_start(a, option);
    value = va_arg(a, void *);
    va_end(a);
    return f(curl, option, value);
}

CURLcode curl_easy_getinfo(CURL *curl, CURLINFO info, ...)
{
    DELAYLOAD_FIND(curl_easy_getinfo)
    va_list a;
    void *value;

    va_start(a, info);
    value = va_arg(a, void *);
    va_end(a);
    return f(curl, info, value);
}
