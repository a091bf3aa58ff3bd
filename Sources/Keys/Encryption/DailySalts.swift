package import PinWire
import Synchronization

/// The salts with which ids and addresses are hashed: a different one for each purpose and each day (UTC), derived from
/// the key-encryption key, so that every node that has the key has the same salts and the database has none.
///
/// A reader of the database could try all addresses against a salt stored beside their hashes; without the key there is
/// no salt to try. Only salts of recently used days stay in memory.
package final class DailySalts: Sendable {
    /// A day in seconds.
    package static let daySeconds: Int64 = 86_400

    private let purpose: String
    private let key: KeyEncryptionKey
    private let known = Mutex<[Int64: [UInt8]]>([:])
    /// The number of salts kept in memory: two days' at least, and those of clocks that differ.
    private static let limit = 4

    /// - Parameter purpose: The kind of value that is hashed. Two purposes share no salt.
    package init(_ key: KeyEncryptionKey, for purpose: String) {
        self.key = key
        self.purpose = purpose
    }

    /// The salt of the day (UTC) that a time lies in: 32 bytes.
    package func salt(at time: Timestamp) -> [UInt8] {
        let (quotient, rest) = time.seconds.quotientAndRemainder(dividingBy: Self.daySeconds)
        let day = rest < 0 ? quotient - 1 : quotient
        if let salt = self.known.withLock({ $0[day] }) { return salt }
        let salt = self.key.authenticate(Array(String(day).utf8), for: "salt/\(self.purpose)")
        self.known.withLock { known in
            if known.count >= Self.limit { known = [:] }
            known[day] = salt
        }
        return salt
    }
}
