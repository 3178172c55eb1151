#include "cli/console/grid.h"

#include "base/port.h"

#include <dlfcn.h>
#include <libsmartcols/libsmartcols.h>
#include <string.h>

#define LIBRARY "libsmartcols.so.1"
#define BOLD "\033[1m"

#define FUNCTIONS(X)                                                                               \
    X(scols_new_table)                                                                             \
    X(scols_unref_table)                                                                           \
    X(scols_table_set_stream)                                                                      \
    X(scols_table_set_termforce)                                                                   \
    X(scols_table_enable_colors)                                                                   \
    X(scols_table_new_column)                                                                      \
    X(scols_table_get_column)                                                                      \
    X(scols_column_get_header)                                                                     \
    X(scols_cell_set_color)                                                                        \
    X(scols_table_new_line)                                                                        \
    X(scols_line_set_data)                                                                         \
    X(scols_print_table)

struct grid {
    void *library;
#define MEMBER(name) __typeof__(name) *name;
    FUNCTIONS(MEMBER)
#undef MEMBER
    struct libscols_table *table;
    struct libscols_line *line;
    bool color;
};

static bool load(struct grid *g)
{
    g->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!g->library)
        return false;
#define LOOK_UP(name)                                                                              \
    *(void **)&g->name = dlsym(g->library, #name);                                                 \
    if (!g->name)                                                                                  \
        return false;
    FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    return true;
}

struct grid *grid_open(bool color)
{
    struct grid *g = mem_zalloc(sizeof(*g));

    g->color = color;
    if (load(g))
        g->table = g->scols_new_table();
    if (!g->table) {
        grid_free(g);
        return NULL;
    }
    g->scols_table_set_termforce(g->table, SCOLS_TERMFORCE_NEVER);
    g->scols_table_enable_colors(g->table, color);
    return g;
}

void grid_add_column(struct grid *g, const char *name, bool right)
{
    struct libscols_column *column =
        g->scols_table_new_column(g->table, name, 0, right ? SCOLS_FL_RIGHT : 0);

    if (column && g->color)
        g->scols_cell_set_color(g->scols_column_get_header(column), BOLD);
}

void grid_add_line(struct grid *g)
{
    g->line = g->scols_table_new_line(g->table, NULL);
}

void grid_set(struct grid *g, size_t column, const char *text)
{
    if (g->line)
        g->scols_line_set_data(g->line, column, text);
}

bool grid_draw(struct grid *g, FILE *out)
{
    g->scols_table_set_stream(g->table, out);
    return g->scols_print_table(g->table) == 0 && !ferror(out);
}

void grid_free(struct grid *g)
{
    if (g && g->table)
        g->scols_unref_table(g->table);
    if (g && g->library)
        dlclose(g->library);
    mem_free(g);
}
