/* service.h: what the server tells the manager that started it (systemd, Type=notify). */
#ifndef SERVER_SERVICE_H
#define SERVER_SERVICE_H

/* Sends "READY=1" or "STOPPING=1" to the socket in NOTIFY_SOCKET. Without that variable, as from a
 * shell, nothing happens; nor if nobody listens, for the server runs all the same. */
void service_tell(const char *state);

#endif
