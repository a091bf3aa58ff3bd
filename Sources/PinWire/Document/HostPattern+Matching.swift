extension HostPattern {
    /// Whether the pattern covers a host name, without regard to subdomains.
    package func matches(_ name: String) -> Bool {
        guard self.isWildcard else { return self.text == name }
        guard let dot = name.firstIndex(of: "."), dot != name.startIndex else { return false }
        return name[dot...].dropFirst() == self.name
    }
}
