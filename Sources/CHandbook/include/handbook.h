// Texts that are part of the program file, as UTF-8 without a closing zero.

#ifndef PINLEDGER_HANDBOOK_H
#define PINLEDGER_HANDBOOK_H

#include <stddef.h>

const unsigned char *handbook_contract(size_t *count);
const unsigned char *handbook_guard_rails(size_t *count);
const unsigned char *handbook_client_integration(size_t *count);

#endif
