import Foundation
import Keys
import PinWire

/// A directory with the certificate that servers present, and those that wait for their rotation.
///
/// Servers read `live/fullchain.pem` and `live/privkey.pem`, or both from `live/combined.pem`. `live` is a symbolic link to a
/// directory below `releases`, and is replaced in one step: certificate and key always go together. `deployment.json` says what waits.
final class CertificateDirectory {
    let path: String
    private let lock: FileLock

    private static let stateLimit = 1 << 16

    /// Takes the directory for this process.
    ///
    /// - Throws: ``CommandFailure`` where it cannot be made, or another process has had it for half a minute.
    init(_ path: String) async throws {
        self.path = path
        do {
            try FileManager.default.createDirectory(atPath: "\(path)/releases", withIntermediateDirectories: true)
        } catch {
            throw CommandFailure("\(path)/releases cannot be made: \(ErrorText.sentence(for: error))", status: .usage)
        }
        self.lock = try await FileLock("\(path)/lock")
    }

    /// A directory in which something was deployed before.
    static func known(_ path: String) async throws -> (CertificateDirectory, Deployment) {
        // Asked first: another directory gets no files of this program.
        guard FileManager.default.fileExists(atPath: "\(path)/deployment.json"),
            case let directory = try await CertificateDirectory(path), let deployment = try directory.deployment()
        else {
            throw CommandFailure(
                "\(path) holds no deployment",
                advice: "Name a directory that the deploy hook was given with --into.", status: .notFound)
        }
        return (directory, deployment)
    }

    // MARK: State

    private var stateFile: String { "\(self.path)/deployment.json" }

    /// What was written down last; nil where nothing was.
    func deployment() throws -> Deployment? {
        guard PrivateFile.exists(self.stateFile) else { return nil }
        let bytes: [UInt8]
        do throws(PrivateFile.Failure) { bytes = try PrivateFile.read(self.stateFile, atMost: Self.stateLimit) } catch {
            throw CommandFailure(error, "the state of the deployment", self.stateFile)
        }
        guard let json = try? JSON(parsing: bytes), let deployment = Deployment(json) else {
            throw CommandFailure(
                "\(self.stateFile) is damaged", advice: "Remove it, and deploy the certificate again.")
        }
        return deployment
    }

    /// Writes it down: after this call it survives a crash.
    func keep(_ deployment: Deployment) throws {
        do throws(PrivateFile.Failure) {
            try PrivateFile.write(Array("\(deployment.json.canonicalText)\n".utf8), to: self.stateFile)
        } catch {
            throw CommandFailure(error, "the state of the deployment", self.stateFile)
        }
    }

    // MARK: Releases

    /// Whether a text is the name of a release: digits, `T`, `Z` and hyphens.
    static func isRelease(_ text: String) -> Bool {
        (1...40).contains(text.utf8.count)
            && text.utf8.allSatisfy { (48...57).contains($0) || $0 == 84 || $0 == 90 || $0 == 45 }
    }

    /// The release that servers read; nil before the first.
    var live: String? {
        guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(self.path)/live") else {
            return nil
        }
        let name = String(target.split(separator: "/").last ?? "")
        return Self.isRelease(name) ? name : nil
    }

    /// The certificate of a release.
    func certificate(of release: String) throws -> RenewedCertificate {
        let directory = "\(self.path)/releases/\(release)"
        return try RenewedCertificate(chainFile: "\(directory)/fullchain.pem", keyFile: "\(directory)/privkey.pem")
    }

    /// Stores a certificate as a release, and returns its name: `20260131T120000Z`, with a number where that is there already.
    ///
    /// If the process dies before the end, a directory without a name of a release stays, which the next call removes.
    func store(_ certificate: RenewedCertificate, at now: Timestamp) throws -> String {
        let files = FileManager.default
        let time = Timestamp(seconds: now.seconds).rfc3339.replacing("-", with: "").replacing(":", with: "")
        var (name, number) = (time, 1)
        while files.fileExists(atPath: "\(self.path)/releases/\(name)") {
            number += 1
            name = "\(time)-\(number)"
        }
        let unfinished = "\(self.path)/releases/unfinished"
        do {
            try? files.removeItem(atPath: unfinished)
            try files.createDirectory(atPath: unfinished, withIntermediateDirectories: false)
            try Data(certificate.chain).write(to: URL(fileURLWithPath: "\(unfinished)/fullchain.pem"))
            do throws(PrivateFile.Failure) {
                try PrivateFile.write(certificate.key, to: "\(unfinished)/privkey.pem")
                try PrivateFile.write(
                    certificate.chain + Array("\n".utf8) + certificate.key, to: "\(unfinished)/combined.pem")
            } catch {
                throw CommandFailure(error, "the key of the certificate", "\(unfinished)/privkey.pem")
            }
            try files.moveItem(atPath: unfinished, toPath: "\(self.path)/releases/\(name)")
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure("\(self.path)/releases cannot be written: \(ErrorText.sentence(for: error))")
        }
        return name
    }

    /// Has servers read a release from the next time they load their certificate on.
    func serve(_ release: String) throws {
        let link = "\(self.path)/live.new"
        unlink(link)
        guard symlink("releases/\(release)", link) == 0, rename(link, "\(self.path)/live") == 0 else {
            throw CommandFailure(
                "\(self.path)/live cannot be replaced: \(String(cString: strerror(errno)))",
                advice: "It must be a symbolic link that this command made, or not be there.")
        }
    }

    /// Removes the releases that are not needed any more: all but the served one, the one before it, and those that wait.
    func clean(keeping needed: Set<String>) {
        let live = self.live
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: "\(self.path)/releases")) ?? []).sorted()
        let before = names.last { name in live.map { name < $0 } ?? false && Self.isRelease(name) }
        for name in names where name != live && name != before && !needed.contains(name) && Self.isRelease(name) {
            try? FileManager.default.removeItem(atPath: "\(self.path)/releases/\(name)")
        }
    }
}
