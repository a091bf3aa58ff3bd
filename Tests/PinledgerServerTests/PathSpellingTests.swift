import ClientFormats
import Foundation
import HTTPTypes
import Handbook
import Hummingbird
import Keys
import NIOCore
import PinWire
import Pinning
import Testing

@testable import PinledgerServer

/// Names that are one thing to a check and another to a use, and steps that lead out of a path: at the look-up of paths for every
/// operation, and at what reads each id.
@Suite struct `The spelling of a path` {
    /// The kind of thing that a parameter of paths names.
    struct Kind: Sendable, CustomTestStringConvertible {
        /// The parameter.
        let parameter: String
        /// A text that names something.
        let name: String
        /// The text of the thing that a parameter names; nil for a refusal.
        let read: @Sendable (String) -> String?
        /// True for one that may have any character: a name that people give to a text.
        var isText = false

        var testDescription: String { self.parameter }

        init(_ parameter: String, _ name: String, isText: Bool = false, _ read: @escaping @Sendable (String) -> String?)
        {
            self.parameter = parameter
            self.name = name
            self.read = read
            self.isText = isText
        }

        /// An id that is taken as it is.
        init(_ parameter: String, _ name: String, is isID: @escaping @Sendable (String) -> Bool) {
            self.init(parameter, name) { isID($0) ? $0 : nil }
        }
    }

    private static let rest = "0000000000000aZ9"
    private static let sha256 = String(repeating: "0a", count: 32)

    static let kinds = [
        Kind("app", "com.example.mine") { try? Self.exchange("app", $0).app.text },
        Kind("app", "com.example.mine") { try? Self.exchange("app", $0).wultraApp.text },
        Kind("host", "mine.example.com") { try? Self.exchange("host", $0).host.text },
        Kind("pin", Self.sha256) { try? Hex.encode(Self.exchange("pin", $0).pin.bytes) },
        Kind("token_id", "tok_\(Self.rest)") { TokenID($0)?.description },
        Kind("webhook_id", "whk_\(Self.rest)") { try? Self.exchange("webhook_id", $0).webhookID },
        Kind("key_id", "tlk_\(Self.rest)", is: TelemetryKeyName.isName),
        Kind("feed", "cal_\(Self.rest)", is: CalendarSecret.isID),
        Kind("feed", CalendarSecret.generate(app: "com.example.mine").revealedText) {
            CalendarSecret($0, app: "com.example.mine")?.revealedText
        },
        Kind("grant_id", "grt_\(Self.rest)", is: AccessID.grant.isID),
        Kind("principal_id", "prn_\(Self.rest)", is: AccessID.principal.isID),
        Kind("change_id", "chg_\(Self.rest)", is: AccessID.change.isID),
        Kind("freeze_id", "frz_\(Self.rest)", is: AccessID.freeze.isID),
        Kind("identity_id", "idn_\(Self.rest)", is: AccessID.identity.isID),
        Kind("role", "release-manager") { try? RoleName($0).text },
        Kind("rule", "two-people") { try? RoleName($0).text },
        Kind("provider", "company") { try? RoleName($0).text },
        Kind("rotation", "rotation.1", is: Rotation.isID),
        Kind("code", "G07") { GuardRail(rawValue: $0)?.rawValue },
        Kind("client", "wultra") { ClientKind(rawValue: $0)?.rawValue },
        Kind("format", "android_nsc") { ExportFormat(rawValue: $0)?.rawValue },
        Kind("format", "android_nsc") { ImportedFile.Format($0) == nil ? nil : $0 },
        Kind("problem", "app_unknown") { ProblemType(rawValue: $0)?.rawValue },
        Kind("page", "access") { Handbook.page($0)?.name },
        Kind("language", "en") { try? TextLanguage($0).text },
        Kind("key", "text.title", isText: true) { try? TextKey($0).text },
        Kind("id", "12") { (try? Self.exchange("id", $0).versionRule).map { "\($0)" } },
    ]

