/* zip.h: compressed HTTP bodies: the zlib format (RFC 1950), as x-ots-*-compress-type: deflate
 * means it (doc/wire.md, "Compression"). */
#ifndef WIRE_ZIP_H
#define WIRE_ZIP_H

#include "base/ctx.h"

/* Inflates a body into the arena of `c`. `size_hint` is what the sender says the size is (0: says
 * nothing); it only guides allocation and is not believed. Errors: E_BODY_TOO_LARGE as soon as more
 * than size_max bytes come out, E_PARAMETER if the bytes are not zlib, are cut short or go on after
 * the end. */
int zip_inflate(struct ctx *c, bytes in, size_t size_hint, size_t size_max, bytes *out);

/* Deflates a body into the arena of `c`. Do not send an empty body compressed. */
int zip_deflate(struct ctx *c, bytes in, bytes *out);

#endif
