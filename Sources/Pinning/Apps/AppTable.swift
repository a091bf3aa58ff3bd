package import PinWire

/// All apps of a ledger, by name.
///
/// A value that is cheap to copy and to change afterwards: apps lie in shards, each in an allocation of its own, so
/// that a change after a copy copies one shard's names and one app, however many there are. So every batch and every
/// page of the ledger can start from the one before and leave it intact.
package struct AppTable: Sendable, Equatable {
    /// An app in an allocation of its own: an array of one.
    private struct Box: Sendable, Equatable {
        private var content: [App]

        init(_ app: App) { self.content = [app] }

        var app: App { self.content[0] }
        /// Read in place: copying an app to read one number takes longer than all the rest.
        var version: Int64 { self.content[0].version }

        /// Calls `read` with the app where it lies.
        func read(_ read: (borrowing App) -> Void) {
            // The array has one element, which lives as long as the call.
            self.content.withUnsafeBufferPointer { read($0[0]) }
        }

        mutating func change<R>(_ change: (inout App) -> R) -> R { change(&self.content[0]) }
    }

    private var shards: [[AppID: Box]]
    package private(set) var count = 0

    /// Shards in all. A snapshot lists the apps shard by shard, so the number belongs to its form.
    package static let shardCount = 256

    package init() {
        self.shards = Array(repeating: [:], count: Self.shardCount)
    }

    package var isEmpty: Bool { self.count == 0 }

    /// The version of an app's stream; 0 where there is no such app.
    package func version(of id: AppID) -> Int64 { self.shards[Self.shard(of: id)][id]?.version ?? 0 }

    package subscript(id: AppID) -> App? { self.shards[Self.shard(of: id)][id]?.app }

    /// Adds an app, or replaces the one of its name.
    package mutating func insert(_ app: App) {
        let old = self.shards[Self.shard(of: app.id)].updateValue(Box(app), forKey: app.id)
        if old == nil { self.count += 1 }
    }

    /// Changes an app in place; nil where there is none of that name.
    package mutating func update<R>(_ id: AppID, _ change: (inout App) -> R) -> R? {
        // Optional chaining changes the app in place; a copy in a variable would be one more reference.
        self.shards[Self.shard(of: id)][id]?.change(change)
    }

    package var keys: some Collection<AppID> { self.shards.lazy.flatMap(\.keys) }
    package var values: some Collection<App> { self.shards.lazy.flatMap { $0.values.lazy.map(\.app) } }

    /// Calls `read` with every app where it lies, in any order: for what looks at little of each of many.
    package func forEach(_ read: (borrowing App) -> Void) {
        for shard in self.shards {
            for box in shard.values { box.read(read) }
        }
    }

    /// The apps of one shard, in order of their names.
    package func shard(_ index: Int) -> [App] {
        self.shards[index].values.map(\.app).sorted { $0.id < $1.id }
    }

    /// The shard of an app: eight bits of its name's FNV-1a, the same in every process.
    package static func shard(of id: AppID) -> Int {
        var hash: UInt32 = 2_166_136_261
        var text = id.text
        text.withUTF8 { for byte in $0 { hash = (hash ^ UInt32(byte)) &* 16_777_619 } }
        // The low bits alone are the weakest of this hash.
        return Int(hash ^ hash >> 8 ^ hash >> 16 ^ hash >> 24) & (Self.shardCount - 1)
    }
}

extension AppTable: Sequence {
    package func makeIterator() -> AnyIterator<(key: AppID, value: App)> {
        AnyIterator(self.values.lazy.map { ($0.id, $0) }.makeIterator())
    }
}
