/* bench_post.h: the HTTP heads of a benchmark: a request's is filled into a form made once for its
 * operation, an answer's is looked for where the one before had it. */
#ifndef BENCH_BENCH_POST_H
#define BENCH_BENCH_POST_H

#include "base/bytes.h"
#include "wire/sign.h"

#define POST_HEAD_BYTES_MAX 2048 /* of a request's head */

/* The head of requests to one path, and the text that is signed for it. */
struct bench_post {
    struct sign_key key;
    char head[POST_HEAD_BYTES_MAX], text[POST_HEAD_BYTES_MAX];
    size_t head_len, text_len;
    size_t head_length, head_md5, head_date, head_signature; /* where these stand in `head` */
    size_t text_md5, text_date;                              /* and in `text` */
};

/* Who asks, and whom. */
struct bench_post_conf {
    const char *host; /* with its port */
    const char *path; /* "/GetRow" */
    bytes instance, key_id, key_secret;
};

/* False if the names are too long for a head. */
bool bench_post_init(struct bench_post *p, const struct bench_post_conf *conf);

/* Writes the signed head of a request with this body; head_len bytes. `date` is that of
 * sign_date_format(). */
void bench_post_write(struct bench_post *p, const char *date, bytes body, char *out);

/* An answer's head. `at` and `head` may stay from the answer before, which makes it fast when
 * little changed; else all zero. */
struct bench_answer {
    int status;
    size_t head; /* bytes, the empty line included */
    size_t body; /* bytes, as it says */
    size_t at;   /* where the number of `body` begins */
};

enum bench_answer_found { ANSWER_PART, ANSWER_WHOLE, ANSWER_STRANGE };

/* Reads the head from the bytes that are there so far. STRANGE: not HTTP, or without a length. */
enum bench_answer_found bench_answer_read(struct bench_answer *a, const char *data, size_t len);

/* The value of a header of a complete head, or BYTES_NONE. */
bytes bench_answer_header(const char *head, size_t len, const char *name);

#endif
