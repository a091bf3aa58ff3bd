// Texts that are part of the program file, as UTF-8 without a closing zero.

#ifndef PINLEDGER_HANDBOOK_H
#define PINLEDGER_HANDBOOK_H

#include <stddef.h>

struct handbook_text {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

/// The contract: openapi.yaml.
struct handbook_text handbook_contract(void);

/// The contract in JSON: openapi.json.
struct handbook_text handbook_contract_json(void);

/// The JSON Schema of files with specs of apps: specs.schema.json.
struct handbook_text handbook_specs_schema(void);

/// How many pages the handbook has.
size_t handbook_page_count(void);

/// One of them, in the order of reading; `index` is below `handbook_page_count()`.
struct handbook_text handbook_page(size_t index);

#endif
