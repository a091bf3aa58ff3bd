import Foundation
import Synchronization

/// The countries of addresses, from a file in MaxMind's format (MaxMind DB File Format 2.0), such as
/// GeoLite2-Country.mmdb.
///
/// A build without the package's trait `Geo` has no library to read such files with: there ``init(file:)`` fails with
/// ``Failure/notBuilt``.
package final class CountryDatabase: Sendable {
    /// Why a file gives no countries.
    package enum Failure: Error, Hashable, CustomStringConvertible {
        /// The program was built without the trait `Geo`.
        case notBuilt
        /// There is no such file, or it cannot be read, or it is not in the format.
        case unreadable(String)
        /// The file holds other data than countries; with the type that it states.
        case withoutCountries(String)

        package var description: String {
            switch self {
            case .notBuilt: "this build has no country look-ups"
            case .unreadable(let reason): "the country database cannot be read: \(reason)"
            case .withoutCountries(let type): "the country database is of the type \(type), which knows no countries"
            }
        }

        /// What to do about it.
        package var advice: String {
            switch self {
            case .notBuilt: "Build it with the trait Geo: swift build -c release --traits Geo"
            case .unreadable, .withoutCountries:
                "Name a file in MaxMind's format with countries, such as GeoLite2-Country.mmdb."
            }
        }
    }

    /// The file's identity, by which a replaced file is noticed.
    private struct Stamp: Hashable, Sendable {
        var modified: Date?
        var size: Int?
        var number: Int?
    }

    private let path: String
    private let loaded: Mutex<(file: CountryFile, stamp: Stamp)>

    /// Reads a file. It takes up to some ten milliseconds: not for an event loop or a cooperative thread.
    package init(file path: String) throws(Failure) {
        let stamp = Self.stamp(path)
        self.path = path
        self.loaded = Mutex((try CountryFile(path), stamp))
    }

    /// Reads the file again if it was replaced, or in any case with `isForced`; where that fails, the last good one
    /// stays in use. As slow as ``init(file:)``.
    ///
    /// - Returns: Whether it was read.
    package func reload(isForced: Bool) throws(Failure) -> Bool {
        let stamp = Self.stamp(self.path)
        guard isForced || self.loaded.withLock({ $0.stamp != stamp }) else { return false }
        // Kept even where the file is unusable, so that one mistake is reported once.
        self.loaded.withLock { $0.stamp = stamp }
        let file = try CountryFile(self.path)
        self.loaded.withLock { $0.file = file }
        return true
    }

    /// The country of an address: two capital letters (ISO 3166-1 alpha-2). Nil where the file does not know it. Takes
    /// about a microsecond.
    ///
    /// - Parameter address: 4 bytes (IPv4) or 16 (IPv6), in network order.
    package func country(of address: [UInt8]) -> String? {
        let file = self.loaded.withLock { $0.file }
        return file.country(of: address)
    }

    private static func stamp(_ path: String) -> Stamp {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return Stamp(
            modified: attributes?[.modificationDate] as? Date, size: (attributes?[.size] as? NSNumber)?.intValue,
            number: (attributes?[.systemFileNumber] as? NSNumber)?.intValue)
    }
}
