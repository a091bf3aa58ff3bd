package import Pinning

// Settings of Wultra's clients, as literals. What is no such value is a mistake in a test, and ends it.

extension ClientVersion: ExpressibleByStringLiteral {
    package init(stringLiteral text: String) {
        do { self = try ClientVersion(text) } catch { fatalError("\(text) \(error)") }
    }
}

extension TextKey: ExpressibleByStringLiteral {
    package init(stringLiteral text: String) {
        do { self = try TextKey(text) } catch { fatalError("\(text) \(error)") }
    }
}

extension TextLanguage: ExpressibleByStringLiteral {
    package init(stringLiteral text: String) {
        do { self = try TextLanguage(text) } catch { fatalError("\(text) \(error)") }
    }
}

extension MessageText: ExpressibleByStringLiteral {
    package init(stringLiteral text: String) {
        do { self = try MessageText(text) } catch { fatalError("\(text) \(error)") }
    }
}
