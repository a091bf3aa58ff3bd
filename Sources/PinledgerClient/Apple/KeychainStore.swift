#if canImport(Security)
    internal import Foundation
    internal import Security

    /// A store in the Keychain of Apple's systems: a generic password that this device alone reads, from its first unlock on.
    ///
    /// It outlasts the deletion of the app, and is not part of a backup that is restored on another device. An item is replaced as a whole. Before
    /// the first unlock after a start of the device it can be neither read nor written. It is for what is small and seldom changes: a
    /// document, an install's id; give reports a ``FileStore``. Give each process an item of its own: of two on one, the last one that writes
    /// wins.
    ///
    /// On macOS, and in unit tests without a host app, the program needs the entitlement for it, which Xcode's capability “Keychain Sharing” adds:
    /// without it every call fails with `errSecMissingEntitlement` (-34018). Use a ``FileStore`` there.
    public struct KeychainStore: ClientStore {
        /// Why the Keychain could not be read or written: a status of Security.
        public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
            public let status: Int32

            public var description: String {
                let words = unsafe SecCopyErrorMessageString(self.status, nil) as String?
                return "the Keychain: \(words ?? "status \(self.status)")"
            }
        }

        private let service: String
        private let account: String
        private let accessGroup: String?

        /// - Parameters:
        ///   - service: What the item is for, such as the app's bundle id with `.pins`.
        ///   - account: One of several items: documents and an install's id need one each.
        ///   - accessGroup: The group of the item, where an app and its extensions are to share an install's id; nil for the program's own.
        public init(service: String, account: String, accessGroup: String? = nil) {
            self.service = service
            self.account = account
            self.accessGroup = accessGroup
        }

        /// - Throws: ``Failure``. An item that does not exist is no failure.
        public func read() async throws -> [UInt8]? {
            try await onThread { try self.readNow() }
        }

        /// - Throws: ``Failure``; the item is then what it was.
        public func write(_ bytes: [UInt8]) async throws {
            try await onThread { try self.writeNow(bytes) }
        }

        private var query: [CFString: Any] {
            // On macOS too the Keychain of iOS: the old one knows neither classes of protection nor this device.
            var query: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: self.service, kSecAttrAccount: self.account,
                kSecUseDataProtectionKeychain: true,
            ]
            if let accessGroup = self.accessGroup { query[kSecAttrAccessGroup] = accessGroup }
            return query
        }

        private func readNow() throws -> [UInt8]? {
            var query = self.query
            query[kSecReturnData] = true
            var item: CFTypeRef?
            let status = unsafe SecItemCopyMatching(query as CFDictionary, &item)
            guard status != errSecItemNotFound else { return nil }
            guard status == errSecSuccess, let data = item as? Data else { throw Failure(status: status) }
            return [UInt8](data)
        }

        private func writeNow(_ bytes: [UInt8]) throws {
            let value: [CFString: Any] = [
                kSecValueData: Data(bytes), kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
            var status = SecItemUpdate(self.query as CFDictionary, value as CFDictionary)
            if status == errSecItemNotFound {
                let new = self.query.merging(value) { $1 }
                status = unsafe SecItemAdd(new as CFDictionary, nil)
                // Another write was faster.
                if status == errSecDuplicateItem {
                    status = SecItemUpdate(self.query as CFDictionary, value as CFDictionary)
                }
            }
            guard status == errSecSuccess else { throw Failure(status: status) }
        }
    }
#endif
