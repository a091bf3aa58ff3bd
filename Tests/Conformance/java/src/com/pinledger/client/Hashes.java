package com.pinledger.client;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** SHA-256 and HMAC-SHA-256, and what is made of them. */
final class Hashes {
    private static final String DIGITS = "0123456789abcdef";

    private Hashes() {}

    static byte[] sha256(byte[] message) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(message);
        } catch (GeneralSecurityException exception) {
            throw new IllegalStateException("every Java platform has SHA-256", exception);
        }
    }

    static byte[] hmac(byte[] key, byte[] message) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return mac.doFinal(message);
        } catch (GeneralSecurityException exception) {
            throw new IllegalStateException("every Java platform has HMAC-SHA-256", exception);
        }
    }

    static String hexadecimal(byte[] bytes) {
        StringBuilder text = new StringBuilder(bytes.length * 2);
        for (byte value : bytes) {
            text.append(DIGITS.charAt(value >> 4 & 0xf)).append(DIGITS.charAt(value & 0xf));
        }
        return text.toString();
    }

    /** The bytes that lower-case hexadecimal of an even length stands for. */
    static byte[] bytes(String hexadecimal) {
        byte[] bytes = new byte[hexadecimal.length() / 2];
        for (int index = 0; index < bytes.length; index++) {
            int high = DIGITS.indexOf(hexadecimal.charAt(2 * index));
            bytes[index] = (byte) (high << 4 | DIGITS.indexOf(hexadecimal.charAt(2 * index + 1)));
        }
        return bytes;
    }

    /** A number from 0 to 9999 in proportion to the digest's first four bytes. */
    static int bucket(byte[] digest) {
        long first = (digest[0] & 0xffL) << 24 | (digest[1] & 0xff) << 16 | (digest[2] & 0xff) << 8 | digest[3] & 0xff;
        return (int) (first * 10_000 >> 32);
    }

    /** The parts with a zero byte between them. */
    static byte[] joined(byte[]... parts) {
        int length = parts.length - 1;
        for (byte[] part : parts) {
            length += part.length;
        }
        byte[] message = new byte[length];
        int position = 0;
        for (byte[] part : parts) {
            System.arraycopy(part, 0, message, position, part.length);
            position += part.length + 1;
        }
        return message;
    }
}
