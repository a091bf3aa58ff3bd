import Foundation

/// Another program, run to its end on a thread of its own.
///
/// Its output goes to a file, never through a pipe: a server that the program leaves running would hold the pipe open.
enum Subprocess {
    /// The result of a program.
    struct Outcome: Sendable {
        var status: Int32
        var output: String
    }

    /// Runs a program with its arguments, without a shell.
    static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> Outcome {
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread {
                continuation.resume(with: Result { try Self.runBlocking(arguments, environment: environment) })
            }
            thread.name = "subprocess"
            thread.start()
        }
    }

    /// As ``run(_:environment:)``, and a failure is an error that shows the program's output.
    @discardableResult
    static func require(_ arguments: [String], environment: [String: String] = [:]) async throws -> String {
        let outcome = try await Self.run(arguments, environment: environment)
        guard outcome.status == 0 else {
            throw CommandFailure("\(arguments.joined(separator: " ")) failed:\n\(outcome.output)")
        }
        return outcome.output
    }

    private static func runBlocking(_ arguments: [String], environment: [String: String]) throws -> Outcome {
        let output = NSTemporaryDirectory() + "pinledger-\(UUID().uuidString).out"
        defer { try? FileManager.default.removeItem(atPath: output) }
        guard FileManager.default.createFile(atPath: output, contents: nil, attributes: [.posixPermissions: 0o600]),
            let program = Self.path(of: arguments[0])
        else { throw CommandFailure("\(arguments[0]) is not installed") }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_APPEND, 0)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // A group of its own: Ctrl-C is for this program, which stops the server itself and in order.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))

        var variables = ProcessInfo.processInfo.environment
        variables.merge(environment) { $1 }
        let argv = arguments.map { strdup($0) } + [nil]
        let envp = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var pid = pid_t()
        let error = posix_spawn(&pid, program, &actions, &attributes, argv, envp)
        guard error == 0 else {
            throw CommandFailure("\(program) cannot be started: \(String(cString: strerror(error)))")
        }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) == -1 {
            guard errno == EINTR else { throw CommandFailure("\(program) cannot be waited for") }
        }
        // WIFEXITED and WEXITSTATUS are macros.
        let code = status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
        let text = FileManager.default.contents(atPath: output).map { String(decoding: $0, as: UTF8.self) } ?? ""
        return Outcome(status: code, output: text)
    }

    /// The path of a program: as given with a slash, else on the PATH.
    static func path(of program: String) -> String? {
        if program.contains("/") { return FileManager.default.isExecutableFile(atPath: program) ? program : nil }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        return (path.split(separator: ":").map(String.init) + ["/usr/sbin", "/sbin"])
            .map { "\($0)/\(program)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
