import ArgumentParser
import Foundation
import Keys
import PinWire

extension HookCommands {
    /// An approver for cert-manager.
    struct CertManager: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "cert-manager",
            abstract: "Approve cert-manager's requests when clients have their keys.",
            discussion: """
                pinledger hook cert-manager com.example.app api.example.com --namespace shop --every 1m

                A CertificateRequest for one of the hosts begins a rotation to its key, and is approved when the phase `deliver` is \
                over: until then cert-manager issues nothing, and servers keep their certificate. Requests for none of the hosts are \
                left to other approvers.

                In a pod, the Kubernetes API and the service account's token are found by themselves. `pinledger handbook \
                renewals` shows the permissions.
                """)
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "The hosts whose certificates cert-manager renews.") var hosts: [String]
        @Option(help: ArgumentHelp("Namespace of the requests. Default: all.", valueName: "name"))
        var namespace: String?
        @Flag(help: "Approve also requests for none of the hosts, where no other approver does.") var approveOthers =
            false
        @Option(
            help: ArgumentHelp("Look again and again, this often, such as 1m. Default: look once.", valueName: "time"))
        var every: String?
        @Option(
            help: ArgumentHelp("Address of the Kubernetes API. Default: that of the pod's cluster.", valueName: "url"))
        var kubernetes: String?
        @Option(
            help: ArgumentHelp(
                "File with the token for the Kubernetes API. Default: that of the pod's service account.",
                valueName: "file"))
        var kubernetesTokenFile: String?
        @Option(
            help: ArgumentHelp(
                "File with the authorities (PEM) of the Kubernetes API. Default: that of the pod's service account.",
                valueName: "file"))
        var kubernetesCaFile: String?
        @OptionGroup var goals: RotationGoalOptions
        @OptionGroup var place: ServerOptions

        func run() async throws {
            let pause = try self.every.map { Duration.seconds(try TimeInput.seconds($0)) }
            let goals = try self.goals.members()
            let address = try self.address()
            while true {
                do {
                    // The service account's token is replaced every hour or so.
                    let cluster = try self.cluster(at: address)
                    try await self.place.withClient { client in
                        try await APIClient.with(cluster) { kubernetes in
                            try await CertManagerApprover(
                                app: self.app, hosts: self.hosts, namespace: self.namespace, goals: goals,
                                approvesOthers: self.approveOthers, client: client, kubernetes: kubernetes
                            ).pass()
                        }
                    }
                } catch  where pause != nil {
                    // What is down now may be there at the next look.
                    Console.error(ErrorText.sentence(for: error))
                }
                guard let pause else { return }
                try await Task.sleep(for: pause)
            }
        }

        private static let account = "/var/run/secrets/kubernetes.io/serviceaccount"

        private func address() throws -> String {
            if let kubernetes { return kubernetes }
            guard let host = Environment["KUBERNETES_SERVICE_HOST"], let port = Environment["KUBERNETES_SERVICE_PORT"]
            else {
                throw CommandFailure(
                    "the Kubernetes API is not named",
                    advice: "Give --kubernetes URL, or run the command in a pod: its service account is used then.",
                    status: .usage)
            }
            return "https://\(host.contains(":") ? "[\(host)]" : host):\(port)"
        }

        private func cluster(at address: String) throws -> ServerContext {
            let file = self.kubernetesTokenFile ?? "\(Self.account)/token"
            // A mounted token is a link whose mode is the volume's: what matters is that nothing else is sent there.
            let data = try GivenFile.data(file)
            guard data.count <= 65_536,
                let token = String(bytes: data, encoding: .utf8)?.trimmingCharacters(in: .whitespacesAndNewlines),
                !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else {
                throw CommandFailure(
                    "\(file) holds no token", advice: "Name it with --kubernetes-token-file.", status: .usage)
            }
            return ServerContext(
                server: address, token: token,
                trust: .authorities(file: self.kubernetesCaFile ?? "\(Self.account)/ca.crt"))
        }
    }
}
