#include "delayload/delayload.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Noreturn void end(const char *package, const char *why)
{
    fprintf(stderr, "widerow: %s (it is in the package %s)\n", why, package);
    exit(1);
}

/* Beside the program (a folder that it was built in), or where `make install` puts it. */
static void *open_near(const char *file)
{
    static const char *const folders[] = {"", "/../lib", "/../lib64"};
    char self[PATH_MAX / 2], path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    void *library = NULL;
    char *slash;

    if (len < 0)
        return NULL;
    self[len] = 0;
    slash = strrchr(self, '/');
    if (slash)
        *slash = 0;
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders) && !library; i++)
        if (snprintf(path, sizeof(path), "%s%s/%s", self, folders[i], file) < (int)sizeof(path))
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library;
}

void *delayload(const char *file, const char *package, const char *name,
                const char *(*check)(void *library))
{
    void *library = open_near(file), *found;
    const char *wrong;

    if (!library)
        library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        end(package, dlerror());
    wrong = check ? check(library) : NULL;
    if (wrong)
        end(package, wrong);
    found = dlsym(library, name);
    if (!found)
        end(package, dlerror());
    return found;
}

bool delayload_has(const char *file)
{
    return open_near(file) || dlopen(file, RTLD_NOW | RTLD_LOCAL);
}
