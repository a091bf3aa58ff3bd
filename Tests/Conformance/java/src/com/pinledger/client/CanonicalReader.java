package com.pinledger.client;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A reader of canonical JSON (RFC 8785) in printable ASCII without a backslash and with no numbers but integers, the spelling
 * of roots of trust.
 *
 * <p>It refuses any other spelling while it reads, so that nothing has to be written again and compared. Values become those of
 * {@link Json}. Unlike that, it takes null, as {@link #NULL}: members that a client ignores may have it. Its cost is linear in
 * the size of the text.
 */
final class CanonicalReader {
    /** A value of its own, because a map tells no member that is null from one that is absent. */
    static final Object NULL = new Object();

    /** {@link Payload#INTEGER_LIMIT} has as many. */
    private static final int DIGIT_LIMIT = 16;

    private final String text;
    private final int depthLimit;
    private int position;

    private CanonicalReader(String text, int depthLimit) {
        this.text = text;
        this.depthLimit = depthLimit;
    }

    /** Reads the one value that the bytes hold. */
    static Object parse(byte[] bytes, int depthLimit) throws MalformedException {
        for (byte one : bytes) {
            // A byte outside of ASCII is negative, so it is no printable character either.
            Members.require(one >= ' ' && one <= '~' && one != '\\', "not printable ASCII without a backslash");
        }
        CanonicalReader reader = new CanonicalReader(new String(bytes, StandardCharsets.US_ASCII), depthLimit);
        Object value = reader.value(0);
        Members.require(reader.position == bytes.length, "text after the value");
        return value;
    }

    private Object value(int depth) throws MalformedException {
        switch (peek()) {
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
            case 'n':
                return literal("null", NULL);
            default:
                return integer();
        }
    }

    private Map<String, Object> object(int depth) throws MalformedException {
        enter(depth);
        Map<String, Object> members = new LinkedHashMap<>();
        if (skip('}')) {
            return members;
        }
        String previous = null;
        do {
            Members.require(peek() == '"', "no name of a member");
            String name = string();
            // RFC 8785 sorts by UTF-16 code units, as compareTo does. A name that is there twice is out of order, too.
            Members.require(previous == null || previous.compareTo(name) < 0, "members out of order");
            previous = name;
            Members.require(skip(':'), "a colon is missing");
            members.put(name, value(depth));
        } while (skip(','));
        Members.require(skip('}'), "the end of an object is missing");
        return members;
    }

    private List<Object> array(int depth) throws MalformedException {
        enter(depth);
        List<Object> items = new ArrayList<>();
        if (skip(']')) {
            return items;
        }
        do {
            items.add(value(depth));
        } while (skip(','));
        Members.require(skip(']'), "the end of an array is missing");
        return items;
    }

    private void enter(int depth) throws MalformedException {
        // The reader calls itself for each level, so the limit also protects the stack.
        Members.require(depth <= depthLimit, "nested too deeply");
        position++;
    }

    private String string() throws MalformedException {
        int start = position + 1;
        int end = text.indexOf('"', start);
        Members.require(end >= 0, "the text ends early");
        position = end + 1;
        return text.substring(start, end);
    }

    private Object literal(String name, Object value) throws MalformedException {
        Members.require(text.startsWith(name, position), "an unknown value");
        position += name.length();
        return value;
    }

    private Long integer() throws MalformedException {
        boolean negative = skip('-');
        int start = position;
        while (position < text.length() && Ascii.isDigit(text.charAt(position))) {
            position++;
        }
        int count = position - start;
        Members.require(count > 0 && count <= DIGIT_LIMIT, "no integer of a possible size");
        // A zero stands alone, and has no sign.
        Members.require(text.charAt(start) != '0' || count == 1 && !negative, "an integer in another spelling than its own");
        long value = Long.parseLong(text.substring(start, position));
        Members.require(value <= Payload.INTEGER_LIMIT, "a number too large");
        return negative ? -value : value;
    }

    private char peek() throws MalformedException {
        Members.require(position < text.length(), "the text ends early");
        return text.charAt(position);
    }

    /** Whether the next character is this one, which is skipped then. */
    private boolean skip(char expected) {
        boolean isNext = position < text.length() && text.charAt(position) == expected;
        position += isNext ? 1 : 0;
        return isNext;
    }
}
