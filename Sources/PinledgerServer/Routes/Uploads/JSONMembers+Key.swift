import KeyFiles
import PinWire
import Pinning

extension JSONMembers {
    /// Reads one key: `pin` in any spelling, or an upload of the key as text (`material`: PEM, a JWK, a pin) or in binary
    /// (`material_base64`).
    ///
    /// Reading may take a second, for a key store: not on a cooperative thread.
    ///
    /// - Parameter uploads: All of the request.
    mutating func key(_ uploads: inout Uploads) throws(JSONDefect) -> UploadedKey {
        let names = ["pin", "material", "material_base64"]
        let given = names.filter { self.mentions($0) }
        guard given.count <= 1 else {
            throw JSONDefect(
                pointer: self.pointer.appending(given[1]), message: "must not be given together with \(given[0])")
        }
        if let field = self.optional("material") {
            return try Self.read(Array(try field.string().utf8), field, &uploads)
        }
        if let field = self.optional("material_base64") {
            guard let bytes = Base64.decode(try field.string()) else {
                throw field.defect("must be base64 with padding and without line breaks")
            }
            return try Self.read(bytes, field, &uploads)
        }
        return try self.required("pin").writtenPin(uploads.known)
    }

    private static func read(
        _ bytes: consuming [UInt8], _ field: JSONField, _ uploads: inout Uploads
    ) throws(JSONDefect) -> UploadedKey {
        let upload = try field.upload(bytes, &uploads)
        let key: UploadedKey
        do { key = try UploadedKey(upload, known: uploads.known) } catch { throw field.defect(error.description) }
        if let evidence = key.evidence { uploads.keep(evidence, of: upload) }
        return key
    }
}

extension JSONField {
    /// Reads a pin in any spelling.
    func writtenPin(_ known: KnownKeys) throws(JSONDefect) -> UploadedKey {
        try self.parse { (text) throws(UploadedKey.Ambiguity) in try UploadedKey(written: text, known: known) }
    }

    /// Reads the field's value as an upload.
    ///
    /// - Parameters:
    ///   - bytes: Overwritten if they are refused. The texts they came in are not.
    ///   - uploads: All of the request.
    func upload(_ bytes: consuming [UInt8], _ uploads: inout Uploads) throws(JSONDefect) -> Upload {
        do { return try uploads.read(bytes) } catch {
            throw self.defect("is refused. \(error.descriptionWithinText)")
        }
    }
}
