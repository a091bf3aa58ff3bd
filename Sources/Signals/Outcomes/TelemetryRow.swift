package import PinWire
import Pinning
import Postgres

/// One node's counts of one app in one minute, as they are stored.
package struct TelemetryRow: Hashable, Sendable {
    package var app: AppID
    package var isAuthenticated: Bool
    package var minute: Timestamp
    /// One of 2^`level` installs is counted.
    package var level: Int
    /// Cells and releases, in JSON.
    package var content: [UInt8]
    /// ``OutcomeUnit``s, one after the other.
    package var units: [UInt8]
    /// Reported connections, as far as that is known without reading ``content``.
    package var reports: Int64

    package init(
        app: AppID, isAuthenticated: Bool, minute: Timestamp, level: Int, content: [UInt8], units: [UInt8],
        reports: Int64 = 0
    ) {
        self.app = app
        self.isAuthenticated = isAuthenticated
        self.minute = minute
        self.level = level
        self.content = content
        self.units = units
        self.reports = reports
    }

    /// The number of units that are written without yielding.
    private static let unitsAtOnce = 1024

    init(_ app: AppID, _ isAuthenticated: Bool, _ minute: Timestamp, _ tally: OutcomeMinuteTally) {
        var units: [UInt8] = []
        units.reserveCapacity(tally.units.count * OutcomeUnit.size)
        for (index, unit) in tally.units.enumerated() {
            if index.isMultiple(of: Self.unitsAtOnce) { ThreadExecutor.giveWay() }
            unit.append(to: &units)
        }
        let content: JSON = [
            "cells": .array(tally.cells.map(\.json)),
            "releases": .array(tally.releases.map { .string($0.description) }),
        ]
        self.init(
            app: app, isAuthenticated: isAuthenticated, minute: minute, level: tally.level,
            content: content.canonicalBytes, units: units, reports: tally.reports)
    }

    /// The contents of ``content``; nil where it is damaged.
    var read: (cells: [OutcomeMinuteTally.Cell], releases: [AppRelease])? {
        guard let json = try? JSON(parsing: self.content, limits: JSONLimits(depth: 8, nodes: 1_000_000)),
            let cells = json["cells"]?.arrayValue, let releases = json["releases"]?.arrayValue
        else { return nil }
        let read = cells.compactMap(OutcomeMinuteTally.Cell.init)
        guard read.count == cells.count else { return nil }
        return (
            read,
            releases.map {
                $0.stringValue.flatMap { try? AppVersion($0) }?.release ?? AppRelease(major: 0, minor: 0, patch: 0)
            }
        )
    }
}

extension OutcomeMinuteTally.Cell {
    fileprivate var json: JSON {
        .members([
            "host": .string(self.key.host.text), "arm": self.key.arm.map { .string($0.rawValue) },
            "version": .integer(self.key.version), "reports": .integer(self.reports),
            "failures": self.failures == 0 ? nil : .integer(self.failures),
            "off_time": self.offTime == 0 ? nil : .integer(self.offTime),
            "unpinned": self.unpinned == 0 ? nil : .integer(self.unpinned),
            "pins": self.pins.isEmpty
                ? nil
                : .object(
                    Dictionary(uniqueKeysWithValues: self.pins.map { ($0.description, JSON.integer($1)) })),
        ])
    }

    fileprivate init?(_ json: JSON) {
        guard let host = json["host"]?.stringValue.flatMap({ try? HostPattern($0) }),
            let version = json["version"]?.integerValue, let reports = json["reports"]?.integerValue
        else { return nil }
        let more = ["failures", "off_time", "unpinned"].map { json[$0]?.integerValue ?? 0 }
        let counts = [reports] + more
        guard counts.allSatisfy(Self.counts.contains) else { return nil }
        self.init(
            key: OutcomeKey(
                host: host, arm: json["arm"]?.stringValue.flatMap(PolicySlot.init(rawValue:)), version: version),
            reports: counts[0], failures: counts[1], offTime: counts[2], unpinned: counts[3]
        )
        for (text, count) in json["pins"]?.objectValue ?? [:] {
            guard let pin = try? Pin(text: text), let count = count.integerValue, Self.counts.contains(count) else {
                return nil
            }
            self.pins[pin] = count
        }
    }

    /// Limited so that sums stay within bounds, whatever was stored.
    private static let counts: ClosedRange<Int64> = 0...1 << 40
}
