/* libwiderow.c: the database itself, for commands on a closed folder, and what it is built on. Only
 * the very version of this program will do, since both read and write the same folders. */
#include "delayload/delayload.h"
#include "widerow.h"
#include "widerow_load.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#define LIBRARY "libwiderow.so.0"
#define PACKAGE "libwiderow0"
#define CHECK check_version

static const char *check_version(void *library)
{
    __typeof__(wr_version) *version;

    *(void **)&version = dlsym(library, "wr_version");
    if (!version || strcmp(version(), wr_version()) != 0)
        return LIBRARY " is of another version than this program";
    return NULL;
}

DELAYLOAD(int, wr_open,
          (const struct wr_options *options, struct wr_db **out, char *message, size_t size),
          (options, out, message, size))
DELAYLOAD_VOID(wr_close, (struct wr_db * db), (db))
DELAYLOAD_VOID(wr_submit,
               (struct wr_db * db, const struct wr_request *request, wr_done_fn *done, void *arg),
               (db, request, done, arg))
DELAYLOAD(struct wr_reply *, wr_exec, (struct wr_db * db, const struct wr_request *request),
          (db, request))
DELAYLOAD_VOID(wr_reply_free, (struct wr_reply * reply), (reply))
DELAYLOAD(int, wr_backup, (struct wr_db * db, const char *dir, char *message, size_t size),
          (db, dir, message, size))
DELAYLOAD(int, wr_restore, (const char *from, const char *dir, char *message, size_t size),
          (from, dir, message, size))
DELAYLOAD(int, wr_cell_writer_open,
          (struct wr_db * db, const struct wr_cell_put *put, struct wr_cell_writer **out,
           char *message, size_t size),
          (db, put, out, message, size))
DELAYLOAD(ptrdiff_t, wr_cell_write,
          (struct wr_cell_writer * w, const void *data, size_t size, wr_ready_fn *ready, void *arg),
          (w, data, size, ready, arg))
DELAYLOAD(struct wr_reply *, wr_cell_finish_wait, (struct wr_cell_writer * w), (w))
DELAYLOAD_VOID(wr_cell_writer_free, (struct wr_cell_writer * w), (w))
DELAYLOAD(int, wr_cell_reader_open,
          (struct wr_db * db, const struct wr_cell_get *get, struct wr_cell_reader **out,
           struct wr_cell_info *info, char *message, size_t size),
          (db, get, out, info, message, size))
DELAYLOAD(ptrdiff_t, wr_cell_read,
          (struct wr_cell_reader * r, uint64_t offset, void *to, size_t size, wr_ready_fn *ready,
           void *arg),
          (r, offset, to, size, ready, arg))
DELAYLOAD(int, wr_cell_reader_error, (struct wr_cell_reader * r, char *message, size_t size),
          (r, message, size))
DELAYLOAD_VOID(wr_cell_reader_free, (struct wr_cell_reader * r), (r))
DELAYLOAD(int, wr_load_open,
          (struct wr_db * db, struct wr_bytes instance, struct wr_bytes table, const char *dir,
           size_t memory_bytes, struct wr_load **out, char *message, size_t size),
          (db, instance, table, dir, memory_bytes, out, message, size))
DELAYLOAD(int, wr_load_put,
          (struct wr_load * load, const struct wr_row *row, char *message, size_t size),
          (load, row, message, size))
DELAYLOAD(int, wr_load_finish, (struct wr_load * load, uint64_t *rows, char *message, size_t size),
          (load, rows, message, size))
DELAYLOAD_VOID(wr_load_free, (struct wr_load * load), (load))
