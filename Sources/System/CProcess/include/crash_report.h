// A handler of signals may call only what is safe in one (signal-safety(7)), which excludes Swift.

#ifndef PINLEDGER_CRASH_REPORT_H
#define PINLEDGER_CRASH_REPORT_H

/// Makes a process that crashes write one line to standard error before it ends: the signal, the program's version, and the addresses of
/// the functions that were running, as offsets in the program's file, which `addr2line` and the package's symbols name. It shows neither
/// registers nor memory, and takes no time: Swift's own report stops a process for half a minute. 0, or -1 with `errno` set.
int crash_report_install(const char *of_version);

#endif
