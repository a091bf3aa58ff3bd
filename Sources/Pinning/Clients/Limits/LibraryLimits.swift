import PinWire

/// What holds of a kind whatever is pinned.
enum LibraryLimits {
    static func findings(of check: ClientCheck) -> [ClientFinding] {
        guard !check.pinned.isEmpty else { return [] }
        let title = check.kind.title
        func notice(_ limit: ClientLimit, _ detail: String, remedy: String) -> ClientFinding {
            check.finding(limit, .notice, detail, remedy: remedy)
        }
        var findings: [ClientFinding] = []
        switch check.kind {
        case .dynapins, .wultra, .sslPinning:
            findings.append(
                notice(
                    .signingKeyFixed,
                    "\(title) verifies with one key, which is built into the app: another takes a new version of the app.",
                    remedy: "Keep the key safe, and know which versions of the app have it."))
        case .remoteConfig, .muejam, .netkit:
            findings.append(
                notice(
                    .unsigned,
                    "What \(title) fetches is not signed: whoever can change it on its way chooses the pins.",
                    remedy: "Serve it over TLS, and build pins for that server into the app."))
        case .trustkitAndroid:
            if check.pinned.contains(where: { $0.mode == .enforce }) {
                findings.append(
                    notice(
                        .enforceDefault, "\(title) only reports unless it is told enforcePinning=\"true\".",
                        remedy: "Keep the attribute where the exported file is merged by hand."))
            }
            if check.pinned.count > 1 {
                findings.append(
                    notice(
                        .oneDomainEach, "\(title) keeps the last domain of each domain-config and forgets the others.",
                        remedy: "Keep the blocks apart where the exported file is merged by hand."))
            }
        case .appleATS:
            findings.append(
                notice(
                    .olderSystems, "Systems before iOS 14 and macOS 11 ignore pinned domains, and go without pins.",
                    remedy: "Use TrustKit where older systems matter."))
        case .reactNative:
            findings.append(
                notice(
                    .sessionCache,
                    "iOS keeps TLS sessions: servers that were connected to before are not checked anew until the app is started again.",
                    remedy: "Set the pins before the app's first request."))
        case .flutter:
            findings.append(
                notice(
                    .checkedBeforehand,
                    "\(title) checks a connection of its own before each request, and not the one that the request takes.",
                    remedy: "Use a client that checks the connection itself where attackers may divert some only."))
        case .trustkitIOS, .androidNSC, .okhttp, .okhttp3, .curl: break
        }
        return findings + Self.hashes(check)
    }

    private static func hashes(_ check: ClientCheck) -> [ClientFinding] {
        let rawKey = "hash the key's raw bytes (what SecKeyCopyExternalRepresentation gives), which no pin matches"
        let (detail, remedy): (String, String)
        switch check.kind {
        case .remoteConfig where check.settings.schema == .advanced && check.settings.hash == .spki:
            detail = "Clients after the published example for iOS \(rawKey): given pins, they refuse every server."
            remedy =
                "Set the client's setting `hash` to `raw_key` if the app's build hashes that, or have it hash the SubjectPublicKeyInfo."
        case .netkit:
            detail =
                "NetKit's first version compares whole keys or certificates, and no pin matches these: it can go by `pinnedItems` alone, which are there for hosts of whose pins every key was shown."
            remedy =
                "Show the keys or certificates of all pins, or update NetKit to a version that knows spkiSHA256."
        case .muejam:
            detail =
                "Clients after the published example for Android give certificates' fingerprints to OkHttp, which takes them for pins: they never match."
            remedy = "Have the Android app compare fingerprints with the whole certificate."
        default: return []
        }
        return [check.finding(.hashNeverMatches, .notice, detail, remedy: remedy)]
    }
}
