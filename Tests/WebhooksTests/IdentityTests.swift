import Testing

@testable import Webhooks

@Suite struct `A receiver's certificate` {
    @Test(arguments: [
        ("hooks.example.com", "hooks.example.com"), ("Hooks.Example.com", "hooks.example.com"),
        ("*.example.com", "hooks.example.com"), ("localhost", "localhost"),
    ])
    func `a receiver's certificate covers its own names`(name: String, host: String) {
        #expect(ReceiverIdentity.covers(name, host))
    }

    @Test(arguments: [
        ("example.com", "hooks.example.com"), ("*.example.com", "example.com"),
        ("*.example.com", "a.hooks.example.com"),
        ("*.com", "example.com"), ("h*.example.com", "hooks.example.com"), ("*", "localhost"), ("", "localhost"),
        ("*.example.com", ".example.com"), ("hooks.*.com", "hooks.example.com"),
    ])
    func `a receiver's certificate covers no others`(name: String, host: String) {
        #expect(!ReceiverIdentity.covers(name, host))
    }
}
