/* Answers with an error, both ways. */
#include "wire/ots.h"
#include "wire/ots_client.h"
#include "wire/ots_part.h"

const char ots_text_no_table[] = "Requested table does not exist (table not exist).";

bytes ots_encode_error(struct ctx *c, const char *code, const char *message)
{
    struct buf b;

    buf_init(&b, &c->arena, 128);
    pb_put_bytes(&b, 1, bytes_str(code));
    pb_put_bytes(&b, 2, bytes_str(message));
    return buf_bytes(&b);
}

int ots_decode_error(struct ctx *c, bytes body, bytes *code, bytes *message)
{
    const Ots__Error *m;
    const void *parsed;

    TRY(pb_unpack(c, &ots__error__descriptor, body, ots_text_reply, &parsed));
    m = parsed;
    *code = pb_view(m->code);
    *message = pb_view(m->message);
    return 0;
}

int ots_error_of(bytes code, bytes message)
{
    if (bytes_equal(code, bytes_str(err_info(E_PARAMETER)->code)) &&
        bytes_equal(message, bytes_str(ots_text_no_table)))
        return WR_E_NOT_EXIST;
    if (bytes_equal(code, bytes_str(err_info(E_TOO_FREQUENT)->code)) &&
        bytes_equal(message, bytes_str(err_info(E_TOO_FREQUENT)->text)))
        return WR_E_TOO_FREQUENT;
    for (int i = 1; i < E_COUNT; i++)
        if (bytes_equal(bytes_str(err_info(i)->code), code))
            return i;
    return WR_E_INTERNAL;
}
