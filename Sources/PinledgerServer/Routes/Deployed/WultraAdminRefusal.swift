import ClientFormats
import HTTPTypes
import Hummingbird
import PinWire

/// Problems in the form of Wultra's administrative interface.
enum WultraAdminRefusal {
    static func response(to problem: Problem) -> Response {
        let error = Self.error(of: problem)
        var headers = problem.headers
        let status = Self.status(of: problem, error)
        if status == .serviceUnavailable, headers[.retryAfter] == nil { headers[.retryAfter] = "1" }
        return .foreign(status: status.code, error.body, headers: headers)
    }

    /// What is wrong, and what to do next.
    static func sentences(_ problem: Problem) -> String { "\(problem.detail) \(Self.advice(of: problem))" }

    private static func advice(of problem: Problem) -> String {
        // A guard rail's text is better than the common one.
        if case .array(let findings) = problem.members["guard_rail_findings"],
            case .object(let gravest) = findings.first,
            case .string(let remedy) = gravest["remedy"]
        {
            return remedy
        }
        return problem.type.entry.advice
    }

    private static func error(of problem: Problem) -> WultraAdminError {
        switch problem.type {
        case .internalError: return .unforeseen
        case .appUnknown: return WultraAdminError(.appNotFound, problem.detail)
        case .notFound: return WultraAdminError(.notFound, Self.sentences(problem))
        case .malformedRequest, .malformedJSON, .invalidValue, .unknownParameter, .bodyTooLarge, .unsupportedMediaType,
            .methodNotAllowed:
            return WultraAdminError(.malformed, Self.sentences(problem))
        default: break
        }
        switch problem.type.entry.status {
        case .unauthorized:
            return WultraAdminError(
                .unauthenticated, "\(problem.detail) The password must be an API token; any user name will do.")
        case .serviceUnavailable: return WultraAdminError(.unforeseen, Self.sentences(problem))
        default: return WultraAdminError(.refused, Self.sentences(problem))
        }
    }

    /// Wultra's server has few statuses; those that say what to do are kept in addition.
    private static func status(of problem: Problem, _ error: WultraAdminError) -> HTTPResponse.Status {
        let status = problem.type.entry.status
        switch status {
        case .serviceUnavailable: return status
        case .contentTooLarge where error.code == .malformed: return status
        default: return HTTPResponse.Status(code: error.status)
        }
    }
}
