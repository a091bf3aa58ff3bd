import Keys
import PinWire
import Testing

/// Files that OpenSSH 9.2 wrote (`ssh-keygen -t ed25519`, `ssh-keygen -Y sign -n pinledger-approval`), and damaged ones.
@Suite struct `SSH signatures` {
    static let publicKey =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHdM1wvNDtbwMFrqjTA5JdhBVY2MPlcIZh8nRgqWTSRJ ada@example.com"
    static let privateKey = """
        -----BEGIN OPENSSH PRIVATE KEY-----
        b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW
        QyNTUxOQAAACB3TNcLzQ7W8DBa6o0wOSXYQVWNjD5XCGYfJ0YKlk0kSQAAAJi+3UeUvt1H
        lAAAAAtzc2gtZWQyNTUxOQAAACB3TNcLzQ7W8DBa6o0wOSXYQVWNjD5XCGYfJ0YKlk0kSQ
        AAAEAg7e3AFmoY+6ra6GpTGLw6ss2jJ1RupJVBii8nR3SYhXdM1wvNDtbwMFrqjTA5JdhB
        VY2MPlcIZh8nRgqWTSRJAAAAD2FkYUBleGFtcGxlLmNvbQECAwQFBg==
        -----END OPENSSH PRIVATE KEY-----
        """
    static let lockedKey = """
        -----BEGIN OPENSSH PRIVATE KEY-----
        b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABDd/TrD0V
        lcbM5HcdQAOGTmAAAAEAAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIFZOgNm4OLwQkMgw
        ++kAwxfVSB2foQBPIpDwoIuYuRXiAAAAkNNbSwqQdTgZ6ZYF0gG+Lg7SdRzrTg1n3Eg2By
        ryyMi8vvTsfuVWYgcq8hWgxEq2d0Ag4i810MpFmRsfffCBKhMBqCX+IyhWTEBi/4cwMAYZ
        LHE4uEyY+YBV76FyVAg0hImt70vfO8gh3HgmHcmuBwV8SZYT2kOM25K4sU+b/LvtTH46+X
        qX6MwlPyPz98lcsg==
        -----END OPENSSH PRIVATE KEY-----
        """
    static let otherKey = """
        -----BEGIN OPENSSH PRIVATE KEY-----
        b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAaAAAABNlY2RzYS
        1zaGEyLW5pc3RwMjU2AAAACG5pc3RwMjU2AAAAQQSn4OzStLq3DqU9PZknkLYsdR0jUecS
        U3+AccMzB+vQpm/HLHM+DoKZ3SFn5H4To5HMdOmPOMvMBAJyC7sM3PerAAAAoOedSw7nnU
        sOAAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBKfg7NK0urcOpT09
        mSeQtix1HSNR5xJTf4BxwzMH69Cmb8cscz4OgpndIWfkfhOjkcx06Y84y8wEAnILuwzc96
        sAAAAhANhiczPcaeUr625B4KGC8ABIIb4urRIsQ2IIfCoQXBakAAAABW90aGVyAQI=
        -----END OPENSSH PRIVATE KEY-----
        """
    static let message = Array(
        #"{"change_id":"chg_4kQ9sXb2Lw8ZtR7c","content_sha256":"3f8a1c5de07b49f2a6c8d0e1b2f3a4958677665544332211ffeeddccbbaa9900","principal_id":"prn_4kQ9sXb2Lw8ZtR7c"}"#
            .utf8)
    static let signature = """
        -----BEGIN SSH SIGNATURE-----
        U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgd0zXC80O1vAwWuqNMDkl2EFVjY
        w+VwhmHydGCpZNJEkAAAAScGlubGVkZ2VyLWFwcHJvdmFsAAAAAAAAAAZzaGE1MTIAAABT
        AAAAC3NzaC1lZDI1NTE5AAAAQLmdJT46J3v9WnhajRxlZRbdXvvUmlrHnvLAy0OaCp7uTT
        Aupavyjd3UpYI0vZ2tQASjLKK7e4FHi+lk/i6digo=
        -----END SSH SIGNATURE-----
        """
    static let shorterHash = """
        -----BEGIN SSH SIGNATURE-----
        U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgd0zXC80O1vAwWuqNMDkl2EFVjY
        w+VwhmHydGCpZNJEkAAAAScGlubGVkZ2VyLWFwcHJvdmFsAAAAAAAAAAZzaGEyNTYAAABT
        AAAAC3NzaC1lZDI1NTE5AAAAQIBOxCXEbN6DoL56uYMXjFXG7wR+3HLtOLi7VmDChCLedf
        rIcEY4vmDGdtEmDqdwa8hLalvqkMqxufbbSYjxwQ4=
        -----END SSH SIGNATURE-----
        """
    static let ofOtherType = """
        -----BEGIN SSH SIGNATURE-----
        U1NIU0lHAAAAAQAAAGgAAAATZWNkc2Etc2hhMi1uaXN0cDI1NgAAAAhuaXN0cDI1NgAAAE
        EEp+Ds0rS6tw6lPT2ZJ5C2LHUdI1HnElN/gHHDMwfr0KZvxyxzPg6Cmd0hZ+R+E6ORzHTp
        jzjLzAQCcgu7DNz3qwAAABJwaW5sZWRnZXItYXBwcm92YWwAAAAAAAAABnNoYTUxMgAAAG
        QAAAATZWNkc2Etc2hhMi1uaXN0cDI1NgAAAEkAAAAhAKHANtQOSQGelldMcLsEQWRhlTmp
        wVTsOYFjBac5e1F6AAAAIEWqEWmv9gCf83ORGF3s2gI7WLcn1mtgNNra/qOyM3dc
        -----END SSH SIGNATURE-----
        """
    static let namespace = "pinledger-approval"

