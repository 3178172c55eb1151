/* lock_file.h: a file that one process at a time holds, by flock(): the lock goes with its process,
 * and a stale one cannot be. Its holder's pid is in the file, for people. */
#ifndef BASE_LOCK_FILE_H
#define BASE_LOCK_FILE_H

/* Takes the lock, and makes the file if it is missing. The descriptor, which holds it until it is
 * closed; or -1 with errno: EWOULDBLOCK when another process has it, *holder then being the pid in
 * it (0: none can be read). */
int lock_file_take(const char *path, long *holder);

#endif
