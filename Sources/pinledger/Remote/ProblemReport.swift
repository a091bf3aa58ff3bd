import NIOHTTP1
import PinWire
import Pinning

/// A problem of the server (RFC 9457) as the failure of a command: no sentence twice, in the words of the command line.
struct ProblemReport {
    private let problem: JSON?
    private let status: Int
    private let words: TerminalWords
    /// The answer's own values for names in its texts.
    private let values: [String: String]

    init(_ problem: JSON?, status: Int, headers: HTTPHeaders = [:], words: TerminalWords = .running) {
        self.problem = problem
        self.status = status
        self.words = words
        var values: [String: String] = [:]
        values["Retry-After"] = headers.first(name: "Retry-After")
        values["If-Match"] = headers.first(name: "ETag").flatMap { EpochNumber($0.filter { $0 != "\"" }) }
            .map { "`--if-version \($0)`" }
        values["instance"] = problem?["instance"]?.stringValue
        self.values = values
    }

    /// Problems that the form of a request has. Commands give requests their form, so that another version of the server is the cause.
    static let ofForm: Set<String> = [
        "not_found", "method_not_allowed", "unknown_parameter", "unsupported_media_type", "not_acceptable",
        "headers_too_large",
    ]

    var failure: CommandFailure {
        var failure = CommandFailure(
            self.lines.joined(separator: "\n"), advice: self.advice, status: Self.exitStatus(self.status))
        failure.problem = self.problem?["type"]?.stringValue
        return failure
    }

    /// The most defects that are looked for in the detail.
    private static let searchLimit = 100

    private var lines: [String] {
        let detail = self.problem?["detail"]?.stringValue ?? "the server answered \(self.status)"
        let defects = (self.problem?["errors"]?.arrayValue ?? []).map { error in
            (pointer: error["pointer"]?.stringValue ?? "", message: error["detail"]?.stringValue ?? "")
        }
        let findings = self.problem?["guard_rail_findings"]?.arrayValue ?? []
        // The detail of a problem of one defect is that defect, and the one of guard rails is the gravest finding.
        if let only = defects.first, defects.count == 1, findings.isEmpty,
            [only.pointer, "the body"].contains(where: { detail.hasPrefix("\($0): ") })
        {
            return [self.line(of: only)]
        }
        let isOfFinding = findings.contains { detail.hasSuffix($0.text("detail")) }
        let first = isOfFinding ? self.problem?["title"]?.stringValue ?? detail : detail
        // The detail says one of a few defects; a hostile answer has many to look for.
        let isSaid = { (message: String) in defects.count <= Self.searchLimit && detail.contains(message) }
        return [self.said(first)]
            + defects.filter { !isSaid($0.message) }.map { "  \(self.line(of: $0))" }
            + FindingReport.lines(findings, self.words).map { "  \($0)" }
    }

    private var advice: String? {
        guard let type = self.problem?["type"]?.stringValue, let advice = self.problem?["advice"]?.stringValue else {
            return nil
        }
        if !self.words.areRequests, Self.ofForm.contains(where: { type == "/problems/\($0)" }) {
            return
                "This program and the server may be of different versions: compare `pinledger --version` with what runs there (`pinledger node list`)."
        }
        return self.said(advice)
    }

    private func line(of defect: (pointer: String, message: String)) -> String {
        let place = defect.pointer.isEmpty ? "(whole)" : self.words.place(defect.pointer)
        return "\(place): \(self.said(defect.message))"
    }

    private func said(_ text: String) -> String { self.words.text(text, self.values) }

    private static func exitStatus(_ status: Int) -> ExitStatus {
        switch status {
        case 401, 403: .unauthorized
        case 404: .notFound
        case 409, 412: .conflict
        case 422: .refused
        case 429: .tooMany
        case 503: .unreachable
        default: .failure
        }
    }
}
