import PinWire
import Webhooks

@testable import ClientFormats
@testable import Firebase
@testable import Probing

extension InputReader {
    private static func dialogue(
        _ name: String, _ seeds: [String] = [], bytes: [[UInt8]] = [],
        _ begin: @escaping @Sendable () -> any StartTLSDialogue
    ) -> InputReader {
        InputReader("what a probed host says in \(name)", seeds: seeds, bytes: bytes) { input in
            var dialogue = begin()
            use(dialogue.begin())
            for start in stride(from: 0, to: input.count, by: 4096) {
                use(dialogue.receive(input[start..<min(start + 4096, input.count)]))
            }
        }
    }

    /// What other servers answer: those that are probed, receivers of webhooks, Firebase.
    static let strangers: [InputReader] = [
        dialogue("SMTP", ["220 a\r\n250-a\r\n250 STARTTLS\r\n220 go\r\n"]) { SMTPDialogue() },
        dialogue("IMAP", ["* OK a\r\n* CAPABILITY IMAP4 STARTTLS\r\na OK\r\nb OK\r\n"]) { IMAPDialogue() },
        dialogue("PostgreSQL", ["S", "N"]) { PostgresDialogue() },
        InputReader(
            "what a receiver of webhooks answers",
            seeds: ["120", "Sun, 06 Nov 1994 08:49:37 GMT", "99999999999999999999"],
            read: { input in
                let text = String(decoding: input, as: UTF8.self)
                let now = Timestamp(seconds: 1_769_860_800)
                let answer = ReceiverAnswer(status: 503, retryAfter: text, body: input)
                for attempt in [Int.min, 0, 1, Int.max] {
                    use(DeliveryVerdict(.success(answer), attempt: attempt, first: now, now: now, random: 0.5))
                }
            }),
        InputReader(
            "a template of Firebase",
            seeds: [
                #"{"conditions":[{"name":"c","expression":"true"}],"parameters":{"a":{"defaultValue":{"value":"1"}}},"#
                    + #""parameterGroups":{"g":{"parameters":{"b":{}}}},"version":{"versionNumber":"5"}}"#
            ],
            frames: [
                Frame(#"{"parameters":{""#, #"":{}}}"#), Frame(#"{"conditions":[{"name":""#, #""}]}"#),
                Frame(#"{""#, #"":1}"#),
            ],
            read: { input in
                use(try? RemoteConfigProject(input))
                use(FirebaseHTTP.detail(.init(status: 500, etag: nil, retryAfter: nil, body: input)))
                let raw = try RawJSON(parsing: input)
                use(raw.isSame(as: raw), raw.members?.count)
            }),
    ]
}
