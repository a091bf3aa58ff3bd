package com.pinledger.client;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A strict reader of JSON (RFC 8259) that holds no fractions and no null.
 *
 * <p>Objects become {@code Map<String, Object>} in the order of RFC 8785, arrays {@code List<Object>}, texts {@link String},
 * numbers {@link Long} and truth values {@link Boolean}. It refuses members that appear twice, surrogates without their
 * other half, bytes that are not UTF-8, and nesting beyond a limit. Its cost is linear in the size of the text, but for the
 * sorting of members.
 */
public final class Json {
    private final String text;
    private final int depthLimit;
    private int position;

    private Json(String text, int depthLimit) {
        this.text = text;
        this.depthLimit = depthLimit;
    }

    /** Reads the one value that the bytes hold in UTF-8. */
    public static Object parse(byte[] utf8, int depthLimit) throws MalformedException {
        try {
            return parse(StandardCharsets.UTF_8.newDecoder()
                    .onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT)
                    .decode(ByteBuffer.wrap(utf8)).toString(), depthLimit);
        } catch (CharacterCodingException exception) {
            throw new MalformedException("not UTF-8");
        }
    }

    /** Reads the one value that the text holds. */
    public static Object parse(String text, int depthLimit) throws MalformedException {
        Json reader = new Json(text, depthLimit);
        reader.skipSpace();
        Object value = reader.value(0);
        reader.skipSpace();
        if (reader.position != text.length()) {
            throw reader.malformed("text after the value");
        }
        return value;
    }

    private Object value(int depth) throws MalformedException {
        char first = peek();
        switch (first) {
            case '{':
                return object(depth + 1);
            case '[':
                return array(depth + 1);
            case '"':
                return string();
            case 't':
                return literal("true", Boolean.TRUE);
            case 'f':
                return literal("false", Boolean.FALSE);
            default:
                return integer();
        }
    }

    private Map<String, Object> object(int depth) throws MalformedException {
        enter(depth);
        Map<String, Object> members = new TreeMap<>();
        skipSpace();
        if (peek() == '}') {
            position++;
            return members;
        }
        while (true) {
            skipSpace();
            if (peek() != '"') {
                throw malformed("no name of a member");
            }
            String name = string();
            skipSpace();
            take(':');
            skipSpace();
            if (members.put(name, value(depth)) != null) {
                throw malformed("a member appears twice");
            }
            skipSpace();
            if (peek() == '}') {
                position++;
                return members;
            }
            take(',');
        }
    }

    private List<Object> array(int depth) throws MalformedException {
        enter(depth);
        List<Object> items = new ArrayList<>();
        skipSpace();
        if (peek() == ']') {
            position++;
            return items;
        }
        while (true) {
            skipSpace();
            items.add(value(depth));
            skipSpace();
            if (peek() == ']') {
                position++;
                return items;
            }
            take(',');
        }
    }

    private void enter(int depth) throws MalformedException {
        // The reader calls itself for each level, so the limit also protects the stack.
        if (depth > depthLimit) {
            throw malformed("nested too deeply");
        }
        position++;
    }

    private String string() throws MalformedException {
        int start = ++position;
        while (peek() != '"' && peek() != '\\') {
            plain();
        }
        if (peek() == '"') {
            return text.substring(start, position++);
        }
        StringBuilder result = new StringBuilder().append(text, start, position);
        boolean escapedSurrogates = false;
        while (peek() != '"') {
            if (peek() != '\\') {
                result.append(plain());
                continue;
            }
            position++;
            char character = escaped();
            escapedSurrogates |= Character.isSurrogate(character);
            result.append(character);
        }
        position++;
        if (escapedSurrogates) {
            requirePairs(result);
        }
        return result.toString();
    }

    private char plain() throws MalformedException {
        char character = text.charAt(position++);
        if (character < ' ') {
            throw malformed("a control character in a text");
        }
        return character;
    }

    private char escaped() throws MalformedException {
        char kind = peek();
        position++;
        switch (kind) {
            case '"':
            case '\\':
            case '/':
                return kind;
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            case 'u':
                int code = 0;
                for (int count = 0; count < 4; count++) {
                    // Character.digit would also take the digits of other scripts.
                    int digit = "0123456789abcdef".indexOf(Ascii.lower(peek()));
                    if (digit < 0) {
                        throw malformed("no hexadecimal digit");
                    }
                    position++;
                    code = code << 4 | digit;
                }
                return (char) code;
            default:
                throw malformed("an unknown escape");
        }
    }

    private void requirePairs(CharSequence result) throws MalformedException {
        for (int index = 0; index < result.length(); index++) {
            char character = result.charAt(index);
            if (!Character.isSurrogate(character)) {
                continue;
            }
            boolean paired = Character.isHighSurrogate(character) && ++index < result.length()
                    && Character.isLowSurrogate(result.charAt(index));
            if (!paired) {
                throw malformed("half of a surrogate pair");
            }
        }
    }

    private Object literal(String name, Object value) throws MalformedException {
        if (!text.startsWith(name, position)) {
            throw malformed("an unknown value");
        }
        position += name.length();
        return value;
    }

    private Long integer() throws MalformedException {
        int start = position;
        boolean negative = peek() == '-';
        if (negative) {
            position++;
        }
        int digits = position;
        // The value is kept below zero, because there is one more negative number than there are positive ones.
        long value = 0;
        while (position < text.length() && Ascii.isDigit(text.charAt(position))) {
            int digit = text.charAt(position++) - '0';
            if (value < (Long.MIN_VALUE + digit) / 10) {
                throw malformed("a number too large");
            }
            value = value * 10 - digit;
        }
        boolean leadingZero = position - digits > 1 && text.charAt(digits) == '0';
        if (position == digits || leadingZero) {
            throw malformed(start == position ? "an unknown value" : "a malformed number");
        }
        if (position < text.length() && ".eE".indexOf(text.charAt(position)) >= 0) {
            throw malformed("a number that is not written as an integer");
        }
        if (!negative && value == Long.MIN_VALUE) {
            throw malformed("a number too large");
        }
        return negative ? value : -value;
    }

    private char peek() throws MalformedException {
        if (position == text.length()) {
            throw malformed("the text ends early");
        }
        return text.charAt(position);
    }

    private void take(char expected) throws MalformedException {
        if (peek() != expected) {
            throw malformed("'" + expected + "' is missing");
        }
        position++;
    }

    private void skipSpace() {
        while (position < text.length() && " \t\n\r".indexOf(text.charAt(position)) >= 0) {
            position++;
        }
    }

    private MalformedException malformed(String what) {
        return new MalformedException(what + " (character " + position + ")");
    }
}
