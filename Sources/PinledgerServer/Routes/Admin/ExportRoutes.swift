import ClientFormats
import EventStore
import HTTPTypes
import Hummingbird
import NIOCore
import PinWire
import Pinning
import Publishing

/// Files with an app's pins built in: `/v1/apps/{app}/export/{format}`.
struct ExportRoutes: Sendable {
    let tools: CompatServices
    private var services: Services { self.tools.services }

    init(tools: CompatServices) {
        self.tools = tools
    }

    /// A file that needs a key to make.
    private static let signedFormat = "wultra_static"

    var routes: [Route] {
        [
            Route(
                "getExport", .get, "/v1/apps/{app}/export/{format}", access: .app(.readApps),
                query: ["notes", "compare"],
                self.export)
        ]
    }

    private func export(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        if exchange.parameters["format"] == Self.signedFormat {
            let declared = try self.tools.declared(.wultra, of: app.id)
            let file = try await self.tools.making(of: declared) {
                try await self.tools.wultraFile(of: declared, try self.services.exportedView(of: app))
            }
            return try Self.answer(
                exchange, Self.signedFormat, named: "fingerprints.json", "application/json", file.bytes,
                notes: file.notes)
        }
        let format = try exchange.exportFormat
        let view = try self.services.exportedView(of: app)
        let material = format.takesMaterial ? try await self.services.material.der(of: view.digests) : [:]
        let export = try Self.render(format, of: view, material)
        if try !exchange.flag("notes"), try !exchange.flag("compare") { try await self.note(format, of: view, app) }
        return try Self.answer(
            exchange, format.rawValue, named: format.fileName, format.mediaType, export.bytes, notes: export.notes)
    }

    /// Notes what an app gets built in by a file, before anyone has the file: a server with another key locks such installs out, and no
    /// document reaches them. A node that records nothing gives the file all the same.
    private func note(_ format: ExportFormat, of view: ClientView, _ app: App) async throws {
        guard let writer = self.services.writer, let kind = ClientKind(rawValue: format.rawValue), !kind.isServed,
            let client = app.clients[kind]
        else { return }
        let hosts = view.exported(for: kind, client.settings).filter { !client.knows($0, .exported) }
        guard !hosts.isEmpty else { return }
        let request = CommandRequest(
            command: .app(app.id, [.noteBuiltIn(kind, hosts, .exported)]),
            origin: Origin(actor: .system, reason: try? Reason("exported as \(format.rawValue)")),
            expectedVersion: nil, digest: [UInt8](repeating: 0, count: 32))
        do throws(WriteFailure) {
            _ = try await writer.execute(request)
        } catch .refused {
            // The kind, or the app, is gone since: nothing needs to be known of its installs.
        } catch { throw Problem(error) }
    }

    private static func answer(
        _ exchange: Exchange, _ format: String, named fileName: String, _ mediaType: String, _ bytes: [UInt8],
        notes: [String]
    ) throws -> Response {
        guard try !exchange.flag("notes") else {
            return .json([
                "format": .string(format), "file_name": .string(fileName),
                "notes": .array(notes.map { .string($0) }),
            ])
        }
        return Response(
            status: .ok,
            headers: [
                .contentType: mediaType,
                // The names are constants of letters, digits and hyphens.
                .contentDisposition: "attachment; filename=\"\(fileName)\"",
                .cacheControl: "no-store",
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        )
    }

    private static func render(
        _ format: ExportFormat, of view: ClientView, _ material: [[UInt8]: [UInt8]]
    ) throws(Problem) -> Export {
        do { return try Export.render(format, of: view, material: material) } catch {
            throw Problem(.nothingToExport, error.description)
        }
    }
}

extension Services {
    /// An app's view for an export: a device without known attributes.
    ///
    /// - Parameter view: The state that contains the app; nil for the present one.
    func exportedView(of app: App, in view: LedgerView? = nil) throws -> ClientView {
        if let fault = self.ledger.partialFault { throw fault }
        guard let view = self.clientView(of: app, in: view ?? self.ledger.view) else {
            throw Problem(.notPublished, "\(app.id) has no document yet.")
        }
        return view
    }
}

extension Exchange {
    private struct FormatUnknown: Error, CustomStringConvertible {
        let description =
            "must be one of \(ExportFormat.allCases.map(\.rawValue).joined(separator: ", ")), wultra_static"
    }

    fileprivate var exportFormat: ExportFormat {
        get throws(Problem) {
            try self.parameter("format") { (text) throws(FormatUnknown) in
                guard let format = ExportFormat(rawValue: text) else { throw FormatUnknown() }
                return format
            }
        }
    }
}
