import PinWire

/// A proposed change that is gathered from several operations of the API, part by part.
struct DraftedChange {
    /// One operation that is added.
    struct Part {
        /// What an error calls it.
        var name: String
        var method: String
        var path: String
        var body: [String: JSON]
        var options: ChangeOptions
    }

    let id: String

    /// Adds each part to one draft. A draft of which a part is missing is withdrawn.
    ///
    /// - Parameter part: A part, with the change that it is added to: an id, or `draft` for the first.
    static func gather<Element>(
        _ elements: [Element], _ client: APIClient, _ part: (Element, String) throws -> Part
    ) async throws -> DraftedChange {
        var id: String?
        for element in elements {
            let part = try part(element, id ?? "draft")
            do {
                let answer = try await client.change(part.method, part.path, part.body, part.options)
                id = answer["change_id"]?.stringValue ?? id
            } catch let failure as CommandFailure {
                if let id {
                    do { _ = try await client.change("POST", ChangeCommands.path(id, "withdraw"), [:], .none) } catch {
                        throw Self.failure(failure, leaving: id, part.name)
                    }
                }
                throw CommandFailure(
                    "\(part.name): \(failure.message)", advice: failure.advice, status: failure.status)
            }
        }
        guard let id else { throw CommandFailure("the server did not name the change") }
        return DraftedChange(id: id)
    }

    /// Opens it for approvals.
    func propose(_ client: APIClient) async throws {
        do { _ = try await client.change("POST", ChangeCommands.path(self.id, "propose"), [:], .none) } catch let
            failure
            as CommandFailure
        {
            throw Self.failure(failure, leaving: self.id, "the change is gathered, and not proposed")
        }
    }

    private static func failure(_ failure: CommandFailure, leaving id: String, _ place: String) -> CommandFailure {
        CommandFailure(
            "\(place): \(failure.message)",
            advice:
                "The draft \(id) is left: look at it with `pinledger change show \(id)`, propose it, or withdraw it.",
            status: failure.status)
    }
}
