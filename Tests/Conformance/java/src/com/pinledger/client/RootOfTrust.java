package com.pinledger.client;

import com.pinledger.client.RootFailure.Reason;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A root of trust that passed every rule: it says which keys sign documents, and which keys sign the next root. */
public final class RootOfTrust {
    /** The most bytes that a root may have. */
    public static final int SIZE_LIMIT = 16_384;

    private static final int DEPTH_LIMIT = 16;
    private static final int SIGNATURE_LIMIT = 64;
    private static final int KEY_ID_CHARACTERS = 64;
    private static final int SIGNATURE_CHARACTERS = 128;
    private static final String TIME_SHAPE = "0000-00-00T00:00:00Z";
    private static final int FIRST_YEAR = 1970;

    private final byte[] bytes;
    private final Map<String, byte[]> signatures = new LinkedHashMap<>();
    private byte[] signedPart;
    private long version;
    private long endsAt;
    private RootRole rootRole;
    private RootRole documentRole;

    private RootOfTrust(byte[] bytes) {
        this.bytes = bytes.clone();
    }

    /** Takes the root that ships with the app, which has no other root that could vouch for it. */
    public static RootOfTrust shipped(byte[] bytes) throws RootFailure {
        RootOfTrust root = read(bytes);
        root.requireSignatures(root);
        return root;
    }

    /**
     * Takes the root that replaces this one.
     *
     * @throws RootFailure if a rule refuses it; this one stays the newest
     */
    public RootOfTrust next(byte[] bytes) throws RootFailure {
        RootOfTrust root = read(bytes);
        require(root.version == version + 1, Reason.OTHER_VERSION);
        root.requireSignatures(this);
        return root;
    }

    /** The root as it was fetched, to be stored. */
    public byte[] bytes() {
        return bytes.clone();
    }

    public long version() {
        return version;
    }

    /** When the root ends, in seconds since 1970. */
    public long endsAt() {
        return endsAt;
    }

    /** Whether clients accept no further documents by the root. It can still be replaced. */
    public boolean hasEnded(long now) {
        return endsAt <= now;
    }

    /** Whether the bytes, which need no right signature for that, are a root of this version or an earlier one. */
    boolean covers(byte[] bytes) throws RootFailure {
        return read(bytes).version <= version;
    }

    /** The keys that sign documents. */
    RootRole documentRole() {
        return documentRole;
    }

    private static RootOfTrust read(byte[] bytes) throws RootFailure {
        require(bytes.length <= SIZE_LIMIT, Reason.TOO_LARGE);
        RootOfTrust root = new RootOfTrust(bytes);
        try {
            root.readForm();
        } catch (MalformedException exception) {
            throw new RootFailure(Reason.MALFORMED_ROOT, exception);
        }
        return root;
    }

    private void readForm() throws MalformedException {
        Members members = new Members(CanonicalReader.parse(bytes, DEPTH_LIMIT));
        List<?> list = members.list("signatures", 0, SIGNATURE_LIMIT);
        readSignatures(list);
        readSigned(new Members(members.required("signed")));
        members.end();
        // As there are these two members and one spelling, it is known where the second one stands.
        String before = "{\"signatures\":" + CanonicalJson.text(list) + ",\"signed\":";
        signedPart = Arrays.copyOfRange(bytes, before.length(), bytes.length - "}".length());
    }

    private void readSignatures(List<?> list) throws MalformedException {
        String previous = "";
        for (Object item : list) {
            Members members = new Members(item);
            String keyId = hexadecimal(members, "keyid", KEY_ID_CHARACTERS);
            Members.require(previous.compareTo(keyId) < 0, "signatures out of order");
            signatures.put(keyId, Hashes.bytes(hexadecimal(members, "sig", SIGNATURE_CHARACTERS)));
            members.end();
            previous = keyId;
        }
    }

    /** Reads what is signed. Other members, roles and keys are for newer clients, and ignored. */
    private void readSigned(Members members) throws MalformedException {
        Members.require(members.text("_type").equals("root"), "no root");
        Members.require(members.text("spec_version").startsWith("1."), "another major version of TUF");
        version = members.integer("version", 1, Payload.INTEGER_LIMIT);
        endsAt = time(members.text("expires"));
        Members keys = new Members(members.required("keys"));
        Members roles = new Members(members.required("roles"));
        rootRole = RootRole.read(roles.required("root"), keys);
        documentRole = RootRole.read(roles.required("targets"), keys);
        Members.require(documentRole.threshold() == 1, "documents with several signatures");
    }

    /** Requires as many signatures as the root before this one asks for, and as many as this one asks for itself. */
    private void requireSignatures(RootOfTrust previous) throws RootFailure {
        Set<String> signers = new HashSet<>();
        for (Map.Entry<String, byte[]> signature : signatures.entrySet()) {
            // An id stands for one key, whichever of the roots it is found in, so each signature is checked once.
            byte[] own = rootRole.find(signature.getKey());
            byte[] key = own == null ? previous.rootRole.find(signature.getKey()) : own;
            if (key != null && Ed25519.verifies(key, signature.getValue(), signedPart, signedPart.length)) {
                signers.add(signature.getKey());
            }
        }
        require(previous.rootRole.isMetBy(signers) && rootRole.isMetBy(signers), Reason.MISSING_SIGNATURES);
    }

    private static String hexadecimal(Members members, String name, int length) throws MalformedException {
        String text = members.text(name);
        Members.require(text.length() == length && Ascii.isLowerHex(text), name + " is not hexadecimal of its length");
        return text;
    }

    /** The seconds since 1970 of a time in its one form. */
    private static long time(String text) throws MalformedException {
        boolean fits = text.length() == TIME_SHAPE.length();
        for (int index = 0; fits && index < text.length(); index++) {
            char shape = TIME_SHAPE.charAt(index);
            fits = shape == '0' ? Ascii.isDigit(text.charAt(index)) : text.charAt(index) == shape;
        }
        Members.require(fits && Integer.parseInt(text.substring(0, 4)) >= FIRST_YEAR, "no time");
        try {
            // It refuses days that a month does not have, the hour 24 and the second 60.
            return LocalDateTime.of(number(text, 0, 4), number(text, 5, 7), number(text, 8, 10), number(text, 11, 13),
                    number(text, 14, 16), number(text, 17, 19)).toEpochSecond(ZoneOffset.UTC);
        } catch (DateTimeException exception) {
            throw new MalformedException("a time that does not exist");
        }
    }

    private static int number(String text, int from, int to) {
        return Integer.parseInt(text.substring(from, to));
    }

    private static void require(boolean condition, Reason otherwise) throws RootFailure {
        if (!condition) {
            throw new RootFailure(otherwise);
        }
    }
}
