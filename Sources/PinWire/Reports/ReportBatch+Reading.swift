extension ReportBatch {
    /// Limits on a batch.
    package static let limits = JSONLimits(depth: 16, nodes: 20_000)

    /// Reads a batch.
    ///
    /// - Parameter pause: Called again and again, after some ten microseconds of work each time, for a reader that has
    ///   to yield.
    /// - Throws: ``JSONSyntaxError`` for a text that is not JSON, is not an object, has no array `outcomes` or more
    ///   than ``limit`` of them.
    package init(parsing bytes: [UInt8], pause: () -> Void = {}) throws(JSONSyntaxError) {
        self = try bytes.withUnsafeBufferPointer { (buffer) throws(JSONSyntaxError) in
            var reader = JSONReader(buffer, limits: Self.limits)
            return try ReportBatch(&reader, pause)
        }
    }

    /// Outcomes that are read without a pause.
    private static let readAtOnce = 16

    private init(_ reader: inout JSONReader, _ pause: () -> Void) throws(JSONSyntaxError) {
        var shared = ReportDraft()
        var drafts: [ReportDraft]?
        let isObject = try reader.object { (reader, name) throws(JSONSyntaxError) in
            guard name == "outcomes" else {
                try shared.read(name, &reader)
                return
            }
            guard drafts == nil else { throw reader.failure("outcomes stands there twice") }
            var read: [ReportDraft] = []
            let isArray = try reader.array { (reader) throws(JSONSyntaxError) in
                guard read.count < Self.limit else {
                    throw reader.failure("a batch may have at most \(Self.limit) outcomes")
                }
                var draft = ReportDraft()
                let isObject = try reader.object { (reader, name) throws(JSONSyntaxError) in
                    try draft.read(name, &reader)
                }
                if !isObject { draft.isMalformed = true }
                read.append(draft)
                if read.count.isMultiple(of: Self.readAtOnce) { pause() }
            }
            guard isArray else { throw reader.failure("outcomes must be an array") }
            drafts = read
        }
        guard isObject else { throw reader.failure("a batch must be an object") }
        try reader.end()
        guard let drafts else { throw reader.failure("a batch must have outcomes") }
        self.init(sender: shared.sender)
        self.outcomes.reserveCapacity(drafts.count)
        for (place, draft) in drafts.enumerated() {
            if place.isMultiple(of: 4 * Self.readAtOnce) { pause() }
            switch draft.report(with: shared) {
            case .success(let report): self.outcomes.append(report)
            case .failure(let refusal): self.refusals[refusal.why, default: 0] += 1
            }
        }
    }
}

/// An outcome that is being read.
private struct ReportDraft {
    struct Refused: Error {
        let why: ReportBatch.Refusal
    }

    private enum Result {
        case success, unpinned, failure
    }

    var isMalformed = false
    /// The members that were read, one bit each.
    private var seen: UInt16 = 0
    private var host: String?
    private var outcome: Result?
    private var reason: OutcomeReason?
    private var servedPins: [Pin] = []
    private var arm: PolicyArm?
    private var documentVersion: Int64?
    private var release: AppRelease?
    private var platform: ClientPlatform?
    private var install: InstallID?
    private var time: Timestamp?
    private var count: Int64 = 1
    private var id: String?

    private enum Member: UInt16 {
        case host, outcome, reason, servedPins, arm, documentVersion, release, platform, install, time, count, id

        init?(_ name: String) {
            switch name {
            case "host": self = .host
            case "outcome": self = .outcome
            case "reason": self = .reason
            case "served_spki": self = .servedPins
            case "arm": self = .arm
            case "document_version": self = .documentVersion
            case "app_version": self = .release
            case "platform": self = .platform
            case "install": self = .install
            case "time": self = .time
            case "count": self = .count
            case "id": self = .id
            default: return nil
            }
        }
    }

