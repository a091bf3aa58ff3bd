import CProcess
import Foundation

/// A command whose memory holds private keys, or a server's token for as long as it runs.
///
/// Such a process leaves no copy of its memory behind: see ``ProcessProtection``.
protocol HoldsKeys {}

/// Prevents a process's memory from leaking when it crashes, or through a debugger.
enum ProcessProtection {
    /// Forbids core dumps and debuggers, and makes sure that Swift's crash reports show neither registers nor memory.
    ///
    /// The Swift runtime reads its settings when the process starts, so that the program executes itself once more
    /// where they differ: same process, same arguments. A crash report has the addresses of functions, which the symbols name.
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
    /// Swift's own report stops a crashed process for half a minute, in which nothing serves; the program's takes no time.
    private static let (usual, hiding) = ("enable=no", "registers=none")

    private static func hideMemoryFromCrashReports() {
        let present = ProcessInfo.processInfo.environment[Self.variable] ?? ""
        let isWanted = present.contains("enable=yes")
        let setting = isWanted ? Self.hiding : "\(Self.usual),\(Self.hiding)"
        // The last of equal settings counts.
        if !present.hasSuffix(setting) {
            setenv(Self.variable, present.isEmpty ? setting : "\(present),\(setting)", 1)
            var arguments = CommandLine.arguments.map { strdup($0) }
            arguments.append(nil)
            execv("/proc/self/exe", arguments)
            // This line is reached without /proc. The process goes on, and its crash reports may show registers.
            for argument in arguments { free(argument) }
            Console.error("pinledger: warning: set \(Self.variable)=\(setting), so that crash reports show no memory")
        }
        if !isWanted, crash_report_install(Version.text) != 0 {
            Console.error("pinledger: warning: a crash will not be reported: \(String(cString: strerror(errno)))")
        }
    }
}
