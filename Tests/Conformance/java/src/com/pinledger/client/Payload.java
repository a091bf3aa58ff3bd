package com.pinledger.client;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The payload of a signed document, checked against the form of {@code DocumentPayload} or {@code EvaluatedPayload}. */
public final class Payload {
    static final long TIME_LIMIT = 253_402_300_799L;
    static final long INTEGER_LIMIT = 9_007_199_254_740_991L;
    private static final int HOST_LIMIT = 1_000;
    private static final int KILL_SWITCH_LIMIT = 2_000;
    private static final int APP_LIMIT = 128;
    /** The form is six levels deep; a few more make no difference. */
    private static final int DEPTH_LIMIT = 16;

    private String issuer;
    private String app;
    private long version;
    private long issuedAt;
    private long expiresAt;
    private String contentDigest;
    private boolean evaluated;
    private Long pinsValidUntil;
    private List<KillSwitch> killSwitches;
    private VersionGate versionGate;
    private Rollout rollout;
    private Map<String, HostPolicy> hosts;
    private boolean usesBuiltinPins;
    private Set<String> builtinPinHosts;
    private boolean reportsOutcomes;

    private Payload() {}

    /**
     * Reads the payload of a document whose signature is right.
     *
     * @throws MalformedException if it is not canonical, not of the form, or not what its digest says
     */
    static Payload verified(byte[] bytes, boolean evaluated) throws MalformedException {
        Object value = Json.parse(bytes, DEPTH_LIMIT);
        Members.require(Arrays.equals(CanonicalJson.bytes(value), bytes), "not canonical");
        Payload payload = read(value, evaluated);
        Map<String, Object> content = new TreeMap<>();
        for (Map.Entry<?, ?> member : ((Map<?, ?>) value).entrySet()) {
            content.put((String) member.getKey(), member.getValue());
        }
        content.keySet().removeAll(Arrays.asList("content_sha256", "iat", "exp"));
        String digest = Hashes.hexadecimal(Hashes.sha256(CanonicalJson.bytes(content)));
        Members.require(digest.equals(payload.contentDigest), "another content than its digest says");
        return payload;
    }

    /** Reads a payload by its form, as of a document that was accepted before. */
    static Payload read(Object value) throws MalformedException {
        return read(value, new Members(value).has("evaluated_from"));
    }

    private static Payload read(Object value, boolean evaluated) throws MalformedException {
        Members members = new Members(value);
        Payload payload = new Payload();
        payload.evaluated = evaluated;
        payload.issuer = members.text("iss");
        Members.require(Ascii.isPrintable(payload.issuer), "no issuer");
        payload.app = app(members.text("aud"));
        payload.version = members.integer("version", 0, INTEGER_LIMIT);
        payload.issuedAt = members.integer("iat", 0, TIME_LIMIT);
        payload.expiresAt = members.integer("exp", 0, TIME_LIMIT);
        payload.contentDigest = digest(members, "content_sha256");
        payload.pinsValidUntil = members.optionalInteger("pins_valid_until", 0, TIME_LIMIT);
        Members.require(members.text("bucketing").equals("pinroll/v1"), "unknown bucketing");
        if (evaluated) {
            digest(members, "evaluated_from");
        } else {
            payload.versionGate = members.has("version_gate") ? VersionGate.read(members.required("version_gate")) : null;
            payload.rollout = members.has("rollout") ? Rollout.read(members.required("rollout")) : null;
        }
        payload.killSwitches = killSwitches(members.list("kill_switches", 0, KILL_SWITCH_LIMIT));
        payload.hosts = hosts(members.list("hosts", 0, HOST_LIMIT), evaluated);
        payload.readFallback(members.required("fallback"));
        payload.readMonitoring(members.required("monitoring"));
        members.optionalInteger("archived_at", 0, TIME_LIMIT);
        members.end();
        return payload;
    }

    public String issuer() {
        return issuer;
    }

    /** The id of the app that the document is for. */
    public String app() {
        return app;
    }

