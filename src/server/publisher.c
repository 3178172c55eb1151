#include "server/publisher.h"

#include "base/err.h"
#include "base/port.h"
#include "base/service.h"
#include "widerow.h"

#include <inttypes.h>

struct publisher {
    struct wr_db *db;
    struct shared_text *keys, *settings;
    struct log *log;
    struct service service;
    bool requested; /* under the lock of the service */
};

/* The others are told once, as one that hangs is waited for. */
static void publisher_publish(struct publisher *p)
{
    struct shared_text *texts[] = {p->keys, p->settings};
    static const char *const what[] = {"access keys", "settings"};
    bool reconciled[PORT_COUNT(texts)];
    char message[1024];
    int code;

    for (size_t i = 0; i < PORT_COUNT(texts); i++) {
        code = shared_text_reconcile(texts[i], message, sizeof(message));
        reconciled[i] = !code;
        if (code == E_UNSURE)
            log_error(p->log, "server: the %s: %s", what[i], message);
        else if (code)
            log_error(p->log, "server: the %s stay as they are: %s", what[i], message);
    }
    if (!reconciled[0] && !reconciled[1])
        return;
    /* Also when nothing was to be done: whoever changed them last may not have come to it. */
    code = wr_text_tell(p->db, message, sizeof(message));
    if (code)
        log_error(p->log, "server: %s Send SIGHUP again.", message);
    for (size_t i = 0; i < PORT_COUNT(texts) && !code; i++)
        if (reconciled[i])
            log_info(p->log, "server: %s read again; all servers use version %" PRIu64, what[i],
                     shared_text_version(texts[i]));
}

static void *publisher_main(void *arg)
{
    struct publisher *p = arg;
    struct service *s = &p->service;

    pthread_mutex_lock(&s->lock);
    while (!s->stop) {
        if (!p->requested) {
            service_wait(s, NULL);
            continue;
        }
        p->requested = false;
        pthread_mutex_unlock(&s->lock);
        publisher_publish(p);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

struct publisher *publisher_start(struct wr_db *db, struct shared_text *keys,
                                  struct shared_text *settings, struct log *log)
{
    struct publisher *p = mem_zalloc(sizeof(*p));

    *p = (struct publisher){.db = db, .keys = keys, .settings = settings, .log = log};
    if (service_start(&p->service, "wr-publisher", publisher_main, p))
        return p;
    mem_free(p);
    return NULL;
}

void publisher_wake(struct publisher *p)
{
    pthread_mutex_lock(&p->service.lock);
    p->requested = true;
    pthread_mutex_unlock(&p->service.lock);
    service_wake(&p->service);
}

void publisher_stop(struct publisher *p)
{
    if (!p)
        return;
    wr_leave(p->db);
    service_stop(&p->service);
    mem_free(p);
}
