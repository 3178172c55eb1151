#include "server/engine_program.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void engine_program_become(const char *engine, char **argv)
{
    static const char *const folders[] = {"", "/../lib/widerow"};
    char self[PATH_MAX / 2], name[64], program[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;

    if (len < 0 || strchr(engine, '/') ||
        snprintf(name, sizeof(name), "/widerowd-%s", engine) >= (int)sizeof(name))
        return;
    self[len] = 0;
    slash = strrchr(self, '/');
    if (!slash || strcmp(slash, name) == 0)
        return;
    *slash = 0;
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        snprintf(program, sizeof(program), "%s%s%s", self, folders[i], name);
        execv(program, argv);
    }
}
