package import PinWire

extension Timestamp {
    /// The instant as OpenSSL prints times of certificates, such as `Jan  5 09:34:43 2018 GMT`: whole seconds, the day
    /// padded with a space to two columns.
    package var opensslText: String {
        let text = Timestamp(seconds: self.seconds).rfc3339.dropLast()
        let parts = text.split { $0 == "-" || $0 == "T" }
        guard parts.count == 4, let month = Int(parts[1]), let day = Int(parts[2]) else { return String(text) }
        let name = Self.months[month - 1]
        return "\(name) \(day < 10 ? " " : "")\(day) \(parts[3]) \(parts[0]) GMT"
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
