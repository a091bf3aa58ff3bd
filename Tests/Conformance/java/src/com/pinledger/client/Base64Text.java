package com.pinledger.client;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Base64 in exactly one spelling for each sequence of bytes (RFC 4648, sections 4 and 5).
 *
 * <p>{@code java.util.Base64} ignores the unused bits of the last character, so that one signature could be written in several
 * ways. This decoder refuses all spellings but one.
 */
public final class Base64Text {
    private static final String LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    private static final Alphabet STANDARD = new Alphabet(LETTERS + "+/");
    private static final Alphabet URL = new Alphabet(LETTERS + "-_");

    private Base64Text() {}

    /** Decodes the alphabet for URLs, without padding: the parts of a JWS. */
    public static byte[] decodeUrl(byte[] text, int from, int to) throws MalformedException {
        return decode(URL, text, from, to);
    }

    /** Decodes the alphabet for URLs, without padding. */
    public static byte[] decodeUrl(String text) throws MalformedException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return decode(URL, bytes, 0, bytes.length);
    }

    /** Decodes the standard alphabet with padding. */
    public static byte[] decodePadded(String text) throws MalformedException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        if (bytes.length % 4 != 0) {
            throw new MalformedException("base64 without its padding");
        }
        int end = bytes.length;
        for (int count = 0; count < 2 && end > 0 && bytes[end - 1] == '='; count++) {
            end--;
        }
        return decode(STANDARD, bytes, 0, end);
    }

    /** Encodes with the alphabet for URLs, without padding. */
    public static String encodeUrl(byte[] bytes) {
        return encode(URL, bytes, false);
    }

    /** Encodes with the standard alphabet and padding. */
    public static String encodePadded(byte[] bytes) {
        return encode(STANDARD, bytes, true);
    }

    private static byte[] decode(Alphabet alphabet, byte[] text, int from, int to) throws MalformedException {
        int length = to - from;
        if (length % 4 == 1) {
            throw new MalformedException("base64 of an impossible length");
        }
        byte[] bytes = new byte[(int) (length * 3L / 4)];
        int held = 0;
        int bits = 0;
        int next = 0;
        for (int index = from; index < to; index++) {
            // As a byte is signed, a negative one is outside of the table.
            int value = text[index] < 0 ? -1 : alphabet.values[text[index]];
            if (value < 0) {
                throw new MalformedException("a character that is not base64");
            }
            held = held << 6 | value;
            bits += 6;
            if (bits >= 8) {
                bits -= 8;
                bytes[next++] = (byte) (held >> bits);
                held &= (1 << bits) - 1;
            }
        }
        if (held != 0) {
            throw new MalformedException("base64 with unused bits that are not zero");
        }
        return bytes;
    }

    private static String encode(Alphabet alphabet, byte[] bytes, boolean padded) {
        StringBuilder text = new StringBuilder((bytes.length + 2) / 3 * 4);
        for (int index = 0; index < bytes.length; index += 3) {
            int count = Math.min(3, bytes.length - index);
            int group = (bytes[index] & 0xff) << 16
                    | (count > 1 ? (bytes[index + 1] & 0xff) << 8 : 0)
                    | (count > 2 ? bytes[index + 2] & 0xff : 0);
            for (int position = 0; position <= count; position++) {
                text.append(alphabet.letters.charAt(group >> 18 - 6 * position & 0x3f));
            }
            for (int position = count; padded && position < 3; position++) {
                text.append('=');
            }
        }
        return text.toString();
    }

    private static final class Alphabet {
        final String letters;
        final int[] values = new int[128];

        Alphabet(String letters) {
            this.letters = letters;
            Arrays.fill(values, -1);
            for (int value = 0; value < 64; value++) {
                values[letters.charAt(value)] = value;
            }
        }
    }
}
