import Foundation
import KeyFiles
import PinWire
import Testing

/// Wherever and however a private key is sent, it is refused as one, and overwritten.
@Suite struct `A private key` {
    static let keys: [(name: String, command: String)] = [
        ("PKCS#8", "openssl pkey -in key.pem"),
        ("PKCS#8 in DER", "openssl pkcs8 -topk8 -nocrypt -in key.pem -outform der"),
        ("encrypted PKCS#8", "openssl pkcs8 -topk8 -in key.pem -passout pass:x"),
        ("encrypted PKCS#8 in DER", "openssl pkcs8 -topk8 -in key.pem -passout pass:x -outform der"),
        ("SEC 1", "openssl ec -in key.pem"), ("SEC 1 in DER", "openssl ec -in key.pem -outform der"),
        ("encrypted SEC 1", "openssl ec -in key.pem -aes128 -passout pass:x"),
        ("PKCS#1", "openssl rsa -in rsa.pem -traditional"),
        ("PKCS#1 in DER", "openssl rsa -in rsa.pem -traditional -outform der"),
        ("DSA in DER", "openssl genpkey -paramfile dsa.param -outform der | openssl dsa -inform der -outform der"),
        ("with its parameters", "openssl ecparam -name prime256v1 -genkey"),
        ("after a certificate", "cat cert.pem key.pem"), ("before a certificate", "cat key.pem cert.pem"),
        ("after a damaged certificate", "sed 3d cert.pem; cat key.pem"),
        ("cut short", "head -c 120 key.pem"),
        ("cut short in DER", "openssl pkcs8 -topk8 -nocrypt -in key.pem -outform der | head -c 60"),
        ("with too few dashes", "sed s/-----/----/g key.pem"),
        ("with its line ends spelled out", "printf '\"'; sed 's/$/\\\\n/' key.pem | tr -d '\\n'; printf '\"'"),
        ("with DOS line ends", "sed 's/$/\\r/' key.pem"), ("without boundaries", "grep -v -- ----- key.pem"),
        ("called a certificate", "sed 's/PRIVATE KEY/CERTIFICATE/' key.pem"),
        (
            "of OpenSSH",
            "rm -f id; ssh-keygen -q -t ed25519 -N '' -f id 2>/dev/null && cat id || echo "
                + "-----BEGIN OPENSSH PRIVATE KEY-----"
        ),
        ("of PGP", "echo -----BEGIN PGP PRIVATE KEY BLOCK-----"),
        ("of PuTTY", "echo PuTTY-User-Key-File-3: ssh-ed25519"),
        ("PKCS#12", "openssl pkcs12 -export -inkey key.pem -in cert.pem -passout pass:x"),
        (
            "PKCS#12 with the key in the clear",
            "openssl pkcs12 -export -inkey key.pem -in cert.pem -passout pass:x "
                + "-keypbe NONE -certpbe NONE -nomac"
        ),
        ("PKCS#12 of old", "openssl pkcs12 -export -legacy -inkey key.pem -in cert.pem -passout pass:x"),
        (
            "JWK",
            #"echo '{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","#
                + #""y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","d":"870MB6gfuTJ4HtUnUvYMyJpr5eUZNP4Bk43bVdj3eAE"}'"#
        ),
        ("JWK of RSA", #"echo '{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB","p" : "AQAB"}]}'"#),
        ("symmetric JWK", #"echo '[{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ"}]'"#),
        ("symmetric JWK without the key", #"echo '{"kty":"oct"}'"#),
    ]

    @Test(arguments: keys)
    func `a private key is refused as one`(name: String, command: String) async throws {
        let shop = try Workshop()
        try await shop.run(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -subj /CN=a \
                -out cert.pem 2>/dev/null
            openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out rsa.pem 2>/dev/null
            openssl genpkey -genparam -algorithm DSA -pkeyopt dsa_paramgen_bits:1024 -out dsa.param 2>/dev/null
            { \(command); } > upload 2>/dev/null
            """)
        let bytes = try shop.bytes("upload")
        #expect(!bytes.isEmpty)
        for password in [nil, "x", "wrong"] {
            let error = refusal(bytes, password: password)
            guard case .privateKey = error else {
                throw Unexpected(description: "\(name): \(String(describing: error))")
            }
            let text = error?.description ?? ""
            #expect(text.contains("private key") && text.contains("overwritten") && text.contains("exposed"))
            let within = error?.descriptionWithinText ?? ""
            #expect(within.contains("private key") && !within.contains("overwritten") && within.contains("exposed"))
        }
    }

    @Test func `a private key is found in a PKCS#12 file that hides it, once the password is there`() async throws {
        let shop = try Workshop()
        // Written by hand, because no program does it: a key bag within an encrypted part is what NSS once made.
        try await shop.run(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -subj /CN=a \
                -out cert.pem 2>/dev/null
            python3 '\(vectors.path)/hide_key.py' key.pem hidden.p12
            """)
        let bytes = try shop.bytes("hidden.p12")
        #expect(refusal(bytes) == .passwordNeeded(.whole))
        #expect(refusal(bytes, password: "wrong") == .wrongPassword(.whole))
        #expect(refusal(bytes, password: "x") == .privateKey(.whole, form: "PKCS#12"))
    }

    @Test func `a text that only mentions a private key is not refused as one`() throws {
        let text = "Do not send what says PRIVATE KEY; BEGIN with the public one.\n"
        let pem =
            "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA9gocJEBHG+vcm2OH42ZEy8XiYarSBJ3ZBTA5Ni7J+Ac=\n-----END PUBLIC KEY-----"
        #expect(try items(text: text + pem).count == 1)
    }
}
