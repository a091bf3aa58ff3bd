package import Addresses
package import PinWire

/// Requests alike within a short time, as one record: who asked for what, from where, and how it ended.
///
/// Only what the ledger does not show otherwise: requests that were refused or failed, and reads of what is confidential.
package struct AuditRecord: Hashable, Sendable {
    /// How the requests ended.
    package enum Outcome: String, CaseIterable, Sendable {
        /// The caller could not be identified: no token, or one that is not accepted.
        case unauthenticated
        /// The caller lacks a permission, or does not see what it asked for.
        case denied
        /// What was asked for cannot be done.
        case refused
        /// The node could not do it.
        case failed
        /// Something confidential was read.
        case read
    }

    /// Who asked; nil where that is not known.
    package var actor: Actor?
    /// The address of the caller; of many addresses the first one.
    package var address: IPAddress
    /// The proxy that stated the address; nil for a caller that came by itself.
    package var proxy: IPAddress?
    /// The operation of the contract; nil for requests to paths that have none.
    package var operation: String?
    /// The app that was asked for; nil for none, or several.
    package var app: AppID?
    package var outcome: Outcome
    /// The HTTP status, and the type of problem; nil for a read.
    package var status: Int
    package var problem: String?
    /// At least 1.
    package var count: Int64
    package var firstTime: Timestamp
    package var lastTime: Timestamp
    /// The ids of the first and the last of the requests.
    package var firstRequestID: String
    package var lastRequestID: String

    package init(
        actor: Actor?, address: IPAddress, proxy: IPAddress?, operation: String?, app: AppID?, outcome: Outcome,
        status: Int, problem: String?, time: Timestamp, requestID: String
    ) {
        self.actor = actor
        self.address = address
        self.proxy = proxy
        self.operation = operation
        self.app = app
        self.outcome = outcome
        self.status = status
        self.problem = problem
        self.count = 1
        self.firstTime = time
        self.lastTime = time
        self.firstRequestID = requestID
        self.lastRequestID = requestID
    }

    /// Takes in the requests of another record that is alike.
    package mutating func add(_ other: AuditRecord) {
        let (sum, isTooLarge) = self.count.addingReportingOverflow(other.count)
        self.count = isTooLarge ? JSON.largestInteger : min(sum, JSON.largestInteger)
        if other.firstTime < self.firstTime {
            (self.firstTime, self.firstRequestID) = (other.firstTime, other.firstRequestID)
        }
        if self.lastTime <= other.lastTime {
            (self.lastTime, self.lastRequestID) = (other.lastTime, other.lastRequestID)
        }
    }

    package var json: JSON {
        .members([
            "actor": self.actor?.json,
            "address": .string(self.address.description),
            "proxy": self.proxy.map { .string($0.description) },
            "operation": self.operation.map { .string($0) },
            "app": self.app.map { .string($0.text) },
            "outcome": .string(self.outcome.rawValue),
            "status": .integer(Int64(self.status)),
            "problem": self.problem.map { .string($0) },
            "count": .integer(self.count),
            "first_time": .string(self.firstTime.rfc3339),
            "last_time": .string(self.lastTime.rfc3339),
            "first_request_id": .string(self.firstRequestID),
            "last_request_id": .string(self.lastRequestID),
        ])
    }

    package init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            func address(_ field: JSONField) throws(JSONDefect) -> IPAddress {
                guard let address = IPAddress(try field.string()) else { throw field.defect("must be an address") }
                return address
            }
            var record = AuditRecord(
                actor: try m.optional("actor").mapped(Actor.init(_:)), address: try address(try m.required("address")),
                proxy: try m.optional("proxy").mapped(address), operation: try m.optional("operation")?.string(),
                app: try m.optional("app")?.parse(AppID.init(_:)),
                outcome: try m.required("outcome").oneOf(Outcome.self),
                status: Int(try m.required("status").integer(100...599)),
                problem: try m.optional("problem")?.string(), time: try m.required("first_time").timestamp(),
                requestID: try m.required("first_request_id").string())
            record.count = try m.required("count").integer(1...JSON.largestInteger)
            record.lastTime = try m.required("last_time").timestamp()
            record.lastRequestID = try m.required("last_request_id").string()
            return record
        }
    }
}