    /// Reads one member; null is as good as nothing.
    mutating func read(_ name: String, _ reader: inout JSONReader) throws(JSONSyntaxError) {
        guard let member = Member(name) else { return try reader.skip() }
        if self.seen & 1 << member.rawValue != 0 { self.isMalformed = true }
        self.seen |= 1 << member.rawValue
        if try reader.null() { return }
        switch member {
        case .host: Self.keep(try reader.text().flatMap(OutcomeReport.hostName), &self.host, &self.isMalformed)
        case .outcome:
            switch try reader.text() {
            case "success": self.outcome = .success
            case "unpinned": self.outcome = .unpinned
            case "failure": self.outcome = .failure
            default: self.isMalformed = true
            }
        case .reason:
            Self.keep(try reader.text().map { OutcomeReason(rawValue: $0) ?? .other }, &self.reason, &self.isMalformed)
        case .servedPins: try self.readPins(&reader)
        case .arm:
            Self.keep(try reader.text().flatMap(PolicyArm.init(rawValue:)), &self.arm, &self.isMalformed)
        case .documentVersion:
            let version = try reader.integer()
            Self.keep(
                version.flatMap { (0...ClientReport.largestVersion).contains($0) ? $0 : nil }, &self.documentVersion,
                &self.isMalformed)
        case .release:
            // A text that is no version is no reason to lose the outcome.
            if let text = try reader.text() {
                self.release = (try? AppVersion(text))?.release
            } else {
                self.isMalformed = true
            }
        case .platform: Self.keep(try reader.text().map(ClientPlatform.init(named:)), &self.platform, &self.isMalformed)
        case .install: Self.keep(try reader.text().flatMap { InstallID($0) }, &self.install, &self.isMalformed)
        case .time: Self.keep(try reader.text().flatMap { Timestamp(rfc3339: $0) }, &self.time, &self.isMalformed)
        case .count:
            if let count = try reader.integer(), (1...OutcomeReport.largestCount).contains(count) {
                self.count = count
            } else {
                self.isMalformed = true
            }
        case .id:
            let text = try reader.text()
            Self.keep(
                text.flatMap { (1...OutcomeReport.idLimit).contains($0.utf8.count) ? $0 : nil }, &self.id,
                &self.isMalformed)
        }
    }

    private static func keep<T>(_ value: T?, _ place: inout T?, _ isMalformed: inout Bool) {
        if let value { place = value } else { isMalformed = true }
    }

    private mutating func readPins(_ reader: inout JSONReader) throws(JSONSyntaxError) {
        var pins: [Pin] = []
        var isMalformed = false
        let isArray = try reader.array { (reader) throws(JSONSyntaxError) in
            guard let text = try reader.text(), let pin = try? Pin(text: text) else {
                isMalformed = true
                return
            }
            pins.append(pin)
        }
        if !isArray || isMalformed || pins.count > OutcomeReport.pinLimit { self.isMalformed = true }
        self.servedPins = pins
    }

    /// The sender, of the members beside the outcomes.
    var sender: ClientReport? {
        guard !self.isMalformed, let install = self.install, let version = self.documentVersion else { return nil }
        return ClientReport(version: version, platform: self.platform, release: self.release, install: install)
    }

    /// The outcome, completed with the members of the whole batch.
    func report(with shared: ReportDraft) -> Swift.Result<OutcomeReport, Refused> {
        // A wrong member beside the outcomes makes each outcome wrong that relies on it; the answer does not say which
        // ones do.
        guard !self.isMalformed, !shared.isMalformed else { return .failure(Refused(why: .malformed)) }
        guard let host = self.host ?? shared.host, let outcome = self.outcome ?? shared.outcome,
            let install = self.install ?? shared.install
        else { return .failure(Refused(why: .incomplete)) }
        let connection: ConnectionOutcome =
            switch outcome {
            case .success: .success
            case .unpinned: .unpinned
            case .failure: .failure(self.reason ?? shared.reason ?? .other)
            }
        return .success(
            OutcomeReport(
                host: host, outcome: connection,
                servedPins: self.servedPins.isEmpty ? shared.servedPins : self.servedPins,
                arm: self.arm ?? shared.arm,
                documentVersion: self.documentVersion ?? shared.documentVersion ?? 0,
                release: self.release ?? shared.release, platform: self.platform ?? shared.platform,
                install: install, time: self.time ?? shared.time, count: self.count, id: self.id
            )
        )
    }
}

extension OutcomeReport {
    /// A host's name in the form for look-up; nil for a malformed one.
    static func hostName(_ text: String) -> String? { HostIndex.canonical(text) }
}
