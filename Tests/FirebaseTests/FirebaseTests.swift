import Firebase
import Keys
import PinWire
import Testing

@Suite struct `A service account` {
    /// A key of 2048 bits that OpenSSL made for this test, and its public half.
    private static let key = """
        -----BEGIN PRIVATE KEY-----
        MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQC8Cfi1UpYHYOJX
        3pFc3iFYTyqhJp3DC7ryyMttbtG/390qkC7d2Z9ON+y8oa3QVLZtZFlYl41axm1J
        SkAaqPIlXn87EmhFRJSqgj3GFcPx1ZUGWapTGgzFKzUtVT4nq7jeYXHBon2Imjlq
        qH0mWzkY3Ahv1qAoHggVR/54gC9Ij53C2J3aZbKv9QF7Bt+gevs/8C9MbBfQvsvn
        aA13VcPg3xDtu2W8g3EfRu6BWVybGvMOoyj+uUrTvjHWnE1yDRTREZvBFg+bLML7
        ELS26GUSJla5gM0tCDhcAxHBG07TI4ljcONbeD55WyXQEGuBYycalknAGzfo+4yB
        SKQHH4CFAgMBAAECggEABm6QfC9KsQ6E0rAEjxJZpKO/ywq/NOrW5oATL6qUCew8
        rFYjOQ5wSKSMEfjol53JYanswaWDCpRX+Tyzcm+awy5D/tktCa8dwLLuYJl7ZG9d
        IH4uEv3RawGEpgjQ5/PgdNoNCJKn/zJIFxhggFCr5GhLJGKWHT+UIJo5hfvbrvxZ
        Mc+/JhjnJCfSt7vnMWCv0TJwCHrHchgWS4bzEQJu6V8S0NGC8t9ldlKy4Wj3+LAI
        e9Ex1obAMZvE+OVwWxSsWLcHzWezV09zOikvSMO8olxI2mdxnF8m+MmCoGA43eCh
        ac4heBzvZ2hqjeXx7QPFO4U63L4smcnHPJZuFmtvnwKBgQDhqSrVnh0AHILtGNFg
        6Ik0MC7dsihqaMp2SWnPKdM3vh1KEnf8dFlKGy/XY+kE0McZukSLh/cRbZjdvE7+
        iMDyK33xYiNszj5hnTVfvjlju9aIIuYVOgERwzxbKi5rIMrru65fixy1rl15FcTr
        8GXzCK78OA+aw8+Z0tf7LTeTxwKBgQDVUe23H5pJ0293r0G2ErB3vaDcJZvQNKEv
        9s/kBY2cYsF7OTBd2jVrfM2UeGSMXHTDrt/zXK1KCt7neBemzt5Rg/Kkk7ItPiYs
        d+d6QHSO6+Mzv0Jz0QA2w0tpNbmZCIs9x/hoicVH3akAHTyvFtSuIH20eTrF6Dnd
        sg11K6KxUwKBgQCiR9+wA6bjX52gGErqoA+bYlMxx19dNsLy0dSv0Go/Gg9CJ4n2
        GU3lBywef5Ehj2q/S77jgQHinKhkPXmpfnsTLMfDgUnsg11FIaMymT/4QysCd+Zy
        uWXvejG7ddgv3kNPx4ac2xPoa954p3kYG6eVYVdFtqMyL0LqYkBEN75SHQKBgQCR
        lMY8sW6kb42lCpA35+1S6rE7TNdXcnOGvlQGc9u/HI6av97ITkEiyBus9bT5Lafq
        XBAuj9MbsuuI4KaTip6i1v/jXYC966o1subgwdhKKaX3DNIXJE2XEhUHCklNrU0J
        rs1S2qMudpH9p/ZgL56Z70aawhlgMyo6qGcSzeLMTQKBgFeYMQJCulkb31K76Ug3
        spnLsk2wFUkZ52LB7iJBZYrZkokO9BtrhhVuf3QjNjfJWrotaOcx3P/T7DzxksdC
        rvxKhojMY95CmBwZPcKghH0u4hLPtX1Ha3emRsOy8C1aWk7VdxDjQ7DzYYZSuljU
        KhnjWjXhQ8XQpmmE3nsmcxOW
        -----END PRIVATE KEY-----

        """
    private static let publicKey =
        "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAvAn4tVKWB2DiV96RXN4hWE8qoSadwwu68sjLbW7Rv9/dKpAu3dmfTjfs"
        + "vKGt0FS2bWRZWJeNWsZtSUpAGqjyJV5/OxJoRUSUqoI9xhXD8dWVBlmqUxoMxSs1LVU+J6u43mFxwaJ9iJo5aqh9Jls5GNwIb9ag"
        + "KB4IFUf+eIAvSI+dwtid2mWyr/UBewbfoHr7P/AvTGwX0L7L52gNd1XD4N8Q7btlvINxH0bugVlcmxrzDqMo/rlK074x1pxNcg0U"
        + "0RGbwRYPmyzC+xC0tuhlEiZWuYDNLQg4XAMRwRtO0yOJY3DjW3g+eVsl0BBrgWMnGpZJwBs36PuMgUikBx+AhQIDAQAB"

