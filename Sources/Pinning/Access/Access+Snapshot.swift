import PinWire

extension Access {
    func write(to out: inout SnapshotWriter) {
        out.add(self.version)
        out.add(each: self.tokens.values.sorted { $0.id < $1.id }) { out, token in
            out.add(token.id)
            out.add(token.name)
            out.add(raw: token.digest)
            out.add(token.createdAt)
            out.add(token.expiresAt)
            out.add(token.terms) { $0.add(json: $1.json) }
            out.add(token.revokedAt) { $0.add($1) }
            out.add(token.replacedBy) { $0.add($1) }
        }
        // Not only the tokens' digests: the later of two tokens with one digest counts, and both of two with one id.
        out.add(each: self.idByDigest.sorted { $0.key.lexicographicallyPrecedes($1.key) }) { out, pair in
            out.add(raw: pair.key)
            out.add(pair.value)
        }
        out.add(each: self.roles.sorted { $0.key < $1.key }) { out, pair in
            out.add(pair.key.text)
            out.add(each: pair.value.sorted { $0.rawValue < $1.rawValue }) { $0.add(place: $1) }
        }
        out.add(each: self.principals.values.sorted { $0.id < $1.id }) { out, principal in
            out.add(principal.id)
            out.add(place: principal.kind)
            out.add(principal.name)
            out.add(principal.createdAt)
            out.add(principal.suspendedAt) { $0.add($1) }
            out.add(each: principal.grants.sorted { $0.key < $1.key }) { out, pair in
                out.add(pair.key)
                out.add(json: pair.value.json)
            }
            out.add(each: principal.approvalKeys.sorted { $0.key < $1.key }) { out, pair in
                out.add(pair.key)
                out.add(raw: pair.value.publicKey)
            }
            out.add(principal.lastSignIn) { out, last in
                out.add(each: last.rules) { out, rule in
                    out.add(rule.name.text)
                    out.add(rule.revision)
                }
                out.add(last.time)
            }
        }
        out.add(each: self.principalByGrant.sorted { $0.key < $1.key }) { out, pair in
            out.add(pair.key)
            out.add(pair.value)
        }
        out.add(each: self.approvalRules.values.sorted { $0.name < $1.name }) { $0.add(json: $1.json) }
        out.add(each: self.freezes.values.sorted { $0.id < $1.id }) { $0.add(json: $1.json) }
        out.add(each: self.identityProviders.values.sorted { $0.name < $1.name }) { $0.add(json: $1.json) }
        out.add(each: self.signInRules.values.sorted { $0.name < $1.name }) { out, rule in
            out.add(json: rule.json)
            out.add(rule.revision)
        }
        out.add(each: self.identities.sorted { $0.key < $1.key }) { $0.add(json: $1.value.json) }
        out.add(each: self.sessionCounts.sorted { $0.key < $1.key }) { out, pair in
            out.add(pair.key)
            out.add(Int64(pair.value))
        }
        out.add(self.sessionsToPrune)
    }

    init(_ reader: inout SnapshotReader) throws(SnapshotDefect) {
        self.init()
        self.version = try reader.number()
        let tokens = try reader.each { (r) throws(SnapshotDefect) in
            AccessToken(
                id: try r.text(), name: try r.text(), digest: try r.raw(), createdAt: try r.time(),
                expiresAt: try r.time(),
                terms: try r.optional { (r) throws(SnapshotDefect) in
                    try r.json { (field) throws(JSONDefect) in try AccessToken.Terms(field) }
                },
                revokedAt: try r.optional { (r) throws(SnapshotDefect) in try r.time() },
                replacedBy: try r.optional { (r) throws(SnapshotDefect) in try r.text() }
            )
        }
        for token in tokens { self.tokens[token.id] = token }
        let digests = try reader.each { (r) throws(SnapshotDefect) in (try r.raw(), try r.text()) }
        for (digest, id) in digests { self.idByDigest[digest] = id }
        let roles = try reader.each { (r) throws(SnapshotDefect) in
            (
                try r.parsed(RoleName.init(_:)),
                try r.each { (r) throws(SnapshotDefect) in try r.value(Permission.self) }
            )
        }
        for (name, permissions) in roles { self.roles[name] = Set(permissions) }
        let principals = try reader.each { (r) throws(SnapshotDefect) in
            var principal = Principal(
                id: try r.text(), kind: try r.value(Principal.Kind.self), name: try r.text(), createdAt: try r.time())
            principal.suspendedAt = try r.optional { (r) throws(SnapshotDefect) in try r.time() }
            let grants = try r.each { (r) throws(SnapshotDefect) in
                (try r.text(), try r.json { (field) throws(JSONDefect) in try Grant(field) })
            }
            for (id, grant) in grants { principal.grants[id] = grant }
            let keys = try r.each { (r) throws(SnapshotDefect) in
                ApprovalKey(kid: try r.text(), publicKey: try r.raw())
            }
            for key in keys { principal.approvalKeys[key.kid] = key }
            principal.lastSignIn = try r.optional { (r) throws(SnapshotDefect) in
                let rules = try r.each { (r) throws(SnapshotDefect) in
                    RuleReference(name: try r.parsed(RoleName.init(_:)), revision: try r.number())
                }
                return Principal.LastSignIn(rules: rules, time: try r.time())
            }
            return principal
        }
        for principal in principals { self.principals[principal.id] = principal }
        let owners = try reader.each { (r) throws(SnapshotDefect) in (try r.text(), try r.text()) }
        for (grant, principal) in owners { self.principalByGrant[grant] = principal }
        let rules = try reader.each { (r) throws(SnapshotDefect) in
            try r.json { (field) throws(JSONDefect) in try ApprovalRule(field) }
        }
        for rule in rules { self.approvalRules[rule.name] = rule }
        let freezes = try reader.each { (r) throws(SnapshotDefect) in
            try r.json { (field) throws(JSONDefect) in try Freeze(field) }
        }
        for freeze in freezes { self.freezes[freeze.id] = freeze }
        let providers = try reader.each { (r) throws(SnapshotDefect) in
            try r.json { (field) throws(JSONDefect) in try IdentityProvider(field) }
        }
        for provider in providers { self.identityProviders[provider.name] = provider }
        let signInRules = try reader.each { (r) throws(SnapshotDefect) in
            var rule = try r.json { (field) throws(JSONDefect) in try SignInRule(field) }
            rule.revision = try r.number()
            return rule
        }
        for rule in signInRules { self.signInRules[rule.name] = rule }
        let identities = try reader.each { (r) throws(SnapshotDefect) in
            try r.json { (field) throws(JSONDefect) in
                try field.object { (m) throws(JSONDefect) in try LinkedIdentity(&m) }
            }
        }
        for linked in identities { self.identities[linked.identity.id] = linked }
        let counts = try reader.each { (r) throws(SnapshotDefect) in (try r.text(), try r.number()) }
        for (principal, count) in counts { self.sessionCounts[principal] = Int(count) }
        self.sessionsToPrune = try reader.number()
    }
}
