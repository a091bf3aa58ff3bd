import Synchronization
import X509

/// The further certificates that a server presents, of which a verification may look up no more than it needs.
///
/// Certificates that all could have issued one another have more paths through them than can be tried: a server that is not even
/// authenticated would choose how long that takes.
struct PresentedIntermediates: CustomCertificateStore {
    private final class Allowance: Sendable {
        let rest: Mutex<Int>

        init(_ count: Int) { self.rest = Mutex(count) }

        func take() -> Bool {
            self.rest.withLock { rest in
                guard rest > 0 else { return false }
                rest -= 1
                return true
            }
        }
    }

    /// The most look-ups: an honest chain takes one for each of its certificates.
    private static let lookups = 24

    private var bySubject: [DistinguishedName: [Certificate]]
    private let allowance = Allowance(Self.lookups)

    init(_ certificates: some Sequence<Certificate>) {
        self.bySubject = Dictionary(grouping: certificates, by: \.subject)
    }

    subscript(subject: DistinguishedName) -> [Certificate]? {
        get async { self.allowance.take() ? self.bySubject[subject] : nil }
    }

    func contains(_ certificate: Certificate) async -> Bool {
        self.bySubject[certificate.subject]?.contains(certificate) ?? false
    }

    mutating func append(contentsOf certificates: some Sequence<Certificate>) {
        for certificate in certificates { self.bySubject[certificate.subject, default: []].append(certificate) }
    }

    static func == (left: Self, right: Self) -> Bool { left.bySubject == right.bySubject }

    func hash(into hasher: inout Hasher) { hasher.combine(self.bySubject) }
}
