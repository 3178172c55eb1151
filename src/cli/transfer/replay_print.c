/* replay_print.c: what came of a replay, a line or an object a layout. */
#include "cli/transfer/replay.h"

static double peak_of(const struct replay_side *s)
{
    return s->windows > 0 ? s->peak_to_mean / s->windows : 0;
}

void replay_print_text(const struct replay *r, FILE *out)
{
    fprintf(out, "%-20s %10s %9s %7s %11s %8s %8s %11s %9s %9s\n", "layout", "answered", "refused",
            "failed", "CU used", "touched", "of", "peak/mean", "p50 ms", "p99 ms");
    for (size_t i = 0; i < r->side_count; i++) {
        const struct replay_side *s = &r->sides[i];

        fprintf(out, "%-20s %10llu %9llu %7llu %11llu %8zu %8zu %11.1f %9.2f %9.2f\n", s->layout,
                (unsigned long long)(s->writes.count + s->reads.count),
                (unsigned long long)s->refused, (unsigned long long)s->failed,
                (unsigned long long)s->units, s->touched, s->partition_count, peak_of(s),
                (double)bench_hist_at(&s->writes, 0.5) / 1000,
                (double)bench_hist_at(&s->writes, 0.99) / 1000);
    }
}

static void put_times(FILE *out, const char *name, const struct bench_hist *h)
{
    fprintf(out,
            "     \"%s\": {\"count\": %llu, \"p50_us\": %llu, \"p99_us\": %llu, \"max_us\": %llu}",
            name, (unsigned long long)h->count, (unsigned long long)bench_hist_at(h, 0.5),
            (unsigned long long)bench_hist_at(h, 0.99), (unsigned long long)h->max_us);
}

void replay_print_json(const struct replay *r, FILE *out)
{
    fputs("{\"layouts\": [\n", out);
    for (size_t i = 0; i < r->side_count; i++) {
        const struct replay_side *s = &r->sides[i];

        fprintf(out,
                "    {\"layout\": \"%s\", \"refused\": %llu, \"failed\": %llu, \"units\": %llu,\n"
                "     \"partitions\": %zu, \"touched\": %zu, \"peak_to_mean\": %.3f, "
                "\"units_wasted\": %llu,\n",
                s->layout, (unsigned long long)s->refused, (unsigned long long)s->failed,
                (unsigned long long)s->units, s->partition_count, s->touched, peak_of(s),
                (unsigned long long)s->wasted);
        put_times(out, "writes", &s->writes);
        fputs(",\n", out);
        put_times(out, "reads", &s->reads);
        fprintf(out, "}%s\n", i + 1 < r->side_count ? "," : "");
    }
    fputs("]}\n", out);
}
