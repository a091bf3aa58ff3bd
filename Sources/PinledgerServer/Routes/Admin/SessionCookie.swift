import HTTPTypes
import Hummingbird
import PinWire

/// The cookie with which a browser sends the token of its session.
///
/// Its name's prefix keeps every other host, subdomains included, from setting or receiving it (RFC 6265bis section 4.1.3.2), scripts
/// cannot read it, and browsers do not send it with requests that other sites cause. That last promise is the browser's, and one site
/// may have several hosts: so ``checkOrigin(of:)`` looks at each request as well.
enum SessionCookie {
    static let name = "__Host-pinledger-session"
    private static let attributes = "Path=/; Secure; HttpOnly; SameSite=Strict"

    /// The value of `Set-Cookie` that has a browser keep a token.
    static func setting(_ token: String, seconds: Int64) -> String {
        "\(Self.name)=\(token); Max-Age=\(max(0, seconds)); \(Self.attributes)"
    }

    /// The value of `Set-Cookie` that has a browser forget it.
    static let clearing = "\(Self.name)=; Max-Age=0; \(Self.attributes)"

    /// The token that a request's cookie has; nil for a request without the cookie.
    ///
    /// - Throws: A problem where the request has it more than once: which one the browser was given is not to be told.
    static func text(in headers: HTTPFields) throws(Problem) -> String? {
        var found: Substring?
        // HTTP/2 may send each pair as a field of its own (RFC 9113 section 8.2.3).
        for field in headers[values: .cookie] {
            for pair in field.split(separator: ";") {
                let pair = pair.drop { $0 == " " || $0 == "\t" }
                guard pair.hasPrefix("\(Self.name)=") else { continue }
                guard found == nil else {
                    throw Problem(.tokenMalformed, "The request has several cookies named \(Self.name).")
                }
                found = pair.dropFirst(Self.name.count + 1)
            }
        }
        return found.map { $0.trimmingCharacters() }
    }

    /// Refuses a request that a browser makes for a page of another origin.
    ///
    /// Browsers say so in `Sec-Fetch-Site` (Fetch Metadata Request Headers, W3C); earlier ones name the page's origin where a request may
    /// change something (RFC 6454 section 7). The scheme is not compared: behind a proxy the server does not know its own.
    static func checkOrigin(of request: Request) throws(Problem) {
        let isReading = request.method == .get || request.method == .head
        switch request.headers[.secFetchSite] {
        case "same-origin": return
        // The user's own doing, such as an address that was typed.
        case "none" where isReading: return
        case nil:
            if let origin = request.headers[.origin] {
                let parts = origin.split(separator: "/", omittingEmptySubsequences: false)
                if parts.count == 3, parts[0] == "https:" || parts[0] == "http:", parts[1].isEmpty,
                    let authority = request.head.authority, parts[2].lowercased() == authority.lowercased()
                {
                    return
                }
            } else if isReading {
                return
            }
        // Another site, another host of this site, or a value that is not known: refused below.
        default: break
        }
        throw Problem(
            .crossOriginRequest,
            "The request comes with a browser's session, and not for a page of this server: its Sec-Fetch-Site, or else its Origin, says so, or is missing."
        )
    }
}

extension HTTPField.Name {
    static let secFetchSite = Self.constant("Sec-Fetch-Site")
}
