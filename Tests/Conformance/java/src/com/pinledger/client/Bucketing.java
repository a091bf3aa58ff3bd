package com.pinledger.client;

import java.nio.charset.StandardCharsets;

/** The hashes of a device's id that rollouts go by: {@code pinroll/v1}, and the buckets of Unleash. */
final class Bucketing {
    private static final String UUID_SHAPE = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

    private Bucketing() {}

    /** The keyed hash under which an id is listed, in hexadecimal. */
    static String hashedId(String identifier, byte[] salt) {
        byte[] key = Hashes.joined("pinroll/v1/id".getBytes(StandardCharsets.US_ASCII), salt);
        return Hashes.hexadecimal(Hashes.hmac(key, folded(identifier).getBytes(StandardCharsets.UTF_8)));
    }

    /** The bucket from 0 to 9999 of {@code pinroll/v1}. */
    static int bucket(String identifier, String kind, byte[] salt) {
        byte[] digest = Hashes.sha256(Hashes.joined(
                "pinroll/v1".getBytes(StandardCharsets.US_ASCII),
                salt,
                kind.getBytes(StandardCharsets.US_ASCII),
                folded(identifier).getBytes(StandardCharsets.UTF_8)));
        return Hashes.bucket(digest);
    }

    /** The bucket of Unleash: a whole percentage from 0 to 99, times 100. */
    static int unleashBucket(String identifier, byte[] salt) {
        byte[] id = identifier.getBytes(StandardCharsets.UTF_8);
        byte[] message = new byte[salt.length + 1 + id.length];
        System.arraycopy(salt, 0, message, 0, salt.length);
        message[salt.length] = ':';
        System.arraycopy(id, 0, message, salt.length + 1, id.length);
        return Integer.remainderUnsigned(murmur3(message), 100) * 100;
    }

    /** An id in the form in which it is hashed: a UUID in lower case, everything else as it is. */
    static String folded(String identifier) {
        if (identifier.length() != UUID_SHAPE.length()) {
            return identifier;
        }
        String lower = Ascii.lower(identifier);
        for (int index = 0; index < lower.length(); index++) {
            char character = lower.charAt(index);
            boolean fits = UUID_SHAPE.charAt(index) == '-' ? character == '-' : Ascii.isLowerHex(character);
            if (!fits) {
                return identifier;
            }
        }
        return lower;
    }

    /** MurmurHash3 for x86 with 32 bits and the seed 0. */
    static int murmur3(byte[] message) {
        int hash = 0;
        int blocks = message.length & ~3;
        for (int index = 0; index < blocks; index += 4) {
            hash ^= mixed((message[index] & 0xff) | (message[index + 1] & 0xff) << 8 | (message[index + 2] & 0xff) << 16
                    | message[index + 3] << 24);
            hash = Integer.rotateLeft(hash, 13) * 5 + 0xe6546b64;
        }
        int tail = 0;
        for (int index = message.length - 1; index >= blocks; index--) {
            tail = tail << 8 | message[index] & 0xff;
        }
        hash ^= mixed(tail);
        hash ^= message.length;
        hash = (hash ^ hash >>> 16) * 0x85ebca6b;
        hash = (hash ^ hash >>> 13) * 0xc2b2ae35;
        return hash ^ hash >>> 16;
    }

    private static int mixed(int block) {
        return Integer.rotateLeft(block * 0xcc9e2d51, 15) * 0x1b873593;
    }
}
