/* lives.h: processes that have a database open and are killed, one after the other. Included behind a
 * life.h, which says what struct life is, how a life opens its database (life_open), what it does
 * until it ends (life_work), what is looked at afterwards (life_compare), and where problems and
 * points that were passed are counted. */
#ifndef TEST_LIVES_H
#define TEST_LIVES_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POINT_LOOK_US 20000
#define POINT_TRIES 3000 /* a minute: nothing is judged by how long it takes */

static void sleep_us(uint64_t us)
{
    struct timespec t = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};

    nanosleep(&t, NULL);
}

static pid_t begin(struct life *l, void (*run)(struct life *l, struct wr_db *db))
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        struct wr_db *db = life_open(l);

        if (!db)
            _exit(1);
        run(l, db);
        wr_close(db);
        fflush(NULL);
        _exit(0);
    }
    return pid;
}

/* The process does its work to the end. */
static void run_whole(struct life *l, const char *what,
                      void (*run)(struct life *l, struct wr_db *db))
{
    int status = 0;

    waitpid(begin(l, run), &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        life_problem(l, "%s ended with status %x", what, status);
}

static void run_killed(struct life *l, uint64_t us)
{
    int status = 0;
    pid_t pid = begin(l, life_work);

    sleep_us(us);
    if (waitpid(pid, &status, WNOHANG) == pid) {
        life_problem(l, "the process ended by itself with status %x", status);
        return;
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
}

/* The process that passes the point ends there. It may be that none does in time: there was nothing
 * to build. */
static void run_point(struct life *l, const char *point, unsigned pass)
{
    char armed[64];
    pid_t pid;
    int status = 0;

    snprintf(armed, sizeof(armed), "%s:crash:%u", point, pass);
    setenv("WR_FAULT", armed, 1);
    pid = begin(l, life_work);
    unsetenv("WR_FAULT");
    for (int i = 0; i < POINT_TRIES && waitpid(pid, &status, WNOHANG) == 0; i++)
        sleep_us(POINT_LOOK_US);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) {
        atomic_fetch_add(&l->counts->points, 1);
    } else if (status == 0) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        life_problem(l, "%s was not passed %u times", point, pass);
    } else {
        life_problem(l, "at %s the process ended with status %x", point, status);
    }
    run_whole(l, "the comparison", life_compare);
}

#endif
