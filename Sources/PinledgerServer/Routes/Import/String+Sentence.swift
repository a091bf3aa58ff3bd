extension String {
    /// The sentence without its full stop.
    var dropLastStop: String { self.hasSuffix(".") ? String(self.dropLast()) : self }
}
