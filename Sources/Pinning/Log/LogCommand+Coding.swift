import PinWire

extension LogCommand {
    /// Its form in a proposed change; empty for a command that cannot be part of one.
    var members: [String: JSON] {
        switch self {
        case .retireKey(let kid): ["command": "retire_key", "kid": .string(kid)]
        case .addWitness(let witness):
            JSON.members([
                "command": "add_witness", "name": .string(witness.name.text),
                "public_key": .string(Base64URL.encode(witness.publicKey)), "url": .string(witness.url.text),
                "monitoring_url": witness.monitoringURL.map { .string($0.text) },
            ]).objectValue ?? [:]
        case .removeWitness(let keyID): ["command": "remove_witness", "key_id": .string(keyID)]
        case .setQuorum(let quorum): ["command": "set_quorum", "quorum": .integer(quorum)]
        case .update(let isPublic, let recordsDocuments):
            JSON.members([
                "command": "update", "public": isPublic.map { .bool($0) },
                "document_proofs": recordsDocuments.map { .bool($0) },
            ]).objectValue ?? [:]
        case .open, .continueAs, .addKey: [:]
        }
    }

    init(_ m: inout JSONMembers) throws(JSONDefect) {
        let name = try m.required("command")
        switch try name.string() {
        case "retire_key": self = .retireKey(kid: try m.required("kid").string())
        case "add_witness":
            self = .addWitness(
                LogWitness(
                    name: try MemberValue<LogName>.logName.read(try m.required("name")),
                    publicKey: try MemberValue<[UInt8]>.publicKey.read(try m.required("public_key")),
                    url: try m.required("url").parse(OutgoingURL.init(_:)),
                    monitoringURL: try m.optional("monitoring_url")?.parse(OutgoingURL.init(_:))))
        case "remove_witness": self = .removeWitness(keyID: try m.required("key_id").string())
        case "set_quorum":
            self = .setQuorum(try m.required("quorum").integer(0...Int64(LogSettings.witnessLimit)))
        case "update":
            self = .update(
                isPublic: try m.optional("public")?.bool(),
                recordsDocuments: try m.optional("document_proofs")?.bool())
        default: throw name.defect("is not a command for the log")
        }
    }
}
