/// The checks that judge the guard rails, by subject: each is a file of this folder. They are evaluated in this order: the
/// first finding that has a refusal of its own gives the refusal.
package enum RailChecks: CaseIterable, Sendable {
    /// The checks of single commands, while they are decided.
    case commands
    // The checks of a change of an app.
    case policy, live, reach, delivery, certificates, authorities, change, clients
    /// The checks of the kill switch over everything.
    case fleet
    /// The checks of keys that sign documents.
    case signingKeys

    func findings(of change: JudgedChange) -> [Finding] {
        switch (change, self) {
        case (.app(let change), .policy):
            PolicyRails.findings(of: change) + change.wayBack(PolicyRails.findings(of:))
        case (.app(let change), .live): LiveRails.findings(of: change) + change.wayBack(LiveRails.findings(of:))
        case (.app(let change), .reach): ReachRails.findings(of: change)
        case (.app(let change), .delivery):
            DeliveryRails.findings(of: change) + change.wayBack(DeliveryRails.findings(of:))
        case (.app(let change), .certificates): CertificateRails.findings(of: change)
        case (.app(let change), .authorities): AuthorityRails.findings(of: change)
        case (.app(let change), .change): ChangeRails.findings(of: change)
        case (.app(let change), .clients): ClientRails.findings(of: change)
        case (.fleet(let change), .fleet): FleetRails.findings(of: change)
        case (.keys(let change), .signingKeys): SigningKeyRails.findings(of: change)
        case (.app, .commands), (.app, .fleet), (.app, .signingKeys), (.fleet, _), (.keys, _): []
        }
    }
}
