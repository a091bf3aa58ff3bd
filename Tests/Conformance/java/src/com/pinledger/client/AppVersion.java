package com.pinledger.client;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** A version of an app by the rules of {@code appver/v1}: groups of digits, then optionally a pre-release and a build. */
public final class AppVersion implements Comparable<AppVersion> {
    private static final int LENGTH_LIMIT = 128;
    private static final int GROUP_LIMIT = 4;
    private static final int DIGIT_LIMIT = 9;

    private final int[] groups;
    /** The parts of the pre-release, numbers without leading zeros; null for a release. */
    private final List<String> preRelease;

    private AppVersion(int[] groups, List<String> preRelease) {
        this.groups = groups;
        this.preRelease = preRelease;
    }

    /** Reads a version, or returns null if the text is none. */
    public static AppVersion parse(String text) {
        if (text.length() > LENGTH_LIMIT) {
            return null;
        }
        int plus = text.indexOf('+');
        int core = plus < 0 ? text.length() : plus;
        int hyphen = text.indexOf('-');
        // A hyphen after the plus belongs to the build.
        boolean hasPreRelease = hyphen >= 0 && hyphen < core;
        int[] groups = groups(text.substring(0, hasPreRelease ? hyphen : core));
        List<String> preRelease = hasPreRelease ? identifiers(text.substring(hyphen + 1, core)) : null;
        boolean valid = groups != null
                && (!hasPreRelease || preRelease != null)
                && (plus < 0 || identifiers(text.substring(plus + 1)) != null);
        return valid ? new AppVersion(groups, preRelease) : null;
    }

    /** Reads a version of a document's payload. */
    static AppVersion required(Object value) throws MalformedException {
        AppVersion version = parse(Members.textOf(value, "version"));
        Members.require(version != null, "no version");
        return version;
    }

    /** The first three groups without leading zeros, as reports name a version. */
    public String inReports() {
        return groups[0] + "." + groups[1] + "." + groups[2];
    }

    @Override
    public int compareTo(AppVersion other) {
        int order = 0;
        for (int index = 0; index < GROUP_LIMIT && order == 0; index++) {
            order = Integer.compare(groups[index], other.groups[index]);
        }
        if (order != 0) {
            return order;
        }
        if (preRelease == null || other.preRelease == null) {
            return Boolean.compare(preRelease == null, other.preRelease == null);
        }
        int common = Math.min(preRelease.size(), other.preRelease.size());
        for (int index = 0; index < common && order == 0; index++) {
            order = compareParts(preRelease.get(index), other.preRelease.get(index));
        }
        return order != 0 ? order : Integer.compare(preRelease.size(), other.preRelease.size());
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof AppVersion && compareTo((AppVersion) other) == 0;
    }

    @Override
    public int hashCode() {
        return 31 * Arrays.hashCode(groups) + (preRelease == null ? 0 : preRelease.hashCode());
    }

    private static int compareParts(String left, String right) {
        boolean leftNumber = isNumber(left);
        boolean rightNumber = isNumber(right);
        if (leftNumber != rightNumber) {
            return leftNumber ? -1 : 1;
        }
        // A pre-release may hold numbers of any size; without leading zeros the longer one is the greater one.
        int order = leftNumber ? Integer.compare(left.length(), right.length()) : 0;
        return order != 0 ? order : left.compareTo(right);
    }

    private static int[] groups(String text) {
        List<String> parts = split(text);
        if (parts.size() > GROUP_LIMIT) {
            return null;
        }
        int[] groups = new int[GROUP_LIMIT];
        for (int index = 0; index < parts.size(); index++) {
            String part = parts.get(index);
            if (!isNumber(part) || part.length() > DIGIT_LIMIT) {
                return null;
            }
            groups[index] = Integer.parseInt(part);
        }
        return groups;
    }

    private static List<String> identifiers(String text) {
        List<String> parts = split(text);
        for (int index = 0; index < parts.size(); index++) {
            String part = parts.get(index);
            if (part.isEmpty()) {
                return null;
            }
            for (int position = 0; position < part.length(); position++) {
                char character = part.charAt(position);
                if (!Ascii.isDigit(character) && !Ascii.isLetter(character) && character != '-') {
                    return null;
                }
            }
            if (isNumber(part)) {
                parts.set(index, withoutLeadingZeros(part));
            }
        }
        return Collections.unmodifiableList(parts);
    }

    private static boolean isNumber(String part) {
        for (int index = 0; index < part.length(); index++) {
            if (!Ascii.isDigit(part.charAt(index))) {
                return false;
            }
        }
        return !part.isEmpty();
    }

    private static String withoutLeadingZeros(String number) {
        int start = 0;
        while (start < number.length() - 1 && number.charAt(start) == '0') {
            start++;
        }
        return number.substring(start);
    }

    /** Splits at dots. {@code String.split} would drop empty parts at the end. */
    private static List<String> split(String text) {
        List<String> parts = new ArrayList<>();
        int start = 0;
        for (int dot = text.indexOf('.'); dot >= 0; dot = text.indexOf('.', start)) {
            parts.add(text.substring(start, dot));
            start = dot + 1;
        }
        parts.add(text.substring(start));
        return parts;
    }
}
