#include "handbook.h"

// C23's; clang takes it in any version of the language.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char contract[] = {
#embed "openapi.yaml"
};

static const unsigned char guard_rails[] = {
#embed "guard-rails.md"
};

static const unsigned char client_integration[] = {
#embed "client-integration.md"
};

const unsigned char *handbook_contract(size_t *count) {
    *count = sizeof contract;
    return contract;
}

const unsigned char *handbook_guard_rails(size_t *count) {
    *count = sizeof guard_rails;
    return guard_rails;
}

const unsigned char *handbook_client_integration(size_t *count) {
    *count = sizeof client_integration;
    return client_integration;
}
