#include "file_identity.h"

#include <sys/stat.h>

static void fill(const struct stat *status, struct file_identity *identity) {
    identity->device = (uint64_t)status->st_dev;
    identity->node = (uint64_t)status->st_ino;
    identity->is_plain = S_ISREG(status->st_mode) || S_ISCHR(status->st_mode);
}

int file_identify(int descriptor, struct file_identity *identity) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) return -1;
    fill(&status, identity);
    return 0;
}

int file_identify_path(const char *path, struct file_identity *identity) {
    struct stat status;
    if (stat(path, &status) != 0) return -1;
    fill(&status, identity);
    return 0;
}
