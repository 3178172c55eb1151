/* sql_text.h: statements out of what is typed or piped in. */
#ifndef CLI_SQL_TEXT_H
#define CLI_SQL_TEXT_H

#include "base/bytes.h"
#include "base/port.h"

struct sql_text {
    bytes statement; /* without what ends it; may be empty */
    bool vertical;   /* it ended with \G */
    size_t end;      /* where the next one begins */
};

/* The first statement of the text: as far as a ; or \G outside of quotes and comments. False: none
 * ends in it; out->statement is all of it then. */
bool sql_text_next(bytes text, struct sql_text *out);

/* Is there anything but blanks and comments? */
bool sql_text_is_empty(bytes text);

/* Is the line a statement rather than a command of ours? It begins with a word of SQL, and ends
 * with ; or \G if that is a command's, too (`create`, `drop`, ...). */
bool sql_text_is_statement(const char *line, bool command);

/* What a word may be that stands behind a part of a statement. */
enum sql_place {
    SQL_PLACE_NONE,      /* in quotes or in a comment */
    SQL_PLACE_STATEMENT, /* it begins one */
    SQL_PLACE_TABLE,
    SQL_PLACE_COLUMN, /* or a keyword */
};

struct sql_cursor {
    enum sql_place place;
    bytes word;  /* what stands there of it */
    bytes table; /* of table.word; ptr NULL: there is none */
    bytes text;  /* the statement so far */
};

/* Where the end of the text is, of which statements that have ended are passed over. */
struct sql_cursor sql_text_cursor(bytes text);

/* Does the name stand in the text, as a word? */
bool sql_text_names(bytes text, bytes name);

#endif