    private static func file(_ changes: [String: JSON?] = [:]) -> [UInt8] {
        var members: [String: JSON] = [
            "type": "service_account", "project_id": "shop-prod-1", "private_key_id": "abc",
            "private_key": .string(Self.key), "client_email": "pins@shop-prod-1.iam.gserviceaccount.com",
            "token_uri": "https://oauth2.googleapis.com/token", "universe_domain": "googleapis.com",
        ]
        for (name, value) in changes { members[name] = value }
        return JSON.object(members).canonicalBytes
    }

    @Test func `a service account states who asks for what, and until when`() throws {
        let account = try ServiceAccount(Self.file(), endpoint: .google)
        #expect(account.project == "shop-prod-1")
        let text = try account.assertion(at: Timestamp(seconds: 1_769_860_800))
        let parts = text.split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let (header, claims) = (try #require(Base64URL.decode(parts[0])), try #require(Base64URL.decode(parts[1])))
        #expect(try JSON(parsing: header) == ["alg": "RS256", "kid": "abc", "typ": "JWT"])
        #expect(
            try JSON(parsing: claims) == [
                "iss": "pins@shop-prod-1.iam.gserviceaccount.com", "aud": "https://oauth2.googleapis.com/token",
                "scope": "https://www.googleapis.com/auth/firebase.remoteconfig", "iat": 1_769_860_800,
                "exp": 1_769_864_400,
            ])
        let info = try #require(Base64.decode(Self.publicKey))
        let key = try #require(RSAPublicKey(subjectPublicKeyInfo: info))
        let signature = try #require(Base64URL.decode(parts[2]))
        let input = Array("\(parts[0]).\(parts[1])".utf8)
        #expect(key.verifiesRS256(signature, over: input))
        #expect(!key.verifiesRS256(signature, over: input + [0]))
        #expect(!key.verifies(signature, over: input))
    }

    @Test func `a service account never shows its key`() throws {
        let account = try ServiceAccount(Self.file(), endpoint: .google)
        #expect("\(account)" == "the service account pins@shop-prod-1.iam.gserviceaccount.com")
    }

    @Test(
        arguments: [
            ("type", JSON.string("authorized_user"), "type is not service_account"),
            ("project_id", nil, "no project_id"),
            ("client_email", .string(""), "no client_email"), ("private_key", .string("-"), "private_key that"),
            ("private_key", .integer(1), "no private_key"), ("token_uri", .string("http://127.0.0.1/token"), "https"),
            ("token_uri", nil, "no token_uri"),
        ] as [(String, JSON?, String)])
    func `a service account is refused with the defect of its file`(member: String, value: JSON?, words: String) {
        let error = #expect(throws: ServiceAccount.Malformed.self) {
            try ServiceAccount(Self.file([member: value]), endpoint: .google)
        }
        #expect(error?.description.contains(words) == true)
    }

    @Test func `a service account may use an issuer on this machine where a test service is set`() throws {
        let endpoint = try #require(FirebaseEndpoint("http://127.0.0.1:9099/"))
        #expect(endpoint.base == "http://127.0.0.1:9099")
        _ = try ServiceAccount(Self.file(["token_uri": "http://localhost:9099/token"]), endpoint: endpoint)
        #expect(throws: ServiceAccount.Malformed.self) {
            try ServiceAccount(Self.file(["token_uri": "http://example.com/token"]), endpoint: endpoint)
        }
    }
}

@Suite struct `An endpoint for tests` {
    @Test(arguments: [
        ("https://firebase.example.com", true), ("http://[::1]:1", true), ("http://localhost:8080", true),
        ("http://example.com", false), ("http://127.0.0.1.example.com", false), ("ftp://127.0.0.1", false),
        ("http://10.0.0.1", false), ("", false),
    ])
    func `an endpoint for tests is https, or on this machine`(text: String, isTaken: Bool) {
        #expect((FirebaseEndpoint(text) != nil) == isTaken)
    }
}

@Suite struct `Backing off` {
    @Test func `the delay after failures doubles up to five minutes, and starts over after a success`() {
        var backoff = PushBackoff()
        let waits = (0..<12).map { _ in backoff.delay(random: 1) }
        #expect(waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
        backoff.reset()
        #expect(backoff.delay(random: 0) == 0.5)
    }

    @Test func `the delay after a failure is as long as the service asks for, within an hour`() {
        var backoff = PushBackoff()
        #expect(backoff.delay(random: 1, requested: 30) == 30)
        #expect(backoff.delay(random: 1, requested: .max) == 3600)
        #expect(backoff.delay(random: 1, requested: 1) == 4)
    }
}
