import PinWire
import Pinning

/// The meaning of an event, as a sentence for the operator who caused it.
struct EventSentence {
    let event: JSON
    var data: JSON { self.event["data"] ?? .null }

    init(_ event: JSON) {
        self.event = event
    }

    /// The app whose stream it belongs to; `every app` for the fleet's.
    private var app: String {
        let stream = self.event.text("stream")
        return stream.firstRange(of: "/").map { String(stream[$0.upperBound...]) } ?? "every app"
    }

    private var host: String { self.data.text("host") }
    /// A host's, or the app's where none is named.
    private var place: String { self.data["host"] == nil ? self.app : "\(self.host) of \(self.app)" }
    private var policy: String { self.data.text("policy") }
    private var pin: String { self.data.text("pin") }

    /// The sentence. For a type without one of its own, such as one of a newer server, it is made of the type's name.
    var text: String {
        let ofApps = self.ofApp ?? self.ofPins ?? self.ofKillSwitches ?? self.ofRollouts ?? self.ofRotations
        return ofApps ?? self.ofAccess ?? self.ofChanges ?? self.ofRequests ?? self.ofServer ?? self.ofName
    }

    /// The words of the type's name, and what the event is about: "Rollout bake started: api.example.com of com.example."
    private var ofName: String {
        var words = ""
        for character in self.event.text("type") {
            words += character.isUppercase && !words.isEmpty ? " \(character.lowercased())" : String(character)
        }
        let isOfApp = self.event.text("stream").firstRange(of: "/") != nil
        return isOfApp ? "\(words): \(self.place)." : "\(words)."
    }

    private var ofApp: String? {
        switch self.event.text("type") {
        case "AppCreated": "The app \(self.app) is created. It has no hosts yet."
        case "AppArchived": "The app \(self.app) is archived: clients pin nothing, and it takes no changes."
        case "AppUnarchived": "The app \(self.app) is in use again. It has no hosts yet."
        case "ChangeReverted":
            "The change at position \(self.data.text("reverted_position")) is reverted."
        case "AppRenamed": "The app \(self.app) is called \(self.data.text("display_name"))."
        case "VersionGateSet":
            self.data["version_gate"].flatMap { $0 == .null ? nil : $0 } == nil
                ? "All versions of \(self.app) get candidates."
                : "Only some versions of \(self.app) get candidates."
        case "AppRolloutSet": "\(RolloutText.devices(self.data["rollout"], of: self.app)) get its candidates."
        case "FallbackSet": "The behaviour of \(self.app) without a document has changed."
        case "MonitoringSet": "The monitoring of \(self.app) has changed."
        case "PinsValidUntilSet":
            self.data["pins_valid_until"]?.stringValue.map {
                "Clients of \(self.app) stop enforcing pins at \(LocalTime.text($0))."
            } ?? "Clients of \(self.app) enforce pins without an end date."
        case "HostAdded": "\(self.place) is added."
        case "HostRemoved": "\(self.place) is removed: clients stop pinning it."
        case "HostSubdomainsSet":
            self.data["include_subdomains"] == true
                ? "\(self.place) also matches all its subdomains." : "\(self.place) no longer matches subdomains."
        case "EndpointsSet": "The services to probe of \(self.place) have changed."
        case "ModeSet":
            switch self.data.text("mode") {
            case "enforce": "Pinning is ENFORCED by the \(self.policy) of \(self.place)."
            case "report_only":
                "The \(self.policy) of \(self.place) only reports: clients that fetch their pins refuse no connection."
            default: "Pinning is OFF in the \(self.policy) of \(self.place)."
            }
        case "ClientSet": "Clients of the kind \(self.data.text("client")) are declared for \(self.app)."
        case "ClientRemoved": "\(self.app) no longer has clients of the kind \(self.data.text("client"))."
        case "ClientKeySet":
            "Clients of the kind \(self.data.text("client")) get documents of \(self.app) signed with another key."
        case "BuiltInPinsNoted":
            "Installs of the kind \(self.data.text("client")) have \(self.data["pins"]?.arrayValue?.count ?? 0) pins built in for \(self.place)\(self.data["origin"] == "exported" ? " once they are made with the exported file" : "")."
        default: nil
        }
    }

