import PinWire
import PinledgerServer
import Pinning

extension Works {
    /// Requests on one connection of a client, from its bytes to the answer's: prepared answers, and one that the router has made.
    static let fetches = [
        Work("fetch-200", count: 200) {
            let server = try ExampleServer()
            let request = server.request("GET", "/client/v1/apps/\(server.app.id)/document")
            return { _ in try server.client.exchange(request, expecting: 200) }
        },
        Work("fetch-304", count: 200) {
            let server = try ExampleServer()
            let request = server.request(
                "GET", "/client/v1/apps/\(server.app.id)/document", ["If-None-Match": server.tag])
            return { _ in try server.client.exchange(request, expecting: 304) }
        },
        Work("routed-answer", count: 100) {
            let server = try ExampleServer()
            let request = server.request(
                "POST", "/compat/muejam/\(server.app.id)/\(server.app.hosts[2])/v1/security/certificate/verify",
                ["Content-Type": "application/json"],
                body: #"{"fingerprint":"\#(String(repeating: "AB:", count: 31))AB","algorithm":"sha256"}"#)
            return { _ in try server.client.exchange(request, expecting: 200) }
        },
    ]
}
