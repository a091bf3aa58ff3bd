import PinWire

extension ExportedEvent {
    /// OCSF 1.1.0, class Entity Management (`class_uid` 3004, category Identity & Access Management).
    ///
    /// The entity is what the event's stream is about; the whole entry is in `unmapped`.
    var ocsf: JSON {
        let activity = Self.activity(of: self.type)
        let severity = self.severity
        let actor = self.entry["actor"]
        var entity: [String: JSON] = ["type": .string(self.stream), "uid": .string(self.stream)]
        if let slash = self.stream.firstIndex(of: "/") {
            entity["type"] = .string(String(self.stream[..<slash]))
            entity["uid"] = .string(String(self.stream[self.stream.index(after: slash)...]))
        }
        entity["version"] = (self.entry["stream_version"]?.integerValue).map { .string("\($0)") }
        entity["data"] = self.entry["data"]
        return .members([
            "activity_id": .integer(activity.id), "activity_name": .string(activity.name),
            "actor": [
                "user": .members([
                    "uid": actor?["id"], "name": actor?["name"],
                    // 3: a system account; 99: another kind, here a token.
                    "type_id": .integer(actor?["kind"]?.stringValue == "system" ? 3 : 99), "type": actor?["kind"],
                ])
            ],
            "category_name": "Identity & Access Management", "category_uid": 3,
            "class_name": "Entity Management", "class_uid": 3004,
            "comment": self.entry["reason"],
            "entity": .object(entity),
            "message": .string("\(self.type) in \(self.stream)"),
            "metadata": .members([
                "version": "1.1.0", "uid": .string(self.id), "sequence": .integer(self.position),
                "log_name": .string(self.stream), "log_provider": .string(self.server),
                "event_code": .string(self.type), "correlation_uid": self.entry["correlation_id"],
                "product": ["name": "Pinledger", "vendor_name": "Pinledger", "version": .string(Version.text)],
            ]),
            "severity": .string(severity.name), "severity_id": .integer(severity.id),
            "status": "Success", "status_id": 1,
            "time": .integer(self.time.microseconds / 1000),
            "type_name": .string("Entity Management: \(activity.name)"),
            "type_uid": .integer(300_400 + activity.id),
            "unmapped": ["entry": self.entry],
        ])
    }

    private static func activity(of type: String) -> (id: Int64, name: String) {
        let ends = { (endings: [String]) in endings.contains { type.hasSuffix($0) } }
        let begun = ["CandidateStarted", "RotationStarted", "WarningRaised"]
        if begun.contains(type) || ends(["Created", "Added", "Issued", "Opened", "Staged", "Engaged", "Granted"]) {
            return (1, "Create")
        }
        if ends(["Removed", "Revoked", "Dropped", "Cleared", "Retired", "Released", "Aborted"]) {
            return (4, "Delete")
        }
        return (3, "Update")
    }

    /// High where clients are to trust less or more at once, medium where rules were overridden or changed, or rights.
    private var severity: (id: Int64, name: String) {
        let high = ["PinRevoked", "HistoryRestored", "SigningKeyActivated"]
        let isBypass = self.type == "ChangeApplied" && self.entry["data"]?["bypasses_approvals"] == true
        if isBypass || high.contains(self.type) || self.type.hasSuffix("KillSwitchEngaged") { return (4, "High") }
        let isOfRules = self.entry["forced"] == true || self.type.contains("GuardRail")
        let isOfRights = ["Token", "Role", "Principal", "Grant", "SigningKey", "LogKey", "ApprovalRule", "Freeze"]
            .contains {
                self.type.hasPrefix($0)
            }
        return isOfRules || isOfRights ? (3, "Medium") : (1, "Informational")
    }
}
