#include "engine/folder.h"

#include "base/durable.h"
#include "base/fault.h"
#include "base/lock_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define VERSION_LINE "widerow data 1\n"

static char *path_join(const char *dir, const char *name)
{
    size_t n = strlen(dir) + strlen(name) + 2;
    char *path = mem_alloc(n);

    snprintf(path, n, "%s/%s", dir, name);
    return path;
}

static bool path_exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

/* What went wrong with `path`, with the way out where there is one. */
static int path_fail(struct ctx *c, int error, const char *what, const char *path)
{
    switch (error) {
    case EACCES:
    case EPERM:
        return fail(c, E_UNAVAILABLE,
                    "Cannot %s %s: %s. Give it to user %d (chown, chmod), or use another folder.",
                    what, path, strerror(error), (int)geteuid());
    case EROFS:
        return fail(c, E_UNAVAILABLE,
                    "Cannot %s %s: %s. Mount it for writing, or use another folder.", what, path,
                    strerror(error));
    case ENOSPC:
    case EDQUOT:
        return fail(c, E_NO_SPACE, "Cannot %s %s: %s. Free some space and start again.", what, path,
                    strerror(error));
    default:
        return fail(c, E_UNAVAILABLE, "Cannot %s %s: %s.", what, path, strerror(error));
    }
}

int folder_sync(struct ctx *c, const char *dir)
{
    int error = durable_folder(dir);

    return error ? path_fail(c, error, "sync", dir) : E_OK;
}

static int make_dir(struct ctx *c, const char *dir)
{
    char *parent;
    struct stat st;
    int code;

    if (stat(dir, &st) == 0) {
        if (!S_ISDIR(st.st_mode))
            return fail(c, E_PARAMETER, "%s is a file, not a folder. Give another data folder.",
                        dir);
        return E_OK;
    }
    if (errno == ENOTDIR)
        return fail(c, E_PARAMETER,
                    "The data folder %s lies below something that is not a folder. Give another "
                    "data folder.",
                    dir);
    if (errno != ENOENT)
        return path_fail(c, errno, "look at", dir);
    if (mkdir(dir, 0700) != 0) {
        if (errno == ENOENT)
            return fail(c, E_PARAMETER,
                        "The data folder %s cannot be made: the folder above it does not exist. "
                        "Make that first (mkdir -p), or give another data folder.",
                        dir);
        return path_fail(c, errno, "make the data folder", dir);
    }
    parent = path_join(dir, "..");
    code = folder_sync(c, parent);
    mem_free(parent);
    return code;
}

static int lock(struct ctx *c, struct folder *f)
{
    char *path = path_join(f->dir, "LOCK");
    int code = E_OK;
    long holder;

    f->lock_fd = lock_file_take(path, &holder);
    if (f->lock_fd < 0 && errno == EWOULDBLOCK)
        code = fail(c, E_LOCKED,
                    "The data folder %s is open in another process (pid %ld). Stop that "
                    "process first, or give another data folder.",
                    f->dir, holder);
    else if (f->lock_fd < 0)
        code = path_fail(c, errno, "lock the data folder with", path);
    mem_free(path);
    return code;
}

static bool ends_with(const char *s, const char *tail)
{
    size_t n = strlen(s), t = strlen(tail);

    return n >= t && strcmp(s + n - t, tail) == 0;
}

/* A folder without VERSION may hold only what does not matter, or the remains of a making that was
 * cut off (which always begins with db.new). */
