package com.pinledger.client;

/**
 * Tests and changes of ASCII characters.
 *
 * <p>{@link Character} and {@link String} follow Unicode and the default locale: {@code Character.isDigit} takes Arabic
 * digits, and {@code "I".toLowerCase()} is no {@code "i"} in Turkish. The rules of documents know ASCII alone.
 */
final class Ascii {
    private Ascii() {}

    static boolean isDigit(char character) {
        return character >= '0' && character <= '9';
    }

    static boolean isLetter(char character) {
        char lower = lower(character);
        return lower >= 'a' && lower <= 'z';
    }

    static boolean isLowerHex(char character) {
        return isDigit(character) || character >= 'a' && character <= 'f';
    }

    static boolean isPrintable(char character) {
        return character >= ' ' && character <= '~';
    }

    static boolean isPrintable(String text) {
        for (int index = 0; index < text.length(); index++) {
            if (!isPrintable(text.charAt(index))) {
                return false;
            }
        }
        return true;
    }

    static boolean isLowerHex(String text) {
        for (int index = 0; index < text.length(); index++) {
            if (!isLowerHex(text.charAt(index))) {
                return false;
            }
        }
        return true;
    }

    static char lower(char character) {
        return character >= 'A' && character <= 'Z' ? (char) (character + 32) : character;
    }

    static String lower(String text) {
        StringBuilder result = new StringBuilder(text.length());
        for (int index = 0; index < text.length(); index++) {
            result.append(lower(text.charAt(index)));
        }
        return result.toString();
    }

    static char upper(char character) {
        return character >= 'a' && character <= 'z' ? (char) (character - 32) : character;
    }
}
