/* codec.h: the compressions of Parquet's pages, of which the sizes before and behind are known. */
#ifndef PARQUET_CODEC_H
#define PARQUET_CODEC_H

#include "base/bytes.h"

/* Can codec_unpack() read it? Else codec_name() says what it is. */
bool codec_is_known(int codec);
const char *codec_name(int codec);

/* Fills out[size) exactly. False: the bytes are damaged, or of another size. Any thread. */
bool codec_unpack(int codec, bytes in, uint8_t *out, size_t size);

#endif
