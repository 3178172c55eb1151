#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void file_copy(struct crash *run, const char *from, const char *to)
{
    static char block[1 << 16];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t n;

    if (in < 0 || out < 0)
        crash_give_up(run, "cannot copy %s to %s: %s", from, to, strerror(errno));
    while ((n = read(in, block, sizeof(block))) > 0)
        if (write(out, block, (size_t)n) != n)
            crash_give_up(run, "cannot write %s: %s", to, strerror(errno));
    close(in);
    close(out);
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

void tree_copy(struct crash *run, const char *from, const char *to)
{
    DIR *d = opendir(from);
    struct dirent *entry;

    if (!d || mkdir(to, 0700) != 0)
        crash_give_up(run, "cannot copy %s to %s: %s", from, to, strerror(errno));
    while ((entry = readdir(d))) {
        char source[600], target[600];
        struct stat st;

        if (is_dots(entry->d_name))
            continue;
        snprintf(source, sizeof(source), "%s/%s", from, entry->d_name);
        snprintf(target, sizeof(target), "%s/%s", to, entry->d_name);
        if (lstat(source, &st) == 0 && S_ISDIR(st.st_mode))
            tree_copy(run, source, target);
        else if (S_ISREG(st.st_mode))
            file_copy(run, source, target);
    }
    closedir(d);
}

void tree_remove(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *entry;

    if (!d)
        return;
    while ((entry = readdir(d))) {
        char path[600];

        if (is_dots(entry->d_name))
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
        if (unlink(path) != 0)
            tree_remove(path);
    }
    closedir(d);
    rmdir(dir);
}

static void list(struct crash *run, const char *dir, const char *head, struct tree *out)
{
    char path[600];
    struct dirent *entry;
    DIR *d;

    snprintf(path, sizeof(path), "%s/%s", dir, head);
    d = opendir(path);
    if (!d)
        crash_give_up(run, "cannot list %s: %s", path, strerror(errno));
    while ((entry = readdir(d))) {
        struct tree_file *f = &out->files[out->count];
        struct stat st;

        if (is_dots(entry->d_name))
            continue;
        if (out->count == TREE_FILES_MAX)
            crash_give_up(run, "too many files in %s", dir);
        snprintf(f->name, sizeof(f->name), "%s%.150s", head, entry->d_name);
        snprintf(path, sizeof(path), "%s/%s", dir, f->name);
        if (lstat(path, &st) != 0)
            continue;
        f->size = st.st_size;
        if (S_ISREG(st.st_mode)) {
            out->count++;
        } else if (S_ISDIR(st.st_mode)) {
            char below[200];

            snprintf(below, sizeof(below), "%.190s/", f->name);
            list(run, dir, below, out);
        }
    }
    closedir(d);
}

static int file_compare(const void *a, const void *b)
{
    return strcmp(((const struct tree_file *)a)->name, ((const struct tree_file *)b)->name);
}

void tree_list(struct crash *run, const char *dir, struct tree *out)
{
    out->count = 0;
    list(run, dir, "", out);
    qsort(out->files, (size_t)out->count, sizeof(out->files[0]), file_compare);
}

const struct tree_file *tree_find(const struct tree *t, const char *head, const char *tail)
{
    for (int i = t->count - 1; i >= 0; i--) {
        const struct tree_file *f = &t->files[i];
        size_t n = strlen(f->name), m = strlen(tail);

        if (f->size && strncmp(f->name, head, strlen(head)) == 0 && n >= m &&
            strcmp(f->name + n - m, tail) == 0)
            return f;
    }
    return NULL;
}

static int file_open(struct crash *run, const char *dir, const char *name)
{
    char path[600];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0)
        crash_give_up(run, "cannot open %s: %s", path, strerror(errno));
    return fd;
}

void file_flip_bit(struct crash *run, const char *dir, const char *name, off_t at, int bit)
{
    int fd = file_open(run, dir, name);
    uint8_t byte;

    if (pread(fd, &byte, 1, at) != 1)
        crash_give_up(run, "cannot read %s", name);
    byte ^= (uint8_t)(1 << bit);
    if (pwrite(fd, &byte, 1, at) != 1)
        crash_give_up(run, "cannot write %s", name);
    close(fd);
}

void file_truncate(struct crash *run, const char *dir, const char *name, off_t size)
{
    int fd = file_open(run, dir, name);

    if (ftruncate(fd, size) != 0)
        crash_give_up(run, "cannot truncate %s", name);
    close(fd);
}

void file_delete(struct crash *run, const char *dir, const char *name)
{
    char path[600];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    if (unlink(path) != 0)
        crash_give_up(run, "cannot delete %s", path);
}

void file_write(struct crash *run, const char *dir, const char *name, off_t at, const void *data,
                size_t n)
{
    int fd = file_open(run, dir, name);

    if (pwrite(fd, data, n, at) != (ssize_t)n)
        crash_give_up(run, "cannot write %s", name);
    close(fd);
}
