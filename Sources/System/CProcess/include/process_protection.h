// A function that Swift cannot call: prctl(2) takes a variable number of arguments.

#ifndef PINLEDGER_PROCESS_PROTECTION_H
#define PINLEDGER_PROCESS_PROTECTION_H

/// Makes the process undumpable: the kernel writes no core of it, and other processes of the same user can neither
/// attach to it nor read its memory (PR_SET_DUMPABLE, prctl(2)). 0, or -1 with `errno` set.
int process_forbid_dumps(void);

/// Sets the name that `ps` and `pgrep` show of the process, of which 15 bytes count (PR_SET_NAME, prctl(2)).
void process_set_name(const char *name);

#endif
