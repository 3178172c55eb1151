#include "sql/run/warning.h"

#include "sql/run/texts.h"

struct warning {
    struct warning *next;
    bool error;
    uint16_t number;
    bytes text;
};

struct warnings {
    struct arena arena;
    struct warning *first, **last;
    size_t count, passed; /* in all; of them no errors */
};

void warnings_forget(struct session *s)
{
    struct warnings *w = s->warnings;

    if (!w)
        return;
    s->warnings = NULL;
    arena_release(&w->arena);
    mem_free(w);
}

static void add(struct session *s, bool error, uint16_t number, bytes text)
{
    struct warnings *w = s->warnings;
    struct warning *one;

    if (!w) {
        w = s->warnings = mem_zalloc(sizeof(*w));
        arena_init(&w->arena, NULL, 0);
        w->last = &w->first;
    }
    if (w->count == WARNINGS_MAX)
        return;
    one = ARENA_NEW(&w->arena, struct warning);
    *one = (struct warning){.error = error, .number = number, .text = arena_copy(&w->arena, text)};
    *w->last = one;
    w->last = &one->next;
    w->count++;
    w->passed += !error;
}

void warning_add(struct run *r, uint16_t number, bytes text)
{
    if (!r->only_columns)
        add(r->session, false, number, text);
}

void warning_add_fault(struct session *s, const struct fault *fault)
{
    if (fault->number)
        add(s, true, fault->number, fault->text);
}

uint16_t warnings_count(const struct session *s)
{
    return s->warnings ? (uint16_t)s->warnings->passed : 0;
}

int warnings_show(struct run *r, bool errors)
{
    const struct warnings *w = r->session->warnings;

    RUN_TRY(texts_columns(r, (const char *[]){"Level", "Code", "Message", NULL}));
    for (const struct warning *i = w ? w->first : NULL; i; i = i->next)
        if (i->error || !errors)
            RUN_TRY(texts_row(r,
                              (bytes[]){i->error ? BYTES_LIT("Error") : BYTES_LIT("Warning"),
                                        arena_printf(r->arena, "%d", i->number), i->text},
                              3));
    return 0;
}
