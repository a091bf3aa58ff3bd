import KeyFiles
import PinWire

/// A CertificateRequest of cert-manager (`cert-manager.io/v1`): a signing request that waits for approval, or was decided.
///
/// The fields are those of cert-manager's API reference.
struct RequestedCertificate {
    enum Decision {
        case open, approved
        /// It was denied, or it failed: nothing comes of it any more.
        case over
    }

    let namespace: String
    let name: String
    let decision: Decision
    /// The pin of the key that the certificate will have.
    let pin: Pin
    /// The signing request in PEM.
    let request: String
    /// The requested names, in lower case.
    private let names: Set<String>
    private let object: [String: JSON]

    /// - Throws: ``CommandFailure`` where the request is not one whose key the sender has.
    init(_ object: JSON) throws {
        let metadata = object["metadata"] ?? .null
        guard let namespace = metadata["namespace"]?.stringValue, let name = metadata["name"]?.stringValue,
            let members = object.objectValue
        else { throw CommandFailure("the Kubernetes API lists a request without a name") }
        (self.namespace, self.name, self.object) = (namespace, name, members)
        func isTrue(_ type: String) -> Bool {
            (object["status"]?["conditions"]?.arrayValue ?? []).contains {
                $0.text("type") == type && $0.text("status") == "True"
            }
        }
        let hasFailed = (object["status"]?["conditions"]?.arrayValue ?? []).contains {
            $0.text("type") == "Ready" && ["Failed", "Denied"].contains($0.text("reason"))
        }
        self.decision =
            isTrue("Denied") || isTrue("InvalidRequest") || hasFailed ? .over : isTrue("Approved") ? .approved : .open
        let place = "the request \(namespace)/\(name)"
        guard var bytes = object["spec"]?["request"]?.stringValue.flatMap({ Base64.decode($0) }),
            bytes.count <= Upload.maximumSize, let text = String(ascii: bytes)
        else { throw CommandFailure("\(place) has no signing request in PEM, in base64") }
        self.request = text
        let upload: Upload
        do { upload = try Upload.read(&bytes) } catch { throw CommandFailure("\(place): \(error)") }
        guard upload.items.count == 1, case .request(let facts)? = upload.items.first else {
            throw CommandFailure("\(place) holds something else than one signing request")
        }
        self.pin = facts.key.pin
        self.names = Set(facts.dnsNames.map { $0.lowercased() })
    }

    /// Those of some hosts that the certificate will be for.
    func hosts(of hosts: [String]) -> [String] {
        hosts.filter { host in
            let host = host.lowercased()
            let parent = host.split(separator: ".", maxSplits: 1).dropFirst().first.map { "*.\($0)" }
            return self.names.contains(host) || parent.map(self.names.contains) ?? false
        }
    }

    var path: String {
        "\(Self.list(in: self.namespace))/\(APIClient.escaped(self.name))/status"
    }

    static func list(in namespace: String?) -> String {
        "/apis/cert-manager.io/v1"
            + (namespace.map { "/namespaces/\(APIClient.escaped($0))" } ?? "") + "/certificaterequests"
    }

    /// The object with the condition that approves it. Its `resourceVersion` stays, so that Kubernetes refuses one that was changed
    /// meanwhile.
    func approved(_ message: String, at now: Timestamp) -> JSON {
        var members = self.object
        var status = members["status"]?.objectValue ?? [:]
        let condition: JSON = [
            "type": "Approved", "status": "True", "reason": "pinledger", "message": .string(message),
            "lastTransitionTime": .string(Timestamp(seconds: now.seconds).rfc3339),
        ]
        status["conditions"] = .array((status["conditions"]?.arrayValue ?? []) + [condition])
        members["status"] = .object(status)
        return .object(members)
    }
}
