package com.pinledger.client;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.Set;

/** The encodings of Ed25519 keys that no client takes, whatever its library thinks of them. */
final class KeyEncoding {
    private static final int BYTES = 32;
    private static final int SIGN = 0x80;
    /** The last byte but for the sign, and the first one, of the prime 2^255 - 19. All bytes between them are 0xff. */
    private static final int PRIME_LAST = 0x7f;
    private static final int PRIME_FIRST = 0xed;

    /** The points of small order, without their sign. */
    private static final Set<String> SMALL_ORDER = Collections.unmodifiableSet(new HashSet<>(Arrays.asList(
            "0000000000000000000000000000000000000000000000000000000000000000",
            "0100000000000000000000000000000000000000000000000000000000000000",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")));

    private KeyEncoding() {}

    /** True for bytes that may be a key: 32 of them, not of small order, and encoded in the one way of RFC 8032. */
    static boolean isUsable(byte[] key) {
        if (key.length != BYTES) {
            return false;
        }
        byte[] point = key.clone();
        point[BYTES - 1] &= (byte) ~SIGN;
        return isBelowPrime(point) && !SMALL_ORDER.contains(Hashes.hexadecimal(point));
    }

    private static boolean isBelowPrime(byte[] point) {
        boolean isBelow = (point[0] & 0xff) < PRIME_FIRST || point[BYTES - 1] < PRIME_LAST;
        for (int index = 1; index < BYTES - 1; index++) {
            isBelow |= point[index] != (byte) 0xff;
        }
        return isBelow;
    }
}
