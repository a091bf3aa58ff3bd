import ClientFormats
import PinWire
import Pinning

/// A file that was read, of which a plan can be made for any state of an app.
enum ImportedFile: Sendable {
    /// The value of `ssl_pinning_config`, where it stands, and what was said when it was looked for.
    case remoteConfig(JSON, at: JSONPointer, [ImportFinding])
    case pins(ImportedPins)
    case wultra(WultraFile)
    /// None of the format that it should be of.
    case unreadable(ImportFinding)

    /// What a file is read as, by its name in the path.
    enum Format: Sendable, Hashable {
        case pins(ImportFormat)
        case firebaseTemplate
        case wultra

        private static let template = "firebase_template"
        private static let utility = "wultra"

        /// All that a path may name, the one that has an operation of its own too.
        static let names = ImportFormat.allCases.map(\.rawValue) + [Self.template, "remote-config", Self.utility]

        init?(_ name: String) {
            switch name {
            case Self.template: self = .firebaseTemplate
            case Self.utility: self = .wultra
            default:
                guard let format = ImportFormat(rawValue: name) else { return nil }
                self = .pins(format)
            }
        }

        /// What a file's body may be declared as.
        var mediaTypes: [String] {
            switch self {
            case .pins(.hpkp): ["text/plain", "application/octet-stream"]
            case .pins: ["application/xml", "text/xml", "text/plain", "application/octet-stream"]
            case .firebaseTemplate, .wultra: ["application/json"]
            }
        }

        /// Why an import is made, where nobody says more.
        var reason: String {
            switch self {
            case .pins(.androidNSC): "imported from a network security configuration"
            case .pins(.trustkitIOS): "imported from a configuration of TrustKit"
            case .pins(.appleATS): "imported from App Transport Security"
            case .pins(.hpkp): "imported from HTTP headers"
            case .firebaseTemplate: "imported from a template of Firebase Remote Config"
            case .wultra: "imported from a mobile utility server"
            }
        }
    }

    /// More than a template or tables of a mebibyte have: what bounds them is what they are read as.
    private static let limits = JSONLimits(nodes: 300_000)

    /// Reads a file. That of a mobile utility server has certificates in it: not on a cooperative thread.
    ///
    /// - Parameters:
    ///   - id: The app that it is meant for.
    ///   - host: For ``ImportFormat/hpkp``, the host that sent headers that follow no line `Host:`.
    ///   - condition: The condition of a template whose value is taken; nil for the default.
    init(_ bytes: [UInt8], as format: Format, for id: AppID, host: HostPattern? = nil, condition: String? = nil) {
        switch format {
        case .pins(let format):
            do { self = .pins(try ImportedPins(bytes, as: format, host: host)) } catch {
                self = .unreadable(
                    ImportFinding(
                        severity: .fatal, place: .text(line: error.line, column: error.column),
                        message: error.message,
                        advice: "Correct the file, or choose its format."))
            }
        case .firebaseTemplate:
            self = Self.json(bytes, limits: Self.limits) { json in
                do throws(JSONDefect) { return Self.template(try RemoteConfigSource(json, condition: condition)) } catch
                {
                    return .unreadable(
                        ImportFinding(
                            severity: .fatal, place: .value(error.pointer), message: error.message,
                            advice: "Export the template again, or name the condition whose value to import."))
                }
            }
        case .wultra: self = Self.json(bytes, limits: Self.limits) { .wultra(WultraFile($0, for: id)) }
        }
    }

    /// Reads an `ssl_pinning_config`.
    init(remoteConfig bytes: [UInt8]) {
        self = Self.json(bytes, limits: JSONLimits()) { .remoteConfig($0, at: JSONPointer(), []) }
    }

    /// The content that `read` makes of the JSON of a file, which may begin with a byte order mark, as some editors write it.
    private static func json(_ bytes: [UInt8], limits: JSONLimits, _ read: (JSON) -> Self) -> Self {
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
        do throws(JSONSyntaxError) { return read(try JSON(parsing: text, limits: limits)) } catch {
            return .unreadable(ImportFinding(error, in: text))
        }
    }

    private static func template(_ source: RemoteConfigSource) -> Self {
        let findings = source.findings.map {
            ImportFinding(severity: .warning, place: .value($0.pointer), message: $0.message, advice: $0.advice)
        }
        return .remoteConfig(source.value, at: source.pointer, findings)
    }

    /// The plan for an app in a state; nil for an app that has to be created.
    func plan(for id: AppID, _ app: App?, at now: Timestamp, isPublicSuffix: (String) -> Bool) -> ImportPlan {
        switch self {
        case .remoteConfig(let json, let pointer, let findings):
            var plan = RemoteConfigImport.plan(json, at: pointer, for: id, app, isPublicSuffix: isPublicSuffix)
            plan.findings = findings + plan.findings
            return plan
        case .pins(let file): return PinsImport.plan(file, for: id, app, at: now, isPublicSuffix: isPublicSuffix)
        case .wultra(let file): return WultraImport.plan(file, for: id, app, at: now, isPublicSuffix: isPublicSuffix)
        case .unreadable(let finding):
            var plan = ImportPlan()
            plan.findings = [finding]
            return plan
        }
    }
}

extension ImportFinding {
    /// Why a file is not JSON, as its author finds it: by line and column.
    fileprivate init(_ error: JSONSyntaxError, in text: ArraySlice<UInt8>) {
        let before = text.prefix(error.offset)
        let line = before.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let place = Place.syntax(
            error.pointer, line: line.count,
            // Characters: of the bytes of one in UTF-8, all but the first are between 0x80 and 0xBF.
            column: (line.last ?? []).count { !(0x80...0xBF).contains($0) } + 1)
        let (message, advice) =
            switch text.dropFirst(error.offset).first {
            case _ where text.starts(with: [0xFF, 0xFE]) || text.starts(with: [0xFE, 0xFF]):
                ("the file is in UTF-16, as some Windows programs save it", "Save it in UTF-8.")
            case _ where text.allSatisfy({ [0x20, 0x0A, 0x0D, 0x09].contains($0) }):
                ("the file is empty", "Choose a file that has pins, and its format.")
            case UInt8(ascii: "/"), UInt8(ascii: "#"): ("JSON has no comments", "Remove the comment.")
            case UInt8(ascii: "}") where error.message.hasPrefix("a member name"),
                UInt8(ascii: "]") where error.message.hasPrefix("there is no JSON value"):
                ("JSON has no comma behind the last value", "Remove the comma before this place.")
            default: (error.message, "Correct the file, or choose its format.")
            }
        self.init(severity: .fatal, place: place, message: message, advice: advice)
    }
}
