extension ClientProfile {
    static let curl = ClientProfile(
        title: "curl",
        file: ClientFile("curl-pins.sh"),
        comparison: .ownKey,
        names: .exact(
            NameLimit { host, _ in "A curl command is for one name: \(host.pattern) is left out and not pinned." }))
}
