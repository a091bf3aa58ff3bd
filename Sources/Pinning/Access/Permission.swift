package import PinWire

/// Something that a principal may be allowed to do: the `x-permission` of operations in `openapi/openapi.yaml`.
///
/// The raw value is the name in the ledger, in JSON and in the contract; it never changes. A further one needs a further form of
/// `RoleDefined` and a ``FeatureLevel``: an earlier program takes a name that it does not know for damage.
package enum Permission: String, CaseIterable, Sendable {
    // On apps
    case readApps = "apps.read"
    case createApps = "apps.create"
    case changeApps = "apps.change"
    /// And to bring back: an archived app serves a tombstone.
    case archiveApps = "apps.archive"
    /// To have an app accept certificates that it refused: a weaker mode, a protected host or its subdomains taken away.
    case weakenProtection = "protection.weaken"
    case manageClientKeys = "client_keys.manage"
    case manageTelemetryKeys = "telemetry_keys.manage"
    case manageCalendarFeeds = "calendar_feeds.manage"
    case engageKillSwitches = "kill_switches.engage"
    case releaseKillSwitches = "kill_switches.release"
    case changeGuardRails = "guard_rails.change"
    /// To change an app past a guard rail, by force.
    case overrideGuardRails = "guard_rails.override"
    case readHistory = "history.read"
    /// To have the server connect to a service and report its certificates.
    case runProbes = "probes.run"
    /// Principals, grants, roles and tokens.
    case readAccess = "access.read"
    case manageAccess = "access.manage"
    /// Proposed changes, and those that were applied.
    case readChanges = "changes.read"
    case approveChanges = "changes.approve"
    /// To apply a change without the approvals that it needs, which another person reviews afterwards.
    case bypassApprovals = "approvals.bypass"
    /// The rules by which changes need approvals, and freezes.
    case manageApprovals = "approvals.manage"
    /// The settings that hold for every app.
    case readFleet = "fleet.read"

    // On everything that belongs to no app
    case changeFleet = "fleet.change"
    case readKeys = "keys.read"
    case manageKeys = "keys.manage"
    case readWebhooks = "webhooks.read"
    case manageWebhooks = "webhooks.manage"
    case readLog = "log.read"
    case manageLog = "log.manage"
    /// Who was refused what, and who read what is confidential.
    case readAudit = "audit.read"

    /// Whether it lets its holder see things, and change nothing.
    package var isRead: Bool {
        switch self {
        case .readApps, .readHistory, .readAccess, .readChanges, .readFleet, .readKeys, .readWebhooks, .readLog,
            .readAudit:
            true
        case .createApps, .changeApps, .archiveApps, .weakenProtection, .manageClientKeys, .manageTelemetryKeys,
            .manageCalendarFeeds,
            .engageKillSwitches, .releaseKillSwitches, .changeGuardRails, .overrideGuardRails, .runProbes,
            .manageAccess, .approveChanges, .bypassApprovals, .manageApprovals, .changeFleet, .manageKeys,
            .manageWebhooks, .manageLog:
            false
        }
    }

    /// Whether it can be held for some apps. Others are held for the installation or not at all.
    package var isPerApp: Bool {
        switch self {
        case .readApps, .createApps, .changeApps, .archiveApps, .weakenProtection, .manageClientKeys,
            .manageTelemetryKeys, .manageCalendarFeeds, .engageKillSwitches, .releaseKillSwitches, .changeGuardRails,
            .overrideGuardRails, .readHistory, .runProbes, .readAccess, .manageAccess, .readChanges, .approveChanges,
            .bypassApprovals, .manageApprovals, .readFleet:
            true
        case .changeFleet, .readKeys, .manageKeys, .readWebhooks, .manageWebhooks, .readLog, .manageLog, .readAudit:
            false
        }
    }
}

/// Where a permission must be held.
package enum PermissionReach: Hashable, Sendable {
    case app(AppID)
    /// On all of these.
    case apps([AppPattern])
    /// At least on one.
    case anyApp
    /// On every app, and what belongs to none.
    case everywhere
}