    /// Parameters that an operation reads itself, with the operations that do.
    private static let inHandlers = [
        "kid": ["activateKey", "retireKey", "retireLogKey"], "key_id": ["removeWitness"],
        "position": ["getEntryProof", "replayWebhookDelivery"], "version": ["getRootVersion"],
    ]

    /// Parameters that name nothing here: a file's name of the client's choice, of which only the end counts; and the rest of a path,
    /// which RouteTableTests has.
    private static let others: Set = ["file", "tile"]

    private static func exchange(_ parameter: String, _ text: String) -> Exchange {
        Exchange(
            request: Request(
                head: HTTPRequest(method: .get, scheme: "http", authority: "a.test", path: "/"),
                body: RequestBody(buffer: ByteBuffer())),
            requestID: "1", parameters: [parameter: text], query: [:], foreignQuery: [], actor: nil,
            rights: .everything, isOperators: true, bodyLimit: 0, peer: nil)
    }

    // MARK: Texts

    /// Spellings that a careless comparison takes for the name.
    private static func variants(_ name: String) -> [String] {
        let spaced = [" ", "\t", "\u{A0}", "\u{200D}", "\u{FEFF}", "\0", "\n"].map { name + $0 } + [" " + name]
        let cased = [name.uppercased(), name.lowercased(), name.capitalized]
        let alike = [
            ("e", "\u{435}"), ("o", "\u{43E}"), ("e", "e\u{301}"), (".", "\u{3002}"), (".", "\u{FF0E}"),
            ("a", "\u{FF41}"), ("K", "\u{212A}"),
        ].map { name.replacingOccurrences(of: $0.0, with: $0.1) }
        let dotted =
            ["\(name).", ".\(name)", "\(name)/", "\(name)%00", "\(name);", "\(name),\(name)"]
            + [name.replacingOccurrences(of: ".", with: "..")]
        return (spaced + cased + alike + dotted).filter { !$0.utf8.elementsEqual(name.utf8) }
    }

    /// Steps out of a path, as they stand in a target.
    private static let steps = [
        "..", ".", "%2e%2e", "%2e", "..%2f..%2f", "%2f", "%252e%252e", "%c0%ae%c0%ae", "%c0%af", "%00", ";x=1",
        "%5c..%5c", "..;", "%u002e",
    ].flatMap { [$0, "\($0)/\($0)", "x\($0)", "\($0)%2fcom.example.mine"] }

