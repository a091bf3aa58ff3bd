package com.pinledger.client;

import java.util.Collection;
import java.util.Map;

/** A part of a document that turns pinning off for a while. */
public final class KillSwitch {
    private String scope;
    private String host;
    private VersionGate versions;
    private long engagedAt;
    private long expiresAt;

    private KillSwitch() {}

    static KillSwitch read(Object value) throws MalformedException {
        Members members = new Members(value);
        KillSwitch killSwitch = new KillSwitch();
        killSwitch.scope = members.text("scope");
        switch (killSwitch.scope) {
            case "everything":
            case "app":
                break;
            case "host":
                killSwitch.host = HostName.pattern(members.required("host"));
                break;
            case "app_versions":
                Object versions = members.required("versions");
                Members.require(!(versions instanceof Map) || !((Map<?, ?>) versions).isEmpty(), "no versions");
                killSwitch.versions = VersionGate.read(versions);
                break;
            default:
                throw new MalformedException("an unknown scope");
        }
        killSwitch.engagedAt = members.integer("engaged_at", 0, Payload.TIME_LIMIT);
        killSwitch.expiresAt = members.integer("expires_at", 0, Payload.TIME_LIMIT);
        members.end();
        return killSwitch;
    }

    /**
     * Whether the switch holds.
     *
     * @param hosts The patterns that a switch for a host may name to count.
     */
    boolean holds(Collection<String> hosts, Device device, long now) {
        boolean concerned = host == null || hosts.contains(host);
        return concerned && engagedAt <= now && now < expiresAt
                && (versions == null || versions.includes(device));
    }
}
