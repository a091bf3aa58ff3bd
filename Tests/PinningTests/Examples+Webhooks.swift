import PinWire
import Pinning

func webhookURL(_ text: String) -> OutgoingURL {
    guard let url = try? OutgoingURL(text) else { preconditionFailure("\(text) is no URL of a webhook") }
    return url
}

/// The examples of the stream `webhooks`, as ``examples`` has them.
let webhookExamples: [String: Entry] = {
    let every = WebhookSettings(url: webhookURL("https://hooks.example.com/pins"))
    let few = WebhookSettings(
        url: webhookURL("https://hooks.example.com:8443/pins?team=red"), types: ["PinRevoked", "KillSwitchEngaged"],
        apps: [shop, appID("com.example.bank")], description: "Pager of “Red”"
    )
    let events: [(String, WebhookEvent)] = [
        ("WebhookCreated", .created(id: "whk_1", every, secretID: "whs_1")),
        ("WebhookCreated.filtered", .created(id: "whk_2", few, secretID: "whs_2")),
        ("WebhookChanged", .changed(id: "whk_1", few)),
        ("WebhookPaused", .paused(id: "whk_1", .requested)),
        ("WebhookPaused.gone", .paused(id: "whk_1", .gone)),
        ("WebhookPaused.failing", .paused(id: "whk_1", .failing)),
        ("WebhookResumed", .resumed(id: "whk_1")),
        ("WebhookSecretRotated", .secretRotated(id: "whk_1", secretID: "whs_3")),
        ("WebhookRemoved", .removed(id: "whk_1")),
    ]
    let plain = Origin(actor: Actor(kind: .token, id: "tok_0", name: "Ann"))
    return Dictionary(
        uniqueKeysWithValues: events.enumerated().map { index, example in
            let entry = Entry(
                position: Int64(1000 + index), stream: .webhooks, streamVersion: Int64(index + 1), time: noon,
                event: .webhooks(example.1), origin: plain
            )
            return (example.0, entry)
        }
    )
}()
