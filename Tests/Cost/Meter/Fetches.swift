import PinWire
import PinledgerServer
import Pinning

extension Works {
    /// Requests on one connection of a client, from its bytes to the answer's: prepared answers, and one that the router has made.
    static let fetches = [
        fetch("fetch-200", expecting: 200) { server in
            server.request("GET", "/client/v1/apps/\(server.app.id)/document")
        },
        fetch("fetch-304", expecting: 304) { server in
            server.request("GET", "/client/v1/apps/\(server.app.id)/document", ["If-None-Match": server.tag])
        },
        fetch("routed-answer", expecting: 200) { server in
            server.request(
                "POST", "/compat/muejam/\(server.app.id)/\(server.app.hosts[2])/v1/security/certificate/verify",
                ["Content-Type": "application/json"],
                body: #"{"fingerprint":"\#(String(repeating: "AB:", count: 31))AB","algorithm":"sha256"}"#)
        },
    ]

    /// Rounds are short and many, because the server makes a new date once a second; each ends with the server's work for it.
    private static func fetch(
        _ name: String, expecting status: Int, _ request: @escaping @Sendable (ExampleServer) -> [UInt8]
    ) -> Work {
        let count = 5
        return Work(name, count: count, rounds: 40) {
            let server = try ExampleServer()
            let bytes = request(server)
            return { turn in
                let length = try server.client.exchange(bytes, expecting: status)
                if turn % count == count - 1 { try server.settle() }
                return length
            }
        }
    }
}
