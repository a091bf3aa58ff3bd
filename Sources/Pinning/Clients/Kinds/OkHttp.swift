import PinWire

extension ClientProfile {
    static let okhttp = ClientProfile(
        title: "OkHttp 4.3 and later",
        file: ClientFile("PinledgerCertificatePinner.kt"),
        comparison: .anyKey,
        names: NameMatching(
            reaches: [.all, .own, .below], isRepeatable: true, overlap: .sum,
            words: "A pattern stands for one name, for the names one label below it (*.), or for it and all names "
                + "below it (**.)",
            subdomains: NameLimit(
                remedy: { "Add the host \($0) with the same pins, or add a separate host for each name." },
                detail: { host, _ in
                    // An exact pattern is written with `**.`, and so is a wildcard together with it.
                    guard host.pattern.isWildcard else { return nil }
                    let name = host.pattern.name
                    return
                        "\(host.pattern) includes names at any depth, but OkHttp's **.\(name) would also pin \(name): names two or more labels below \(name) are left out."
                })))
}
