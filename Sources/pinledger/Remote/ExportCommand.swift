import ArgumentParser
import ClientFormats
import Foundation
import PinWire

struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract:
            "Export a file with an app's pins to build into the app, or check such a file; or export specs of apps.",
        discussion: """
            pinledger export android_nsc com.example.shop --output app/src/main/res/xml/network_security_config.xml
            pinledger export okhttp com.example.shop --check src/main/kotlin/PinledgerCertificatePinner.kt
            pinledger export yaml --output pins/ --shared

            Notes on what the format cannot express go to standard error. --check writes nothing: the exit code is 0 \
            if the file is up to date, 1 if it differs, and another one if the check failed. Configurations of Android \
            and property lists may have more in them than the export: their pins are compared. yaml is no file to build in, but \
            the spec that `pinledger plan` and `pinledger apply` take: of all apps unless one is named, and into a file \
            for each if --output is a directory. With --shared it also writes _shared.yaml there, with what apps share.
            """
    )

    @Argument(help: "The file's format.") var format: ExportName
    @Argument(help: "The app's id. Default, for yaml only: all apps.") var app: String?
    @Option(
        name: [.short, .long],
        help: ArgumentHelp("Where to write the file. Default: standard output.", valueName: "file"))
    var output: String?
    @Option(help: ArgumentHelp("Compare with this file instead of writing one.", valueName: "file")) var check: String?
    @Flag(help: "With yaml and a directory: export also fleet, access and webhooks.") var shared = false
    @OptionGroup var place: ServerOptions

    func run() async throws {
        guard self.output == nil || self.check == nil else {
            throw CommandFailure("give --output or --check, not both", status: .usage)
        }
        guard self.check == nil || self.format.name != ExportName.wultraStatic else {
            throw CommandFailure(
                "wultra_static cannot be checked: its signatures differ each time",
                status: .usage)
        }
        let isSpec = self.format.name == ExportName.yaml
        guard self.app != nil || isSpec else {
            throw CommandFailure("the app is missing: name the app to export", status: .usage)
        }
        if isSpec, let output, Self.isDirectory(output) {
            return try await self.place.withClient { client in
                try await SpecExport.write(self.app, shares: self.shared, into: output, client)
            }
        }
        guard !self.shared else {
            throw CommandFailure(
                "--shared goes with yaml and a directory",
                advice: "Try `pinledger export yaml --output pins/ --shared`.",
                status: .usage)
        }
        // Read first: a missing file needs no server.
        let present = try self.check.map { path in
            let data = try GivenFile.data(path, status: .notFound)
            return Array(data)
        }
        let (bytes, notes) = try await self.fetch()
        for note in notes["notes"]?.arrayValue ?? [] {
            Console.error("note: \(TerminalWords.running.text(note.stringValue ?? "-"))")
        }
        if let check, let present { return try self.compare(present, with: bytes, named: check) }
        guard let output else { return Console.write(bytes) }
        let replaced = (try? GivenFile.data(output)).map(Array.init) ?? []
        let lost = self.lost(from: replaced, for: bytes)
        do { try Data(bytes).write(to: URL(fileURLWithPath: output), options: .atomic) } catch {
            throw CommandFailure("\(output) cannot be written: \(error.localizedDescription)")
        }
        for part in lost {
            Console.error("warning: \(output) had more than pins before, which is gone now: \(part)")
        }
    }

    /// The parts of a file that the export does not have.
    private func lost(from present: [UInt8], for wanted: [UInt8]) -> [String] {
        guard let format = ExportFormat(rawValue: self.format.name) else { return [] }
        return ExportComparison.lost(from: present, for: wanted, as: format)
    }

    /// The command that shows the export.
    private var command: String {
        (["pinledger export", self.format.name] + (self.app.map { [$0] } ?? [])).joined(separator: " ")
    }

    private static func isDirectory(_ path: String) -> Bool {
        var isDirectory = ObjCBool(false)
        return path.hasSuffix("/")
            || FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory.boolValue
    }

    /// The file and the notes on it.
    private func fetch() async throws -> (bytes: [UInt8], notes: JSON) {
        do {
            return try await self.place.withClient { client in
                if self.format.name == ExportName.yaml {
                    return (Array(try await SpecExport.text(of: self.app, client).utf8), [:])
                }
                let path = "/v1/apps/\(APIClient.escaped(self.app ?? ""))/export/\(APIClient.escaped(self.format.name))"
                // What is only compared goes into no app.
                let answer = try await client.send("GET", self.check == nil ? path : "\(path)?compare=true")
                try answer.check()
                return (answer.body, try await client.get("\(path)?notes=true"))
            }
        } catch var failure as CommandFailure where self.check != nil && failure.status == .failure {
            // A pipeline would take it for a file that differs.
            failure.status = .notVerified
            throw failure
        }
    }

    /// Shows the first line that differs, and ends with 1, unless both declare the same.
    private func compare(_ present: [UInt8], with wanted: [UInt8], named path: String) throws {
        let comparison =
            ExportFormat(rawValue: self.format.name).map { ExportComparison(present, with: wanted, as: $0) }
            ?? (present == wanted ? .same : .different([]))
        switch comparison {
        case .same: return Console.error("\(path) is up to date.")
        case .samePins:
            return Console.error("\(path) is up to date: it has the pins of the export, and is not the export itself.")
        case .different(let hosts):
            guard !self.lost(from: present, for: wanted).isEmpty else { break }
            let names = hosts.isEmpty ? "" : " for \(hosts.map(\.text).joined(separator: ", "))"
            Console.error(
                "\(path) has other pins than the export\(names). Put those of the export in their place (`\(self.command)` shows "
                    + "them): --output would replace the rest of the file, too.")
            throw ExitCode(ExitStatus.failure.rawValue)
        }
        let old = Self.lines(present)
        let new = Self.lines(wanted)
        let place = zip(old, new).prefix { $0 == $1 }.count
        Console.print("--- \(path)")
        Console.print("+++ server")
        Console.print("@@ line \(place + 1) @@")
        if place < old.count { Console.print("-\(old[place])") }
        if place < new.count { Console.print("+\(new[place])") }
        Console.error(
            "\(path) is out of date. Export it again: \(self.command) --output \(path)")
        throw ExitCode(ExitStatus.failure.rawValue)
    }

    /// The lines as text; the text after the last line feed is a line too.
    private static func lines(_ bytes: [UInt8]) -> [String] {
        bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
            String(
                String(decoding: line, as: UTF8.self).unicodeScalars.map {
                    $0.properties.generalCategory == .control ? "?" : Character($0)
                })
        }
    }
}
