#include "cli/console/heat_picture.h"

#include "cli/console/value.h"
#include "cli/console/progress.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>
#include <zlib.h>

const char *const heat_metric_names[WR_HEAT_METRICS] = {"reads", "writes", "cu", "refused",
                                                        "bytes"};

/* ---- values and places ---- */

unsigned heat_level(uint64_t value, uint64_t most, unsigned levels)
{
    unsigned level;

    if (!value || !most)
        return 0;
    level = 1 + (unsigned)(sqrt((double)value / (double)most) * (levels - 1));
    return level < levels ? level : levels - 1;
}

static size_t cells(const struct heat_picture *p)
{
    return p->heat->values[p->metric] ? p->heat->row_count * p->heat->column_count : 0;
}

uint64_t heat_most(const struct heat_picture *p)
{
    uint64_t most = 0;

    for (size_t i = 0; i < cells(p); i++)
        if (p->heat->values[p->metric][i] > most)
            most = p->heat->values[p->metric][i];
    return most;
}

uint64_t heat_sum(const struct heat_picture *p)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < cells(p); i++)
        sum += p->heat->values[p->metric][i];
    return sum;
}

static uint64_t cell(const struct heat_picture *p, size_t row, size_t column)
{
    return p->heat->values[p->metric][row * p->heat->column_count + column];
}

static size_t text_width(bytes text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++)
        n += (bytes_u8(text)[i] & 0xC0) != 0x80;
    return n;
}

/* Characters, not bytes; what is cut off is told by the last one. */
static bytes cut_text(struct arena *a, bytes text, size_t width)
{
    size_t at = 0;

    if (text_width(text) <= width)
        return text;
    for (size_t n = 0; n + 1 < width; n++)
        do
            at++;
        while ((bytes_u8(text)[at] & 0xC0) == 0x80);
    return arena_printf(a, "%.*s…", (int)at, (const char *)text.ptr);
}

bytes heat_place_text(struct arena *a, const struct wr_heat_place *place, size_t width)
{
    struct buf b;

    buf_init(&b, a, 64);
    if (place->bucket || !place->key.count)
        buf_put_bytes(&b, arena_printf(a, "#%u ", place->bucket));
    for (size_t i = 0; i < place->key.count; i++) {
        if (i)
            buf_put_u8(&b, ',');
        value_put(&b, &place->key.columns[i].value);
    }
    return cut_text(a, buf_bytes(&b), width);
}

/* Where a row begins. Without buckets the first one begins before any key. */
static bytes row_text(struct arena *a, const struct heat_picture *p, size_t row, size_t width)
{
    const struct wr_heat_result *h = p->heat;

    if (!h->rows[h->row_count - 1].bucket && !h->rows[row].key.count)
        return BYTES_LIT("(first key)");
    return heat_place_text(a, &h->rows[row], width);
}

static bool column_is_empty(const struct wr_heat_result *h, size_t column)
{
    for (int m = 0; m < WR_HEAT_METRICS; m++)
        for (size_t row = 0; h->values[m] && row < h->row_count; row++)
            if (h->values[m][row * h->column_count + column])
                return false;
    return true;
}

void heat_trim(struct arena *a, struct wr_heat_result *h, size_t keep)
{
    size_t old = h->column_count, gone = 0, left;

    while (old - gone > keep && column_is_empty(h, gone))
        gone++;
    left = old - gone;
    for (int m = 0; gone && m < WR_HEAT_METRICS; m++) {
        uint64_t *values;

        if (!h->values[m])
            continue;
        values = ARENA_ARRAY(a, uint64_t, h->row_count * left);
        for (size_t row = 0; row < h->row_count; row++)
            memcpy(values + row * left, h->values[m] + row * old + gone, left * sizeof(*values));
        h->values[m] = values;
    }
    h->column_count = left;
    h->start_s += (int64_t)gone * h->column_minutes * 60;
}

static const char *clock_text(int64_t s, char *out, size_t size)
{
    time_t t = (time_t)s;
    struct tm tm;

    gmtime_r(&t, &tm);
    strftime(out, size, "%H:%M", &tm);
    return out;
}

