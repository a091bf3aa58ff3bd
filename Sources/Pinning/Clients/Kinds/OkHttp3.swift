import PinWire

extension ClientProfile {
    static let okhttp3 = ClientProfile(
        title: "OkHttp 3",
        file: ClientFile("PinledgerCertificatePinner.kt"),
        comparison: .anyKey,
        names: NameMatching(
            reaches: [.own, .below], isRepeatable: true, overlap: .sum,
            words: "A pattern stands for one name, or for the names one label below it (*.); OkHttp 3 takes **. "
                + "and never matches it",
            subdomains: NameLimit { host, _ in
                let name = host.pattern.name
                return
                    "OkHttp 3 accepts **.\(name) but never matches it: names two or more labels below \(name) are left out and not pinned."
            }))
}
