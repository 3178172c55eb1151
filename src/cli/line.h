/* line.h: lines from a person: on a terminal with editing, history and completion by libedit, which
 * is loaded when the first line is read; elsewhere as they come. */
#ifndef CLI_LINE_H
#define CLI_LINE_H

#include "base/arena.h"

#define LINE_OFFERS_MAX 512

/* What may stand in place of the word that the cursor is behind. Texts are in `arena`. */
struct line_offers {
    struct arena *arena;
    const char *word; /* what stands there of it */
    const char *texts[LINE_OFFERS_MAX];
    size_t count;
    bool open; /* a word goes on behind what is offered ("COLUMN="): no blank is put behind it */
};

/* `text` is what stands in front of the cursor. */
typedef void line_offer_fn(void *arg, const char *text, struct line_offers *out);

struct line;

/* `editing`: from a terminal. `history`: the file that keeps what was typed, made so that only the
 * user may read it; NULL: none. */
struct line *line_open(bool editing, const char *history, line_offer_fn *offer, void *arg);

/* The next line without its end, until the next call. NULL: there is none. "" behind Ctrl-C. */
const char *line_read(struct line *l, const char *prompt);

/* Was the line read last one that Ctrl-C ended? */
bool line_interrupted(const struct line *l);

/* Puts a line into the history. */
void line_keep(struct line *l, const char *text);

void line_close(struct line *l);

/* Adds an offer if it begins with the word. */
void line_offer(struct line_offers *o, const char *text, size_t size);

#endif
