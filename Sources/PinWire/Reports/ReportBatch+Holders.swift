extension ReportBatch {
    /// The reporting installs, and the versions of the document that each of them holds: the sender with what it says of itself, and
    /// every other install once with each version that it named, in the order in which they came.
    package var holders: [ClientReport] {
        var seen: Set<Holder> = []
        // What the sender's outcomes name it held when they happened.
        return [self.sender].compactMap { $0 }
            + self.outcomes.compactMap { outcome in
                guard let install = outcome.install, install != self.sender?.install,
                    seen.insert(Holder(install: install, version: outcome.documentVersion)).inserted
                else { return nil }
                return ClientReport(
                    version: outcome.documentVersion, platform: outcome.platform, release: outcome.release,
                    install: install)
            }
    }

    private struct Holder: Hashable {
        var install: InstallID
        var version: Int64
    }
}
