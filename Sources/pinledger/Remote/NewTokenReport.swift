import PinWire

/// What is printed of a token that was just made: its text, which is shown only once.
enum NewTokenReport {
    /// Asks the server for a token, and prints its text.
    static func create(
        _ members: [String: JSON], until expiry: Timestamp, _ change: ChangeOptions, _ remote: RemoteOptions
    ) async throws {
        try await remote.withClient { client in
            let json = try await client.change("POST", "/v1/tokens", members, change)
            guard let token = json["token"]?.stringValue else {
                ChangeReport.print(json, remote.output)
                guard json["dry_run"] == true else {
                    guard json["change"] == nil else {
                        throw CommandFailure(
                            "the token was proposed, but the response with its text was lost",
                            advice: "Withdraw the change, and propose another.")
                    }
                    throw CommandFailure(
                        "the token was created, but the response with its text was lost",
                        advice:
                            "Revoke it (`pinledger token list` has its id; `pinledger token revoke ID`) and create another."
                    )
                }
                return
            }
            guard remote.output.isTable else { return ChangeReport.print(json, remote.output) }
            if let change = json["change_id"]?.stringValue, json["change"] != nil {
                Console.error("It is valid once the change \(change) is applied.")
            }
            Console.error("The token \(json.text("token_id")), shown only once, valid until \(expiry):")
            Console.print(token)
        }
    }
}
