package import PinWire
import Pinning

/// A comparison of an app's own file with an export of the same format.
///
/// Apps merge some exports into files with more in them: a network security configuration with a `base-config`, an
/// Info.plist. Such a file is compared by what it declares.
package enum ExportComparison: Hashable, Sendable {
    /// The same text, but for the ends of lines.
    case same
    /// The same pins, in a file with more in it.
    case samePins
    /// Other pins, or another text; with the hosts that differ where the format is compared by them.
    case different([HostPattern])

    /// Compares a file with the export that should be in it.
    package init(_ present: [UInt8], with wanted: [UInt8], as format: ExportFormat) {
        if Self.plainLines(present) == Self.plainLines(wanted) {
            self = .same
        } else if let reader = format.reader, let here = try? ImportedPins(present, as: reader),
            let there = try? ImportedPins(wanted, as: reader)
        {
            let hosts = here.differences(from: there)
            let isWhole = here.kind == there.kind && !(here.findings + there.findings).contains(where: \.isDefect)
            self = hosts.isEmpty && isWhole ? .samePins : .different(hosts)
        } else {
            self = .different([])
        }
    }

    /// The parts of a file, as sentences, that are lost where an export takes its place.
    ///
    /// None where the format has no such parts, or the file is not of it.
    package static func lost(from present: [UInt8], for wanted: [UInt8], as format: ExportFormat) -> [String] {
        switch format.reader {
        case .androidNSC?:
            let findings = (try? ImportedPins(present, as: .androidNSC))?.findings ?? []
            return findings.filter { !$0.isDefect && $0.advice == nil }.map(\.description)
        case .trustkitIOS?, .appleATS?:
            let keys = Self.keys(present).subtracting(Self.keys(wanted)).sorted()
            guard !keys.isEmpty else { return [] }
            let names = keys.prefix(Self.namedKeys).map { ImportedPins.quoted($0) }.joined(separator: ", ")
            let rest = keys.count > Self.namedKeys ? " and \(keys.count - Self.namedKeys) more" : ""
            return ["Not in the export: \(names)\(rest)."]
        case .hpkp?, nil: return []
        }
    }

    /// The most members of a property list that a sentence names.
    private static let namedKeys = 20

    /// The keys of a property list's dictionary, and of those in it.
    private static func keys(_ bytes: [UInt8]) -> Set<String> {
        guard let members = try? XMLReader.read(bytes).propertyList().members() else { return [] }
        return members.reduce(into: []) { keys, member in
            keys.insert(member.key)
            for inner in (try? member.value.members()) ?? [] { keys.insert("\(member.key).\(inner.key)") }
        }
    }

    /// A text whose lines end in LF alone: checkouts on Windows have CR and LF.
    private static func plainLines(_ bytes: [UInt8]) -> [UInt8] {
        let lineFeed = UInt8(ascii: "\n")
        return bytes.indices.filter { place in
            bytes[place] != UInt8(ascii: "\r") || !bytes[(place + 1)...].starts(with: CollectionOfOne(lineFeed))
        }.map { bytes[$0] }
    }
}

extension ExportFormat {
    /// The reader of its files that apps merge into files of their own; nil for files that stand alone.
    fileprivate var reader: ImportFormat? {
        switch self {
        case .androidNSC, .trustkitAndroid: .androidNSC
        case .trustkitIOS: .trustkitIOS
        case .appleATS: .appleATS
        case .okhttp, .okhttp3, .reactNative, .flutter, .curl, .hpkp, .swift, .kotlin, .netkit, .json, .pem: nil
        }
    }
}

extension ImportedPins {
    /// The hosts that the two files do not pin in the same way, in order.
    fileprivate func differences(from other: ImportedPins) -> [HostPattern] {
        let different = Set(self.hosts.map(\.meaning)).symmetricDifference(other.hosts.map(\.meaning))
        return Set(different.map(\.pattern)).sorted()
    }
}

extension ImportedPins.Host {
    /// The host without its place in the file, its pins in one order.
    fileprivate var meaning: Self {
        Self(
            pattern: self.pattern, includesSubdomains: self.includesSubdomains, pins: self.pins.sorted(),
            mode: self.mode, validUntil: self.validUntil)
    }
}
