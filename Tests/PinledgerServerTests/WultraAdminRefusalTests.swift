import HTTPTypes
import Hummingbird
import Testing

@testable import PinledgerServer

@Suite struct `A problem behind Wultra's administrative interface` {
    @Test(
        arguments: [
            (Problem(.appUnknown, "x"), 404), (Problem(.limitReached, "x"), 400),
            (Problem(.eventTooLarge, "x"), 400), (Problem(.invalidValue, "x"), 400), (Problem(.tokenMissing, "x"), 401),
            (Problem(.bodyTooLarge, "x"), 413), (Problem(.unsupportedMediaType, "x"), 400),
            (Problem(.methodNotAllowed, "x"), 400), (Problem(.notFound, "x"), 404),
            (Problem(.overloaded, "x"), 503),
            (Problem(WultraAdminFault(description: "not for strangers")), 500),
        ] as [(Problem, Int)])
    func `a problem behind Wultra's administration has a status that says what to do`(problem: Problem, status: Int) {
        #expect(WultraAdminRefusal.response(to: problem).status.code == status)
    }
}
