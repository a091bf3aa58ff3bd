extension HostPattern {
    /// A host name in the form of patterns: ASCII in lower case, without a trailing dot. Nil for a text that cannot be one.
    package static func canonical(_ name: String) -> String? { HostIndex.canonical(name) }

    /// Whether the pattern covers a host name, without regard to subdomains.
    package func matches(_ name: String) -> Bool {
        guard self.isWildcard else { return self.text == name }
        guard let dot = name.firstIndex(of: "."), dot != name.startIndex else { return false }
        return name[dot...].dropFirst() == self.name
    }
}
