// OpenSSL's macros about TLS connections, as functions that Swift sees.
#pragma once
#include <openssl/err.h>
#include <openssl/ssl.h>

static inline int tls_set_minimum_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}

static inline int tls_set_signature_algorithms(SSL_CTX *context, const char *list) {
    return (int)SSL_CTX_set1_sigalgs_list(context, list);
}

static inline void tls_set_largest_certificate_list(SSL_CTX *context, long bytes) {
    SSL_CTX_set_max_cert_list(context, bytes);
}

// No sessions are kept, no tickets asked for, and hosts without secure renegotiation are accepted: nothing follows the
// handshake that one could renegotiate.
static inline void tls_make_single_use(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_LEGACY_SERVER_CONNECT);
}

static inline int tls_set_server_name(SSL *connection, const char *name) {
    return (int)SSL_set_tlsext_host_name(connection, name);
}

static inline int tls_chain_count(const STACK_OF(X509) *chain) { return sk_X509_num(chain); }

static inline X509 *tls_chain_certificate(const STACK_OF(X509) *chain, int index) { return sk_X509_value(chain, index); }

// The extension signature_algorithms_cert (RFC 8446 section 4.2.3), which OpenSSL's client has no call for: it says that
// a chain may be signed in any of these ways although signature_algorithms asks for a leaf of one kind.
static int tls_add_chain_signatures(SSL *connection, unsigned int type, unsigned int place, const unsigned char **out,
                                    size_t *length, X509 *certificate, size_t index, int *alert, void *argument) {
    static const unsigned char schemes[] = {
        0,    36,
        0x04, 0x03, 0x05, 0x03, 0x06, 0x03,                          // ecdsa_secp256r1_sha256, …384, …521
        0x08, 0x07, 0x08, 0x08,                                      // ed25519, ed448
        0x08, 0x04, 0x08, 0x05, 0x08, 0x06, 0x08, 0x09, 0x08, 0x0a,  // rsa_pss_rsae_*, rsa_pss_pss_sha256, …384
        0x08, 0x0b, 0x04, 0x01, 0x05, 0x01, 0x06, 0x01,              // rsa_pss_pss_sha512, rsa_pkcs1_*
        0x03, 0x03, 0x03, 0x01, 0x02, 0x03, 0x02, 0x01,              // with SHA-224 and SHA-1
    };
    (void)connection, (void)type, (void)place, (void)certificate, (void)index, (void)alert, (void)argument;
    *out = schemes;
    *length = sizeof schemes;
    return 1;
}

static inline int tls_accept_every_chain_signature(SSL_CTX *context) {
    return SSL_CTX_add_custom_ext(context, TLSEXT_TYPE_signature_algorithms_cert, SSL_EXT_CLIENT_HELLO,
                                  tls_add_chain_signatures, NULL, NULL, NULL, NULL);
}