/* ---- colors ---- */

struct color {
    uint8_t r, g, b;
};

/* From nothing over blue and red to yellow: dark is cold, and it grows ever lighter. */
static struct color color_of(unsigned level, unsigned levels)
{
    static const struct color stops[] = {{16, 16, 32},  {40, 20, 110},  {120, 28, 110},
                                         {200, 52, 70}, {245, 130, 30}, {252, 250, 160}};
    double at = level ? (double)level / (levels - 1) * (PORT_COUNT(stops) - 1) : 0;
    size_t i = at >= PORT_COUNT(stops) - 1 ? PORT_COUNT(stops) - 2 : (size_t)at;
    double part = at - (double)i;

    return (struct color){(uint8_t)(stops[i].r + part * (stops[i + 1].r - stops[i].r)),
                          (uint8_t)(stops[i].g + part * (stops[i + 1].g - stops[i].g)),
                          (uint8_t)(stops[i].b + part * (stops[i + 1].b - stops[i].b))};
}

/* ---- a terminal ---- */

#define LABEL_WIDTH 22
#define TEXT_LEVELS 9

static void draw_cell(FILE *out, unsigned level, bool color)
{
    static const char *const shades[TEXT_LEVELS] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    /* Of the 6x6x6 cube, as color_of(). */
    static const uint8_t palette[TEXT_LEVELS] = {234, 18, 54, 90, 125, 161, 202, 214, 229};

    if (color)
        fprintf(out, "\x1b[48;5;%um ", palette[level]);
    else
        fputs(shades[level], out);
}

static void draw_row(FILE *out, struct arena *a, const struct heat_picture *p, size_t row,
                     uint64_t most, bool color)
{
    bytes label = row_text(a, p, row, LABEL_WIDTH);

    for (size_t i = text_width(label); i < LABEL_WIDTH; i++)
        fputc(' ', out);
    fprintf(out, "%.*s %s", BYTES_FMT(label), color ? "" : "|");
    for (size_t column = 0; column < p->heat->column_count; column++)
        draw_cell(out, heat_level(cell(p, row, column), most, TEXT_LEVELS), color);
    fputs(color ? "\x1b[0m\n" : "|\n", out);
}

/* Keys whose count may be mostly error are no news: any key may have it. */
static void draw_hot(FILE *out, struct arena *a, const struct wr_heat_result *h)
{
    char count[PROGRESS_TEXT], error[PROGRESS_TEXT];
    size_t shown = 0;

    for (size_t i = 0; i < h->hot_count && shown < 10; i++) {
        const struct wr_heat_key *k = &h->hot[i];
        bytes text = heat_place_text(a, &k->place, 40);

        if (k->error > k->count / 2)
            continue;
        if (!shown++)
            fprintf(out, "\nhottest partition keys of the last %d minutes, in rows:\n",
                    h->hot_minutes);
        fprintf(out, "  %12s  %.*s", progress_format_count(k->count, count), BYTES_FMT(text));
        if (k->error)
            fprintf(out, "  (too high by at most %s)", progress_format_count(k->error, error));
        fputc('\n', out);
    }
    if (h->hot_count && !shown)
        fprintf(out, "\nno partition key stands out in the last %d minutes\n", h->hot_minutes);
}

void heat_draw_text(FILE *out, struct arena *a, const struct heat_picture *p, bool color)
{
    const struct wr_heat_result *h = p->heat;
    char from[16], to[16], most[PROGRESS_TEXT], sum[PROGRESS_TEXT];
    int64_t end_s = h->start_s + (int64_t)h->column_count * h->column_minutes * 60;

    fprintf(out, "%s: %s, %s to %s UTC, a column is %d minute%s; in all %s, at most %s in a cell\n",
            p->table, heat_metric_names[p->metric], clock_text(h->start_s, from, sizeof(from)),
            clock_text(end_s, to, sizeof(to)), h->column_minutes, h->column_minutes > 1 ? "s" : "",
            progress_format_count(heat_sum(p), sum), progress_format_count(heat_most(p), most));
    /* Small keys below, as in a diagram: what rises, rises. */
    for (size_t row = h->row_count; row-- > 0;)
        draw_row(out, a, p, row, heat_most(p), color);
    fprintf(out, "%*s%s%*s\n", LABEL_WIDTH + 2, "", from,
            h->column_count > 10 ? (int)h->column_count - 5 : 6, to);
    if (h->missed)
        fprintf(out,
                "%" PRIu64 " rows, of all tables since the start, came faster than they are "
                "counted: the map is of the others.\n",
                h->missed);
    draw_hot(out, a, h);
}

