// An address of a socket in Swift would be the same bytes through pointers.

#ifndef PINLEDGER_SERVICE_MANAGER_H
#define PINLEDGER_SERVICE_MANAGER_H

/// Sends a message to the service manager that listens at `path`, the value of NOTIFY_SOCKET (sd_notify(3)): such as `READY=1`. An `@` at
/// its beginning stands for an address without a file. It never waits. 0, or -1 with `errno` set.
int service_manager_notify(const char *path, const char *message);

#endif
