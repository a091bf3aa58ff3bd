// What Swift cannot read in every configuration of a build: which module brings `struct stat` differs.

#ifndef PINLEDGER_FILE_IDENTITY_H
#define PINLEDGER_FILE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

/// What tells an open file from every other one of the machine.
struct file_identity {
    uint64_t device;
    uint64_t node;
    /// Whether writing to it never waits for a reader: a regular file, or a device such as /dev/null.
    bool is_plain;
};

/// The identity of an open file (fstat(2)). 0, or -1 with `errno` set.
int file_identify(int descriptor, struct file_identity *identity);

/// The identity of the file that a path leads to now (stat(2)). 0, or -1 with `errno` set.
int file_identify_path(const char *path, struct file_identity *identity);

#endif
