import CProcess
import Concurrency
package import CoreMetrics
import Dispatch
import Exposition
import Foundation
import Glibc
import LogLines
package import Logging
import Metrics
import Synchronization

/// One line for each answered request, in a file or on the standard output.
///
/// Lines are gathered and written ten times a second on a thread of its own: no request waits for the disk. What cannot be written is
/// dropped and counted. When the process dies, up to a tenth of a second of lines is lost.
package final class AccessLog: Sendable {
    /// Why the file cannot be used.
    package struct Unusable: Error, CustomStringConvertible {
        package var description: String
        package let advice = "Name a file in a directory that the server may write, or - for the standard output."
    }

    private struct Waiting {
        var bytes: [UInt8] = []
        var lines = 0
        var dropped = 0
    }

    /// An open file, which is closed once nobody writes to it any more.
    private final class File: Sendable {
        let descriptor: CInt
        /// Nil for the standard output.
        let identity: file_identity?

        init(_ descriptor: CInt, _ identity: file_identity?) {
            self.descriptor = descriptor
            self.identity = identity
        }

        deinit { if self.identity != nil { close(self.descriptor) } }
    }

    /// The most bytes that wait: at 250 bytes a line, 160,000 requests a second.
    private static let limit = 4 << 20
    private static let interval = Duration.milliseconds(100)

    /// Nil for the standard output.
    private let path: String?
    let form: LogFormat
    private let waiting = Mutex(Waiting())
    private let file: Mutex<File>
    private let isFailing = Mutex(false)
    private let writing = DispatchSemaphore(value: 0)
    private let written: Counter
    private let dropped: Counter
    private let logger: Logger
    private let isOver = Atomic(false)
    private let isDone = Atomic(false)

    /// - Parameter path: The file, which is made where it is missing, or `-` for the standard output.
    package init(
        path: String, form: LogFormat, metrics: any MetricsFactory, logger: Logger
    ) throws(Unusable) {
        self.path = path == "-" ? nil : path
        self.form = form
        self.logger = logger
        self.file = Mutex(try Self.open(self.path))
        func counter(_ outcome: String) -> Counter {
            Counter(label: MetricFamily.accessLines.rawValue, dimensions: [("outcome", outcome)], factory: metrics)
        }
        (self.written, self.dropped) = (counter("written"), counter("dropped"))
    }

    private static func open(_ path: String?) throws(Unusable) -> File {
        guard let path else { return File(STDOUT_FILENO, nil) }
        // A pipe without a reader would hold up the start.
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0o640)
        guard descriptor >= 0 else {
            throw Unusable(description: "the access log \(path) cannot be opened: \(Self.words(errno))")
        }
        var identity = file_identity()
        guard file_identify(descriptor, &identity) == 0, identity.is_plain else {
            close(descriptor)
            throw Unusable(description: "the access log \(path) is no regular file")
        }
        return File(descriptor, identity)
    }

    private static func words(_ error: CInt) -> String { String(cString: strerror(error)) }

    /// Refuses a path that is no file, or in a directory that is not there: what can be told without making the file.
    package static func check(_ path: String) throws(Unusable) {
        guard path != "-" else { return }
        var identity = file_identity()
        if file_identify_path(path, &identity) == 0 {
            guard identity.is_plain else { throw Unusable(description: "the access log \(path) is no regular file") }
            return
        }
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard FileManager.default.isWritableFile(atPath: directory) else {
            throw Unusable(
                description: "the access log \(path) cannot be opened: its directory is missing, or not writable")
        }
    }

    /// Opens the file again: on request, or where another one or none is at the path since a log was rotated.
    ///
    /// - Returns: Whether it was opened again.
    package func reopen(isForced: Bool) throws(Unusable) -> Bool {
        guard let path else { return false }
        guard isForced || self.isReplaced(path) else { return false }
        let new = try Self.open(path)
        self.file.withLock { $0 = new }
        return true
    }

    private func isReplaced(_ path: String) -> Bool {
        var present = file_identity()
        guard file_identify_path(path, &present) == 0, let identity = self.file.withLock({ $0 }).identity else {
            return true
        }
        return identity.device != present.device || identity.node != present.node
    }

    // MARK: Noting

    /// Adds a line. Never waits for the file.
    func note(_ entry: AccessEntry) {
        let line = entry.line(self.form)
        self.waiting.withLock { waiting in
            guard waiting.bytes.count + line.count <= Self.limit else { return waiting.dropped += 1 }
            waiting.bytes += line
            waiting.lines += 1
        }
    }

    // MARK: Writing

    /// Writes lines until cancelled; then what is left, for a second at most.
    package func run() async {
        do {
            try DetachedThread.start {
                while !self.isOver.load(ordering: .acquiring) {
                    self.writing.wait()
                    self.write()
                }
                // What was noted while the last lines were being written.
                self.write()
                self.isDone.store(true, ordering: .releasing)
            }
        } catch {
            return self.logger.log(.accessLogFailing, ["error": "\(error)"])
        }
        await PeriodicWorker(every: Self.interval, first: .afterInterval).run { self.writing.signal() }
        self.isOver.store(true, ordering: .releasing)
        self.writing.signal()
        // Not cancelled with the rest: the last requests are those that one looks for.
        await finish(within: .seconds(1)) {
            while !self.isDone.load(ordering: .acquiring), !Task.isCancelled {
                guard (try? await Task.sleep(for: .milliseconds(5))) != nil else { return }
            }
        }
    }

    /// Writes what waits, on the thread that may be held up.
    private func write() {
        let taken = self.waiting.withLock { waiting in
            defer { waiting = Waiting() }
            return waiting
        }
        if taken.dropped > 0 { self.dropped.increment(by: taken.dropped) }
        guard taken.lines > 0 else { return }
        // Written without the lock, so that a file that takes nothing holds up no one who opens another.
        let file = self.file.withLock { $0 }
        let (count, failure) = Self.write(taken.bytes, to: file.descriptor)
        let lines = failure == nil ? taken.lines : taken.bytes[..<count].count { $0 == UInt8(ascii: "\n") }
        self.written.increment(by: lines)
        if let failure {
            self.dropped.increment(by: taken.lines - lines)
            // A line that was cut off is no line with the next one.
            if count > 0, taken.bytes[count - 1] != UInt8(ascii: "\n") {
                self.waiting.withLock { $0.bytes.insert(UInt8(ascii: "\n"), at: 0) }
            }
            if self.change(isFailing: true) { self.logger.log(.accessLogFailing, ["error": "\(failure)"]) }
        } else if self.change(isFailing: false) {
            self.logger.log(.accessLogWorking)
        }
    }

    private func change(isFailing new: Bool) -> Bool {
        self.isFailing.withLock { isFailing in
            defer { isFailing = new }
            return isFailing != new
        }
    }

    /// How many bytes were written, and why not all; nil where they were.
    private static func write(_ bytes: [UInt8], to descriptor: CInt) -> (count: Int, failure: String?) {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0 {
                    if errno == EINTR { continue }
                    return (bytes.count - rest.count, Self.words(errno))
                }
                rest = rest.dropFirst(count)
            }
            return (bytes.count, nil)
        }
    }
}
