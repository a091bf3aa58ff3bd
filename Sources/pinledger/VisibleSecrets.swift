import Keys

/// Secrets among a command's arguments, which every account of the machine can read (`ps`).
enum VisibleSecrets {
    /// Warns of the secrets in the arguments that a command was started with. It then does as it was told.
    static func warn(of arguments: [String] = CommandLine.arguments) {
        for warning in Self.warnings(of: arguments) { Console.error("pinledger: warning: \(warning)") }
    }

    static func warnings(of arguments: [String]) -> [String] {
        var warnings: [String] = []
        let place = "every account of this machine can read it there"
        if arguments.contains(where: Self.holdsPassword) {
            warnings.append(
                "the database's password is an argument of the command, and \(place): put the connection string into "
                    + "PINLEDGER_DATABASE, or the password into a password file (PGPASSFILE, ~/.pgpass)")
        }
        if arguments.contains(where: Self.holdsToken) {
            warnings.append(
                "a token is an argument of the command, and \(place): revoke it, and put the next one into a file "
                    + "(--token-file) or into PINLEDGER_TOKEN")
        }
        return warnings
    }

    /// Whether an argument is, or ends with, a connection string of libpq that has a password: `password=…`, as a keyword or a
    /// parameter of an address, or `postgresql://user:password@…`.
    private static func holdsPassword(_ argument: String) -> Bool {
        if argument.contains(/(^|[\s'"=?&])(ssl)?password\s*=\s*('[^']|[^\s'&])/) { return true }
        return argument.contains(/postgres(ql)?:\/\/[^@\/?]*:[^@\/?]+@/)
    }

    /// Whether an argument holds the text of an API token.
    private static func holdsToken(_ argument: String) -> Bool {
        argument.split { !($0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_")) }
            .contains { $0.hasPrefix("pk_") && (try? APIToken(parsing: String($0))) != nil }
    }
}
