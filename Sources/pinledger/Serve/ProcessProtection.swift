import CProcess
import Foundation

/// A command whose memory holds private keys.
///
/// Such a process leaves no copy of its memory behind: see ``ProcessProtection``.
protocol HoldsKeys {}

/// Prevents a process's memory from leaking when it crashes, or through a debugger.
enum ProcessProtection {
    /// Forbids core dumps and debuggers, and makes sure that Swift's crash reports show neither registers nor memory.
    ///
    /// The Swift runtime reads its settings when the process starts, so that the program executes itself once more
    /// where they differ: same process, same arguments. A crash report still names the functions.
    static func apply() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        if setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) != 0 || process_forbid_dumps() != 0 {
            Console.error(
                "pinledger: warning: core dumps cannot be forbidden: \(String(cString: strerror(errno)))")
        }
        self.hideMemoryFromCrashReports()
        // A program that executed itself is named after the link through which it was started.
        process_set_name("pinledger")
    }

    private static let variable = "SWIFT_BACKTRACE"
    private static let setting = "registers=none"

    private static func hideMemoryFromCrashReports() {
        let present = ProcessInfo.processInfo.environment[Self.variable] ?? ""
        // The last of equal settings counts.
        guard !present.hasSuffix(Self.setting) else { return }
        setenv(Self.variable, present.isEmpty ? Self.setting : "\(present),\(Self.setting)", 1)
        var arguments = CommandLine.arguments.map { strdup($0) }
        arguments.append(nil)
        execv("/proc/self/exe", arguments)
        // This line is reached without /proc. The process goes on, and its crash reports may show registers.
        for argument in arguments { free(argument) }
        Console.error("pinledger: warning: set \(Self.variable)=\(Self.setting), so that crash reports show no memory")
    }
}
