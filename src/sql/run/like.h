/* like.h: LIKE of lists that SHOW makes: % stands for any bytes, _ for one. */
#ifndef SQL_RUN_LIKE_H
#define SQL_RUN_LIKE_H

#include "base/bytes.h"

bool is_like(bytes text, bytes pattern);

#endif
