package com.pinledger.client;

import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;

/** The canonical spelling of JSON (RFC 8785) for objects, arrays, texts, integers and truth values. */
public final class CanonicalJson {
    private CanonicalJson() {}

    /** Writes a value of the kinds that {@link Json} reads, in UTF-8. */
    public static byte[] bytes(Object value) {
        return text(value).getBytes(StandardCharsets.UTF_8);
    }

    /** Writes a value of the kinds that {@link Json} reads. */
    public static String text(Object value) {
        StringBuilder result = new StringBuilder();
        write(value, result);
        return result.toString();
    }

    private static void write(Object value, StringBuilder result) {
        if (value instanceof Map) {
            char separator = '{';
            // RFC 8785 sorts by UTF-16 code units, as String.compareTo does.
            for (Map.Entry<?, ?> member : new TreeMap<>((Map<?, ?>) value).entrySet()) {
                result.append(separator);
                separator = ',';
                write((String) member.getKey(), result);
                result.append(':');
                write(member.getValue(), result);
            }
            result.append(separator == '{' ? "{}" : "}");
        } else if (value instanceof Collection) {
            char separator = '[';
            for (Object item : (Collection<?>) value) {
                result.append(separator);
                separator = ',';
                write(item, result);
            }
            result.append(separator == '[' ? "[]" : "]");
        } else if (value instanceof String) {
            write((String) value, result);
        } else if (value instanceof Long || value instanceof Integer || value instanceof Boolean) {
            result.append(value);
        } else {
            throw new IllegalArgumentException("a value that canonical JSON is not written for here");
        }
    }

    private static void write(String text, StringBuilder result) {
        result.append('"');
        for (int index = 0; index < text.length(); index++) {
            char character = text.charAt(index);
            int escape = "\"\\\b\f\n\r\t".indexOf(character);
            if (escape >= 0) {
                result.append('\\').append("\"\\bfnrt".charAt(escape));
            } else if (character < ' ') {
                result.append(character < 0x10 ? "\\u000" : "\\u00").append(Integer.toHexString(character));
            } else {
                result.append(character);
            }
        }
        result.append('"');
    }
}
