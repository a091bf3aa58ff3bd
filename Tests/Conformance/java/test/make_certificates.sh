#!/bin/sh
# Makes the certificates of OkHttpSelfTest in the directory $1: a root, an intermediate, a server's, and unrelated ones.
set -eu
cd "$1"
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key" 2>/dev/null; }
root() {
    key "$1"
    openssl req -x509 -new -key "$1.key" -subj "/CN=$1" -days 30 -out "$1.pem" \
        -addext "basicConstraints=critical,CA:TRUE" -addext "keyUsage=critical,keyCertSign" 2>/dev/null
}
signed() { # name, issuer, extensions
    key "$1"
    openssl req -new -key "$1.key" -subj "/CN=$1" -out "$1.csr" 2>/dev/null
    printf '%b' "$3" > "$1.ext"
    openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days 30 -extfile "$1.ext" \
        -out "$1.pem" 2>/dev/null
}
root root
root foreign-root
signed intermediate root "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n"
signed server intermediate "subjectAltName=DNS:api.example.com,DNS:other.example.com,DNS:localhost\nextendedKeyUsage=serverAuth\n"
# The certificate of the host that an attacker would like to be: public, so it can be appended to any chain.
signed pinned foreign-root "subjectAltName=DNS:api.example.com\nextendedKeyUsage=serverAuth\n"
cat server.pem intermediate.pem > plain-chain.pem
cat server.pem intermediate.pem pinned.pem foreign-root.pem > attack-chain.pem
cat server.pem pinned.pem intermediate.pem > shuffled-chain.pem
cat root.pem > trusted.pem
cat root.pem foreign-root.pem > trusted-both.pem
