// OpenSSL's macros about certificates and keys, as functions that Swift sees.
#pragma once
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pkcs12.h>
#include <openssl/pkcs7.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// The written form of names: that of RFC 4514, with letters outside ASCII in UTF-8 rather than escaped.
static inline unsigned long pinledger_name_flags(void) {
    return XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB;
}

// The same for names with a string that does not match its type: every value in hexadecimal.
static inline unsigned long pinledger_name_dump_flags(void) {
    return pinledger_name_flags() | ASN1_STRFLGS_DUMP_ALL;
}

static inline void pinledger_free(void *memory) {
    OPENSSL_free(memory);
}

static inline void pinledger_free_extensions(STACK_OF(X509_EXTENSION) *extensions) {
    sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
}

static inline void pinledger_free_messages(STACK_OF(PKCS7) *messages) {
    sk_PKCS7_pop_free(messages, PKCS7_free);
}

static inline void pinledger_free_bags(STACK_OF(PKCS12_SAFEBAG) *bags) {
    sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
}
