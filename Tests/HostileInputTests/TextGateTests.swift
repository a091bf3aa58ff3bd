import Foundation
import Testing

/// Bytes become text in few places, so that all text can be compared, hashed and split in linear time.
///
/// `StreamSafeText` says why. A new place takes `String(streamSafe:)`, `String(ascii:)` or `String(shown:)`. One where
/// the bytes are known to be ASCII or few, or are the program's own, is listed here with the reason.
@Suite struct `Text from bytes` {
    /// Spellings that make text of bytes without a bound.
    private static let makers = [
        "String(decoding:", "String(validating:", "String(validatingUTF8:", "String(validatingCString:",
        "String(cString:",
        "String(bytes:", "String(data:", "String(buffer:", "String(bytesNoCopy:", "String(contentsOf",
        "String(utf8String:",
        "String(contentsOfFile", "readString(", "getString(", "readUTF8ValidatedString(",
    ]

    /// File, how often, and why that is safe.
    private static let known: [(file: String, count: Int, why: String)] = [
        ("KeyFiles/AlternativeNames.swift", 1, "an address as inet_ntop spells it"),
        ("KeyFiles/JSONWebKeys.swift", 1, "three bytes at the most"),
        ("KeyFiles/KeyStore.swift", 1, "a name of OpenSSL's"),
        ("KeyFiles/OpenSSL.swift", 1, "a message of OpenSSL's"),
        ("KeyFiles/PEMScanner.swift", 1, "printable ASCII"),
        ("KeyFiles/PinTextEntries.swift", 2, "200 bytes at the most"),
        ("KeyFiles/PrintableText.swift", 3, "1000 bytes at the most, and bounded here"),
        ("KeyFiles/PublicKey.swift", 4, "names of OpenSSL's"),
        ("KeyFiles/WrittenPin.swift", 2, "ASCII"),
        ("KeyFiles/UploadReader.swift", 1, "whether it is UTF-8, and no more"),
        (
            "System/Countries/CountryFile.swift", 3,
            "a file of the operator's, two letters, and a message of the library's"
        ),
        ("ClientFormats/Dynapins/DynapinsToken.swift", 1, "Base64"),
        ("Pinning/Clients/DistinguishedName.swift", 3, "names out of certificates, which PrintableText bounds"),
        ("ClientFormats/Text/OrderedJSON.swift", 1, "what the program writes"),
        ("ClientFormats/Text/XMLReader.swift", 1, "whether it is UTF-8, and no more"),
        ("ClientFormats/Text/XMLReader+Scanning.swift", 2, "a name in ASCII, and an entity of ten bytes"),
        ("ClientFormats/Wultra/AppVersion+Wultra.swift", 1, "ASCII of 128 bytes at the most"),
        ("ClientFormats/Wultra/WultraInitRequest.swift", 1, "nine digits"),
        ("Handbook/Handbook.swift", 1, "the program's own"),
        ("Handbook/HandbookPage.swift", 1, "the program's own"),
        ("Handbook/PageRenderer.swift", 3, "what is made of the program's own pages"),
        ("Keys/Encodings/Base62.swift", 1, "ASCII"),
        ("Keys/Encryption/PrivateFile.swift", 1, "a message of the system's"),
        ("Keys/Encodings/PrivateKeyText.swift", 1, "40 bytes at the most"),
        ("Keys/Encryption/Sodium.swift", 1, "ASCII"),
        ("Keys/Notes/SignedNote.swift", 1, "whether it is UTF-8, and no more"),
        ("PinWire/Document/AppID.swift", 1, "ASCII of 128 bytes at the most"),
        ("PinWire/JSON/CanonicalJSON.swift", 2, "what the program writes, and digits"),
        ("PinWire/JSON/CanonicalScanner.swift", 1, "bytes that the scanner has found safe"),
        ("PinWire/Document/ClientReport.swift", 1, "24 bytes at the most"),
        ("PinWire/Document/HostPattern.swift", 1, "ASCII of 253 bytes at the most"),
        ("PinWire/JSON/JSONReader.swift", 3, "plain ASCII, 400 digits at the most, and whether it is UTF-8"),
        ("PinWire/Document/Pin.swift", 1, "Base64"),
        ("PinWire/Text/PEM.swift", 1, "Base64"),
        ("PinWire/Text/Punycode.swift", 1, "ASCII"),
        ("PinWire/Text/StreamSafeText.swift", 2, "the gate itself"),
        ("PinWire/Text/StructuredDictionary.swift", 2, "ASCII of 1024 bytes at the most"),
        ("PinWire/Document/Timestamp.swift", 1, "ASCII"),
        ("PinledgerServer/Routes/Admin/GuardRailPages.swift", 1, "the program's own"),
        (
            "PinledgerServer/Routes/Client/EvaluatedQuery.swift", 2,
            "a name and a value of a head that HeadReader or RequestText let in"
        ),
        ("PinledgerServer/Routes/Client/PreparedAnswers.swift", 1, "of a head that HeadReader or RequestText let in"),
        ("PinledgerServer/Routes/Client/LedgerAnswers.swift", 1, "of a head that HeadReader or RequestText let in"),
        ("PinledgerServer/Routes/Push/DocumentFeed.swift", 1, "a document that was verified, which is ASCII"),
        ("PinledgerClient/Stores/FileStore.swift", 2, "words of the system's, and a file's name of 255 bytes"),
        ("PinWire/Document/Rollout.swift", 1, "a salt of 128 bytes at the most, in a signed document"),
        ("PinledgerServer/Routes/Deployed/CompatAnswers.swift", 1, "ASCII"),
        ("PinledgerServer/FastPath/HeadReader.swift", 1, "printable ASCII"),
        ("PinledgerServer/FastPath/FastPathHandler.swift", 1, "printable ASCII, as HeadReader lets in"),
        ("PinledgerServer/Operations/AccessLog.swift", 1, "a message of the system's"),
        ("PinledgerServer/HTTP/RequestText.swift", 1, "ASCII"),
        ("PinledgerServer/Routes/Push/ClientStream.swift", 1, "printable ASCII, as HeadReader lets in"),
        ("EventStore/Audit/AuditPage.swift", 2, "bytes that the scanner has found safe"),
        ("Pinning/Ledger/Event+Scanning.swift", 1, "the name of an event, of bytes that the scanner has found safe"),
        ("Pinning/Ledger/RecentNames.swift", 1, "bytes that the scanner has found safe"),
        ("Pinning/Ledger/SnapshotBytes.swift", 1, "255 bytes at the most, before anything compares them"),
        ("Postgres/Libpq/ConnectionParameters.swift", 2, "what the operator set"),
        ("Postgres/Libpq/LibpqResult.swift", 3, "words of the server's own"),
        (
            "Postgres/Libpq/LibpqSession+Notifications.swift", 2,
            "a channel's name, and a payload that is dropped unless it is ASCII"
        ),
        ("Postgres/Libpq/LibpqSession.swift", 1, "a message of the server's, which is shown alone"),
        ("Addresses/IPAddress.swift", 1, "an address as inet_ntop spells it"),
        ("Probing/Addresses/SystemLookUp.swift", 1, "a message of the system's"),
        ("Probing/TLS/Handshake.swift", 5, "words of OpenSSL's, and a protocol's name of 255 bytes"),
        ("Probing/TLS/OpenSSLError.swift", 1, "a message of OpenSSL's"),
        ("Probing/TLS/TrustStore.swift", 2, "what the operator set"),
        ("System/PublicSuffixes/PublicSuffixList.swift", 1, "the part of a host name"),
        ("Publishing/Documents/DocumentCheck.swift", 2, "taken apart by bytes in CompactJWS"),
        ("Publishing/Documents/DocumentJudge.swift", 1, "taken apart by bytes in CompactJWS"),
        ("Publishing/Evaluated/EvaluatedSource.swift", 1, "taken apart by bytes in CompactJWS"),
        ("Traces/TraceContext.swift", 1, "32 bytes at the most"),
        ("TransparencyLog/LogHash.swift", 1, "Base64"),
        ("Webhooks/DeliveryVerdict.swift", 1, "shown alone, scalar by scalar"),
    ]

