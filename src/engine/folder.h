/* folder.h: the data folder of an engine that keeps files: who may use it, and of what format it
 * is.
 *
 *     LOCK        held with flock() while a process has the folder open; its pid is in it
 *     VERSION     the line "widerow data 1"
 *     WATERMARK   see watermark.h
 *     WARM        see warm_list.h; of no value
 *     db/         the engine's own files
 *     db.new/     the same while a new folder is being made
 *     bulk/       table files that are being written; of no value until db/ takes them over
 *     scrub/      links to the files that are being verified; of no value
 *
 * A new folder is made in an order that a crash may cut anywhere: db.new, WATERMARK, VERSION, and
 * db.new renamed to db. Until VERSION is there nothing was ever acknowledged, so an unfinished
 * folder is simply made again; from then on everything must be there. */
#ifndef ENGINE_FOLDER_H
#define ENGINE_FOLDER_H

#include "base/ctx.h"

struct folder {
    char *dir;
    char *db, *db_new, *watermark, *version;
    int lock_fd;
    bool made; /* false: new or unfinished; db_new may hold remains */
};

/* Makes the folder if it is missing (its parent must exist), locks it and checks its VERSION.
 * E_PARAMETER: no such parent, or not a folder. E_UNAVAILABLE: not writable. E_LOCKED: open in
 * another process. E_FORMAT: of another format, or not a data folder. On success f must be closed.
 */
int folder_open(struct ctx *c, const char *dir, struct folder *f);

/* Opens a data folder for reading alone, without making or changing anything there. E_FORMAT: no
 * VERSION, or of another format; E_LOCKED: open in another process; E_UNAVAILABLE. */
int folder_open_source(struct ctx *c, const char *dir, struct folder *f);

/* Makes `dir`, if it is missing, and sees to it that it is empty, then opens it. E_PARAMETER with
 * the way out. *made_dir tells whether the folder was not there. */
int folder_open_target(struct ctx *c, const char *dir, struct folder *f, bool *made_dir);

/* Makes the names in the folder durable, then writes VERSION: with this it is a data folder. */
int folder_stamp(struct ctx *c, struct folder *f);

/* Removes the remains of a folder that was opened as a target and could not be filled, also the
 * folder itself if `made_dir`; closes f. */
void folder_abandon(struct folder *f, bool made_dir);

/* Removes what an unfinished making left, but for db.new. */
int folder_clear(struct ctx *c, struct folder *f);

/* The engine has made db.new and WATERMARK: makes the folder a data folder. */
int folder_finish(struct ctx *c, struct folder *f);

/* Makes names in `dir` durable. */
int folder_sync(struct ctx *c, const char *dir);

/* Bytes that can still be written there and bytes the file system has in all. False if the system
 * does not tell. */
bool folder_space(const struct folder *f, uint64_t *left, uint64_t *total);

void folder_close(struct folder *f);

#endif
