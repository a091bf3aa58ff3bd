#include "process_protection.h"

#ifdef __linux__
#include <sys/prctl.h>

int process_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

void process_set_name(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
#else
int process_forbid_dumps(void) { return 0; }

void process_set_name(const char *name) { (void)name; }
#endif
