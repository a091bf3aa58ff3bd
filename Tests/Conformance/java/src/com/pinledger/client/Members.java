package com.pinledger.client;

import java.util.List;
import java.util.Map;

/**
 * The members of a JSON object, read against its schema.
 *
 * <p>Each member is read at most once; {@link #end} refuses an object with members that were not read.
 */
final class Members {
    private final Map<?, ?> members;
    private int read;

    Members(Object value) throws MalformedException {
        if (!(value instanceof Map)) {
            throw new MalformedException("no object");
        }
        this.members = (Map<?, ?>) value;
    }

    boolean has(String name) {
        return members.containsKey(name);
    }

    /** The member's value, or null if there is no such member. */
    Object optional(String name) {
        Object value = members.get(name);
        if (value != null) {
            read++;
        }
        return value;
    }

    Object required(String name) throws MalformedException {
        Object value = optional(name);
        if (value == null) {
            throw new MalformedException("without " + name);
        }
        return value;
    }

    String text(String name) throws MalformedException {
        return textOf(required(name), name);
    }

    String optionalText(String name) throws MalformedException {
        return has(name) ? text(name) : null;
    }

    boolean flag(String name) throws MalformedException {
        Object value = required(name);
        if (!(value instanceof Boolean)) {
            throw new MalformedException(name + " is neither true nor false");
        }
        return (Boolean) value;
    }

    long integer(String name, long minimum, long maximum) throws MalformedException {
        Object value = required(name);
        if (!(value instanceof Long) || (Long) value < minimum || (Long) value > maximum) {
            throw new MalformedException(name + " is no integer in its range");
        }
        return (Long) value;
    }

    Long optionalInteger(String name, long minimum, long maximum) throws MalformedException {
        return has(name) ? (Long) integer(name, minimum, maximum) : null;
    }

    List<?> list(String name, int minimum, int maximum) throws MalformedException {
        Object value = required(name);
        if (!(value instanceof List) || ((List<?>) value).size() < minimum || ((List<?>) value).size() > maximum) {
            throw new MalformedException(name + " is no array of a possible length");
        }
        return (List<?>) value;
    }

    /** Refuses members that were not read: a newer server means something by them that this client does not understand. */
    void end() throws MalformedException {
        if (read != members.size()) {
            throw new MalformedException("unknown members");
        }
    }

    static String textOf(Object value, String name) throws MalformedException {
        if (!(value instanceof String)) {
            throw new MalformedException(name + " is no text");
        }
        return (String) value;
    }

    static void require(boolean condition, String otherwise) throws MalformedException {
        if (!condition) {
            throw new MalformedException(otherwise);
        }
    }
}
