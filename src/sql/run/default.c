#include "sql/run/default.h"

#include "sql/run/convert.h"

static bool is_now(const struct expr *e)
{
    return e->type == EXPR_CALL && !e->list &&
           (run_is_word(e->text, "NOW") || run_is_word(e->text, "CURRENT_TIMESTAMP"));
}

static int default_fail(struct run *r, bytes column)
{
    r->out->fault.number = 0; /* why it is no value is said of rows */
    return run_fail(r, FAULT_DEFAULT, RUN_TEXT(column));
}

/* The default must be a value of the column, so that no row fails because of it later. */
static int default_of(struct run *r, const struct column_definition *c, enum wr_type type,
                      struct declared_column *out)
{
    const struct table_column column = {.name = c->name, .type = type, .length = out->length};
    struct wr_value v;

    if (is_now(c->default_value)) {
        out->with = DEFAULT_NOW;
        return type == WR_TIMESTAMP || type == WR_DATE ? 0 : default_fail(r, c->name);
    }
    if (!convert_constant(r, c->default_value, &v) || v.type == WR_NULL)
        return default_fail(r, c->name);
    out->with = DEFAULT_TEXT;
    out->text = convert_text(r->arena, &v);
    v = (struct wr_value){.type = WR_VARCHAR, .bytes = out->text};
    return convert_value(r, &column, &v, &v) ? default_fail(r, c->name) : 0;
}

int default_declare(struct run *r, const struct column_definition *c, enum wr_type type,
                    uint32_t length, struct declared_column *out)
{
    *out = (struct declared_column){.name = c->name, .length = length, .not_null = c->not_null};
    return c->default_value ? default_of(r, c, type, out) : 0;
}

int default_value(struct run *r, const struct table_column *column, struct wr_value *out)
{
    const struct declared_column *said = column->declared;

    *out = said->with == DEFAULT_NOW
               ? (struct wr_value){.type = WR_TIMESTAMP,
                                   .integer = clock_wall_us(r->session->conf.clock) / 1000}
               : (struct wr_value){.type = WR_VARCHAR, .bytes = said->text};
    return convert_value(r, column, out, out);
}
