#include "server/key_file.h"

#include "base/durable.h"
#include "base/err.h"
#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int key_file_read(const char *file, struct log *log, char **out, char *message, size_t size)
{
    /* A pipe would be waited for. */
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    struct stat st;
    size_t n;

    if (!f)
        return err_refuse(message, size, E_PARAMETER, "cannot read %s: %s. Check who owns it.",
                          file, strerror(errno));
    if (fstat(fileno(f), &st) || !S_ISREG(st.st_mode) || st.st_size > KEY_FILE_BYTES_MAX) {
        fclose(f);
        return err_refuse(message, size, E_PARAMETER,
                          "%s is not a file of at most 1 MiB. Put it right or remove it.", file);
    }
    if (log && st.st_mode & 077)
        log_warn(log, "credentials: others may read %s; run chmod 600 on it", file);
    *out = mem_zalloc((size_t)st.st_size + 1);
    n = fread(*out, 1, (size_t)st.st_size, f);
    fclose(f);
    (*out)[n] = 0;
    return E_OK;
}

/* The process in the temporary name: two may share a folder where they share the data. */
int key_file_write(const char *file, const char *text, char *message, size_t size)
{
    char temporary[4096];
    int error;

    snprintf(temporary, sizeof(temporary), "%s.%d.new", file, (int)getpid());
    error = durable_replace(file, temporary, 0600, bytes_str(text));
    if (error)
        return err_refuse(message, size, E_PARAMETER,
                          "cannot write %s: %s. Check who owns the data folder.", file,
                          strerror(error));
    return E_OK;
}

void key_file_free(char *text)
{
    if (text)
        OPENSSL_cleanse(text, strlen(text));
    mem_free(text);
}
