/* door_beside.h: SQL beside another door to the same database (door_beside.c). */
#ifndef SPEC_DOOR_BESIDE_H
#define SPEC_DOOR_BESIDE_H

#include "door.h"

struct door_login {
    unsigned port; /* on 127.0.0.1 */
    const char *user, *password, *instance;
};

/* Requests by how they were said. */
struct door_said {
    unsigned written, read, refused, others; /* in SQL, statements refused, not in SQL */
};

/* Owns `other`, also when it fails: NULL, with a line in `message`. */
struct door *door_beside_open(struct door *other, const struct door_login *login, char *message,
                              size_t size);

struct door_said door_beside_said(const struct door *d);

#endif
