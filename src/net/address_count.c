/* address_count.c: how many connections there are from each address, where that has a bound. */
#include "net/http_own.h"

struct address_count {
    struct address_count *next, **at; /* where it hangs */
    uint8_t key[16];
    int count; /* of connections, those on their way to a loop included */
};

/* Of IPv6 the network: it is what one customer is given. */
static void address_key(const struct sockaddr_storage *peer, uint8_t key[16])
{
    memset(key, 0, 16);
    if (peer->ss_family == AF_INET)
        memcpy(key, &((const struct sockaddr_in *)(const void *)peer)->sin_addr, 4);
    else if (peer->ss_family == AF_INET6)
        memcpy(key, &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr, 8);
}

struct address_count *address_enter(struct http *h, const struct sockaddr_storage *peer)
{
    struct address_count **head, *p;
    uint8_t key[16];
    uint32_t hash = 0x811c9dc5;

    address_key(peer, key);
    for (int i = 0; i < 16; i++)
        hash = (hash ^ key[i]) * 0x01000193;
    head = &h->addresses[hash % PORT_COUNT(h->addresses)];
    for (p = *head; p && memcmp(p->key, key, 16) != 0; p = p->next)
        ;
    if (p && p->count >= h->conf.connections_per_address)
        return NULL;
    if (!p) {
        p = mem_zalloc(sizeof(*p));
        memcpy(p->key, key, 16);
        p->next = *head;
        p->at = head;
        if (*head)
            (*head)->at = &p->next;
        *head = p;
    }
    p->count++;
    return p;
}

void address_leave(struct http *h, struct address_count *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&h->arrivals_lock);
    if (!--p->count) {
        *p->at = p->next;
        if (p->next)
            p->next->at = p->at;
        mem_free(p);
    }
    pthread_mutex_unlock(&h->arrivals_lock);
}
