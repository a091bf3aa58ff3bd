extension SignedRoot {
    /// Refuses a root that some TUF tool would not read (TUF specification 1.0.34, sections 4.2 and 4.3): it is not published.
    ///
    /// Clients take more, because a root has to be understood by apps that are older than it: they pass over roles, keys and members that have
    /// no meaning for them. Published, such a root would be one for some of its readers, and none for others.
    ///
    /// - Parameter pointer: The place of the root.
    package func checkProfile(at pointer: JSONPointer = JSONPointer()) throws(JSONDefect) {
        var signed = try JSONField(self.signed, at: pointer.appending("signed")).members()
        let form = try signed.required("spec_version")
        let numbers = try form.string().split(separator: ".", omittingEmptySubsequences: false)
        guard (2...3).contains(numbers.count),
            numbers.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } })
        else { throw form.defect("must be a version such as 1.0.34") }
        if let consistent = signed.optional("consistent_snapshot") { _ = try consistent.bool() }
        let keys = try signed.required("keys")
        guard case .object(let listed) = keys.value else { throw keys.defect("must be an object") }
        for (id, key) in listed.sorted(by: { $0.key < $1.key }) {
            let field = JSONField(key, at: keys.pointer.appending(id))
            // The id is a digest of these members: with others, tools disagree about it.
            guard key == RootMetadata.key(try RootMetadata.publicKey(field, id)) else {
                throw field.defect("must have no other members than keytype, keyval with public, and scheme")
            }
        }
        var roles = try signed.required("roles").members()
        for name in ["root", "snapshot", "targets", "timestamp"] {
            try Self.checkRole(try roles.required(name), listed)
        }
        try roles.refuseUnknown()
    }

    private static func checkRole(_ field: JSONField, _ listed: [String: JSON]) throws(JSONDefect) {
        var members = try field.members()
        let names = try members.required("keyids").elements(atMost: RootMetadata.keyLimit)
        var seen: Set<String> = []
        for name in names {
            let id = try name.string()
            guard listed[id] != nil else { throw name.defect("is not among the keys") }
            guard seen.insert(id).inserted else { throw name.defect("is there twice") }
        }
        _ = try members.required("threshold").integer(1...Int64(max(1, names.count)))
    }
}
