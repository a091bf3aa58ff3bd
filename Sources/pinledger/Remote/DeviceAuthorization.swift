import Foundation
import PinWire

/// A sign-in with an identity provider by a code that is entered in a browser, on this machine or another (RFC 8628).
struct DeviceAuthorization {
    let issuer: String
    let clientID: String
    /// What it asks for (RFC 6749 section 3.3).
    let scope: String
    let trust: ServerTrust

    /// The longest pause between two questions, in seconds, and the longest time that a code is waited for.
    private static let (longestPause, longestWait): (Int64, Int64) = (60, 1_800)
    private static let bodyLimit = 256 * 1_024

    /// Shows the code, and waits until it was entered; returns the identity token.
    func identityToken(show: (_ address: String, _ code: String) -> Void) async throws -> String {
        let base = self.issuer.hasSuffix("/") ? String(self.issuer.dropLast()) : self.issuer
        let metadata = try await self.ask("\(base)/.well-known/openid-configuration")
        // Otherwise another provider's endpoints could be put in between (OpenID Connect Discovery 1.0, section 4.3).
        guard metadata.json["issuer"]?.stringValue == self.issuer else {
            throw CommandFailure("the metadata of \(self.issuer) name another issuer", status: .notVerified)
        }
        guard let device = metadata.json["device_authorization_endpoint"]?.stringValue,
            let endpoint = metadata.json["token_endpoint"]?.stringValue
        else {
            throw CommandFailure(
                "\(self.issuer) does not support sign-in by a code",
                advice: "Get an identity token from it otherwise, and give it with --identity-token-file.")
        }
        let begun = try await self.ask(device, form: [("client_id", self.clientID), ("scope", self.scope)])
        guard begun.status == 200, let deviceCode = begun.json["device_code"]?.stringValue,
            let code = begun.json["user_code"]?.stringValue,
            let address = (begun.json["verification_uri_complete"] ?? begun.json["verification_uri"])?.stringValue
        else { throw self.failure(begun, "did not begin the sign-in") }
        show(address, code)
        var pause = min(max(begun.json["interval"]?.integerValue ?? 5, 1), Self.longestPause)
        let wait = min(max(begun.json["expires_in"]?.integerValue ?? 600, 1), Self.longestWait)
        let end = ContinuousClock.now + .seconds(wait)
        while ContinuousClock.now < end {
            try await Task.sleep(for: .seconds(pause))
            let answer = try await self.ask(
                endpoint,
                form: [
                    ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("device_code", deviceCode),
                    ("client_id", self.clientID),
                ])
            if answer.status == 200 {
                guard let token = answer.json["id_token"]?.stringValue else {
                    throw CommandFailure("\(self.issuer) gave no identity token", status: .unauthorized)
                }
                return token
            }
            switch answer.json["error"]?.stringValue {
            case "authorization_pending": break
            // Section 3.5: by five seconds more.
            case "slow_down": pause = min(pause + 5, Self.longestPause)
            case "access_denied":
                throw CommandFailure("the sign-in was denied at \(self.issuer)", status: .unauthorized)
            case "expired_token":
                throw CommandFailure(
                    "the code has expired", advice: "Begin again with `pinledger login`.", status: .unauthorized)
            default: throw self.failure(answer, "refused the sign-in")
            }
        }
        throw CommandFailure(
            "the code was not entered in time", advice: "Begin again with `pinledger login`.", status: .unauthorized)
    }

    private struct Answer {
        var status: Int
        var json: JSON
    }

    private func failure(_ answer: Answer, _ what: String) -> CommandFailure {
        // The provider's own words, which Console makes harmless.
        let why = answer.json["error_description"]?.stringValue ?? answer.json["error"]?.stringValue ?? ""
        return CommandFailure(
            "\(self.issuer) \(what) (status \(answer.status))\(why.isEmpty ? "" : ": \(why.prefix(300))")",
            status: .unauthorized)
    }

    /// Posts a form, or without one gets what is at an address.
    private func ask(_ address: String, form: [(String, String)]? = nil) async throws -> Answer {
        guard let url = URLComponents(string: address), let scheme = url.scheme?.lowercased(),
            ["https", "http"].contains(scheme), let host = url.host, url.user == nil
        else { throw CommandFailure("\(self.issuer) names an address that is not one: \(address.prefix(200))") }
        let origin =
            "\(scheme)://\(host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host)\(url.port.map { ":\($0)" } ?? "")"
        let context = ServerContext(server: origin, token: nil, trust: self.trust)
        guard !context.isExposed else {
            throw CommandFailure(
                "\(address.prefix(200)) is plain http, where all on the way can read the sign-in",
                advice: "Use a provider with https.", status: .usage)
        }
        let path = url.percentEncodedPath + (url.percentEncodedQuery.map { "?\($0)" } ?? "")
        let body = form.map { fields in
            Array(fields.map { "\($0)=\(APIClient.escaped($1))" }.joined(separator: "&").utf8)
        }
        let headers = body == nil ? [] : [("Content-Type", "application/x-www-form-urlencoded")]
        let answer = try await APIClient.with(context) { client in
            try await client.send(
                body == nil ? "GET" : "POST", path.isEmpty ? "/" : path, body: body,
                headers: headers + [("Accept", "application/json")], limit: Self.bodyLimit)
        }
        guard answer.body.count <= Self.bodyLimit, let json = try? answer.json else {
            throw CommandFailure("\(origin) answered with something that is not JSON (status \(answer.status))")
        }
        return Answer(status: answer.status, json: json)
    }
}
