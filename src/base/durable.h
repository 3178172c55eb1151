/* durable.h: files that take another one's place, on the disk before they do: after a kill or a
 * power cut there is the old one or the new one, whole. All functions return 0, or errno. */
#ifndef BASE_DURABLE_H
#define BASE_DURABLE_H

#include "base/bytes.h"

#include <sys/types.h>

/* Makes `path` a file of `data` and `mode` (less the umask). It is written as `made`, in the same
 * folder, which is replaced if it is there and is gone after a failure. */
int durable_replace(const char *path, const char *made, mode_t mode, bytes data);

/* Gives a file, which has been synced, the name `path`, in the same folder, and makes that durable;
 * but in a folder that may not be read, or whose file system does not sync folders, as far as the
 * system does by itself. After a failure to sync the file has its new name. */
int durable_rename(const char *made, const char *path);

/* Makes the names in a folder durable. EINVAL: its file system does not sync folders. */
int durable_folder(const char *folder);

#endif
