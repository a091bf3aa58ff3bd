import ArgumentParser
import Foundation

/// A command whose output may be longer than a screen.
protocol Paged: ParsableCommand {
    /// Whether this output is text for people.
    var isPaged: Bool { get }
}

/// The program that shows long output in a terminal page by page: `PINLEDGER_PAGER`, `PAGER`, or less.
///
/// Standard output leads to it from its start to ``end()``.
struct Pager {
    private let program: pid_t
    private let terminal: Int32

    /// Starts the pager; nil where the command's output is not for one, or there is none.
    init?(for command: any ParsableCommand) {
        guard let paged = command as? any Paged, paged.isPaged, Console.width != nil else { return nil }
        let wanted = Environment["PINLEDGER_PAGER"] ?? Environment["PAGER"] ?? "less"
        guard wanted != "cat" else { return nil }
        let terminal = dup(STDOUT_FILENO)
        var ends: [Int32] = [-1, -1]
        guard terminal >= 0, pipe(&ends) == 0 else { return nil }
        for descriptor in [terminal] + ends { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        // A shell says by these that it found no such program: then the text is shown all the same.
        let script = "\(wanted)\nstatus=$?; case $status in 126|127) exec cat;; esac; exit $status"
        let program = Self.spawn("/bin/sh", ["sh", "-c", script], standardInput: ends[0])
        close(ends[0])
        guard let program else {
            close(ends[1])
            close(terminal)
            return nil
        }
        dup2(ends[1], STDOUT_FILENO)
        close(ends[1])
        // Control-C is the pager's: it goes to every program in front of the terminal.
        signal(SIGINT, SIG_IGN)
        (self.program, self.terminal) = (program, terminal)
    }

    /// Gives standard output back, and waits until people have read. Blocks: it is the last that a command does.
    func end() {
        dup2(self.terminal, STDOUT_FILENO)
        close(self.terminal)
        var status: CInt = 0
        while waitpid(self.program, &status, 0) < 0, errno == EINTR {}
    }

    /// Starts a program in this one's process group, so that it may read the terminal: `Process` gives each a group of its own.
    private static func spawn(_ path: String, _ words: [String], standardInput: Int32) -> pid_t? {
        var (actions, attributes) = (posix_spawn_file_actions_t(), posix_spawnattr_t())
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_adddup2(&actions, standardInput, STDIN_FILENO)
        // This program ignores it, and its children would.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        var environment = ProcessInfo.processInfo.environment
        // less ends at once where the text fits the screen, and leaves it there.
        environment["LESS"] = environment["LESS"] ?? "FRX"
        var arguments = words.map { strdup($0) } + [nil]
        var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var process: pid_t = 0
        return posix_spawn(&process, path, &actions, &attributes, &arguments, &variables) == 0 ? process : nil
    }
}
