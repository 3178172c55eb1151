/* main.c: tests of series of tables over time: test/series/run.sh. */
#include "kill.h"
#include "year.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "year") == 0)
        return year_run(argv[2], atoi(argv[3]));
    if (argc == 5 && strcmp(argv[1], "kill") == 0)
        return kill_run(argv[2], atoi(argv[3]), atoi(argv[4]));
    fprintf(stderr, "usage: series year DIR ROWS | series kill DIR EACH RANDOM\n");
    return 2;
}
