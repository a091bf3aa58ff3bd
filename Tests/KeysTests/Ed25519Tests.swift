import Keys
import PinWire
import Testing

@Suite struct `Ed25519` {
    /// One vector of RFC 8032 section 7.1.
    struct Vector: CustomTestStringConvertible {
        var name: String
        var seed: String
        var publicKey: String
        var message: String
        var signature: String
        var testDescription: String { self.name }
    }

    static let vectors = [
        Vector(
            name: "TEST 1",
            seed: rfcSeed,
            publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            message: "",
            signature: "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
                + "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
        Vector(
            name: "TEST 2",
            seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            message: "72",
            signature: "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
        Vector(
            name: "TEST 3",
            seed: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            publicKey: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            message: "af82",
            signature: "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
                + "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
        Vector(
            name: "TEST 1024",
            seed: "f5e5767cf153319517630f226876b86c8160cc583bc013744c6bf255f5cc0ee5",
            publicKey: "278117fc144c72340f67d0f2316e8386ceffbf2b2428c9c51fef7c597f1d426e",
            message: test1024Message,
            signature: "0aab4c900501b3e24d7cdf4663326a3a87df5e4843b2cbdb67cbf6e460fec350"
                + "aa5371b1508f9f4528ecea23c436d94b5e8fcd4f681e30a6ac00a9704a188a03"
        ),
        Vector(
            name: "TEST SHA(abc)",
            seed: "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
            publicKey: "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
            message: "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            signature: "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589"
                + "09351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704"
        ),
    ]

    /// The seeds and public keys of the TUF example (name, seed, public key).
    static let seeds = [
        (
            "root-1", "79c401778250fe5b6bd93f11f10bb6b078c6b2a0977c19c6bb449dc27fbe15c5",
            "28750ed97c8e18c90803b83654e502e59c68c8b7f06281c53f54428bb8b7ef53"
        ),
        (
            "root-2", "bba9517f04b4097f1a93f27b9f963c86db1e27a81efd37924d2b1bf0acfe8dfc",
            "3bd223edb37cee1826b713e80902e155663308c215c48165c13c13cf49dc05e0"
        ),
        (
            "root-3", "3aa8f3596567de8b10c7f9fa0910aace28608e49baf2c3732235c08a2891f885",
            "324ea32af3616a0347f38c396fa8ad6feb99ccb46ef8ebca85f52b0f27636f2e"
        ),
        (
            "targets-1", "b98543266f6875050ccca834a6e1d5ab2d4c074f96c0099b50aa46c7f2088561",
            "b08a0c0e04ad9a1cb6c59fed275053555cc6dcc5c07e422ed2baeae91abac7d6"
        ),
        (
            "targets-2", "bb806745ace5f52e833ba034a79782dbdb94f3f112eec86eac8f779545438e2f",
            "2f0f146f6e861e5474d762ae6a9549e48b598cc54b67c5fa51e03652be151ae9"
        ),
        (
            "snapshot-1", "65b5655f0a9fb97447e5b0f4f1bc17f18d15db8134143bff2ef732b156a13755",
            "e31d31933912a6e4dc2fd9a662fa51566793971ebfb686222b2d2442c015d468"
        ),
        (
            "timestamp-1", "ebdeb8b21bb4af5e2aef1b0e39501b7bfa5c6d2267e7d3b279bf0fef3cd81238",
            "792de567ba9526262a96ea990ee97dcc92484387f81676667a0f52f95dce5af6"
        ),
        (
            "app-1", "42c7cca4ef4e0cb44870e8141492cb596e8070162608a423f7d5494dd3b47a79",
            "536c249e00d5f9f8c78afcd271d6526143fe95031df042efda21a31f408d30a8"
        ),
    ]

    @Test(arguments: vectors)
    func `the RFC 8032 vectors are reproduced and verified`(_ vector: Vector) throws {
        let key = try Ed25519PrivateKey(seed: vector.seed)
        #expect(Hex.encode(key.publicKey.bytes) == vector.publicKey)
        let message = hex(vector.message)
        #expect(message.count * 2 == vector.message.count)
        let signature = try key.sign(message)
        #expect(Hex.encode(signature) == vector.signature)
        #expect(key.signOnce(message) == signature)
        #expect(try #require(Ed25519PublicKey(hex(vector.publicKey))).verifies(signature, over: message))
    }

    @Test(arguments: seeds)
    func `a seed gives its documented public key`(name: String, seed: String, publicKey: String) throws {
        #expect(Hex.encode(try Ed25519PrivateKey(seed: seed).publicKey.bytes) == publicKey)
        #expect(Hex.encode(sha256("pin-backend/tuf-demo/\(name)".utf8)) == seed)
    }

    @Test func `every changed bit of a signature or message is refused`() throws {
        let key = try Ed25519PrivateKey(seed: rfcSeed)
        let message = Array("pins".utf8)
        let signature = try key.sign(message)
        for bit in 0..<512 {
            var forged = signature
            forged[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!key.publicKey.verifies(forged, over: message))
        }
        for bit in 0..<32 {
            var forged = message
            forged[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!key.publicKey.verifies(signature, over: forged))
        }
        for count in [0, 1, 63, 65, 128] {
            #expect(!key.publicKey.verifies(Array(repeating: 0, count: count), over: message))
        }
        #expect(!key.publicKey.verifies(signature + [0], over: message))
    }

    @Test func `a signature rewritten with S plus the group order is refused`() throws {
        let key = try Ed25519PrivateKey(seed: rfcSeed)
        var signature = try key.sign([])
        // L = 2^252 + 27742317777372353535851937790883648493, little-endian.
        let order = hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
        var carry = 0
        for place in 0..<32 {
            let sum = Int(signature[32 + place]) + Int(order[place]) + carry
            signature[32 + place] = UInt8(sum & 0xFF)
            carry = sum >> 8
        }
        #expect(carry == 0)
        #expect(!key.publicKey.verifies(signature, over: []))
    }

    @Test(arguments: [
        // A point of small order; all of them are in Ed25519EncodingTests.
        "0100000000000000000000000000000000000000000000000000000000000000",
        // Another point, spelled with p + 3.
        "f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        // No point at all.
        "0200000000000000000000000000000000000000000000000000000000000000",
    ])
    func `a point that no honest key has is refused`(point: String) {
        #expect(hex(point).count == 32)
        #expect(Ed25519PublicKey(hex(point)) == nil)
    }

    @Test func `keys of another length are refused`() {
        for count in [0, 31, 33, 64] {
            let bytes = Array(repeating: UInt8(1), count: count)
            #expect(Ed25519PublicKey(bytes) == nil)
            #expect(throws: Ed25519PrivateKey.Failure.wrongSeedLength(count)) { try Ed25519PrivateKey(seed: bytes) }
        }
    }

    @Test func `generated keys differ and sign`() throws {
        let keys = try (0..<8).map { _ in try Ed25519PrivateKey.generate() }
        #expect(Set(keys.map(\.publicKey)).count == 8)
        for key in keys {
            #expect(key.publicKey.verifies(try key.sign([1, 2, 3]), over: [1, 2, 3]))
        }
    }
}

/// The message of RFC 8032 section 7.1 TEST 1024, which has 1,023 bytes.
private let test1024Message: String = [
    "08b8b2b733424243760fe426a4b54908632110a66c2f6591eabd3345e3e4eb98fa6e264bf09efe12ee50f8f54e9f77b1",
    "e355f6c50544e23fb1433ddf73be84d879de7c0046dc4996d9e773f4bc9efe5738829adb26c81b37c93a1b270b20329d",
    "658675fc6ea534e0810a4432826bf58c941efb65d57a338bbd2e26640f89ffbc1a858efcb8550ee3a5e1998bd177e93a",
    "7363c344fe6b199ee5d02e82d522c4feba15452f80288a821a579116ec6dad2b3b310da903401aa62100ab5d1a36553e",
    "06203b33890cc9b832f79ef80560ccb9a39ce767967ed628c6ad573cb116dbefefd75499da96bd68a8a97b928a8bbc10",
    "3b6621fcde2beca1231d206be6cd9ec7aff6f6c94fcd7204ed3455c68c83f4a41da4af2b74ef5c53f1d8ac70bdcb7ed1",
    "85ce81bd84359d44254d95629e9855a94a7c1958d1f8ada5d0532ed8a5aa3fb2d17ba70eb6248e594e1a2297acbbb39d",
    "502f1a8c6eb6f1ce22b3de1a1f40cc24554119a831a9aad6079cad88425de6bde1a9187ebb6092cf67bf2b13fd65f270",
    "88d78b7e883c8759d2c4f5c65adb7553878ad575f9fad878e80a0c9ba63bcbcc2732e69485bbc9c90bfbd62481d9089b",
    "eccf80cfe2df16a2cf65bd92dd597b0707e0917af48bbb75fed413d238f5555a7a569d80c3414a8d0859dc65a46128ba",
    "b27af87a71314f318c782b23ebfe808b82b0ce26401d2e22f04d83d1255dc51addd3b75a2b1ae0784504df543af8969b",
    "e3ea7082ff7fc9888c144da2af58429ec96031dbcad3dad9af0dcbaaaf268cb8fcffead94f3c7ca495e056a9b47acdb7",
    "51fb73e666c6c655ade8297297d07ad1ba5e43f1bca32301651339e22904cc8c42f58c30c04aafdb038dda0847dd988d",
    "cda6f3bfd15c4b4c4525004aa06eeff8ca61783aacec57fb3d1f92b0fe2fd1a85f6724517b65e614ad6808d6f6ee34df",
    "f7310fdc82aebfd904b01e1dc54b2927094b2db68d6f903b68401adebf5a7e08d78ff4ef5d63653a65040cf9bfd4aca7",
    "984a74d37145986780fc0b16ac451649de6188a7dbdf191f64b5fc5e2ab47b57f7f7276cd419c17a3ca8e1b939ae49e4",
    "88acba6b965610b5480109c8b17b80e1b7b750dfc7598d5d5011fd2dcc5600a32ef5b52a1ecc820e308aa342721aac09",
    "43bf6686b64b2579376504ccc493d97e6aed3fb0f9cd71a43dd497f01f17c0e2cb3797aa2a2f256656168e6c496afc5f",
    "b93246f6b1116398a346f1a641f3b041e989f7914f90cc2c7fff357876e506b50d334ba77c225bc307ba537152f3f161",
    "0e4eafe595f6d9d90d11faa933a15ef1369546868a7f3a45a96768d40fd9d03412c091c6315cf4fde7cb68606937380d",
    "b2eaaa707b4c4185c32eddcdd306705e4dc1ffc872eeee475a64dfac86aba41c0618983f8741c5ef68d3a101e8a3b8ca",
    "c60c905c15fc910840b94c00a0b9d0",
].joined()