    public long version() {
        return version;
    }

    /** When the document was signed, in seconds since 1970. */
    public long issuedAt() {
        return issuedAt;
    }

    /** When the document stops being fresh, in seconds since 1970. */
    public long expiresAt() {
        return expiresAt;
    }

    public String contentDigest() {
        return contentDigest;
    }

    /** Whether the server decided for one device. */
    public boolean isEvaluated() {
        return evaluated;
    }

    /** Whether clients report the outcomes of connections. */
    public boolean reportsOutcomes() {
        return reportsOutcomes;
    }

    /** When the pins end, in seconds since 1970; null if they do not end. */
    Long pinsValidUntil() {
        return pinsValidUntil;
    }

    Collection<KillSwitch> killSwitches() {
        return killSwitches;
    }

    /** The app versions that candidates reach; null for all. */
    VersionGate versionGate() {
        return versionGate;
    }

    /** The app's rollout; null if there is none. */
    Rollout rollout() {
        return rollout;
    }

    /** The policies for exactly this pattern, or null. */
    HostPolicy host(String pattern) {
        return hosts.get(pattern);
    }

    /** Whether the app's own pins hold for a pattern that the document has no policies for. */
    boolean usesBuiltinPins(String pattern) {
        return usesBuiltinPins && builtinPinHosts.contains(pattern);
    }

    private static List<KillSwitch> killSwitches(List<?> values) throws MalformedException {
        List<KillSwitch> killSwitches = new ArrayList<>();
        for (Object value : values) {
            killSwitches.add(KillSwitch.read(value));
        }
        return Collections.unmodifiableList(killSwitches);
    }

    private static Map<String, HostPolicy> hosts(List<?> values, boolean evaluated) throws MalformedException {
        Map<String, HostPolicy> hosts = new LinkedHashMap<>();
        for (Object value : values) {
            HostPolicy host = HostPolicy.read(value, evaluated);
            Members.require(hosts.put(host.pattern(), host) == null, "a host appears twice");
        }
        return hosts;
    }

    private void readFallback(Object value) throws MalformedException {
        Members members = new Members(value);
        usesBuiltinPins = members.flag("use_builtin_pins");
        builtinPinHosts = new HashSet<>();
        String previous = "";
        for (Object item : members.list("builtin_pin_hosts", 0, HOST_LIMIT)) {
            String pattern = HostName.pattern(item);
            Members.require(previous.compareTo(pattern) < 0, "hosts with built-in pins out of order");
            builtinPinHosts.add(pattern);
            previous = pattern;
        }
        members.end();
    }

    private void readMonitoring(Object value) throws MalformedException {
        Members members = new Members(value);
        reportsOutcomes = members.flag("enabled");
        // The rest is for the server alone; it is read to refuse a form that this client does not know.
        members.integer("failure_threshold_bp", 1, 9_999);
        members.flag("auto_disable");
        String reaction = members.optionalText("reaction");
        Members.require(reaction == null || reaction.equals("off") || reaction.equals("act"), "an unknown reaction");
        Members.require(!members.has("count_unsigned") || members.flag("count_unsigned"), "a default that is written");
        members.end();
    }

    private static String digest(Members members, String name) throws MalformedException {
        String digest = members.text(name);
        Members.require(digest.length() == 64 && Ascii.isLowerHex(digest), name + " is no digest");
        return digest;
    }

    private static String app(String text) throws MalformedException {
        boolean valid = !text.isEmpty() && text.length() <= APP_LIMIT && isLetterOrDigit(text.charAt(0)) && !text.contains("..");
        for (int index = 0; valid && index < text.length(); index++) {
            char character = text.charAt(index);
            valid = isLetterOrDigit(character) || character == '.' || character == '_' || character == '-';
        }
        Members.require(valid, "no id of an app");
        return text;
    }

    private static boolean isLetterOrDigit(char character) {
        return Ascii.isDigit(character) || Ascii.isLetter(character);
    }
}
