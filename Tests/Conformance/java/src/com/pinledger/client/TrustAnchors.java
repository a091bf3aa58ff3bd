package com.pinledger.client;

import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The keys that an app trusts to sign its documents: a JWK Set of Ed25519 keys that ships with the app, or those of the newest
 * root of trust that it has.
 */
public final class TrustAnchors {
    private static final int DEPTH_LIMIT = 16;

    private final Map<String, byte[]> keys = new TreeMap<>();
    /** The root whose keys these are, or null for those of a JWK Set, which do not end. */
    private final RootOfTrust root;

    private TrustAnchors(RootOfTrust root) {
        Ed25519.requireProvider();
        this.root = root;
    }

    /** Reads a JWK Set in JSON. */
    public static TrustAnchors parse(byte[] keySet) throws MalformedException {
        return of(Json.parse(keySet, DEPTH_LIMIT));
    }

    /** Takes the keys that sign documents by a root of trust. */
    public static TrustAnchors ofRoot(RootOfTrust root) {
        TrustAnchors anchors = new TrustAnchors(root);
        for (byte[] key : root.documentRole().keys()) {
            anchors.keys.put(thumbprint(Base64Text.encodeUrl(key)), key);
        }
        return anchors;
    }

    /** Takes the keys of a JWK Set; one that is of another kind, or has another name than its own, makes the set unusable. */
    static TrustAnchors of(Object keySet) throws MalformedException {
        Object list = keySet instanceof Map ? ((Map<?, ?>) keySet).get("keys") : null;
        if (!(list instanceof List)) {
            throw new MalformedException("no JWK Set");
        }
        TrustAnchors anchors = new TrustAnchors(null);
        for (Object key : (List<?>) list) {
            anchors.add(key);
        }
        return anchors;
    }

    /** The 32 bytes of the key with this id, or null if it is no anchor. */
    byte[] find(String keyId) {
        return keys.get(keyId);
    }

    /** The ids of the keys, sorted by bytes. */
    Set<String> keyIds() {
        return Collections.unmodifiableSet(keys.keySet());
    }

    /** Whether the anchors are those of a root of trust that has ended. */
    boolean haveEnded(long now) {
        return root != null && root.hasEnded(now);
    }

    private void add(Object value) throws MalformedException {
        if (!(value instanceof Map)) {
            throw new MalformedException("no JWK");
        }
        Map<?, ?> key = (Map<?, ?>) value;
        if (!"OKP".equals(key.get("kty")) || !"Ed25519".equals(key.get("crv")) || !(key.get("x") instanceof String)) {
            throw new MalformedException("no Ed25519 key");
        }
        String x = (String) key.get("x");
        byte[] bytes = Base64Text.decodeUrl(x);
        if (!KeyEncoding.isUsable(bytes)) {
            throw new MalformedException("no key of 32 bytes that may be one");
        }
        String thumbprint = thumbprint(x);
        if (!thumbprint.equals(key.get("kid"))) {
            throw new MalformedException("a kid that is not the key's thumbprint, " + thumbprint);
        }
        keys.put(thumbprint, bytes);
    }

    /** RFC 7638 section 3, for an Ed25519 key (RFC 8037 appendix A.3). */
    private static String thumbprint(String x) {
        String canonical = "{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"" + x + "\"}";
        return Base64Text.encodeUrl(Hashes.sha256(canonical.getBytes(StandardCharsets.US_ASCII)));
    }
}
