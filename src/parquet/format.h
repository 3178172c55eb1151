/* format.h: the numbers of Parquet's format that the reader and the writer share. */
#ifndef PARQUET_FORMAT_H
#define PARQUET_FORMAT_H

enum parquet_physical {
    PHYSICAL_BOOLEAN = 0,
    PHYSICAL_INT32 = 1,
    PHYSICAL_INT64 = 2,
    PHYSICAL_INT96 = 3,
    PHYSICAL_FLOAT = 4,
    PHYSICAL_DOUBLE = 5,
    PHYSICAL_BYTE_ARRAY = 6,
    PHYSICAL_FIXED = 7,
};

enum parquet_repetition { REPETITION_REQUIRED = 0, REPETITION_OPTIONAL = 1 };

enum parquet_encoding {
    ENCODING_PLAIN = 0,
    ENCODING_PLAIN_DICTIONARY = 2,
    ENCODING_RLE = 3,
    ENCODING_DELTA_BINARY_PACKED = 5,
    ENCODING_DELTA_LENGTH_BYTE_ARRAY = 6,
    ENCODING_DELTA_BYTE_ARRAY = 7,
    ENCODING_RLE_DICTIONARY = 8,
    ENCODING_BYTE_STREAM_SPLIT = 9,
};

enum parquet_codec {
    CODEC_NONE = 0,
    CODEC_SNAPPY = 1,
    CODEC_GZIP = 2,
    CODEC_ZSTD = 6,
    CODEC_LZ4_RAW = 7,
};

enum parquet_page { PAGE_DATA = 0, PAGE_INDEX = 1, PAGE_DICTIONARY = 2, PAGE_DATA_V2 = 3 };

/* The older marks of what a value means. */
enum parquet_converted {
    CONVERTED_UTF8 = 0,
    CONVERTED_ENUM = 4,
    CONVERTED_DECIMAL = 5,
    CONVERTED_DATE = 6,
    CONVERTED_TIME_MILLIS = 7,
    CONVERTED_TIME_MICROS = 8,
    CONVERTED_TIMESTAMP_MILLIS = 9,
    CONVERTED_TIMESTAMP_MICROS = 10,
    CONVERTED_UINT_32 = 13,
    CONVERTED_UINT_64 = 14,
    CONVERTED_JSON = 19,
};

#define PARQUET_MAGIC "PAR1"

#endif
