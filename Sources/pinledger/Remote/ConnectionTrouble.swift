import Addresses
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Probing

/// Why a server gave no answer, as far as it can be found out.
enum ConnectionTrouble: Hashable {
    /// Nothing listens on the port.
    case refused
    case noWay(reason: String)
    case nameUnknown
    case connectTimedOut
    /// Connected and sent, without an answer in time.
    case answerTimedOut
    /// The connection ended before the answer did.
    case closed
    case answerTooLarge
    /// `https` was used, and the port does not speak TLS.
    case noTLS
    /// `http` was used, and the port speaks TLS.
    case needsTLS
    case authorityUnknown
    case wrongName
    case certificateExpired
    case certificateNotYetValid
    /// With OpenSSL's text.
    case certificateRefused(reason: String)
    case handshakeFailed
    case badAddress
    /// The token would be sent over plain HTTP to another machine.
    case tokenExposed
    case unforeseen

    /// Whether the server cannot have seen the request.
    var isUnsent: Bool {
        switch self {
        case .answerTimedOut, .closed, .answerTooLarge, .unforeseen: false
        case .refused, .noWay, .nameUnknown, .connectTimedOut, .noTLS, .needsTLS, .authorityUnknown, .wrongName,
            .certificateExpired, .certificateNotYetValid, .certificateRefused, .handshakeFailed, .badAddress,
            .tokenExposed:
            true
        }
    }

    /// The cause by the HTTP client's error; nil where a look at the port finds more.
    init?(of error: any Error) {
        switch error {
        case let error as NIOConnectionError:
            if let first = error.connectionErrors.first {
                guard let trouble = ConnectionTrouble(of: first.error) else { return nil }
                self = trouble
            } else {
                self = .nameUnknown
            }
        case let error as IOError:
            switch error.errnoCode {
            case ECONNREFUSED: self = .refused
            case ETIMEDOUT: self = .connectTimedOut
            case ENETUNREACH, EHOSTUNREACH, EADDRNOTAVAIL, ENETDOWN, EACCES, EPERM:
                self = .noWay(reason: String(cString: strerror(error.errnoCode)))
            case ECONNRESET, EPIPE: return nil
            default: self = .noWay(reason: String(cString: strerror(error.errnoCode)))
            }
        case let error as HTTPClientError: self.init(of: error)
        case is SocketAddressError: self = .nameUnknown
        case is NIOTooManyBytesError: self = .answerTooLarge
        case ChannelError.connectTimeout: self = .connectTimedOut
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError, is HTTPParserError, is ChannelError: return nil
        default: self = .unforeseen
        }
    }

    private init?(of error: HTTPClientError) {
        switch error {
        case .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout: self = .connectTimedOut
        case .readTimeout, .writeTimeout, .deadlineExceeded: self = .answerTimedOut
        case .invalidURL, .emptyHost, .emptyScheme, .missingSocketPath: self = .badAddress
        case .remoteConnectionClosed, .uncleanShutdown: return nil
        default: self = error.description.contains("unsupportedScheme") ? .badAddress : .unforeseen
        }
    }

    /// The trouble between a request to `server` and its answer. Where the error alone is not enough, this finds out
    /// which protocol the port speaks, and which certificate it presents.
    static func found(_ error: any Error, server: String, trust: ServerTrust) async -> ConnectionTrouble {
        if let trouble = ConnectionTrouble(of: error) { return trouble }
        let isTLS = server.lowercased().hasPrefix("https:")
        // The handshake itself has reported it, for exactly the requested name.
        if let extra = error as? NIOSSLExtraError, extra == .failedToValidateHostname { return .wrongName }
        let service = await Self.look(at: server, trust)
        switch service {
        case .served(let verification)? where isTLS:
            switch verification {
            case .invalid(let code, let reason): return Self.refusal(code, reason)
            case .valid, .unknown: return error is NIOSSLError ? .handshakeFailed : .closed
            }
        case .served?: return .needsTLS
        case .failed(let kind)?:
            switch kind {
            case .notTLS: return isTLS ? .noTLS : .closed
            case .refused: return .closed
            case .timedOut: return isTLS ? .connectTimedOut : .closed
            case .handshakeAlert, .handshakeFailed, .tooLarge: return isTLS ? .handshakeFailed : .needsTLS
            default: return isTLS && error is NIOSSLError ? .handshakeFailed : .closed
            }
        case nil: return error is NIOSSLError || error is NIOSSLExtraError ? .handshakeFailed : .closed
        }
    }

    /// OpenSSL's codes (`X509_V_ERR_*`) that have a sentence of their own.
    private static func refusal(_ code: Int, _ reason: String) -> ConnectionTrouble {
        switch code {
        case 2, 18, 19, 20, 21, 27: .authorityUnknown
        case 9: .certificateNotYetValid
        case 10: .certificateExpired
        case 62, 64: .wrongName
        default: .certificateRefused(reason: reason)
        }
    }

    private enum Service {
        case served(Verification)
        case failed(ProbeFailure.Kind)
    }

