package com.pinledger.client;

import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/** The keys of one role of a root of trust, and how many of them have to sign. */
final class RootRole {
    private static final int KEY_LIMIT = 32;
    private static final int DIGEST_CHARACTERS = 64;

    private final Map<String, byte[]> keys;
    private final long threshold;

    private RootRole(Map<String, byte[]> keys, long threshold) {
        this.keys = Collections.unmodifiableMap(keys);
        this.threshold = threshold;
    }

    /** Reads a role with those of the root's keys that it names. Other members are for newer clients, and ignored. */
    static RootRole read(Object value, Members rootKeys) throws MalformedException {
        Members members = new Members(value);
        Map<String, byte[]> keys = new LinkedHashMap<>();
        for (Object item : members.list("keyids", 1, KEY_LIMIT)) {
            String keyId = Members.textOf(item, "keyids");
            byte[] key = key(keyId, rootKeys.required(keyId));
            Members.require(keys.put(keyId, key) == null, "a key that a role names twice");
        }
        return new RootRole(keys, members.integer("threshold", 1, keys.size()));
    }

    long threshold() {
        return threshold;
    }

    /** The key's 32 bytes, or null if the role has no key with this id. */
    byte[] find(String keyId) {
        return keys.get(keyId);
    }

    Collection<byte[]> keys() {
        return keys.values();
    }

    /** Whether so many of the role's keys have signed as it asks for. */
    boolean isMetBy(Set<String> signers) {
        long count = 0;
        for (String signer : signers) {
            count += keys.containsKey(signer) ? 1 : 0;
        }
        return count >= threshold;
    }

    private static byte[] key(String keyId, Object value) throws MalformedException {
        Members members = new Members(value);
        boolean isKnown = members.text("keytype").equals("ed25519") && members.text("scheme").equals("ed25519");
        Members.require(isKnown, "a key of another kind");
        String encoded = new Members(members.required("keyval")).text("public");
        Members.require(encoded.length() == DIGEST_CHARACTERS && Ascii.isLowerHex(encoded), "no key of 32 bytes");
        // A key is known by its id alone when signatures are counted, so two ids must not stand for one key.
        String canonical = "{\"keytype\":\"ed25519\",\"keyval\":{\"public\":\"" + encoded + "\"},\"scheme\":\"ed25519\"}";
        String digest = Hashes.hexadecimal(Hashes.sha256(canonical.getBytes(StandardCharsets.US_ASCII)));
        Members.require(digest.equals(keyId), "a key under another id than its own");
        byte[] key = Hashes.bytes(encoded);
        Members.require(KeyEncoding.isUsable(key), "a key of small order, or in another encoding than its own");
        return key;
    }
}