    private var ofPins: String? {
        switch self.event.text("type") {
        case "PinStaged": "\(self.pin) is recorded as a \(self.data.text("role")) key of \(self.place)."
        case "PinActivated": "\(self.pin) is published for \(self.place)."
        case "PinRoleSet": "\(self.pin) is the \(self.data.text("role")) key of \(self.place) now."
        case "PinRetired": "\(self.pin) is retired for \(self.place)."
        case "PinRevoked": "\(self.pin) is revoked for \(self.place). It cannot be used again."
        case "KeyDescribed": "The key or certificate of a pin of \(self.app) is stored."
        default: nil
        }
    }

    private var ofKillSwitches: String? {
        let versions = self.data["versions"].map { ", versions \(KillCommands.text(versions: $0))," } ?? ""
        switch self.event.text("type") {
        case "KillSwitchEngaged":
            return "Pinning is OFF for \(self.place)\(versions) until \(self.data.time("expires_at"))."
        case "KillSwitchReleased":
            return
                "The kill switch of \(self.place)\(versions) is released: the modes of its policies hold again, unless another switch stands."
        case "FleetKillSwitchEngaged":
            return "Pinning is OFF for all apps until \(self.data.time("expires_at"))."
        case "FleetKillSwitchReleased":
            return
                "The kill switch of all apps is released: the modes of their policies hold again, unless another switch stands."
        default: return nil
        }
    }

    private var ofRollouts: String? {
        switch self.event.text("type") {
        case "CandidateStarted": "\(self.place) has a candidate."
        case "CandidatePromoted": "The candidate of \(self.place) is the baseline now."
        case "CandidateDropped": "The candidate of \(self.place) is dropped: all devices get the baseline."
        case "HostRolloutSet": "\(RolloutText.devices(self.data["rollout"])) get the candidate of \(self.place)."
        case "RolloutPlanSet": "The rollout of \(self.place) follows a plan."
        case "RolloutPlanCleared": "The rollout of \(self.place) no longer has a plan. Its share stays."
        case "RolloutStepTaken":
            "The rollout of \(self.place) is at step \(self.data.text("step")), with a share of \(RolloutText.share(self.data))."
        case "RolloutStepApproved": "Step \(self.data.text("step")) of the rollout of \(self.place) is approved."
        case "RolloutSampleReached":
            "Enough installs reported in step \(self.data.text("step")) of the rollout of \(self.place)."
        case "RolloutStepExtended": "The rollout of \(self.place) waits longer for reports."
        case "RolloutBakeStarted": "The rollout of \(self.place) has reached its last share. Its bake time begins."
        case "RolloutPlanFinished": "The plan of the rollout of \(self.place) is finished."
        case "RolloutPaused": "The rollout of \(self.place) is paused. Devices keep what they have."
        case "RolloutResumed": "The rollout of \(self.place) is resumed."
        case "RolloutRolledBack": "The rollout of \(self.place) is rolled back: no device gets the candidate."
        default: nil
        }
    }

    private var ofRotations: String? {
        let name = self.data.text("rotation")
        switch self.event.text("type") {
        case "RotationStarted":
            return
                "The rotation \(name) has begun for \((self.data["hosts"]?.arrayValue ?? []).compactMap(\.stringValue).joined(separator: ", "))."
        case "RotationAdvanced":
            return switch self.data.text("phase") {
            case "switch": "The rotation \(name) is in its phase switch: change the key on every server now."
            case "settle":
                "The rotation \(name) settles: the next key is the primary, and the old one is still accepted."
            case "clean_up":
                "The rotation \(name) cleans up: the old key is out of the documents. Keep its private half."
            default: "The rotation \(name) is done."
            }
        case "RotationAborted": return "The rotation \(name) is aborted."
        default: return nil
        }
    }