    /// The command line reads what its own user gives it, or a server that he trusts.
    private static let own = "pinledger/"

    @Test func `text is made from bytes where its cost is bounded, and nowhere else`() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources").standardized
        var found: [String: Int] = [:]
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        for case let file as URL in files where file.pathExtension == "swift" {
            let name = String(file.path.dropFirst(sources.path.count).drop { $0 == "/" })
            guard !name.hasPrefix(Self.own) else { continue }
            let text = try String(contentsOf: file, encoding: .utf8)
            for line in text.split(separator: "\n") {
                let code = line.drop { $0 == " " }
                guard !code.hasPrefix("//") else { continue }
                for maker in Self.makers { found[name, default: 0] += code.components(separatedBy: maker).count - 1 }
            }
        }
        found = found.filter { $0.value > 0 }
        let known = Dictionary(uniqueKeysWithValues: Self.known.map { ($0.file, $0.count) })
        for (file, count) in found.sorted(by: { $0.key < $1.key }) where known[file] != count {
            Issue.record(
                "\(file) makes text of bytes \(count) times, and \(known[file] ?? 0) are known: use String(streamSafe:)"
            )
        }
        for file in known.keys.sorted() where found[file] == nil {
            Issue.record("\(file) makes no text of bytes any more")
        }
    }
}
