#include <libpq-fe.h>
#include <poll.h>
#include <sys/eventfd.h>
