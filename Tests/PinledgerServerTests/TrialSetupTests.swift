import HTTPTypes
import Hummingbird
import NIOCore
import PinWire
import Pinning
import Testing

@testable import PinledgerServer

@Suite struct `The health of a trial` {
    private func status(of services: Services) async throws -> Int {
        let route = try #require(Routes(services: services).all.first { $0.operationID == "getHealth" })
        let exchange = Exchange(
            request: Request(
                head: HTTPRequest(method: .get, scheme: "http", authority: "a.test", path: "/healthz"),
                body: RequestBody(buffer: ByteBuffer())),
            requestID: "1", parameters: [:], query: [:], foreignQuery: [], actor: nil, rights: .everything,
            isOperators: true, bodyLimit: 0, peer: nil)
        do { return try await route.handler(exchange).status.code } catch {
            return Problem(error).type.entry.status.code
        }
    }

    @Test func `a trial is healthy once the file with its token is there, and every other node at once`() async throws {
        let setup = TrialSetup()
        var services = ExampleServer.services
        services.trialSetup = setup
        #expect(try await self.status(of: services) == 200)
        setup.begin()
        #expect(try await self.status(of: services) == 503)
        setup.end()
        #expect(try await self.status(of: services) == 200)
    }
}
