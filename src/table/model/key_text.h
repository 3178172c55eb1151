/* key_text.h: a row's key for the eyes of people, in error texts. */
#ifndef TABLE_MODEL_KEY_TEXT_H
#define TABLE_MODEL_KEY_TEXT_H

#include "base/arena.h"
#include "widerow.h"

/* "(pk=7, name='abc', raw=0x00ff)" in the arena. Long values are cut short. */
bytes key_text(struct arena *a, const struct wr_key *key);

#endif
