import ArgumentParser
import Foundation
import PinWire
import Pinning

struct HookCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hook", abstract: "Deploy renewed certificates only when clients have their keys.",
        discussion: """
            ACME clients renew certificates by themselves, mostly with a new key. Clients that pin the old key would refuse it. \
            As their deploy hook, `hook deploy` publishes the new key first and lets servers have it when the rotation's phase \
            `deliver` is over; a timer runs `hook resume`. For cert-manager, `hook cert-manager` approves requests. `pinledger \
            handbook renewals` shows it for certbot, lego, acme.sh and cert-manager.
            """,
        subcommands: [Deploy.self, Resume.self, Drop.self, Status.self, CertManager.self])

    /// When waiting is a failure.
    struct AlarmOptions: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "Exit with 3 if the served certificate ends within this time, or cannot be read.",
                valueName: "time"))
        var alarm = "7d"

        func seconds() throws -> Int64 { try TimeInput.seconds(self.alarm) }
    }

    struct Deploy: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "deploy", abstract: "Serve a renewed certificate, or have it wait until clients have its key.",
            discussion: """
                pinledger hook deploy com.example.app api.example.com --into /etc/pinledger/tls/api --then "systemctl reload nginx"
                pinledger hook deploy com.example.app api.example.com --into /etc/pinledger/tls/api --certificate new.pem --key new.key

                Servers read DIRECTORY/live/fullchain.pem and DIRECTORY/live/privkey.pem, never the ACME client's own files: those \
                change before clients have the key. A certificate with the served key is served at once.

                Without --certificate and --key, the files are those of which certbot, lego or acme.sh tells its hooks.
                """)
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "The hosts for which the certificate is served.") var hosts: [String]
        @Option(help: ArgumentHelp("Directory from which servers read their certificate.", valueName: "directory"))
        var into: String
        @Option(help: ArgumentHelp("The certificate chain in PEM.", valueName: "file")) var certificate: String?
        @Option(help: ArgumentHelp("The private key in PEM, which only its owner may read.", valueName: "file"))
        var key: String?
        @Option(
            help: ArgumentHelp("Command for the shell that has servers load their certificate.", valueName: "command"))
        var then: String?
        @Option(
            help: ArgumentHelp(
                "Serve the next certificate this long before the served one ends, whatever its rotation waits for (recorded with force). Default: never.",
                valueName: "time"))
        var insistBefore: String?
        @OptionGroup var goals: RotationGoalOptions
        @OptionGroup var alarm: AlarmOptions
        @OptionGroup var place: ServerOptions

        func run() async throws {
            let named = self.certificate.flatMap { chain in self.key.map { Deployment.Source(chain: chain, key: $0) } }
            guard (self.certificate == nil) == (self.key == nil), var source = named ?? RenewedCertificate.told else {
                throw CommandFailure(
                    "the certificate and its key are not named",
                    advice: "Give --certificate and --key, or run this as a deploy hook of certbot, lego or acme.sh.",
                    status: .usage)
            }
            source.chain = URL(fileURLWithPath: source.chain).standardizedFileURL.path
            source.key = URL(fileURLWithPath: source.key).standardizedFileURL.path
            let renewed = try RenewedCertificate(chainFile: source.chain, keyFile: source.key)
            let alarm = try self.alarm.seconds()
            let directory = try await CertificateDirectory(self.into)
            let known = try directory.deployment()
            if let known, known.current != nil, known.app != self.app || Set(known.hosts) != Set(self.hosts) {
                throw CommandFailure(
                    "a certificate of \(known.app) for \(known.hosts.joined(separator: ", ")) waits in \(self.into)",
                    advice: "Change the app or the hosts when it is served, or run `pinledger hook drop \(self.into)`.",
                    status: .conflict)
            }
            var deployment = known ?? Deployment(app: self.app, hosts: self.hosts)
            (deployment.app, deployment.hosts, deployment.command) = (self.app, self.hosts, self.then)
            deployment.goals = try self.goals.members()
            deployment.insistence = try self.insistBefore.map { try TimeInput.seconds($0) }
            // Not before the directory is the command's for sure: a certificate that is refused changes nothing.
            try renewed.check(isFor: self.hosts, at: Node.clock())
            deployment.source = source
            let run = DeploymentRun(deployment, in: directory, self.place)
            try await run.deploy(renewed)
            try await run.resume(alarm: alarm)
        }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "resume", abstract: "Resume what waits in directories of certificates.",
            discussion: """
                pinledger hook resume /etc/pinledger/tls/*

                For a timer, about every hour. It advances the rotations of renewed keys when what they wait for is there, and serves \
                their certificates.
                """)
        @Argument(help: "Directories of `hook deploy`.", completion: .directory) var directories: [String]
        @OptionGroup var alarm: AlarmOptions
        @OptionGroup var place: ServerOptions

        func run() async throws {
            let alarm = try self.alarm.seconds()
            var failure: (any Error)?
            for path in self.directories {
                do {
                    let (directory, deployment) = try await CertificateDirectory.known(path)
                    try await DeploymentRun(deployment, in: directory, self.place).resume(alarm: alarm)
                } catch {
                    // One directory's trouble does not keep the others waiting.
                    if let earlier = failure { Console.error(ErrorText.sentence(for: earlier)) }
                    failure = error
                }
            }
            if let failure { throw failure }
        }
    }

    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "drop", abstract: "Drop the certificate that waits in a directory.",
            discussion: """
                pinledger hook drop /etc/pinledger/tls/api

                Its rotation stays as it is; one that has not come to the switch can be aborted. What is served stays, too.
                """)
        @Argument(help: "Directory of `hook deploy`.", completion: .directory) var directory: String

        func run() async throws {
            var (directory, deployment) = try await CertificateDirectory.known(self.directory)
            guard let dropped = deployment.current else {
                throw CommandFailure("nothing waits in \(self.directory)", status: .notFound)
            }
            // A dropped certificate that still lies where the ACME client wrote it would be taken up again.
            let chain = try? directory.certificate(of: dropped.release).chain
            let written = deployment.source.flatMap {
                try? RenewedCertificate(chainFile: $0.chain, keyFile: $0.key).chain
            }
            if chain == nil || chain == written { deployment.source = nil }
            deployment.finish()
            try directory.keep(deployment)
            Console.print("Dropped \(dropped.pin)\(dropped.rotation.map { ", rotation \($0)" } ?? "").")
        }
    }

    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Show what servers present from a directory, and what waits there.",
            discussion: "pinledger hook status /etc/pinledger/tls/api")
        @Argument(help: "Directories of `hook deploy`.", completion: .directory) var directories: [String]
        @Option(name: .shortAndLong, help: ArgumentHelp("Form of the output.", valueName: "form"))
        var output: OutputForm = .table

        func run() async throws {
            var all: [JSON] = []
            for path in self.directories {
                let (directory, deployment) = try await CertificateDirectory.known(path, isOnlyLooked: true)
                let live = directory.live.flatMap { try? directory.certificate(of: $0) }
                all.append(
                    .members([
                        "directory": .string(path), "deployment": deployment.json,
                        "served": live.map { ["pin": .string($0.pin.description), "until": .string($0.end.rfc3339)] },
                    ]))
            }
            guard self.output.isTable else { return Console.print(["directories": .array(all)], self.output) }
            for one in all {
                let deployment = one["deployment"] ?? .null
                let hosts = deployment["hosts"]?.arrayValue?.compactMap(\.stringValue).joined(separator: ", ") ?? ""
                Console.print("\(one.text("directory")): \(hosts) of \(deployment.text("app"))")
                if let served = one["served"] {
                    Console.print("  served   \(served.text("pin")), until \(served.time("until"))")
                } else {
                    Console.print("  served   nothing that can be read")
                }
                for (name, word) in [("current", "waits"), ("next", "then")] {
                    guard let renewal = deployment[name] else { continue }
                    Console.print(
                        "  \(word.padding(toLength: 8, withPad: " ", startingAt: 0)) \(renewal.text("pin")), rotation \(renewal.text("rotation"))"
                    )
                }
                if deployment["command_due"] == true {
                    Console.print("  The command after serving has not succeeded yet.")
                }
            }
        }
    }
}
