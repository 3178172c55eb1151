/* search_store.h: where the segments of search indexes are stored: in pieces beside the table's
 * change log, under its storage id, so that they go with it (doc/format.md, "Search indexes").
 *
 *   location of the log | kind 6 | index (8) | segment (8) | piece (4)
 *   location of the log | kind 7 | index (8)                             its state (search_state.h)
 *   location of the log | kind 7 | index (8) | segment (8)               what is gone of a segment
 *
 * Piece 0 is the segment's head, 1 and on are its image. What changes does not lie among them, for
 * files of pieces would be written again with it. Each has a checksum. Segments have numbers that
 * no other ever had, so a number that the state does not name belongs to nobody, and small ones go
 * through the engine's log while large ones go past it. All of it blocks; threads of the feed and
 * of searches. */
#ifndef TABLE_SEARCH_SEARCH_STORE_H
#define TABLE_SEARCH_SEARCH_STORE_H

#include "search/segment/view.h"
#include "table/core/db.h"
#include "table/model/batch_builder.h"

#define SEARCH_PIECE_BYTES ((size_t)32 << 10)
#define SEARCH_PIECE_HEAD 0u
#define SEARCH_PIECE_GONE UINT32_MAX /* the bitmap, in its checksum */

/* An index's place. */
struct search_store {
    struct wr_db *db;
    uint32_t location; /* of the table's change log */
    uint64_t index;    /* its number */
};

/* Is anything stored? Not where all data is in memory anyway. */
bool search_stores(struct wr_db *db);

/* A piece as it is stored, in the arena; and back, a view of it: NULL, or what is wrong with it. */
bytes search_piece_seal(struct arena *a, bytes data, uint64_t segment, uint32_t piece);
const char *search_piece_open(bytes stored, uint64_t segment, uint32_t piece, bytes *data);

/* A stored piece, verified, in the arena. E_CORRUPT: it is damaged, or it is not there. */
int search_store_get(struct ctx *c, const struct search_store *s, uint64_t segment, uint32_t piece,
                     bytes *data);

/* Stores a segment that is in memory whole under a number that was never used. It is durable
 * then. */
int search_store_put(struct ctx *c, const struct search_store *s, uint64_t number,
                     const struct segment *segment);

/* The segment as its head has it: its parts are read when they are held, by search_store_read() at
 * the latest. E_CORRUPT: damaged, or of another schema. */
int search_store_open(struct ctx *c, const struct search_store *s, uint64_t number,
                      const struct search_schema *schema, struct segment_owner *owner,
                      struct part_cache *cache, struct segment **out);

/* Reads `len` bytes of a segment's image, which has `whole`, from `at` on. */
int search_store_read(struct ctx *c, const struct search_store *s, uint64_t number, uint64_t whole,
                      uint64_t at, uint64_t len, uint8_t *to);

/* Is a segment of so many bytes so small that its pieces are removed one by one, with what else a
 * batch does? These edits remove them, and its bitmap, of whatever size it is. */
bool search_store_is_small(uint64_t len);
void search_store_remove_edits(struct batch_builder *e, const struct search_store *s,
                               uint64_t number, uint64_t len);

/* Removes a large segment; its bitmap goes by search_store_remove_edits(). */
int search_store_remove(struct ctx *c, const struct search_store *s, uint64_t number);

/* Removes all segments of the index, whatever is damaged. */
int search_store_clear(struct ctx *c, const struct search_store *s);

/* The bitmap of what is gone of a segment: an edit that stores it; and back, with a reference. */
void search_store_gone_edit(struct batch_builder *e, const struct search_store *s, uint64_t number,
                            const struct dead *d, uint32_t documents);
int search_store_gone(struct ctx *c, const struct search_store *s, uint64_t number,
                      uint32_t documents, struct dead **out);

/* Has the range keys of what is stored of the index? */
bool search_store_overlaps(const struct search_store *s, const struct key_range *range);

/* The key of an index's state. */
bytes search_store_state_key(struct arena *a, const struct search_store *s);

/* Removes what is stored beside the change log `s->location` and belongs to nobody: of an index
 * that is not among `indexes`; or with `index`, that index's segments not among `segments`. */
int search_store_sweep(struct ctx *c, const struct search_store *s, const uint64_t *indexes,
                       size_t count);
int search_store_sweep_segments(struct ctx *c, const struct search_store *s,
                                const uint64_t *segments, size_t count);

#endif
