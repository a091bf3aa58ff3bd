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
    private let program: Process
    private let terminal: Int32

    /// Starts the pager; nil where the command's output is not for one, or there is none.
    init?(for command: any ParsableCommand) {
        guard let paged = command as? any Paged, paged.isPaged, isatty(STDOUT_FILENO) == 1 else { return nil }
        let wanted = Environment["PINLEDGER_PAGER"] ?? Environment["PAGER"] ?? "less"
        guard !["", "cat"].contains(wanted) else { return nil }
        let terminal = dup(STDOUT_FILENO)
        guard terminal >= 0 else { return nil }
        let (program, pipe) = (Process(), Pipe())
        program.executableURL = URL(fileURLWithPath: "/bin/sh")
        // Where there is no such program, the text is shown all the same.
        program.arguments = ["-c", "\(wanted) || cat"]
        var environment = ProcessInfo.processInfo.environment
        // less ends at once where the text fits the screen, and leaves it there.
        environment["LESS"] = environment["LESS"] ?? "FRX"
        program.environment = environment
        program.standardInput = pipe
        do { try program.run() } catch {
            close(terminal)
            return nil
        }
        dup2(pipe.fileHandleForWriting.fileDescriptor, STDOUT_FILENO)
        try? pipe.fileHandleForWriting.close()
        (self.program, self.terminal) = (program, terminal)
    }

    /// Gives standard output back, and waits until people have read.
    func end() {
        dup2(self.terminal, STDOUT_FILENO)
        close(self.terminal)
        self.program.waitUntilExit()
    }
}
