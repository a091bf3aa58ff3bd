package com.pinledger.client;

/** Host names that connections go to, and the patterns of documents that stand for them. */
final class HostName {
    private static final int LIMIT = 253;

    private HostName() {}

    /**
     * The name in the form in which it is compared with patterns, or null if the text is no name.
     *
     * <p>A name outside of ASCII has to be written in A-labels before: tables of Unicode differ between systems.
     */
    static String normalized(String text) {
        String name = spelled(text);
        if (name.isEmpty() || name.length() > LIMIT) {
            return null;
        }
        char previous = '.';
        for (int index = 0; index < name.length(); index++) {
            char character = name.charAt(index);
            boolean emptyLabel = character == '.' && previous == '.';
            if (emptyLabel || character < '!' || character > '~') {
                return null;
            }
            previous = character;
        }
        return previous == '.' ? null : name;
    }

    /** The text in lower case, without its one trailing dot. */
    static String spelled(String text) {
        return Ascii.lower(text.endsWith(".") ? text.substring(0, text.length() - 1) : text);
    }

    /** The name without its first label, or null if it has only one. */
    static String parent(String name) {
        int dot = name.indexOf('.');
        return dot < 0 ? null : name.substring(dot + 1);
    }

    /** The pattern for the names with one label before the name's parent, or null if it has none. */
    static String wildcard(String name) {
        String parent = parent(name);
        return parent == null ? null : "*." + parent;
    }

    /** Reads a {@code HostPattern}. */
    static String pattern(Object value) throws MalformedException {
        String text = Members.textOf(value, "host");
        String name = text.startsWith("*.") ? text.substring(2) : text;
        boolean valid = name.length() <= LIMIT;
        int start = 0;
        // A dot at the end starts an empty label, which is no label.
        while (valid && start <= name.length()) {
            int dot = name.indexOf('.', start);
            int end = dot < 0 ? name.length() : dot;
            valid = isLabel(name, start, end) && (dot >= 0 || !isNumber(name, start, end));
            start = end + 1;
        }
        Members.require(valid, "no host pattern");
        return text;
    }

    private static boolean isLabel(String name, int start, int end) {
        int length = end - start;
        if (length < 1 || length > 63 || name.charAt(start) == '-' || name.charAt(end - 1) == '-') {
            return false;
        }
        for (int index = start; index < end; index++) {
            char character = name.charAt(index);
            if (!Ascii.isDigit(character) && !(character >= 'a' && character <= 'z') && character != '-') {
                return false;
            }
        }
        return true;
    }

    /** Whether the last label is a number, so that the name would be read as an IP address. */
    private static boolean isNumber(String name, int start, int end) {
        boolean hexadecimal = name.startsWith("0x", start);
        for (int index = hexadecimal ? start + 2 : start; index < end; index++) {
            char character = name.charAt(index);
            if (!(hexadecimal ? Ascii.isLowerHex(character) : Ascii.isDigit(character))) {
                return false;
            }
        }
        return true;
    }
}
