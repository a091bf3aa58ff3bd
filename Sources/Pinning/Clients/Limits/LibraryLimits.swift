import PinWire

/// Limits of a kind that do not depend on the pins.
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
                    "\(title) verifies with one key, which is built into the app: a new key needs a new version of the app.",
                    remedy: "Keep the key safe, and know which versions of the app have it."))
        case .remoteConfig, .muejam, .netkit:
            findings.append(
                notice(
                    .unsigned,
                    "\(title) fetches an unsigned answer: anyone who can change it in transit chooses the pins.",
                    remedy: "Serve it over TLS, and build pins for that server into the app."))
        case .trustkitAndroid:
            if check.pinned.contains(where: { $0.mode == .enforce }) {
                findings.append(
                    notice(
                        .enforceDefault, "\(title) only reports unless enforcePinning=\"true\" is set.",
                        remedy: "Keep the attribute when you merge the exported file by hand."))
            }
            if check.pinned.count > 1 {
                findings.append(
                    notice(
                        .oneDomainEach, "\(title) uses only the last domain of each domain-config.",
                        remedy: "Keep the blocks separate when you merge the exported file by hand."))
            }
        case .appleATS:
            findings.append(
                notice(
                    .olderSystems, "Systems before iOS 14 and macOS 11 ignore pinned domains and do not pin.",
                    remedy: "Use TrustKit if older systems matter."))
        case .reactNative:
            findings.append(
                notice(
                    .sessionCache,
                    "iOS keeps TLS sessions: previously connected servers are not checked again until the app restarts.",
                    remedy: "Set the pins before the app's first request."))
        case .flutter:
            findings.append(
                notice(
                    .checkedBeforehand,
                    "\(title) checks a separate connection before each request, not the one that the request uses.",
                    remedy:
                        "Use a client that checks the request's own connection if attackers may divert single connections."
                ))
        case .trustkitIOS, .androidNSC, .okhttp, .okhttp3, .curl: break
        }
        return findings + Self.hashes(check)
    }

    private static func hashes(_ check: ClientCheck) -> [ClientFinding] {
        let rawKey = "hash the key's raw bytes (what SecKeyCopyExternalRepresentation gives), which no pin matches"
        let (detail, remedy): (String, String)
        switch check.kind {
        case .remoteConfig where check.settings.schema == .advanced && check.settings.hash == .spki:
            detail = "Clients based on the published example for iOS \(rawKey): with pins, they refuse every server."
            remedy =
                "Set the client's setting `hash` to `raw_key` if the app's build hashes that, or have it hash the SubjectPublicKeyInfo."
        case .netkit:
            detail =
                "NetKit's first version compares whole keys or certificates, which no pin matches: it can use only `pinnedItems`, which exist only for hosts whose keys were all uploaded."
            remedy =
                "Upload the keys or certificates of all pins, or update NetKit to a version that supports spkiSHA256."
        case .muejam:
            detail =
                "Clients based on the published example for Android give certificates' fingerprints to OkHttp as pins: they never match."
            remedy = "Change the Android app to compare fingerprints with the whole certificate."
        default: return []
        }
        return [check.finding(.hashNeverMatches, .notice, detail, remedy: remedy)]
    }
}
