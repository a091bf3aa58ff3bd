import Foundation
import Keys
import PinWire

/// A directory with the certificate that servers present, and those that wait for their rotation.
///
/// Servers read `live/fullchain.pem` and `live/privkey.pem`, or both from `live/combined.pem`. `live` is a symbolic link to a
/// directory below `releases`, and is replaced in one step: certificate and key always go together. `deployment.json` says what waits.
final class CertificateDirectory {
    let path: String
    /// Nil where the directory is only looked at.
    private let lock: FileLock?

    private static let stateLimit = 1 << 16

    /// Takes the directory for this process, and makes it where it is missing.
    ///
    /// - Throws: ``CommandFailure`` where others could write to it: what runs after a certificate is served is kept there.
    init(_ path: String) async throws {
        self.path = Self.absolute(path)
        do {
            try FileManager.default.createDirectory(
                atPath: "\(self.path)/releases", withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o755])
        } catch {
            throw CommandFailure(
                "\(self.path)/releases cannot be made: \(ErrorText.sentence(for: error))", status: .usage)
        }
        for directory in [self.path, "\(self.path)/releases"] { try Self.requireOwn(directory, isDirectory: true) }
        try Self.requireOwnParents(of: self.path)
        self.lock = try await FileLock("\(self.path)/lock")
    }

    private init(lookingAt path: String) throws {
        self.path = Self.absolute(path)
        self.lock = nil
    }

    /// A directory in which something was deployed before.
    ///
    /// - Parameter isOnlyLooked: Nothing is changed, and nothing waited for.
    static func known(_ path: String, isOnlyLooked: Bool = false) async throws -> (CertificateDirectory, Deployment) {
        // Asked first: another directory gets no files of this program.
        guard PrivateFile.exists("\(path)/deployment.json"),
            case let directory = try await isOnlyLooked
                ? CertificateDirectory(lookingAt: path) : CertificateDirectory(path),
            let deployment = try directory.deployment()
        else {
            throw CommandFailure(
                "\(path) holds no deployment", advice: "Name a directory that the deploy hook was given with --into.",
                status: .notFound)
        }
        return (directory, deployment)
    }

    private static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).standardizedFileURL.path }

    /// Refuses a file or a directory that is a link, or that another account than root may write to.
    private static func requireOwn(_ path: String, isDirectory: Bool) throws {
        // Gives a link's own facts.
        guard let facts = try? FileManager.default.attributesOfItem(atPath: path),
            let mode = facts[.posixPermissions] as? Int, let owner = facts[.ownerAccountID] as? Int
        else { throw CommandFailure("\(path) cannot be looked at", status: .usage) }
        guard facts[.type] as? FileAttributeType == (isDirectory ? .typeDirectory : .typeRegular), mode & 0o022 == 0,
            owner == Int(geteuid()) || owner == 0
        else {
            throw CommandFailure(
                "\(path) is not a \(isDirectory ? "directory" : "file") that only you and root may write to",
                advice:
                    "An account that may write there decides what this command runs: chown and chmod go-w it, or name another directory.",
                status: .usage)
        }
    }

    /// Refuses a directory below one whose entries another account than root may rename: it could put another in its place. A sticky
    /// directory such as `/tmp` lets nobody rename what is not theirs.
    private static func requireOwnParents(of path: String) throws {
        guard let resolved = realpath(path, nil) else {
            throw CommandFailure("\(path) cannot be looked at", status: .usage)
        }
        defer { free(resolved) }
        var parent = URL(fileURLWithPath: String(cString: resolved)).deletingLastPathComponent()
        while true {
            let facts = try? FileManager.default.attributesOfItem(atPath: parent.path)
            guard let mode = facts?[.posixPermissions] as? Int, let owner = facts?[.ownerAccountID] as? Int,
                owner == Int(geteuid()) || owner == 0, mode & 0o022 == 0 || mode & 0o1000 != 0
            else {
                throw CommandFailure(
                    "\(path) is below \(parent.path), which another account may write to",
                    advice:
                        "It could put another directory in its place, and so decide what this command runs: chown and chmod go-w \(parent.path), or name another directory.",
                    status: .usage)
            }
            guard parent.path != "/" else { return }
            parent.deleteLastPathComponent()
        }
    }

    // MARK: State

    private var stateFile: String { "\(self.path)/deployment.json" }

    /// What was written down last; nil where nothing was.
    func deployment() throws -> Deployment? {
        guard PrivateFile.exists(self.stateFile) else { return nil }
        try Self.requireOwn(self.stateFile, isDirectory: false)
        let bytes: [UInt8]
        do throws(PrivateFile.Failure) { bytes = try PrivateFile.read(self.stateFile, atMost: Self.stateLimit) } catch {
            throw CommandFailure(error, "the state of the deployment", self.stateFile)
        }
        guard let json = try? JSON(parsing: bytes), let deployment = Deployment(json) else {
            throw CommandFailure("\(self.stateFile) is damaged", advice: "Remove it, and deploy the certificate again.")
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
        Self.sync(self.path)
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

    private func unfinished(_ release: String) -> String { "\(self.path)/releases/\(release).unfinished" }

    /// Stores a certificate, and returns the name that its release is to have: `20260131T120000Z`, with a number where that is taken.
    ///
    /// It gets the name by ``finish(_:)``, once the state names it. If the process dies before, the next call of ``finish(_:)`` or
    /// ``clean(keeping:)`` has the rest done, or removed.
    func store(_ certificate: RenewedCertificate, at now: Timestamp) throws -> String {
        let files = FileManager.default
        let time = Timestamp(seconds: now.seconds).rfc3339.replacing("-", with: "").replacing(":", with: "")
        var (name, number) = (time, 1)
        while files.fileExists(atPath: "\(self.path)/releases/\(name)")
            || files.fileExists(atPath: self.unfinished(name))
        {
            number += 1
            name = "\(time)-\(number)"
        }
        let directory = self.unfinished(name)
        do {
            try files.createDirectory(
                atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
            for (file, bytes) in [
                ("fullchain.pem", certificate.chain), ("privkey.pem", certificate.key),
                ("combined.pem", certificate.chain + certificate.key),
            ] {
                do throws(PrivateFile.Failure) { try PrivateFile.write(bytes, to: "\(directory)/\(file)") } catch {
                    throw CommandFailure(error, "the certificate", "\(directory)/\(file)")
                }
            }
            try files.setAttributes([.posixPermissions: 0o644], ofItemAtPath: "\(directory)/fullchain.pem")
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure("\(self.path)/releases cannot be written: \(ErrorText.sentence(for: error))")
        }
        Self.sync(directory)
        return name
    }

    /// Gives stored releases their names.
    func finish(_ releases: Set<String>) throws {
        for release in releases where FileManager.default.fileExists(atPath: self.unfinished(release)) {
            guard rename(self.unfinished(release), "\(self.path)/releases/\(release)") == 0 else {
                throw CommandFailure(
                    "\(self.unfinished(release)) cannot be renamed: \(String(cString: strerror(errno)))")
            }
        }
        Self.sync("\(self.path)/releases")
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
        Self.sync(self.path)
    }

    /// Removes the releases that are not needed any more: all but the served one, the one before it, and those that are named.
    func clean(keeping needed: Set<String>) {
        let live = self.live
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: "\(self.path)/releases")) ?? []).sorted()
        let before = names.last { name in live.map { name < $0 } ?? false && Self.isRelease(name) }
        for name in names where name != live && name != before && !needed.contains(name) {
            guard Self.isRelease(name) || name.hasSuffix(".unfinished") else { continue }
            try? FileManager.default.removeItem(atPath: "\(self.path)/releases/\(name)")
        }
    }

    /// Brings a directory's names to the disk.
    private static func sync(_ directory: String) {
        let file = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard file >= 0 else { return }
        fsync(file)
        close(file)
    }
}
