package com.pinledger.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** What a document says about connections to a host: a mode and pins, or the pins built into the app. */
public final class Policy {
    private static final int PIN_LIMIT = 100;
    private static final int DIGEST_BYTES = 32;

    private final Decision.Outcome outcome;
    private final List<String> pins;

    private Policy(Decision.Outcome outcome, List<String> pins) {
        this.outcome = outcome;
        this.pins = Collections.unmodifiableList(pins);
    }

    static Policy read(Object value) throws MalformedException {
        Members members = new Members(value);
        String source = members.text("source");
        if (source.equals("builtin")) {
            members.end();
            return new Policy(Decision.Outcome.BUILTIN, new ArrayList<>());
        }
        Members.require(source.equals("document"), "an unknown source of pins");
        Decision.Outcome outcome = outcome(members.text("mode"));
        List<String> pins = new ArrayList<>();
        for (Object pin : members.list("pins", 0, PIN_LIMIT)) {
            pins.add(pin(pin));
        }
        members.end();
        return new Policy(outcome, pins);
    }

    Decision.Outcome outcome() {
        return outcome;
    }

    /** The pins that connections are compared with: none unless the mode is to enforce or to report. */
    List<String> effectivePins() {
        boolean compares = outcome == Decision.Outcome.ENFORCE || outcome == Decision.Outcome.REPORT_ONLY;
        return compares ? pins : Collections.emptyList();
    }

    private static Decision.Outcome outcome(String mode) throws MalformedException {
        switch (mode) {
            case "enforce":
                return Decision.Outcome.ENFORCE;
            case "report_only":
                return Decision.Outcome.REPORT_ONLY;
            case "off":
                return Decision.Outcome.OFF;
            default:
                throw new MalformedException("an unknown mode");
        }
    }

    private static String pin(Object value) throws MalformedException {
        Members members = new Members(value);
        Members.require(members.text("alg").equals("sha256"), "an unknown hash function");
        String role = members.text("role");
        Members.require(role.equals("primary") || role.equals("backup") || role.equals("emergency"), "an unknown role");
        String digest = members.text("spki");
        Members.require(Base64Text.decodePadded(digest).length == DIGEST_BYTES, "no digest of 32 bytes");
        members.end();
        return "sha256/" + digest;
    }
}