/* ---- SVG ---- */

#define SVG_LEVELS 64
#define SVG_WIDTH 960
#define SVG_HEIGHT 480
#define SVG_LEFT 190
#define SVG_TOP 40
#define SVG_BOTTOM 56
#define SVG_LABEL 26 /* characters of a row's label */
#define SVG_TICKS 6
#define SVG_SWATCHES 16

static void put(struct buf *b, const char *fmt, ...) PORT_PRINTF(2, 3);
static void put(struct buf *b, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    buf_put_bytes(b, arena_vprintf(b->arena, fmt, args));
    va_end(args);
}

/* As the text of an element. */
static void put_escaped(struct buf *b, bytes text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t ch = bytes_u8(text)[i];

        if (ch == '<')
            put(b, "&lt;");
        else if (ch == '&')
            put(b, "&amp;");
        else if (ch >= ' ')
            buf_put_u8(b, ch);
    }
}

static void svg_label(struct buf *b, const struct heat_picture *p, size_t row, int y)
{
    bytes text = row_text(b->arena, p, row, SVG_LABEL);

    put(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", SVG_LEFT - 6, y + 4);
    put_escaped(b, text);
    put(b, "</text>\n");
}

static int column_x(const struct heat_picture *p, size_t column)
{
    return SVG_LEFT + (int)((SVG_WIDTH - SVG_LEFT) * column / p->heat->column_count);
}

/* The upper edge of a row; row_count: that of the field. Small keys are below. */
static int row_y(const struct heat_picture *p, size_t row)
{
    return SVG_TOP + SVG_HEIGHT - (int)(SVG_HEIGHT * row / p->heat->row_count);
}

/* Cells of one row: neighbours of one level are one rectangle. */
static void svg_row(struct buf *b, const struct heat_picture *p, size_t row, uint64_t most)
{
    size_t columns = p->heat->column_count;
    int y = row_y(p, row + 1), height = row_y(p, row) - y;

    for (size_t from = 0, to; from < columns; from = to) {
        unsigned level = heat_level(cell(p, row, from), most, SVG_LEVELS);
        struct color c = color_of(level, SVG_LEVELS);

        for (to = from + 1;
             to < columns && heat_level(cell(p, row, to), most, SVG_LEVELS) == level;)
            to++;
        if (level)
            put(b, "<path fill=\"#%02x%02x%02x\" d=\"M%d %dH%dv%dH%dz\"/>\n", c.r, c.g, c.b,
                column_x(p, from), y, column_x(p, to), height, column_x(p, from));
    }
}

/* A tick where a column begins, and what time it is then. */
static void svg_tick(struct buf *b, const struct heat_picture *p, size_t column, const char *anchor)
{
    const struct wr_heat_result *h = p->heat;
    int x = column_x(p, column), y = SVG_TOP + SVG_HEIGHT;
    char text[16];

    put(b, "<path fill=\"#000\" d=\"M%d %dh1v5h-1z\"/>\n", x, y);
    put(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", x, y + 18, anchor,
        clock_text(h->start_s + (int64_t)column * h->column_minutes * 60, text, sizeof(text)));
}

static void svg_axes(struct buf *b, const struct heat_picture *p)
{
    const struct wr_heat_result *h = p->heat;
    size_t ticks = h->column_count < SVG_TICKS ? h->column_count : SVG_TICKS;

    for (size_t i = 0; i <= ticks; i++)
        svg_tick(b, p, h->column_count * i / ticks, i == ticks ? "end" : i ? "middle" : "start");
    put(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">time, UTC; a column is %d min</text>\n",
        (SVG_LEFT + SVG_WIDTH) / 2, SVG_TOP + SVG_HEIGHT + 38, h->column_minutes);
    put(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">key, from</text>\n", SVG_LEFT - 6,
        SVG_TOP + SVG_HEIGHT + 18);
}

static void svg_title(struct buf *b, const struct heat_picture *p)
{
    char sum[PROGRESS_TEXT];

    put(b, "<text x=\"%d\" y=\"24\" font-size=\"15\">", SVG_LEFT);
    put_escaped(b, bytes_str(p->table));
    put(b, ": %s, in all %s</text>\n", heat_metric_names[p->metric],
        progress_format_count(heat_sum(p), sum));
}

/* From nothing to the hottest cell. */
static void svg_legend(struct buf *b, const struct heat_picture *p)
{
    char most[PROGRESS_TEXT];

    for (unsigned i = 0; i < SVG_SWATCHES; i++) {
        struct color c = color_of(i * (SVG_LEVELS - 1) / (SVG_SWATCHES - 1), SVG_LEVELS);

        put(b, "<path fill=\"#%02x%02x%02x\" d=\"M%u 12h10v14h-10z\"/>\n", c.r, c.g, c.b,
            SVG_WIDTH - 300 + i * 10);
    }
    put(b, "<text x=\"%d\" y=\"24\" text-anchor=\"end\">0</text>\n", SVG_WIDTH - 306);
    put(b, "<text x=\"%d\" y=\"24\">%s in %d min</text>\n", SVG_WIDTH - 134,
        progress_format_count(heat_most(p), most), p->heat->column_minutes);
}

void heat_draw_svg(struct buf *b, const struct heat_picture *p)
{
    size_t rows = p->heat->row_count, every = (rows + 23) / 24;
    uint64_t most = heat_most(p);
    struct color cold = color_of(0, SVG_LEVELS);

    put(b,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
        "font-family=\"sans-serif\" font-size=\"12\" shape-rendering=\"crispEdges\">\n"
        "<path fill=\"#fff\" d=\"M0 0h%dv%dh-%dz\"/>\n"
        "<path fill=\"#%02x%02x%02x\" d=\"M%d %dh%dv%dh-%dz\"/>\n",
        SVG_WIDTH + 10, SVG_TOP + SVG_HEIGHT + SVG_BOTTOM, SVG_WIDTH + 10,
        SVG_TOP + SVG_HEIGHT + SVG_BOTTOM, SVG_WIDTH + 10, cold.r, cold.g, cold.b, SVG_LEFT,
        SVG_TOP, SVG_WIDTH - SVG_LEFT, SVG_HEIGHT, SVG_WIDTH - SVG_LEFT);
    for (size_t row = 0; row < rows; row++) {
        svg_row(b, p, row, most);
        if (row % every == 0)
            svg_label(b, p, row, (row_y(p, row) + row_y(p, row + 1)) / 2);
    }
    svg_title(b, p);
    svg_legend(b, p);
    svg_axes(b, p);
    put(b, "</svg>\n");
}

/* ---- PNG ---- */

static void png_chunk(struct buf *b, const char type[4], bytes data)
{
    uint8_t number[4];
    uLong crc = crc32(crc32(0, (const Bytef *)type, 4), data.ptr, (uInt)data.len);

    store_u32_be(number, (uint32_t)data.len);
    buf_put(b, number, 4);
    buf_put(b, type, 4);
    buf_put_bytes(b, data);
    store_u32_be(number, (uint32_t)crc);
    buf_put(b, number, 4);
}

/* Lines of palette numbers, each behind a 0 for "as it stands"; small keys below. */
static bytes png_lines(struct arena *a, const struct heat_picture *p, unsigned scale)
{
    size_t width = p->heat->column_count * scale, height = p->heat->row_count * scale;
    uint8_t *out = arena_zalloc(a, (width + 1) * height);
    uint64_t most = heat_most(p);

    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            out[y * (width + 1) + 1 + x] = (uint8_t)heat_level(
                cell(p, p->heat->row_count - 1 - y / scale, x / scale), most, SVG_LEVELS);
    return bytes_of(out, (width + 1) * height);
}

void heat_draw_png(struct buf *b, const struct heat_picture *p, unsigned scale)
{
    static const uint8_t magic[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    uint8_t head[13] = {0}, palette[3 * SVG_LEVELS];
    bytes lines = png_lines(b->arena, p, scale);
    uLongf size = compressBound((uLong)lines.len);
    uint8_t *packed = arena_alloc(b->arena, size);

    store_u32_be(head, (uint32_t)(p->heat->column_count * scale));
    store_u32_be(head + 4, (uint32_t)(p->heat->row_count * scale));
    head[8] = 8; /* bits */
    head[9] = 3; /* a palette */
    for (unsigned i = 0; i < SVG_LEVELS; i++) {
        struct color c = color_of(i, SVG_LEVELS);

        palette[3 * i] = c.r;
        palette[3 * i + 1] = c.g;
        palette[3 * i + 2] = c.b;
    }
    compress2(packed, &size, lines.ptr, (uLong)lines.len, 9);
    buf_put(b, magic, sizeof(magic));
    png_chunk(b, "IHDR", bytes_of(head, sizeof(head)));
    png_chunk(b, "PLTE", bytes_of(palette, sizeof(palette)));
    png_chunk(b, "IDAT", bytes_of(packed, size));
    png_chunk(b, "IEND", BYTES_LIT(""));
}

/* ---- JSON ---- */

static void json_place(struct buf *b, const struct wr_heat_place *place)
{
    put(b, "{\"bucket\":%u,\"key\":[", place->bucket);
    for (size_t i = 0; i < place->key.count; i++) {
        if (i)
            buf_put_u8(b, ',');
        value_put(b, &place->key.columns[i].value);
    }
    put(b, "]");
}

static void json_rows(struct buf *b, const struct wr_heat_result *h, const uint64_t *values)
{
    for (size_t row = 0; row < h->row_count; row++) {
        put(b, "%s\n  [", row ? "," : "");
        for (size_t column = 0; column < h->column_count; column++)
            put(b, "%s%" PRIu64, column ? "," : "", values[row * h->column_count + column]);
        put(b, "]");
    }
}

void heat_write_json(struct buf *b, const struct heat_picture *p)
{
    const struct wr_heat_result *h = p->heat;
    struct wr_value table = {.type = WR_VARCHAR, .bytes = bytes_str(p->table)};

    put(b, "{\"table\":");
    value_put(b, &table);
    put(b,
        ",\"start\":%" PRId64 ",\"column_minutes\":%d,\"columns\":%zu,\"buckets\":%d,"
        "\"missed\":%" PRIu64 ",\"servers\":%u,\"silent\":%u,\n\"rows\":[",
        h->start_s, h->column_minutes, h->column_count, h->buckets, h->missed, h->servers,
        h->silent);
    for (size_t row = 0; row < h->row_count; row++) {
        put(b, "%s\n  ", row ? "," : "");
        json_place(b, &h->rows[row]);
        put(b, "}");
    }
    put(b, "]");
    for (int m = 0; m < WR_HEAT_METRICS; m++) {
        if (!h->values[m])
            continue;
        put(b, ",\n\"%s\":[", heat_metric_names[m]);
        json_rows(b, h, h->values[m]);
        put(b, "]");
    }
    put(b, ",\n\"hot_minutes\":%d,\"hot\":[", h->hot_minutes);
    for (size_t i = 0; i < h->hot_count; i++) {
        const struct wr_heat_key *k = &h->hot[i];

        put(b, "%s\n  ", i ? "," : "");
        json_place(b, &k->place);
        put(b, ",\"count\":%" PRIu64 ",\"error\":%" PRIu64, k->count, k->error);
        for (int m = 0; m < WR_HEAT_METRICS; m++)
            put(b, ",\"%s\":%" PRIu64, heat_metric_names[m], k->figures[m]);
        put(b, "}");
    }
    put(b, "]}\n");
}
