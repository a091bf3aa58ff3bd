package import Logging

extension Logger {
    /// Whether a line is written at the present level: for a caller that would prepare its details in vain.
    package func writes(_ line: LogLine) -> Bool { line.declaration.level >= self.logLevel }

    /// Writes a line with its code and its advice.
    ///
    /// - Parameters:
    ///   - line: Which line; its declaration gives level and message.
    ///   - details: What differs from one time to the next. Not evaluated where the level is not logged. An `advice` in
    ///     it takes the place of the declared one.
    package func log(
        _ line: LogLine, _ details: @autoclosure () -> Logger.Metadata = [:], file: String = #fileID,
        function: String = #function, number: UInt = #line
    ) {
        let declaration = line.declaration
        guard self.writes(line) else { return }
        var metadata = details()
        metadata["code"] = .string(line.rawValue)
        if let advice = declaration.advice, metadata["advice"] == nil { metadata["advice"] = .string(advice) }
        self.log(
            level: declaration.level, declaration.message, metadata: metadata, file: file, function: function,
            line: number)
    }
}
