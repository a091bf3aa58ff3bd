extension ClientProfile {
    static let trustkitIOS = ClientProfile(
        title: "TrustKit for iOS",
        file: ClientFile("TSKConfiguration.plist", "application/xml"),
        comparison: .anyKey,
        names: .subtrees(exceptions: [.own]),
        suffix: .publicSuffix(),
        singlePin: .crashes,
        reportOnly: .reports(),
        validity: .date)
}
