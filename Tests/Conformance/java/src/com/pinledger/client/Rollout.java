package com.pinledger.client;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Which devices get a candidate: of the app or of one host. */
public final class Rollout {
    private static final int SHARE_LIMIT = 10_000;
    private static final int LIST_LIMIT = 250;
    private static final int SALT_LIMIT = 128;

    private long basisPoints;
    private String method;
    private Set<String> seed;
    private byte[] salt;
    private Set<String> countries;
    private Set<String> whitelist;
    private Set<String> exclusions;
    private boolean unleash;

    private Rollout() {}

    static Rollout read(Object value) throws MalformedException {
        Members members = new Members(value);
        Rollout rollout = new Rollout();
        rollout.basisPoints = members.integer("basis_points", 0, SHARE_LIMIT);
        rollout.method = members.text("method");
        Members.require(rollout.method.equals("percentage") || rollout.method.equals("whitelist")
                || rollout.method.equals("geography"), "an unknown method");
        rollout.seed = seed(members.list("seed", 1, 3));
        // Whether a bucket stays when an operator edits the rollout is the server's business.
        members.flag("sticky");
        rollout.salt = salt(members);
        rollout.countries = countries(members);
        Members.require(rollout.countries != null || !rollout.method.equals("geography"), "geography without countries");
        rollout.whitelist = hashedIds(members, "whitelist");
        rollout.exclusions = hashedIds(members, "exclusions");
        String bucketing = members.optionalText("bucketing");
        rollout.unleash = bucketing != null;
        Members.require(bucketing == null || bucketing.equals("unleash-murmur3"), "unknown bucketing");
        Members.require(!rollout.unleash || rollout.basisPoints % 100 == 0, "no whole percentage");
        members.end();
        return rollout;
    }

    /** Whether the code of a rollout lets a device in. */
    static boolean isIn(String code) {
        return code.equals("rollout_in") || code.equals("rollout_whitelisted") || code.equals("rollout_none");
    }

    /** The code that says whether the device is in, and why. */
    String code(Device device) {
        if (isListed(exclusions, device)) {
            return "rollout_excluded";
        }
        if (isListed(whitelist, device)) {
            return "rollout_whitelisted";
        }
        if (method.equals("whitelist")) {
            return "rollout_not_whitelisted";
        }
        if (method.equals("geography")) {
            String country = device.knownCountry();
            if (country == null) {
                return "country_unknown";
            }
            if (!countries.contains(country)) {
                return "country_outside";
            }
        }
        for (String kind : seed) {
            String identifier = device.knownId(kind);
            if (identifier != null) {
                int bucket = unleash ? Bucketing.unleashBucket(identifier, salt) : Bucketing.bucket(identifier, kind, salt);
                return bucket < basisPoints ? "rollout_in" : "rollout_out";
            }
        }
        return "seed_missing";
    }

    private boolean isListed(Set<String> list, Device device) {
        if (list.isEmpty()) {
            return false;
        }
        for (String kind : seed) {
            String identifier = device.knownId(kind);
            if (identifier != null && list.contains(Bucketing.hashedId(identifier, salt))) {
                return true;
            }
        }
        return false;
    }

    private static Set<String> seed(List<?> values) throws MalformedException {
        Set<String> seed = new LinkedHashSet<>();
        for (Object value : values) {
            String kind = Members.textOf(value, "seed");
            boolean isKnown = kind.equals("device_id") || kind.equals("user_id") || kind.equals("install_id");
            Members.require(isKnown, "an unknown kind of id");
            Members.require(seed.add(kind), "a kind of id appears twice");
        }
        return seed;
    }

    private static byte[] salt(Members members) throws MalformedException {
        String plain = members.optionalText("salt");
        String encoded = members.optionalText("salt_utf8");
        if (plain != null) {
            Members.require(encoded == null, "two salts");
            Members.require(!plain.isEmpty() && plain.length() <= SALT_LIMIT && Ascii.isPrintable(plain), "no salt");
            return plain.getBytes(StandardCharsets.US_ASCII);
        }
        return encoded == null ? new byte[0] : decodedSalt(encoded);
    }

    private static byte[] decodedSalt(String encoded) throws MalformedException {
        boolean fits = !encoded.isEmpty() && encoded.length() <= 2 * SALT_LIMIT && encoded.length() % 2 == 0
                && Ascii.isLowerHex(encoded);
        Members.require(fits, "no hexadecimal salt");
        byte[] salt = Hashes.bytes(encoded);
        String text;
        try {
            // A new decoder reports malformed input instead of replacing it.
            text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(salt)).toString();
        } catch (CharacterCodingException exception) {
            throw new MalformedException("a salt that is not UTF-8");
        }
        Members.require(!Ascii.isPrintable(text), "a salt that needs no hexadecimal");
        for (int index = 0; index < text.length(); index++) {
            char character = text.charAt(index);
            Members.require(character > 0x1f && (character < 0x7f || character > 0x9f), "a control character in a salt");
        }
        return salt;
    }

    private static Set<String> countries(Members members) throws MalformedException {
        if (!members.has("countries")) {
            return null;
        }
        Set<String> countries = new HashSet<>();
        for (Object value : members.list("countries", 1, LIST_LIMIT)) {
            String country = Members.textOf(value, "country");
            Members.require(country.length() == 2 && isUpper(country.charAt(0)) && isUpper(country.charAt(1)), "no country");
            countries.add(country);
        }
        return countries;
    }

    private static boolean isUpper(char character) {
        return character >= 'A' && character <= 'Z';
    }

    private static Set<String> hashedIds(Members members, String name) throws MalformedException {
        Set<String> hashes = new HashSet<>();
        if (members.has(name)) {
            for (Object value : members.list(name, 1, LIST_LIMIT)) {
                String hash = Members.textOf(value, name);
                Members.require(hash.length() == 64 && Ascii.isLowerHex(hash), "no hashed id");
                hashes.add(hash);
            }
        }
        return hashes;
    }
}
