// What OpenSSL offers as macros about TLS connections, as functions that Swift sees.
#pragma once
#include <openssl/err.h>
#include <openssl/ssl.h>
