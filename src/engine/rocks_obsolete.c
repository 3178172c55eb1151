/* rocks_obsolete.c: table files that nobody refers to any more.
 *
 * RocksDB removes a file when it was erased or compacted away, unless somebody reads it at that
 * moment. Then whoever lets go of it last has to, and that is what iterators do; single gets and
 * questions for sizes leave it to the next flush or compaction. Where nobody writes none comes, and
 * the space of a dropped table or a replaced cell is not given back. So after keys were erased the
 * room thread looks until the folder has no table file that the database does not know. */
#include "engine/rocks.h"

#include <dirent.h>

static int folder_tables(const struct rocks *r)
{
    DIR *d = opendir(r->folder.db);
    struct dirent *entry;
    int count = 0;

    while (d && (entry = readdir(d))) {
        size_t n = strlen(entry->d_name);

        count += n > 4 && strcmp(entry->d_name + n - 4, ".sst") == 0;
    }
    if (d)
        closedir(d);
    return count;
}

static int known_tables(struct handle *h)
{
    const rocksdb_livefiles_t *files = rocksdb_livefiles(h->db);
    int count = rocksdb_livefiles_count(files);

    rocksdb_livefiles_destroy(files);
    return count;
}

/* Files are being made that are not known yet. */
static bool is_making(struct handle *h)
{
    return rocks_property(h, "rocksdb.num-running-compactions") ||
           rocks_property(h, "rocksdb.num-running-flushes");
}

/* To let deletions go on is to have all of them made up for; a backup that holds them off goes on
 * to do so. */
static void purge(struct handle *h)
{
    char *err = NULL;

    rocksdb_disable_file_deletions(h->db, &err);
    rocksdb_free(err);
    err = NULL;
    rocksdb_enable_file_deletions(h->db, 0, &err);
    rocksdb_free(err);
}

void rocks_obsolete_look(struct rocks *r, struct handle *h)
{
    if (!atomic_exchange(&r->erased, false))
        return;
    if (!is_making(h)) {
        if (folder_tables(r) <= known_tables(h))
            return;
        purge(h);
    }
    atomic_store(&r->erased, true); /* it looks again */
}
