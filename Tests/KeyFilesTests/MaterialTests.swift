import KeyFiles
import PinWire
import Testing

@Suite struct `The bytes of keys and certificates` {
    private func read(_ file: String) throws -> Upload {
        var bytes = try vector("seeds/\(file)")
        return try Upload.read(&bytes)
    }

    @Test(
        arguments: [
            "EC.der", "RSA.der", "RSA-PSS.der", "ED25519.der", "ED448.der", "EC.spki", "RSA.spki", "ED25519.spki",
            "EC.csr", "RSA.csr", "csr.der", "chain.pem", "chain.p7b", "chain.p7", "open.p12", "trusted.pem",
            "pkcs1.pem", "keys.json", "self-signed.der", "spki.base64",
        ])
    func `the stored bytes of keys and certificates are those of the digests that the facts name, and no others`(
        file: String
    ) throws {
        let upload = try self.read(file)
        var keys: Set<[UInt8]> = []
        var certificates: Set<[UInt8]> = []
        for item in upload.items {
            switch item {
            case .certificate(let facts):
                keys.insert(facts.key.pin.bytes)
                certificates.insert(facts.sha256)
            case .publicKey(let facts): keys.insert(facts.pin.bytes)
            case .request(let facts): keys.insert(facts.key.pin.bytes)
            case .pin, .fingerprint: Issue.record("\(file) is to have more than digests")
            }
        }
        #expect(!keys.isEmpty)
        #expect(Set(upload.material.filter { $0.kind == .publicKey }.map(\.digest)) == keys)
        #expect(Set(upload.material.filter { $0.kind == .certificate }.map(\.digest)) == certificates)
    }

    @Test func `the stored bytes of keys and certificates are those that were sent`() throws {
        let certificate = try vector("seeds/EC.der")
        let key = try vector("seeds/EC.spki")
        #expect(try self.read("EC.spki").material == [Material(.publicKey, der: key)])
        #expect(try self.read("EC.csr").material.map(\.kind) == [.publicKey])
        #expect(try self.read("EC.der").material.contains(Material(.certificate, der: certificate)))
        for material in try self.read("chain.pem").material {
            var der = material.der
            let again = try Upload.read(&der)
            #expect(again.items.count == 1 && again.material.contains(material))
        }
    }

    @Test func `an upload of pins alone stores no bytes`() throws {
        #expect(try self.read("pins.txt").material.isEmpty)
    }
}
