/* sample.h: the campus example's data, made from a seed.
 *
 * One year (2025) of purchases with student cards, in time order. Every card and every device is
 * used about equally often on every day; sellers are few, and some have many more devices than
 * others; a device stands at one seller for good; its order numbers go 1, 2, 3, ... The same
 * records and seed give the same bytes on every machine. Memory does not grow with the number of
 * records. */
#ifndef CLI_TRANSFER_SAMPLE_H
#define CLI_TRANSFER_SAMPLE_H

#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAMPLE_LINE_BYTES_MAX 128 /* room for one line of CSV with its newline */
#define SAMPLE_CAMPUS_HEADER "CardID,SellerID,DeviceID,OrderNumber,amount,time\n"

/* One purchase. */
struct sample_record {
    uint32_t card;
    uint32_t seller; /* SellerID is this number behind an 'a' */
    uint32_t device;
    uint64_t order;  /* counts up from 1 within its device */
    uint32_t cents;  /* the amount */
    uint32_t day;    /* of the year, from 0 */
    uint32_t second; /* of the day */
};

/* Numbers in random order, each dealt once before any is dealt again. */
struct sample_deck {
    uint32_t *cards;
    uint32_t count;
    uint32_t at; /* dealt from this shuffle */
};

/* A generator; one thread uses it. */
struct sample_campus {
    uint64_t records; /* wanted */
    uint64_t made;
    uint32_t day;
    uint64_t day_first, day_end; /* the day's records as numbers of the whole run */
    uint32_t seller_count;
    struct rng rng;
    struct sample_deck cards, devices;
    uint32_t *seller_of; /* by device */
    uint64_t *orders;    /* by device: the last order number */
};

void sample_campus_init(struct sample_campus *s, uint64_t records, uint64_t seed);
void sample_campus_release(struct sample_campus *s);

/* The next record; false when all were made. */
bool sample_campus_next(struct sample_campus *s, struct sample_record *out);

/* Writes a record as a line of CSV to `line` (SAMPLE_LINE_BYTES_MAX bytes); returns its length. */
size_t sample_format(const struct sample_record *r, char *line);

#endif
