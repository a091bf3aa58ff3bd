import PinWire
import Pinning
import Testing

@testable import PinledgerServer

@Suite struct `A file to be imported` {
    @Test func `an imported file may be a template with as many parameters as Firebase keeps`() throws {
        let value = #"{"defaultValue": {"value": "x"}, "description": "y", "valueType": "STRING"}"#
        let others = (1..<3000).map { #""parameter_\#($0)": \#(value)"# }
        let config = #""ssl_pinning_config": {"defaultValue": {"value": "{}"}}"#
        let text = #"{"conditions": [], "parameters": {\#(([config] + others).joined(separator: ", "))}}"#
        #expect(text.utf8.count < 1024 * 1024)
        let file = ImportedFile(Array(text.utf8), as: .firebaseTemplate, for: try AppID("shop"))
        guard case .remoteConfig = file else {
            Issue.record("\(file)")
            return
        }
    }

    @Test func `an imported file may be tables with as many rows as fit into a mebibyte`() throws {
        let rows = (0..<9000).map { #"{"id": \#($0), "app_id": 2, "platform": "IOS"}"# }.joined(separator: ", ")
        let text = """
            {"mus_mobile_app": [{"id": 1, "name": "shop"}], "mus_mobile_domain": null, "mus_certificate": null,
             "mus_mobile_app_version": [\(rows)], "mus_localized_text": null}
            """
        #expect(text.utf8.count < 1024 * 1024)
        let file = ImportedFile(Array(text.utf8), as: .wultra, for: try AppID("shop"))
        guard case .wultra(let wultra) = file else {
            Issue.record("\(file)")
            return
        }
        #expect(wultra.name?.text == "shop" && !wultra.findings.contains { $0.severity == .fatal })
    }

    /// `remote-config` has an operation of its own.
    @Test func `an import without a format lists the formats`() {
        let names = ImportedFile.Format.names
        #expect(names.filter { ImportedFile.Format($0) == nil } == ["remote-config"])
        #expect(Set(names).count == names.count && names.contains("wultra"))
    }
}
