package com.pinledger.client;

import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.Set;

/** Decides by a document what applies to the connections of a device. */
public final class Evaluator {
    private final Payload payload;

    public Evaluator(Payload payload) {
        this.payload = payload;
    }

    /**
     * Decides for a connection.
     *
     * @param host The name that the app connects to, in A-labels.
     * @param clock The device's clock, in seconds since 1970.
     */
    public Decision decide(String host, Device device, long clock) {
        // A clock that lags behind the document's signature is wrong: it delays no switch, and prolongs none.
        long now = Math.max(clock, payload.issuedAt());
        String name = HostName.normalized(host);
        HostPolicy policies = name == null ? null : policies(name);
        if (policies == null && !hasBuiltinPins(name)) {
            return Decision.withoutPolicy(Decision.Outcome.OFF, "host_unknown", null);
        }
        String pattern = policies == null ? null : policies.pattern();
        // A name with built-in pins alone has no pattern; there, switches for the name and for its wildcard count.
        Collection<String> switched = policies == null ? exactAndWildcard(name) : Collections.singleton(pattern);
        for (KillSwitch killSwitch : payload.killSwitches()) {
            if (killSwitch.holds(switched, device, now)) {
                return Decision.withoutPolicy(Decision.Outcome.OFF, "kill_switch_engaged", pattern);
            }
        }
        if (payload.pinsValidUntil() != null && now >= payload.pinsValidUntil()) {
            return Decision.withoutPolicy(Decision.Outcome.OFF, "pins_expired", pattern);
        }
        if (policies == null) {
            return Decision.withoutPolicy(Decision.Outcome.BUILTIN, "host_builtin", null);
        }
        return decide(policies, device);
    }

    private Decision decide(HostPolicy policies, Device device) {
        if (payload.isEvaluated()) {
            return decision(policies, policies.baseline(), policies.evaluatedArm(), "server_decided");
        }
        if (policies.candidate() == null) {
            return decision(policies, policies.baseline(), "baseline", "candidate_none");
        }
        if (payload.versionGate() != null && !payload.versionGate().includes(device)) {
            return decision(policies, policies.baseline(), "baseline", payload.versionGate().code(device));
        }
        String ofApp = payload.rollout() == null ? "rollout_none" : payload.rollout().code(device);
        if (!Rollout.isIn(ofApp)) {
            return decision(policies, policies.baseline(), "baseline", ofApp);
        }
        String reason = policies.rollout() == null ? ofApp : policies.rollout().code(device);
        if (!Rollout.isIn(reason)) {
            return decision(policies, policies.baseline(), "baseline", reason);
        }
        return decision(policies, policies.candidate(), "candidate", reason);
    }

    private static Decision decision(HostPolicy policies, Policy policy, String arm, String reason) {
        return new Decision(policy.outcome(), reason, arm, policies.pattern(), policy.effectivePins());
    }

    /** The policies whose pattern stands for the name: the name itself, then what covers it from the nearest parent outwards. */
    private HostPolicy policies(String name) {
        HostPolicy exact = payload.host(name);
        if (exact != null) {
            return exact;
        }
        boolean nearest = true;
        for (String parent = HostName.parent(name); parent != null; parent = HostName.parent(parent)) {
            HostPolicy wildcard = payload.host("*." + parent);
            if (wildcard != null && (nearest || wildcard.includesSubdomains())) {
                return wildcard;
            }
            HostPolicy plain = payload.host(parent);
            if (plain != null && plain.includesSubdomains()) {
                return plain;
            }
            nearest = false;
        }
        return null;
    }

    private boolean hasBuiltinPins(String name) {
        if (name == null) {
            return false;
        }
        for (String pattern : exactAndWildcard(name)) {
            if (payload.usesBuiltinPins(pattern)) {
                return true;
            }
        }
        return false;
    }

    private static Set<String> exactAndWildcard(String name) {
        Set<String> patterns = new HashSet<>();
        patterns.add(name);
        if (HostName.wildcard(name) != null) {
            patterns.add(HostName.wildcard(name));
        }
        return patterns;
    }
}
