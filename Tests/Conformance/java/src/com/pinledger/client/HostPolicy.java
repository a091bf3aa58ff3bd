package com.pinledger.client;

/** The policies of a document for one host pattern. */
public final class HostPolicy {
    private String pattern;
    private boolean includesSubdomains;
    private Policy baseline;
    private Policy candidate;
    private Rollout rollout;
    private String arm;

    private HostPolicy() {}

    /** Reads a {@code PayloadHost}, or an {@code EvaluatedHost}. */
    static HostPolicy read(Object value, boolean evaluated) throws MalformedException {
        Members members = new Members(value);
        HostPolicy host = new HostPolicy();
        host.pattern = HostName.pattern(members.required("host"));
        host.includesSubdomains = members.flag("include_subdomains");
        host.baseline = Policy.read(members.required("baseline"));
        if (evaluated) {
            host.arm = members.text("arm");
            Members.require(host.arm.equals("baseline") || host.arm.equals("candidate"), "an unknown arm");
        } else {
            host.candidate = members.has("candidate") ? Policy.read(members.required("candidate")) : null;
            Members.require(host.candidate == null || host.candidate.outcome() != Decision.Outcome.BUILTIN,
                    "a candidate without pins of its own");
            host.rollout = members.has("rollout") ? Rollout.read(members.required("rollout")) : null;
        }
        members.end();
        return host;
    }

    public String pattern() {
        return pattern;
    }

    boolean includesSubdomains() {
        return includesSubdomains;
    }

    Policy baseline() {
        return baseline;
    }

    /** The policy for the devices inside of the rollouts, or null if there is none. */
    Policy candidate() {
        return candidate;
    }

    /** The candidate's rollout, or null if there is none. */
    Rollout rollout() {
        return rollout;
    }

    /** Which of the two policies {@link #baseline} is, in an evaluated document; otherwise null. */
    String evaluatedArm() {
        return arm;
    }
}
