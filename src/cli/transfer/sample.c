/* sample.c: the campus generator.
 *
 * Evenness and skew come from the way things are drawn, not from luck. Cards and devices are dealt
 * from a deck that is shuffled whenever it is used up, so over any stretch of records two cards
 * differ by at most two purchases. A seller's share is its share of the devices, and devices are
 * given to sellers by Zipf's law: the k-th seller gets a share in proportion to 1/k.
 *
 * The stream is in time order although nothing is sorted: the n records of a day are placed at the
 * quantiles (i + u) / n of the day's curve, u being a random number under 1, and a curve's
 * quantiles rise with their argument. */
#include "cli/transfer/sample.h"

#include "base/port.h"

#include <string.h>

#define DAYS 365
#define CARDS_MAX 20000
#define CARDS_MIN 10
#define RECORDS_PER_CARD 50 /* a card's year, where the limits above leave the choice */
#define DEVICES_MAX 400
#define DEVICES_MIN 10
#define RECORDS_PER_DEVICE 2500
#define SELLERS_MAX 40
#define SELLERS_MIN 4
#define CARD_FIRST 100001
#define SELLER_FIRST 100

static const uint8_t month_days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

/* A day on campus: `weight` purchases in a hundred fall between the hour before and this one. */
static const struct {
    uint32_t hour_end;
    uint32_t weight;
} day_curve[] = {{7, 0}, {9, 20}, {11, 8}, {13, 32}, {17, 10}, {19, 22}, {22, 8}};

static uint32_t clamp(uint64_t n, uint32_t min, uint32_t max)
{
    return n < min ? min : n > max ? max : (uint32_t)n;
}

static void deck_init(struct sample_deck *d, uint32_t count, uint32_t first)
{
    d->cards = mem_alloc(sizeof(*d->cards) * count);
    d->count = d->at = count;
    for (uint32_t i = 0; i < count; i++)
        d->cards[i] = first + i;
}

/* Shuffles while dealing: the next one is chosen among those not dealt yet. */
static uint32_t deck_deal(struct sample_deck *d, struct rng *rng)
{
    uint32_t pick, card;

    if (d->at == d->count)
        d->at = 0;
    pick = d->at + (uint32_t)rng_below(rng, d->count - d->at);
    card = d->cards[pick];
    d->cards[pick] = d->cards[d->at];
    d->cards[d->at++] = card;
    return card;
}

/* Gives every device a seller: one each first, so that no seller stands without, then each device
 * to the seller that is furthest behind its share. */
static void place_devices(struct sample_campus *s)
{
    uint32_t sellers = s->seller_count, given[SELLERS_MAX] = {0};

    for (uint32_t device = 0; device < s->devices.count; device++) {
        uint32_t best = device;

        if (device >= sellers) {
            best = 0;
            /* Behind means given * k is small: the share is 1/k. */
            for (uint32_t k = 1; k < sellers; k++)
                if ((given[k] + 1) * (k + 1) < (given[best] + 1) * (best + 1))
                    best = k;
        }
        given[best]++;
        s->seller_of[device] = SELLER_FIRST + best;
    }
}

void sample_campus_init(struct sample_campus *s, uint64_t records, uint64_t seed)
{
    uint32_t devices = clamp(records / RECORDS_PER_DEVICE, DEVICES_MIN, DEVICES_MAX);

    *s = (struct sample_campus){.records = records};
    rng_init(&s->rng, seed);
    deck_init(&s->cards, clamp(records / RECORDS_PER_CARD, CARDS_MIN, CARDS_MAX), CARD_FIRST);
    deck_init(&s->devices, devices, 1);
    s->seller_count = clamp(devices / 10, SELLERS_MIN, SELLERS_MAX);
    s->seller_of = mem_zalloc(sizeof(*s->seller_of) * devices);
    s->orders = mem_zalloc(sizeof(*s->orders) * devices);
    place_devices(s);
    s->day_end = records / DAYS;
}

void sample_campus_release(struct sample_campus *s)
{
    mem_free(s->cards.cards);
    mem_free(s->devices.cards);
    mem_free(s->seller_of);
    mem_free(s->orders);
    memset(s, 0, sizeof(*s));
}

/* The first record of a day, as a number of the whole run. Written so that it cannot overflow. */
static uint64_t day_start(const struct sample_campus *s, uint64_t day)
{
    return s->records / DAYS * day + s->records % DAYS * day / DAYS;
}

/* The second of the day before which the part `q` (0 to 1) of the day's purchases is made. */
static uint32_t day_quantile(double q)
{
    double left = q * 100;
    uint32_t start = 0;

    for (size_t i = 0; i < PORT_COUNT(day_curve); i++) {
        uint32_t end = day_curve[i].hour_end * 3600;

        if (left < day_curve[i].weight)
            return start + (uint32_t)(left / day_curve[i].weight * (end - start));
        left -= day_curve[i].weight;
        start = end;
    }
    return start - 1;
}

/* Breakfast is cheap, lunch and dinner are not; amounts are whole tens of cents. */
static uint32_t price_cents(struct rng *rng, uint32_t second)
{
    uint32_t base = second < 9 * 3600 ? 150 : 400;

    return base + 10 * (uint32_t)(rng_below(rng, 60) + rng_below(rng, 60));
}

bool sample_campus_next(struct sample_campus *s, struct sample_record *out)
{
    double q;

    if (s->made == s->records)
        return false;
    while (s->made == s->day_end) {
        s->day++;
        s->day_first = s->day_end;
        s->day_end = day_start(s, s->day + 1);
    }
    q = ((double)(s->made - s->day_first) + rng_unit(&s->rng)) /
        (double)(s->day_end - s->day_first);
    s->made++;
    out->day = s->day;
    out->second = day_quantile(q);
    out->card = deck_deal(&s->cards, &s->rng);
    out->device = deck_deal(&s->devices, &s->rng);
    out->seller = s->seller_of[out->device - 1];
    out->order = ++s->orders[out->device - 1];
    out->cents = price_cents(&s->rng, out->second);
    return true;
}

static char *put_number(char *p, uint64_t n)
{
    char digits[20];
    size_t len = 0;

    do
        digits[len++] = (char)('0' + n % 10);
    while (n /= 10);
    while (len)
        *p++ = digits[--len];
    return p;
}

static char *put_two(char *p, uint32_t n)
{
    *p++ = (char)('0' + n / 10);
    *p++ = (char)('0' + n % 10);
    return p;
}

static char *put_time(char *p, uint32_t day, uint32_t second)
{
    uint32_t month = 0;

    while (day >= month_days[month])
        day -= month_days[month++];
    memcpy(p, "2025-", 5);
    p = put_two(p + 5, month + 1);
    *p++ = '-';
    p = put_two(p, day + 1);
    *p++ = ' ';
    p = put_two(p, second / 3600);
    *p++ = ':';
    p = put_two(p, second / 60 % 60);
    *p++ = ':';
    return put_two(p, second % 60);
}

size_t sample_format(const struct sample_record *r, char *line)
{
    char *p = put_number(line, r->card);

    *p++ = ',';
    *p++ = 'a';
    p = put_number(p, r->seller);
    *p++ = ',';
    p = put_number(p, r->device);
    *p++ = ',';
    p = put_number(p, r->order);
    *p++ = ',';
    p = put_number(p, r->cents / 100);
    *p++ = '.';
    p = put_two(p, r->cents % 100);
    *p++ = ',';
    p = put_time(p, r->day, r->second);
    *p++ = '\n';
    return (size_t)(p - line);
}
