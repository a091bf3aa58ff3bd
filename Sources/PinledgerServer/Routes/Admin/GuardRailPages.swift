import Handbook
package import Pinning

/// The page of each guard rail: its requirement, its reason, how it is judged and what to do.
package enum GuardRailPages {
    /// The page of a rail as Markdown, from its heading on.
    package static func text(of rail: GuardRail) -> String { Self.pages[rail] ?? "" }

    /// The pages by rail, from `guard-rails.md`, where each begins with `## ` and the code.
    private static let pages: [GuardRail: String] = {
        let text = String(decoding: Handbook.page("guard-rails")?.markdown ?? [], as: UTF8.self)
        var pages: [GuardRail: String] = [:]
        for part in text.split(separator: "\n## ", omittingEmptySubsequences: true).dropFirst() {
            guard let rail = GuardRail(rawValue: String(part.prefix(3))) else { continue }
            pages[rail] = "# " + part.trimmingSuffix { $0.isNewline } + "\n"
        }
        return pages
    }()
}

extension Substring {
    fileprivate func trimmingSuffix(while isTrimmed: (Character) -> Bool) -> Substring {
        var text = self
        while let last = text.last, isTrimmed(last) { text.removeLast() }
        return text
    }
}