    private var key: Ed25519PublicKey {
        get throws { try #require(SSHPublicKey.key(ofLine: Self.publicKey)) }
    }

    @Test func `a line with a public key is read and written`() throws {
        #expect(SSHPublicKey.line(try self.key) + " ada@example.com" == Self.publicKey)
        #expect(SSHPublicKey.key(ofLine: Self.publicKey + "\n") != nil)
    }

    @Test(arguments: [
        "", "ssh-ed25519", "ssh-ed25519 AAAA",
        "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIHdM1wvNDtbwMFrqjTA5JdhBVY2MPlcIZh8nRgqWTSRJ",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHdM1wvNDtbwMFrqjTA5JdhBVY2MPlcIZh8nRgqWTSRJAA==",
        // The neutral element, of small order.
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "cert-authority " + publicKey, String(repeating: "a", count: 5000),
    ])
    func `a line that is no such key is refused`(line: String) { #expect(SSHPublicKey.key(ofLine: line) == nil) }

    @Test(arguments: [signature, shorterHash])
    func `a signature of ssh-keygen verifies`(text: String) throws {
        let signature = try SSHSignature(armored: text)
        #expect(signature.publicKey == (try self.key))
        #expect(signature.verifies(Self.message, namespace: Self.namespace))
        #expect(!signature.verifies(Self.message, namespace: "file"))
        #expect(!signature.verifies(Self.message + [10], namespace: Self.namespace))
        #expect(try SSHSignature(signature.bytes) == signature && SSHSignature(armored: signature.armored) == signature)
        #expect(signature.armored == text + "\n")
    }

    @Test func `a key of ssh-keygen signs as ssh-keygen does`() throws {
        let key = try SSHPrivateKey.read(Array(Self.privateKey.utf8))
        #expect(key.publicKey == (try self.key))
        let signature = try SSHSignature(of: Self.message, namespace: Self.namespace, by: key.publicKey) {
            try key.sign($0)
        }
        #expect(signature.armored == Self.signature + "\n")
    }

    @Test func `a private key that cannot be used is refused with the reason`() {
        func failure(_ text: String) -> SSHPrivateKey.Failure? {
            do throws(SSHPrivateKey.Failure) { _ = try SSHPrivateKey.read(Array(text.utf8)) } catch { return error }
            return nil
        }
        #expect(failure(Self.lockedKey) == .encrypted)
        #expect(failure(Self.otherKey) == .otherType)
        #expect(failure("") == .notOpenSSH && failure(Self.publicKey) == .notOpenSSH)
        #expect(failure(String(Self.privateKey.dropLast(40))) == .notOpenSSH)
        // The last character of the seed's half.
        #expect(failure(Self.privateKey.replacing("AAAEAg7e3A", with: "AAAEAh7e3A")) == .contradictory)
    }

    /// Every byte of a signature changed, and every prefix of it: none verifies, and none is taken for another.
    @Test func `a damaged signature never verifies`() throws {
        let bytes = try SSHSignature(armored: Self.signature).bytes
        for place in bytes.indices {
            var damaged = bytes
            damaged[place] ^= 1
            let isRight = (try? SSHSignature(damaged))?.verifies(Self.message, namespace: Self.namespace) ?? false
            #expect(!isRight, "byte \(place)")
            #expect(throws: SSHSignature.Malformed.self) { try SSHSignature(Array(bytes.prefix(place))) }
        }
        #expect(throws: SSHSignature.Malformed.notSSHSIG) { try SSHSignature(bytes + [0]) }
    }

    @Test func `a signature in another form is refused with the reason`() {
        #expect(throws: SSHSignature.Malformed.otherKeyType) { try SSHSignature(armored: Self.ofOtherType) }
        for text in ["", "x", String(Self.signature.dropFirst(5)), String(repeating: "A", count: 5000)] {
            #expect(throws: SSHSignature.Malformed.notArmored) { try SSHSignature(armored: text) }
        }
        // A length of four thousand million bytes.
        #expect(throws: SSHSignature.Malformed.notSSHSIG) {
            try SSHSignature(Array("SSHSIG".utf8) + [0, 0, 0, 1, 255, 255, 255, 255])
        }
    }
}
