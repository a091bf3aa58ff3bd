extension ClientProfile {
    static let androidNSC = ClientProfile(
        title: "Android network security configuration",
        file: ClientFile("network_security_config.xml", "application/xml"),
        comparison: .anyKey,
        names: .subtrees(exceptions: [.own, .all]),
        singlePin: .discouraged,
        validity: .localDate)
}
