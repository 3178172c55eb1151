/* kill.h: a series whose process is killed while periods come, are frozen and dropped (kill.c). */
#ifndef TEST_SERIES_KILL_H
#define TEST_SERIES_KILL_H

/* Each fault point so often, and so many kills at random moments. 0, or it ends the process. */
int kill_run(const char *dir, int each, int random);

#endif