static int check_unmade(struct ctx *c, struct folder *f)
{
    bool begun = path_exists(f->db_new);
    DIR *d = opendir(f->dir);
    struct dirent *entry;
    int code = E_OK;

    if (!d)
        return path_fail(c, errno, "read", f->dir);
    while (code == E_OK && (entry = readdir(d))) {
        const char *name = entry->d_name;

        if (name[0] == '.' || strcmp(name, "LOCK") == 0 || strcmp(name, "lost+found") == 0 ||
            strcmp(name, "db.new") == 0 || strcmp(name, "credentials") == 0 ||
            ends_with(name, ".conf"))
            continue;
        if (begun && (strcmp(name, "WATERMARK") == 0 || strcmp(name, "VERSION.new") == 0))
            continue;
        if (strcmp(name, "db") == 0 || strcmp(name, "WATERMARK") == 0)
            code = fail(c, E_FORMAT,
                        "The data folder %s holds '%s' but no VERSION file, so its format is "
                        "unknown; this program reads 'widerow data 1'. Restore a backup, or, if "
                        "only VERSION was lost, write that line into it.",
                        f->dir, name);
        else
            code = fail(c, E_FORMAT,
                        "The folder %s is not a Widerow data folder: it has no VERSION file but "
                        "other files, such as '%s'. Give an empty folder, or one that does not "
                        "exist yet.",
                        f->dir, name);
    }
    closedir(d);
    return code;
}

/* `mend`: an unmade folder is fine, and the last step of its making is done. */
static int check_version(struct ctx *c, struct folder *f, bool mend)
{
    char text[64] = "";
    int fd = open(f->version, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0 && errno == ENOENT && mend)
        return check_unmade(c, f);
    if (fd < 0)
        return path_fail(c, errno, "open", f->version);
    n = pread(fd, text, sizeof(text) - 1, 0);
    close(fd);
    if (n < 0)
        return path_fail(c, errno, "read", f->version);
    if (strcmp(text, VERSION_LINE) != 0) {
        for (char *p = text; *p; p++)
            if (*p < ' ' || *p > '~')
                *p = p[1] ? '?' : 0;
        return fail(c, E_FORMAT,
                    "The data folder %s is of format '%s'; this program reads 'widerow data 1'. "
                    "Use the release that wrote it, or export from there and load here.",
                    f->dir, text);
    }
    f->made = true;
    /* The last step of folder_finish(), if a crash came before it. */
    if (mend && !path_exists(f->db) && path_exists(f->db_new)) {
        if (rename(f->db_new, f->db) != 0)
            return path_fail(c, errno, "rename", f->db_new);
        return folder_sync(c, f->dir);
    }
    return E_OK;
}

static void set_paths(struct folder *f, const char *dir)
{
    *f = (struct folder){.lock_fd = -1};
    f->dir = mem_strdup(dir);
    f->db = path_join(dir, "db");
    f->db_new = path_join(dir, "db.new");
    f->watermark = path_join(dir, "WATERMARK");
    f->version = path_join(dir, "VERSION");
}

int folder_open(struct ctx *c, const char *dir, struct folder *f)
{
    int code;

    *f = (struct folder){.lock_fd = -1};
    if (!*dir)
        return fail(c, E_PARAMETER, "The data folder's name is empty.");
    TRY(make_dir(c, dir));
    set_paths(f, dir);
    code = lock(c, f);
    if (code == E_OK)
        code = check_version(c, f, true);
    if (code != E_OK)
        folder_close(f);
    return code;
}

/* A backup may lie where nothing can be written, or never have been opened. */
static int lock_source(struct ctx *c, struct folder *f)
{
    char *path = path_join(f->dir, "LOCK");
    int code = E_OK;

    f->lock_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (f->lock_fd < 0 && errno != ENOENT)
        code = path_fail(c, errno, "open", path);
    else if (f->lock_fd >= 0 && flock(f->lock_fd, LOCK_SH | LOCK_NB) != 0)
        code = fail(c, E_LOCKED,
                    "The data folder %s is open in another process. A folder in use is copied with "
                    "'widerow backup'.",
                    f->dir);
    mem_free(path);
    return code;
}

