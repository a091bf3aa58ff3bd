package com.pinledger.client;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Signs documents for tests, right ones and wrong ones. */
final class TestSigner {
    final String keyId;
    /** The key's 32 bytes. */
    final byte[] publicKey;
    private final KeyPair pair;
    private final String x;

    TestSigner() throws GeneralSecurityException {
        pair = KeyPairGenerator.getInstance("Ed25519").generateKeyPair();
        byte[] encoded = pair.getPublic().getEncoded();
        publicKey = Arrays.copyOfRange(encoded, encoded.length - 32, encoded.length);
        x = Base64Text.encodeUrl(publicKey);
        String thumbprint = "{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"" + x + "\"}";
        keyId = Base64Text.encodeUrl(Hashes.sha256(thumbprint.getBytes(StandardCharsets.US_ASCII)));
    }

    String jwk() {
        return CanonicalJson.text(object("alg", "EdDSA", "crv", "Ed25519", "kid", keyId, "kty", "OKP", "use", "sig", "x", x));
    }

    String keySet() {
        return "{\"keys\":[" + jwk() + "]}";
    }

    TrustAnchors anchors() throws MalformedException {
        return TrustAnchors.parse(keySet().getBytes(StandardCharsets.UTF_8));
    }

    String header() {
        return "{\"alg\":\"EdDSA\",\"kid\":\"" + keyId + "\",\"typ\":\"pinset+jws\"}";
    }

    byte[] sign(Map<String, Object> payload) throws GeneralSecurityException {
        return sign(CanonicalJson.text(withDigest(payload)));
    }

    byte[] sign(String body) throws GeneralSecurityException {
        return sign(header(), body.getBytes(StandardCharsets.UTF_8));
    }

    byte[] sign(String header, byte[] body) throws GeneralSecurityException {
        String signed = Base64Text.encodeUrl(header.getBytes(StandardCharsets.UTF_8)) + "." + Base64Text.encodeUrl(body);
        String signature = Base64Text.encodeUrl(signature(signed.getBytes(StandardCharsets.US_ASCII)));
        return (signed + "." + signature).getBytes(StandardCharsets.US_ASCII);
    }

    byte[] signature(byte[] message) throws GeneralSecurityException {
        Signature signature = Signature.getInstance("Ed25519");
        signature.initSign(pair.getPrivate());
        signature.update(message);
        return signature.sign();
    }

    /** The payload with the digest of its content. */
    static Map<String, Object> withDigest(Map<String, Object> payload) {
        Map<String, Object> content = new TreeMap<>(payload);
        content.keySet().removeAll(Arrays.asList("content_sha256", "iat", "exp"));
        Map<String, Object> result = new TreeMap<>(payload);
        result.put("content_sha256", Hashes.hexadecimal(Hashes.sha256(CanonicalJson.bytes(content))));
        return result;
    }

    static Map<String, Object> payload(long version, long issuedAt, Object... hosts) {
        return object("iss", "pinledger", "aud", "com.example.shop", "version", version,
                "iat", issuedAt, "exp", issuedAt + 86_400, "bucketing", "pinroll/v1",
                "kill_switches", Collections.emptyList(), "hosts", Arrays.asList(hosts),
                "fallback", object("use_builtin_pins", false, "builtin_pin_hosts", Collections.emptyList()),
                "monitoring", object("enabled", true, "failure_threshold_bp", 500L, "auto_disable", false));
    }

    static Map<String, Object> host(String pattern, Object baseline) {
        return object("host", pattern, "include_subdomains", false, "baseline", baseline);
    }

    static Map<String, Object> policy(String mode, String... pins) {
        List<Object> list = new ArrayList<>();
        for (String pin : pins) {
            list.add(object("alg", "sha256", "role", "primary", "spki", pin.substring("sha256/".length())));
        }
        return object("source", "document", "mode", mode, "pins", list);
    }

    static Map<String, Object> object(Object... members) {
        Map<String, Object> object = new TreeMap<>();
        for (int index = 0; index < members.length; index += 2) {
            object.put((String) members[index], members[index + 1]);
        }
        return object;
    }
}