    private var ofServer: String? {
        let id = self.data.text("webhook_id")
        return switch self.event.text("type") {
        case "IssuerSet": "Documents name \(self.data.text("issuer")) as their issuer."
        case "GuardRailSet", "FleetGuardRailSet":
            "The guard rail \(self.data.text("code")) \(self.data["lowered"] == true ? "only warns" : "is enforced again") for \(self.app)."
        case "GuardRailsOverridden", "FleetGuardRailsOverridden", "SigningKeyRailsOverridden":
            "Overridden: \((self.data["findings"]?.arrayValue ?? []).map { $0.text("code") }.joined(separator: ", "))."
        case "SigningKeyCreated": "The signing key \(self.data.text("kid")) is announced to clients."
        case "SigningKeyActivated": "The signing key \(self.data.text("kid")) signs documents now."
        case "SigningKeyRetired": "The signing key \(self.data.text("kid")) is retired: clients no longer trust it."
        case "RootPublished":
            "The root of trust of version \(self.data["root"]?["signed"]?.text("version") ?? "") names the keys that clients trust from now on."
        case "LogOpened": "The ledger is a transparency log named \(self.data.text("origin"))."
        case "LogContinued":
            "Events were lost: the transparency log goes on as \(self.data.text("origin")), after \(self.data.text("previous_origin"))."
        case "HistoryRestored":
            "Events were lost: epoch \(self.data.text("epoch")) begins after \(self.data.text("kept_size")) events, and every document's version is raised by \(self.data.text("raised_by"))."
        case "FeatureLevelRaised":
            "The ledger is at the feature level \(self.data.text("level")): earlier programs no longer record or sign."
        case "LogKeyAdded": "The key \(self.data.text("kid")) signs the log's checkpoints too."
        case "LogKeyRetired": "The key \(self.data.text("kid")) no longer signs the log's checkpoints."
        case "LogWitnessAdded": "The witness \(self.data.text("name")) is asked to cosign the log's checkpoints."
        case "LogWitnessRemoved": "The witness \(self.data.text("name")) is no longer asked to cosign checkpoints."
        case "LogQuorumSet":
            "A checkpoint is shown once it has the cosignatures of so many witnesses: \(self.data.text("quorum"))."
        case "LogAccessSet":
            self.data["public"] == true ? "Everyone may read the log." : "Only who has a token may read the log."
        case "LogDocumentProofsSet":
            self.data["document_proofs"] == true
                ? "Published documents are recorded in the log."
                : "Published documents are no longer recorded in the log."
        case "DocumentPublished": "Version \(self.data.text("version")) of the document of \(self.app) is published."
        case "TelemetryKeyAdded": "Reports of \(self.app) may be signed with the key \(self.data.text("key_id"))."
        case "TelemetryKeyRetired":
            "Reports of \(self.app) signed with the key \(self.data.text("key_id")) are refused."
        case "TelemetryReacted": "The server reacted to what clients of \(self.app) report."
        case "WarningRaised": "\(self.app) has a new warning: \(self.data.said("detail"))"
        case "WarningCleared": "A warning about \(self.app) is cleared."
        case "WebhookCreated": "The webhook \(id) sends to \(self.data.text("url"))."
        case "WebhookChanged": "The webhook \(id) has changed."
        case "WebhookPaused": "The webhook \(id) is paused: events wait in the ledger."
        case "WebhookResumed": "The webhook \(id) resumes with the event after the last one sent."
        case "WebhookRemoved": "The webhook \(id) is removed, and its secret erased."
        case "WebhookSecretRotated": "The webhook \(id) signs with a new secret; the old one is valid for another day."
        default: nil
        }
    }
}
