/* answers.h: what this server answers when another one asks about a table (peers.h). */
#ifndef TABLE_ADMIN_ANSWERS_H
#define TABLE_ADMIN_ANSWERS_H

#include "table/catalog/peers.h"

peers_answer_fn heat_answer;    /* describe_heat.c */
peers_answer_fn traffic_answer; /* traffic.c */
peers_answer_fn sizes_answer;   /* sizes.c */

#endif
