import ClientFormats
import PinWire
import Testing

/// Files of apps that were made of an export.
@Suite struct `A file in an app's tree` {
    private static let merged: [(ExportFormat, String, String)] = [
        (
            .androidNSC, "<network-security-config>",
            "<network-security-config>\n<base-config cleartextTrafficPermitted='false'/><!-- ours --><debug-overrides/>"
        ),
        (.trustkitAndroid, "</network-security-config>", "<base-config/></network-security-config>"),
        (
            .trustkitIOS, "<key>TSKConfiguration</key>",
            "<key>CFBundleName</key><string>x</string><key>TSKConfiguration</key>"
        ),
        (
            .appleATS, "<key>NSPinnedDomains</key>",
            "<key>NSAllowsLocalNetworking</key><true/><key>NSPinnedDomains</key>"
        ),
    ]

    private func export(_ format: ExportFormat, _ hosts: [String] = ExportsSample.hosts) throws -> [UInt8] {
        try Export.render(format, of: try ExportsSample.view(hosts, validUntil: ExportsSample.until)).bytes
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test(arguments: Self.merged)
    func `a file in an app's tree may have more in it than the export`(format: ExportFormat, part: String, more: String)
        throws
    {
        let wanted = try self.export(format)
        let present = Array(self.text(wanted).replacing(part, with: more).utf8)
        #expect(present != wanted)
        #expect(ExportComparison(present, with: wanted, as: format) == .samePins)
        let lost = ExportComparison.lost(from: present, for: wanted, as: format)
        #expect(!lost.isEmpty && ExportComparison.lost(from: wanted, for: wanted, as: format).isEmpty, "\(lost)")
    }

    @Test(arguments: Self.merged)
    func `a file in an app's tree with other pins differs from the export`(
        format: ExportFormat, part: String, more: String
    ) throws {
        let wanted = try self.export(format)
        let merged = self.text(wanted).replacing(part, with: more)
        let renamed = merged.replacing("api.example.com", with: "app.example.com")
        #expect(
            ExportComparison(Array(renamed.utf8), with: wanted, as: format)
                == .different([try HostPattern("api.example.com"), try HostPattern("app.example.com")]))
        for (old, new) in [
            (try ExportsSample.pin(2).base64, try ExportsSample.pin(9).base64),
            (try ExportsSample.pin(1).base64, "short"), (part, ""),
        ] {
            let present = Array(merged.replacing(old, with: new).utf8)
            guard case .different = ExportComparison(present, with: wanted, as: format) else {
                Issue.record("\(old) is another one than \(new)")
                return
            }
        }
    }

    @Test(arguments: [
        ("expiration=\"2027-01-31\"", "expiration=\"2027-02-01\""), ("includeSubdomains=\"true\"", ""),
        ("<domain-config>", "<domain-config><domain>more.example.com</domain>"),
    ])
    func `a file in an app's tree with other settings differs from the export`(part: String, other: String) throws {
        let wanted = try self.export(.androidNSC)
        let present = Array(self.text(wanted).replacing(part, with: other).utf8)
        guard case .different(let hosts) = ExportComparison(present, with: wanted, as: .androidNSC) else {
            Issue.record("\(part) is another one than \(other)")
            return
        }
        #expect(!hosts.isEmpty)
    }

    @Test(arguments: ExportFormat.allCases.filter { !$0.takesMaterial && $0 != .flutter })
    func `a file in an app's tree may have the lines of Windows`(format: ExportFormat) throws {
        let wanted = try self.export(format)
        let present = Array(self.text(wanted).replacing("\n", with: "\r\n").utf8)
        #expect(ExportComparison(present, with: wanted, as: format) == .same)
        #expect(ExportComparison(wanted, with: wanted, as: format) == .same)
        #expect(ExportComparison(Array(wanted.dropLast(2)) + [0x0A], with: wanted, as: format) == .different([]))
        #expect(ExportComparison.lost(from: present, for: wanted, as: format).isEmpty)
    }

    @Test func `a file in an app's tree that is of no export's format loses nothing that could be named`() throws {
        for bytes in [[], Array("nothing".utf8), [0xFF]] as [[UInt8]] {
            let wanted = try self.export(.androidNSC)
            #expect(ExportComparison(bytes, with: wanted, as: .androidNSC) == .different([]))
            #expect(ExportComparison.lost(from: bytes, for: wanted, as: .androidNSC).isEmpty)
        }
    }
}
