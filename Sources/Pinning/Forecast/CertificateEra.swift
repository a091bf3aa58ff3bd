package import PinWire

/// A time from which public authorities issue servers' certificates for at most so many days.
///
/// CA/Browser Forum, Baseline Requirements for TLS Server Certificates, section 6.3.2 (ballot SC-081v3, April 2025).
package struct CertificateEra: Hashable, Sendable {
    package let from: Timestamp
    package let days: Int64

    /// All of them, the earliest first.
    package static let all: [CertificateEra] = [
        CertificateEra(from: Timestamp(microseconds: 1_598_918_400_000_000), days: 398),  // 2020-09-01
        CertificateEra(from: Timestamp(microseconds: 1_773_532_800_000_000), days: 200),  // 2026-03-15
        CertificateEra(from: Timestamp(microseconds: 1_805_068_800_000_000), days: 100),  // 2027-03-15
        CertificateEra(from: Timestamp(microseconds: 1_868_227_200_000_000), days: 47),  // 2029-03-15
    ]

    /// The era in which a certificate that begins at `time` is issued; before all of them, the first.
    static func at(_ time: Timestamp) -> CertificateEra { self.all.last { $0.from <= time } ?? self.all[0] }

    /// The present one and those to come.
    static func ahead(of time: Timestamp) -> [CertificateEra] {
        self.all.filter { $0.from > time || $0 == self.at(time) }
    }
}