    /// A text in a path, with every byte escaped that could mean something.
    private static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            let character = Character(Unicode.Scalar(byte))
            let isPlain = byte < 0x80 && (character.isLetter || character.isNumber || "-._~".contains(character))
            return isPlain ? String(character) : "%\(Hex.encode([byte]))"
        }.joined()
    }

    // MARK: Tests

    @Test func `every parameter of a path is known to these tests`() {
        let known = Set(Self.kinds.map(\.parameter)).union(Self.inHandlers.keys).union(Self.others)
        let named = Set(ExampleServer.routes.all.flatMap { Self.parameters(of: $0) })
        #expect(named == known)
    }

    private static func parameters(of route: Route) -> [String] {
        route.path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
    }

    /// The path of an operation with a text in the place of one of its parameters.
    private static func path(of route: Route, _ parameter: String, _ text: String) -> String {
        "/"
            + route.path.split(separator: "/").map {
                $0 == "{\(parameter)}" ? text : $0.hasPrefix("{") ? "x" : String($0)
            }
            .joined(separator: "/")
    }

    @Test func `a look-up gives a handler the very text of a path, decoded once`() throws {
        let table = RouteTable(ExampleServer.routes.all)
        for route in table.routes where !route.takesRest {
            for parameter in Self.parameters(of: route) {
                for text in Set(Self.kinds.filter { $0.parameter == parameter }.map(\.name)).flatMap(Self.variants) {
                    let match = try table.match(route.method, Self.path(of: route, parameter, Self.escaped(text)))
                    guard case .route(let found, let parameters) = match, found.operationID == route.operationID else {
                        Issue.record("\(route.operationID), \(parameter): \(text.debugDescription) leads elsewhere")
                        continue
                    }
                    let given = parameters[parameter] ?? ""
                    if !given.utf8.elementsEqual(text.utf8) {
                        Issue.record("\(route.operationID), \(parameter): \(text.debugDescription) became \(given)")
                    }
                }
            }
        }
    }

    @Test func `a step out of a path reaches no operation but that of its own segments`() {
        let table = RouteTable(ExampleServer.routes.all)
        for route in table.routes {
            for parameter in Self.parameters(of: route) {
                for step in Self.steps {
                    let path = Self.path(of: route, parameter, step)
                    guard let match = try? table.match(route.method, path),
                        case .route(let found, let parameters) = match
                    else { continue }
                    if !step.contains("/"), found.operationID != route.operationID {
                        Issue.record("\(path) leads to \(found.operationID) in place of \(route.operationID)")
                    }
                    if Self.text(of: path, as: found, parameters) != path {
                        Issue.record("\(path) leads to \(found.operationID) with \(parameters)")
                    }
                }
            }
        }
    }

    /// The path that an operation's parameters make, where each was decoded once; nil where one could not be.
    private static func text(of path: String, as route: Route, _ parameters: [String: String]) -> String? {
        let given = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        let parts = route.path.split(separator: "/")
        var made: [String] = []
        for (place, part) in parts.enumerated() {
            guard part.hasPrefix("{") else {
                made.append(String(part))
                continue
            }
            let value = parameters[String(part.dropFirst().dropLast())] ?? ""
            if route.takesRest, place == parts.count - 1 {
                made.append(value)
                continue
            }
            // Foundation decodes by itself what the look-up has decoded.
            guard place < given.count, let decoded = String(given[place + 1]).removingPercentEncoding,
                decoded.utf8.elementsEqual(value.utf8)
            else { return nil }
            made.append(String(given[place + 1]))
        }
        return "/" + made.joined(separator: "/")
    }

    @Test(arguments: kinds) func `another spelling of an id names nothing, or something else`(kind: Kind) {
        #expect(kind.read(kind.name) == kind.name)
        for text in Self.variants(kind.name) {
            let found = kind.read(text)
            #expect(found.map { !$0.utf8.elementsEqual(kind.name.utf8) } ?? true, "\(text.debugDescription)")
        }
    }

    /// Texts that a path can bring to what reads an id: decoded where they can be, and as they stand.
    private static let brought = Set(steps + steps.compactMap(\.removingPercentEncoding))

    @Test(arguments: kinds) func `an id has no slash, no escape and no zero in it`(kind: Kind) {
        for text in Self.brought.union(Self.variants(kind.name)) where !kind.isText {
            guard let found = kind.read(text) else { continue }
            let isPlain = found.utf8.allSatisfy { byte in
                let character = Character(Unicode.Scalar(byte))
                return byte < 0x80 && (character.isLetter || character.isNumber || "-._*".contains(character))
            }
            #expect(isPlain, "\(text.debugDescription) names \(found.debugDescription)")
        }
    }

    @Test func `an operation that reads an id itself refuses every other spelling of it`() async throws {
        let names = [
            "kid": Base64URL.encode([UInt8](repeating: 107, count: 32)), "key_id": "0a1b2c3d", "position": "12",
            "version": "12",
        ]
        let routes = Dictionary(ExampleServer.routes.all.map { ($0.operationID, $0) }) { first, _ in first }
        for (parameter, operations) in Self.inHandlers {
            let name = try #require(names[parameter])
            for operation in operations {
                let route = try #require(routes[operation], "\(operation)")
                // In another case it is the form of another key's.
                let texts = Self.brought.union(Self.variants(name)).filter { $0.lowercased() != name.lowercased() }
                for text in texts {
                    let problem = await #expect(throws: (any Error).self, "\(operation): \(text.debugDescription)") {
                        try await route.handler(Self.exchange(parameter, text))
                    }
                    #expect(
                        problem.map { Problem($0).type } == .malformedRequest, "\(operation): \(text.debugDescription)")
                }
            }
        }
    }
}
