/* year.h: fourteen months in the life of a series, under load (year.c). */
#ifndef TEST_SERIES_YEAR_H
#define TEST_SERIES_YEAR_H

/* In that folder, with so many rows a month and writer. 0, or it ends the process. */
int year_run(const char *dir, int rows);

#endif
