#include "server/service.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void service_tell(const char *state)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = name ? strlen(name) : 0;
    int fd;

    if (len < 2 || len >= sizeof(to.sun_path) || (name[0] != '/' && name[0] != '@'))
        return;
    memcpy(to.sun_path, name, len);
    if (name[0] == '@') /* without a file: Linux's abstract names begin with a zero */
        to.sun_path[0] = 0;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    close(fd);
}
