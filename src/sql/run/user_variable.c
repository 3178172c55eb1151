#include "sql/run/user_variable.h"

#include "sql/run/convert.h"

#define SET_BYTES_MAX 8192 /* of all of a session */

struct user_variable {
    struct user_variable *next;
    bytes name;
    struct wr_value value;
    size_t size; /* with all it has */
};

static struct user_variable **find(struct session *s, bytes name)
{
    struct user_variable **at = &s->set;

    while (*at && !run_is_name(true, (*at)->name, name))
        at = &(*at)->next;
    return at;
}

static void forget(struct user_variable **at)
{
    struct user_variable *v = *at;

    *at = v->next;
    mem_free(v);
}

int user_variable_keep(struct run *r, bytes name, const struct wr_value *value)
{
    struct user_variable **at = find(r->session, name), *v;
    size_t used = 0, size;
    bytes own;

    own = convert_has_bytes(value) ? value->bytes : BYTES_NONE;
    size = sizeof(*v) + name.len + own.len;
    for (const struct user_variable *i = r->session->set; i; i = i->next)
        used += i == *at ? 0 : i->size;
    if (used + size > SET_BYTES_MAX)
        return run_fail(r, FAULT_UNSUPPORTED,
                        "Variables of a session take 8 KiB at most: give values with the "
                        "statement, by question marks");
    if (*at)
        forget(at);
    v = mem_alloc(size);
    *v = (struct user_variable){.next = r->session->set, .value = *value, .size = size};
    v->name = bytes_of(memcpy(v + 1, name.ptr, name.len), name.len);
    if (convert_has_bytes(value))
        v->value.bytes = bytes_of((char *)(v + 1) + name.len, own.len);
    if (own.len)
        memcpy((char *)(v + 1) + name.len, own.ptr, own.len);
    r->session->set = v;
    return 0;
}

void user_variable_get(const struct session *s, bytes name, struct wr_value *out)
{
    const struct user_variable *v = *find((struct session *)s, name);

    *out = v ? v->value : (struct wr_value){.type = WR_NULL};
}

void user_variables_forget(struct session *s)
{
    while (s->set)
        forget(&s->set);
}