int folder_open_source(struct ctx *c, const char *dir, struct folder *f)
{
    int code;

    set_paths(f, dir);
    if (!path_exists(f->version))
        code =
            fail(c, E_FORMAT,
                 "%s is not a whole backup: it has no VERSION file, which is written last.", dir);
    else
        code = check_version(c, f, false);
    if (code == E_OK)
        code = lock_source(c, f);
    if (code != E_OK)
        folder_close(f);
    return code;
}

/* What a new file system brings along does not count. */
static int check_empty(struct ctx *c, const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    int code = E_OK;

    if (!d)
        return path_fail(c, errno, "read", dir);
    while (code == E_OK && (entry = readdir(d))) {
        const char *name = entry->d_name;

        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, "lost+found") != 0)
            code = fail(c, E_PARAMETER,
                        "The folder %s is not empty: it holds '%s'. Nothing is overwritten; give "
                        "an empty folder, or one that does not exist yet.",
                        dir, name);
    }
    closedir(d);
    return code;
}

int folder_open_target(struct ctx *c, const char *dir, struct folder *f, bool *made_dir)
{
    *made_dir = !path_exists(dir);
    if (*dir)
        TRY(make_dir(c, dir));
    if (*dir && !*made_dir)
        TRY(check_empty(c, dir));
    return folder_open(c, dir, f);
}

void folder_abandon(struct folder *f, bool made_dir)
{
    char *lock_path = path_join(f->dir, "LOCK"), *version_new = path_join(f->dir, "VERSION.new");

    unlink(version_new);
    unlink(f->version);
    unlink(f->watermark);
    unlink(lock_path);
    if (made_dir)
        rmdir(f->dir);
    mem_free(version_new);
    mem_free(lock_path);
    folder_close(f);
}

int folder_clear(struct ctx *c, struct folder *f)
{
    if (unlink(f->watermark) != 0 && errno != ENOENT)
        return path_fail(c, errno, "remove", f->watermark);
    return E_OK;
}

static int write_version(struct ctx *c, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), error = 0;
    size_t n = strlen(VERSION_LINE);

    if (fd < 0)
        return path_fail(c, errno, "make", path);
    if (write(fd, VERSION_LINE, n) != (ssize_t)n || fsync(fd) != 0)
        error = errno ? errno : ENOSPC;
    close(fd);
    return error ? path_fail(c, error, "write", path) : E_OK;
}

int folder_stamp(struct ctx *c, struct folder *f)
{
    char *version_new = path_join(f->dir, "VERSION.new");
    int code = folder_sync(c, f->dir);

    if (code == E_OK)
        code = write_version(c, version_new);
    if (code == E_OK && rename(version_new, f->version) != 0)
        code = path_fail(c, errno, "rename", version_new);
    mem_free(version_new);
    TRY(code);
    return folder_sync(c, f->dir);
}

int folder_finish(struct ctx *c, struct folder *f)
{
    TRY(folder_stamp(c, f));
    if (fault_hit(FAULT_folder_half_made))
        return fail(c, E_UNAVAILABLE, "A fault was asked for.");
    if (rename(f->db_new, f->db) != 0)
        return path_fail(c, errno, "rename", f->db_new);
    TRY(folder_sync(c, f->dir));
    f->made = true;
    return E_OK;
}

bool folder_space(const struct folder *f, uint64_t *left, uint64_t *total)
{
    struct statvfs st;

    if (statvfs(f->dir, &st) != 0 || !st.f_blocks)
        return false;
    *left = (uint64_t)st.f_bavail * st.f_frsize;
    *total = (uint64_t)st.f_blocks * st.f_frsize;
    return true;
}

void folder_close(struct folder *f)
{
    if (f->lock_fd >= 0)
        close(f->lock_fd);
    f->lock_fd = -1;
    mem_free(f->dir);
    mem_free(f->db);
    mem_free(f->db_new);
    mem_free(f->watermark);
    mem_free(f->version);
    f->dir = f->db = f->db_new = f->watermark = f->version = NULL;
}