    /// The answer of a server's port to a TLS handshake. Sends no request.
    private static func look(at server: String, _ trust: ServerTrust) async -> Service? {
        guard let url = URLComponents(string: server), let host = url.host, !host.isEmpty else { return nil }
        let port = url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80)
        let name = host.trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        let text = name.contains(":") ? "[\(name)]:\(port)" : "\(name.lowercased()):\(port)"
        // The operator named the address, so every address is allowed.
        let everywhere = ["0.0.0.0/0", "::/0"].compactMap { try? IPNetwork($0) }
        guard let target = try? ProbeTarget(text),
            let prober = try? await Prober.start(
                policy: AddressPolicy(allowed: everywhere, allowsLiterals: true), trustFile: trust.file)
        else { return nil }
        let options = ProbeOptions(
            addressTimeout: .seconds(3), resolutionTimeout: .seconds(3), limit: .seconds(6), patience: .seconds(3),
            maximumAddresses: 4, asksForOtherKind: false)
        let report = await prober.probe(target, options: options)
        await prober.close()
        if let chain = report.chains.first { return .served(chain.verification) }
        var failures = [report.failure].compactMap { $0?.kind }
        for case .failed(let failure) in report.addresses.map(\.outcome) { failures.append(failure.kind) }
        return failures.first.map { .failed($0) }
    }

    /// The failure that ends the command.
    func failure(server: String, trust: ServerTrust) -> CommandFailure {
        CommandFailure(
            self.sentence(server: server), advice: self.advice(server: server, trust: trust),
            status: [.badAddress, .tokenExposed].contains(self) ? .usage : .unreachable)
    }

    private func sentence(server: String) -> String {
        switch self {
        case .refused: "\(server) cannot be reached: nothing listens on its port"
        case .noWay(let reason): "\(server) cannot be reached: \(reason.lowercased())"
        case .nameUnknown: "\(server) cannot be reached: its name has no address"
        case .connectTimedOut: "\(server) cannot be reached: it accepted no connection within 5 seconds"
        case .answerTimedOut: "\(server) does not answer within 60 seconds"
        case .closed: "\(server) closed the connection without a response"
        case .answerTooLarge: "the response of \(server) is too large (more than 256 MiB)"
        case .noTLS: "\(server) speaks plain HTTP or another protocol on this port, not TLS"
        case .needsTLS: "\(server) speaks TLS on this port, not plain HTTP"
        case .authorityUnknown: "\(server) is not trusted: its certificate is from an unknown authority"
        case .wrongName: "\(server) is not trusted: its certificate is for another name"
        case .certificateExpired: "\(server) is not trusted: its certificate has expired"
        case .certificateNotYetValid: "\(server) is not trusted: its certificate is not valid yet"
        case .certificateRefused(let reason): "\(server) is not trusted: \(reason)"
        case .handshakeFailed: "\(server) and this program cannot agree on a TLS connection"
        case .badAddress: "\(server) is not the address of a server"
        case .tokenExposed:
            "the token is not sent to \(server): the connection is not encrypted, and leaves this machine"
        case .unforeseen: "\(server) cannot be reached"
        }
    }

    private func advice(server: String, trust: ServerTrust) -> String {
        let rest = server.firstRange(of: "://").map { String(server[$0.upperBound...]) } ?? server
        switch self {
        case .refused, .unforeseen:
            return
                "Check that the server runs and that --server (or PINLEDGER_SERVER) is right. `pinledger doctor` shows more."
        case .noWay, .connectTimedOut:
            return "Check --server (or PINLEDGER_SERVER), and whether a firewall blocks the connection."
        case .nameUnknown: return "Check the name in --server (or PINLEDGER_SERVER)."
        case .answerTimedOut: return "Read the server's log and its /readyz."
        case .closed where server.lowercased().hasPrefix("https:"):
            return
                "Where the server asks operators for a certificate, give yours: --client-certificate FILE --client-key FILE. Otherwise read the logs of the server and of any proxy in front of it."
        case .closed: return "Read the logs of the server and of any proxy in front of it."
        case .answerTooLarge: return "Request less, for example with --limit."
        case .noTLS: return "Give --server http://\(rest), or the port that speaks TLS."
        case .needsTLS: return "Give --server https://\(rest)."
        case .authorityUnknown:
            if let file = trust.file {
                return "\(file) does not contain the authority. Give --ca-file the file that does."
            }
            return "Give the authority's certificate: --ca-file FILE, or PINLEDGER_CA_FILE."
        case .wrongName:
            return "Give --server the name in the certificate, or give the server a certificate for this name."
        case .certificateExpired: return "Renew the server's certificate. The server reads the new file by itself."
        case .certificateNotYetValid: return "Synchronize the clocks of this machine and of the server with NTP."
        case .certificateRefused: return "Give the server another certificate."
        case .handshakeFailed: return "The server must speak TLS 1.2 or 1.3. Read its log."
        case .tokenExposed:
            return
                "Give the server a certificate and --server https://\(rest), or use a tunnel to the node. In a network that you trust, --allow-http (PINLEDGER_ALLOW_HTTP=1) sends it all the same."
        case .badAddress: return "Give --server as http://HOST:PORT or https://HOST:PORT."
        }
    }
}
