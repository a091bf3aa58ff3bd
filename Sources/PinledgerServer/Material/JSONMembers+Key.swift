import Certificates
import PinWire
import Pinning

extension JSONMembers {
    /// Reads which key is meant: `pin`, or what shows the key as text (`material`: PEM, a JWK, a pin in any spelling) or in
    /// binary (`material_base64`).
    ///
    /// Reading `material_base64` may take a second: not on a cooperative thread.
    mutating func key() throws(JSONDefect) -> KeyMaterial {
        let names = ["pin", "material", "material_base64"]
        let given = names.filter { self.mentions($0) }
        guard given.count <= 1 else {
            throw JSONDefect(
                pointer: self.pointer.appending(given[1]), message: "must not be given together with \(given[0])")
        }
        if let field = self.optional("material") {
            return try Self.read(Array(try field.string().utf8), field)
        }
        if let field = self.optional("material_base64") {
            guard let bytes = Base64.decode(try field.string()) else {
                throw field.defect("must be base64 with padding and without line breaks")
            }
            return try Self.read(bytes, field)
        }
        let field = try self.required("pin")
        return KeyMaterial(pin: try field.parse(Pin.init(text:)))
    }

    private static func read(_ bytes: [UInt8], _ field: JSONField) throws(JSONDefect) -> KeyMaterial {
        var bytes = bytes
        let upload: Upload
        do { upload = try Upload.read(&bytes) } catch { throw field.defect("is refused. \(error)") }
        do { return try KeyMaterial(upload) } catch { throw field.defect(error.description) }
    }
}
