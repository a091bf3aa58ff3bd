import CPublicSuffix

/// The Public Suffix List: the DNS names that are registries, below which anyone may register a name.
///
/// A pin for `co.uk` or `github.io` would reach strangers' hosts, so such names are refused as host patterns. The list
/// is the newest that libpsl finds: the distribution's file, which updates itself with the system, or the one compiled
/// into the library.
///
/// Loading reads a file of some 50 kB and takes milliseconds: once at start, not for each request.
@safe package final class PublicSuffixList: Sendable {
    /// Neither the distribution's list nor a built-in one could be loaded.
    package struct Unavailable: Error, CustomStringConvertible {
        package var description: String { "this machine has no public suffix list" }

        package init() {}
    }

    // @safe class and nonisolated(unsafe), invariant: the pointer never changes, and between `load` and `deinit` libpsl
    // only reads the memory behind it. psl_is_public_suffix takes it as const, keeps the name it looks up on its own
    // stack, and searches what loading has already sorted; it caches nothing.
    private nonisolated(unsafe) let context: OpaquePointer

    private init(context: OpaquePointer) {
        unsafe self.context = context
    }

    deinit {
        unsafe psl_free(self.context)
    }

    /// Loads the newest list of this machine.
    ///
    /// - Throws: ``Unavailable`` if libpsl has none at all; a server that cannot tell a registry MUST NOT start.
    package static func load() throws(Unavailable) -> PublicSuffixList {
        guard let context = unsafe psl_latest(nil) else { throw Unavailable() }
        return unsafe PublicSuffixList(context: context)
    }

    /// Whether `domain` is a public suffix, in the ICANN section of the list or in the private one.
    ///
    /// `domain` MUST be lower-case A-labels without a trailing dot, as in a parsed host. By the list's own default rule
    /// `*` a single label that is not listed counts as a suffix too. The empty name counts as one, so that an empty
    /// name allows nothing; so does a name with a zero byte, which C would cut.
    package func isPublicSuffix(_ domain: String) -> Bool {
        guard !domain.isEmpty, !domain.utf8.contains(0) else { return true }
        return unsafe psl_is_public_suffix(self.context, domain) != 0
    }

    /// Where the list came from, for `pinledger version` and the start-up log.
    package var provenance: String {
        let library = unsafe Self.text(psl_get_version()) ?? "unknown"
        let file = unsafe Self.text(psl_dist_filename()) ?? ""
        let builtIn = unsafe Self.text(psl_builtin_filename()) ?? ""
        let source = file.isEmpty ? "built in (\(builtIn))" : "newest of \(file) and the built-in list"
        return "libpsl \(library), \(source)"
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String? {
        guard let pointer = unsafe pointer else { return nil }
        return unsafe String(cString: pointer)
    }
}
