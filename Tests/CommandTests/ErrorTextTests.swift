import ArgumentParser
import EventStore
import Foundation
import Keys
import NIOCore
import PinWire
import Pinning
import Postgres
import PublicSuffixes
import Publishing
import Secrets
import Testing
import TransparencyLog
import Webhooks

@testable import pinledger

@Suite struct `An error that ends a command` {
    /// Types of errors that no command meets: each is caught where it is thrown, or is an answer of the server alone.
    private static let internalTypes: Set<String> = [
        "RecordedAlready", "OtherKey", "TooMuch", "Malformed", "Refused", "Failure", "Problem", "MueJamError",
        "DynapinsError",
        "WultraError", "WultraAdminError", "ResolutionFailure",
    ]

    /// Types that have their words in ``ErrorText`` itself.
    private static let translatedTypes: Set<String> = ["CommandFailure", "BrokenExchange", "Unusable"]

    /// A new type of error without words fails here.
    @Test func `an error that ends a command is of a type that has words`() throws {
        let declaration = #/(?:struct|enum|class) (\w+): ([^{]*\bError\b[^{]*)\{/#
        let conformance = #/extension ([\w.]+): [^{]*CustomStringConvertible/#
        let files = try SourceTexts.swift()
        var described: Set<Substring> = []
        for (_, text) in files {
            for match in text.matches(of: conformance) { described.formUnion(match.1.split(separator: ".").suffix(1)) }
            for match in text.matches(of: conformance) where match.1.contains(".") { described.insert(match.1) }
        }
        var count = 0
        for (path, text) in files {
            for match in text.matches(of: declaration) {
                count += 1
                let name = String(match.1)
                let hasWords =
                    match.2.contains("CustomStringConvertible") || described.contains(match.1)
                    || Self.translatedTypes.contains(name) || Self.internalTypes.contains(name)
                #expect(hasWords, "\(name) in \(path) has no description: an operator would read its name")
            }
        }
        #expect(count > 60)
    }

    private static let digest = [UInt8](repeating: 7, count: 32)

    /// One of each case that words are made of.
    static let errors: [any Error] = [
        KeyEncryptionKey.Invalid.wrongLength(3), KeyEncryptionKey.Invalid.malformedText,
        SealedSecret.Invalid.otherKeyEncryptionKey(sealedWith: "0011223344556677", given: "8899aabbccddeeff"),
        SealedSecret.Invalid.notAuthentic, SealedSecret.Invalid.otherPublicKey, SealedSecret.Invalid.malformed,
        SecretUnavailable.noKeyEncryptionKey, SecretUnavailable.missing("whs_1"),
        SecretUnavailable.cannotOpen(
            "whs_1", .otherKeyEncryptionKey(sealedWith: "0011223344556677", given: "8899aabbccddeeff")),
        SigningKeys.Unavailable.cannotOpen(
            "kid-1", .otherKeyEncryptionKey(sealedWith: "0011223344556677", given: "8899aabbccddeeff")),
        JWK.Invalid.malformed, JWK.Invalid.unsupportedKey, JWK.Invalid.invalidPoint, JWK.Invalid.privateKey,
        JWK.Invalid.otherPurpose, JWK.Invalid.wrongKeyID,
        CompactJWS.Invalid.tooLarge(byteCount: 9), CompactJWS.Invalid.malformed, CompactJWS.Invalid.malformedHeader,
        CompactJWS.Invalid.unsupportedAlgorithm, CompactJWS.Invalid.wrongType,
        CompactJWS.Invalid.unknownKey(keyID: "kid-1"), CompactJWS.Invalid.wrongSignature,
        APIToken.Invalid.malformed, APIToken.Invalid.wrongChecksum,
        Ed25519PrivateKey.Failure.wrongSeedLength(3), Ed25519PrivateKey.Failure.signingFault,
        WriteFailure.planStale, WriteFailure.keyReused, WriteFailure.tooLarge(bytes: 70_000),
        WriteFailure.unreadable("no date"),
        WriteFailure.overloaded,
        WriteFailure.unavailable("the database is away"), WriteFailure.suspended("the clock is wrong"),
        WriteFailure.noKey, LedgerFault.unauthenticated(from: 3, to: 9, .otherKey),
        WriteFailure.outcomeUnknown, WriteFailure.halted(.shrunk(from: 9, to: 3)),
        WriteFailure.stale(.fleet, expected: 1, actual: 2, epoch: 0), WriteFailure.refused(.tokenUnknown("tok_1")),
        Refusal.reasonRequired("it turns pinning off"), LedgerFault.fork(position: 4),
        LedgerFault.unreadable(position: 4, "it is no JSON"),
        LogError.rootMismatch, LogError.treeTooLarge(size: 9), LogError.malformedFrontier(size: 3, byteCount: 4),
        PublicSuffixList.Unavailable(), EvaluatedUnavailable.noKey, EvaluatedUnavailable.halted,
        WebhookServices.TestUnavailable.noClient, WebhookServices.TestUnavailable.overloaded,
        PostgresError(.connectionFailed, "connection refused"), PostgresError(.timeout, "no connection was free"),
        PostgresError(.server(sqlState: "42501"), "permission denied for schema"),
        IOError(errnoCode: EADDRINUSE, reason: "bind(descriptor:ptr:bytes:)"),
        IOError(errnoCode: ECONNREFUSED, reason: "connect(descriptor:addr:size:)"),
        CancellationError(), CocoaError(.fileNoSuchFile), UnknownError.someCase(label: 3),
        CommandFailure("nothing is to be changed"),
    ]

    private enum UnknownError: Error { case someCase(label: Int) }

    @Test(arguments: Self.errors.indices)
    func `an error that ends a command is a sentence without names from Swift or places in source code`(
        index: Int
    ) {
        let error = Self.errors[index]
        let failure = ErrorText.failure(for: error)
        for text in [ErrorText.sentence(for: error), failure.message, failure.advice ?? "-"] {
            #expect(Unreadable.reason(text) == nil, "\(text): \(Unreadable.reason(text) ?? "")")
        }
    }

    @Test func `errors of every target can end a command`() throws {
        let sources = SourceTexts.root.appending(path: "Sources")
        func folders(_ place: URL) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: place.path()).filter { name in
                let inside = FileManager.default.enumerator(atPath: place.appending(path: name).path())
                return inside?.contains { ($0 as? String)?.hasSuffix(".swift") == true } ?? false
            }
        }
        let targets = try folders(sources) + folders(sources.appending(path: "System"))
        #expect(ErrorText.modules == Set(targets).subtracting(["System", "Plugins"]))
    }

    @Test func `an error says which key-encryption key is wanted and which was given`() {
        let text = ErrorText.sentence(
            for: SecretUnavailable.cannotOpen("whs_1", .otherKeyEncryptionKey(sealedWith: "00aa", given: "11bb")))
        #expect(text.contains("00aa") && text.contains("11bb"))
    }

    @Test func `an error in usage keeps the parser's help and exit codes`() async {
        await #expect(throws: (any Error).self) { try await Pinledger.asyncParseAsRoot(["app", "frobnicate"]) }
        do { _ = try await Pinledger.asyncParseAsRoot(["app", "frobnicate"]) } catch {
            #expect(ErrorText.isOfArguments(error))
        }
        do { _ = try await Pinledger.asyncParseAsRoot(["--help"]) } catch { #expect(ErrorText.isOfArguments(error)) }
    }
}
