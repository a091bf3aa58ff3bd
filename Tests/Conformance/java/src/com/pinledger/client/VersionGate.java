package com.pinledger.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** A range of app versions: of a document's candidates, or of a kill switch. */
public final class VersionGate {
    /** The code of a device inside of the gate. */
    static final String IN = "version_gate_in";

    private final AppVersion minimum;
    private final AppVersion maximum;
    private final List<AppVersion> excluded;
    private final Long minimumBuild;

    private VersionGate(AppVersion minimum, AppVersion maximum, List<AppVersion> excluded, Long minimumBuild) {
        this.minimum = minimum;
        this.maximum = maximum;
        this.excluded = excluded;
        this.minimumBuild = minimumBuild;
    }

    static VersionGate read(Object value) throws MalformedException {
        Members members = new Members(value);
        AppVersion minimum = members.has("minimum") ? AppVersion.required(members.required("minimum")) : null;
        AppVersion maximum = members.has("maximum") ? AppVersion.required(members.required("maximum")) : null;
        List<AppVersion> excluded = new ArrayList<>();
        if (members.has("excluded")) {
            for (Object version : members.list("excluded", 1, 100)) {
                excluded.add(AppVersion.required(version));
            }
        }
        Long minimumBuild = members.optionalInteger("minimum_build", 0, Payload.INTEGER_LIMIT);
        members.end();
        Members.require(minimum != null || maximum != null || !excluded.isEmpty() || minimumBuild != null, "a gate without bounds");
        Members.require(minimum == null || maximum == null || maximum.compareTo(minimum) >= 0, "a maximum below the minimum");
        return new VersionGate(minimum, maximum, Collections.unmodifiableList(excluded), minimumBuild);
    }

    /** Whether the gate lets the device in. */
    boolean includes(Device device) {
        return IN.equals(code(device));
    }

    /** The code that says whether the gate lets the device in, or why it does not. */
    String code(Device device) {
        if (minimum != null || maximum != null || !excluded.isEmpty()) {
            String outside = codeOutside(device.appVersion());
            if (outside != null) {
                return outside;
            }
        }
        if (minimumBuild != null) {
            if (device.build() == null) {
                return "build_unknown";
            }
            if (device.build() < minimumBuild) {
                return "build_below_minimum";
            }
        }
        return IN;
    }

    private String codeOutside(String text) {
        if (text == null) {
            return "version_unknown";
        }
        AppVersion version = AppVersion.parse(text);
        if (version == null) {
            return "version_invalid";
        }
        if (minimum != null && version.compareTo(minimum) < 0) {
            return "version_below_minimum";
        }
        if (maximum != null && version.compareTo(maximum) > 0) {
            return "version_above_maximum";
        }
        return excluded.contains(version) ? "version_excluded" : null;
    }
}
