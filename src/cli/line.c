#include "cli/line.h"

#include "cli/console/width.h"

#include <dlfcn.h>
#include <errno.h>
#include <histedit.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARY "libedit.so.2"
#define HISTORY_LINES 1000
#define WIDTH_DEFAULT 80

#define FUNCTIONS(X)                                                                               \
    X(el_init)                                                                                     \
    X(el_end)                                                                                      \
    X(el_set)                                                                                      \
    X(el_gets)                                                                                     \
    X(el_line)                                                                                     \
    X(el_insertstr)                                                                                \
    X(el_reset)                                                                                    \
    X(history_init)                                                                                \
    X(history_end)                                                                                 \
    X(history)

struct line {
    void *library;
#define MEMBER(name) __typeof__(name) *name;
    FUNCTIONS(MEMBER)
#undef MEMBER
    EditLine *el; /* NULL: lines are read as they come */
    History *history_list;
    HistEvent event;
    const char *history_path, *prompt;
    line_offer_fn *offer;
    void *arg;
    char *text; /* of the line read last */
    size_t capacity;
};

static struct line *current; /* libedit's functions are told nothing else */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
    (void)sig;
    interrupted = 1;
}

/* ---- completion ---- */

void line_offer(struct line_offers *o, const char *text, size_t size)
{
    size_t n = strlen(o->word);

    if (size < n || memcmp(text, o->word, n) != 0 || o->count == LINE_OFFERS_MAX)
        return;
    for (size_t i = 0; i < o->count; i++)
        if (strlen(o->texts[i]) == size && memcmp(o->texts[i], text, size) == 0)
            return;
    o->texts[o->count++] = arena_printf(o->arena, "%.*s", (int)size, text).ptr;
}

static size_t common_size(const struct line_offers *o)
{
    size_t n = strlen(o->texts[0]);

    for (size_t i = 1; i < o->count; i++)
        for (size_t k = 0; k < n; k++)
            if (o->texts[i][k] != o->texts[0][k])
                n = k;
    return n;
}

static void print_offers(const struct line_offers *o)
{
    size_t width = 0, columns;
    struct winsize size;

    for (size_t i = 0; i < o->count; i++)
        if (strlen(o->texts[i]) > width)
            width = strlen(o->texts[i]);
    columns =
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : WIDTH_DEFAULT;
    columns = columns / (width + 2) ? columns / (width + 2) : 1;
    for (size_t i = 0; i < o->count; i++)
        printf("%s%-*s", i % columns ? "  " : "\n", (int)width, o->texts[i]);
    printf("\n");
    fflush(stdout);
}

static void insert(struct line *l, const char *text, size_t size)
{
    char piece[256];

    snprintf(piece, sizeof(piece), "%.*s", (int)size, text);
    l->el_insertstr(l->el, piece);
}

static unsigned char take_offers(struct line *l, const struct line_offers *o)
{
    size_t typed = strlen(o->word), n = common_size(o);

    if (n > typed)
        insert(l, o->texts[0] + typed, n - typed);
    if (o->count == 1 && !o->open)
        insert(l, " ", 1);
    if (o->count == 1 || n > typed)
        return CC_REFRESH;
    print_offers(o);
    return CC_REDISPLAY;
}

static unsigned char complete(EditLine *el, int key)
{
    struct line_offers offers = {.word = ""};
    struct line *l = current;
    const LineInfo *info = l->el_line(el);
    unsigned char done = CC_ERROR;
    struct arena a;

    (void)key;
    arena_init(&a, NULL, 0);
    offers.arena = &a;
    l->offer(l->arg, arena_printf(&a, "%.*s", (int)(info->cursor - info->buffer), info->buffer).ptr,
             &offers);
    if (offers.count)
        done = take_offers(l, &offers);
    arena_release(&a);
    return done;
}

/* ---- lines ---- */

static char *prompt_of(EditLine *el)
{
    (void)el;
    return (char *)(uintptr_t)current->prompt;
}

static bool load(struct line *l)
{
    l->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!l->library)
        return false;
#define LOOK_UP(name)                                                                              \
    *(void **)&l->name = dlsym(l->library, #name);                                                 \
    if (!l->name)                                                                                  \
        return false;
    FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    return true;
}

static void open_editor(struct line *l)
{
    struct sigaction action = {.sa_handler = on_interrupt}; /* a read ends, the program does not */

    width_begin();
    if (!load(l))
        return;
    l->el = l->el_init("widerow", stdin, stdout, stderr);
    l->history_list = l->history_init();
    if (!l->el || !l->history_list)
        return;
    sigaction(SIGINT, &action, NULL);
    l->el_set(l->el, EL_PROMPT, prompt_of);
    l->el_set(l->el, EL_EDITOR, "emacs");
    l->history(l->history_list, &l->event, H_SETSIZE, HISTORY_LINES);
    l->history(l->history_list, &l->event, H_SETUNIQUE, 1);
    if (l->history_path)
        l->history(l->history_list, &l->event, H_LOAD, l->history_path);
    l->el_set(l->el, EL_HIST, l->history, l->history_list);
    l->el_set(l->el, EL_ADDFN, "complete", "complete a word", complete);
    l->el_set(l->el, EL_BIND, "^I", "complete", NULL);
    l->el_set(l->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
}

struct line *line_open(bool editing, const char *history, line_offer_fn *offer, void *arg)
{
    struct line *l = mem_zalloc(sizeof(*l));

    l->history_path = history;
    l->offer = offer;
    l->arg = arg;
    current = l;
    if (editing)
        open_editor(l);
    return l;
}

static const char *read_plain(struct line *l)
{
    ssize_t n = getline(&l->text, &l->capacity, stdin);

    if (n < 0)
        return NULL;
    l->text[strcspn(l->text, "\r\n")] = 0;
    return l->text;
}

const char *line_read(struct line *l, const char *prompt)
{
    const char *text;
    int count = 0;

    if (!l->el)
        return read_plain(l);
    l->prompt = prompt;
    interrupted = 0;
    text = l->el_gets(l->el, &count);
    if (!text && interrupted) {
        l->el_reset(l->el);
        printf("^C\n");
        return "";
    }
    if (!text || count <= 0)
        return NULL;
    if ((size_t)count + 1 > l->capacity) {
        l->capacity = (size_t)count + 1;
        l->text = mem_realloc(l->text, l->capacity);
    }
    memcpy(l->text, text, (size_t)count);
    l->text[count] = 0;
    l->text[strcspn(l->text, "\r\n")] = 0;
    return l->text;
}

bool line_interrupted(const struct line *l)
{
    return l->el && interrupted;
}

/* Written at once, so that what was typed survives whatever ends the shell. */
void line_keep(struct line *l, const char *text)
{
    mode_t old;

    if (!l->el || !*text)
        return;
    l->history(l->history_list, &l->event, H_ENTER, text);
    if (!l->history_path)
        return;
    old = umask(077);
    l->history(l->history_list, &l->event, H_SAVE, l->history_path);
    umask(old);
    chmod(l->history_path, 0600);
}

void line_close(struct line *l)
{
    if (l->history_list)
        l->history_end(l->history_list);
    if (l->el)
        l->el_end(l->el);
    if (l->library)
        dlclose(l->library);
    mem_free(l->text);
    mem_free(l);
}
