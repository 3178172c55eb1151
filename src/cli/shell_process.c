/* shell_process.c: a line's words, and commands as processes. */
#include "base/buf.h"
#include "cli/shell_part.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAPTURE_SECONDS 2
#define CAPTURE_BYTES_MAX (1u << 20)

/* ---- words ---- */

int shell_split(struct arena *a, const char *text, char **words, int most, bool *open)
{
    char *to = arena_alloc(a, strlen(text) + 1), quote = 0;
    bool within = false;
    int n = 0;

    for (; *text; text++) {
        if (!quote && (*text == ' ' || *text == '\t')) {
            if (within)
                *to++ = 0;
            within = false;
            continue;
        }
        if (!within && n == most)
            return -1;
        if (!within)
            words[n++] = to;
        within = true;
        if (quote ? *text == quote : *text == '\'' || *text == '"')
            quote = quote ? 0 : *text;
        else if (*text == '\\' && quote != '\'' && text[1])
            *to++ = *++text;
        else
            *to++ = *text;
    }
    *to = 0;
    *open = within;
    return n;
}

/* ---- processes ---- */

pid_t shell_start(struct shell *s, int argc, char **argv, int out)
{
    const struct command *cmd = command_find(argv[0]);
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid != 0)
        return pid;
    signal(SIGINT, SIG_DFL);
    if (out >= 0) {
        dup2(out, STDOUT_FILENO);
        if (!freopen("/dev/null", "w", stderr))
            _exit(EXIT_OTHER);
        alarm(CAPTURE_SECONDS);
    }
    /* exit() would move the script's file back behind what was read of it. */
    _exit(command_start(cmd, argc - 1, argv + 1, &s->base));
}

int shell_wait(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return EXIT_OTHER;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)
        printf("\n"); /* behind the ^C */
    if (WIFSIGNALED(status))
        return 128 + WTERMSIG(status);
    return WEXITSTATUS(status);
}

bytes shell_capture(struct shell *s, struct arena *a, int argc, char **argv)
{
    struct buf b;
    int ends[2];
    ssize_t n;
    pid_t pid;

    buf_init(&b, a, 4096);
    if (pipe(ends) < 0)
        return BYTES_NONE;
    pid = shell_start(s, argc, argv, ends[1]);
    close(ends[1]);
    while (pid > 0 && b.len < CAPTURE_BYTES_MAX &&
           (n = read(ends[0], buf_reserve(&b, 4096), 4096)) > 0)
        buf_commit(&b, (size_t)n);
    close(ends[0]);
    if (pid > 0)
        shell_wait(pid);
    return buf_bytes(&b);
}
