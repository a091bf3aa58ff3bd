import PinWire

extension Webhooks {
    func write(to out: inout SnapshotWriter) {
        out.add(self.version)
        out.add(each: self.hooks.values.sorted { $0.id < $1.id }) { out, hook in
            out.add(hook.id)
            out.add(hook.settings.url.text)
            out.add(each: hook.settings.types) { $0.add($1) }
            out.add(each: hook.settings.apps) { $0.add($1.text) }
            out.add(hook.settings.description) { $0.add($1) }
            out.add(hook.createdAt)
            out.add(hook.createdVersion)
            out.add(hook.secretID)
            out.add(each: hook.replacedSecrets) { out, secret in
                out.add(secret.id)
                out.add(secret.replacedAt)
            }
            out.add(hook.secretRotatedAt) { $0.add($1) }
            out.add(hook.pause) { $0.add(place: $1) }
            out.add(hook.pausedAt) { $0.add($1) }
            out.add(hook.resumedAt) { $0.add($1) }
        }
    }

    init(_ reader: inout SnapshotReader) throws(SnapshotDefect) {
        self.init()
        self.version = try reader.number()
        for hook in try reader.each({ (r) throws(SnapshotDefect) in try Webhook(&r) }) { self.hooks[hook.id] = hook }
    }
}

extension Webhook {
    fileprivate init(_ reader: inout SnapshotReader) throws(SnapshotDefect) {
        func text(_ reader: inout SnapshotReader) throws(SnapshotDefect) -> String { try reader.text() }
        func time(_ reader: inout SnapshotReader) throws(SnapshotDefect) -> Timestamp { try reader.time() }
        let id = try reader.text()
        let settings = WebhookSettings(
            url: try reader.parsed(OutgoingURL.init), types: try reader.each(text),
            apps: try reader.each { (r) throws(SnapshotDefect) in try r.parsed(AppID.init) },
            description: try reader.optional(text)
        )
        self.init(
            id: id, settings: settings, createdAt: try reader.time(), createdVersion: try reader.number(),
            secretID: try reader.text(),
            replacedSecrets: try reader.each { (r) throws(SnapshotDefect) in
                ReplacedSecret(id: try r.text(), replacedAt: try r.time())
            },
            secretRotatedAt: try reader.optional(time),
            pause: try reader.optional { (r) throws(SnapshotDefect) in try r.value(WebhookPause.self) },
            pausedAt: try reader.optional(time), resumedAt: try reader.optional(time)
        )
    }
}
