import PinWire
import Testing

@testable import Traces

@Suite("Places in traces") struct TraceContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    // The examples of https://www.w3.org/TR/trace-context/ and what follows from its section 3.2.
    @Test(
        arguments: [
            ("00-\(trace)-\(span)-01", true), ("00-\(trace)-\(span)-00", false), ("00-\(trace)-\(span)-03", true),
            ("cc-\(trace)-\(span)-01-what-the-future-will-be-like", true), ("01-\(trace)-\(span)-00", false),
        ] as [(String, Bool)])
    func `a place is read with its trace, its span and its flag`(text: String, isSampled: Bool) throws {
        let place = try #require(TraceContext(parent: text, state: nil))
        #expect("\(place.traceID)" == Self.trace && "\(place.spanID)" == Self.span && place.isSampled == isSampled)
        #expect(place.parent == "00-\(Self.trace)-\(Self.span)-\(isSampled ? "01" : "00")")
    }

    @Test(
        arguments: [
            "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-0", "00-\(trace)-\(span)-01-",
            "ff-\(trace)-\(span)-01",
            "00-\(trace)-\(span)-01-more", "cc-\(trace)-\(span)-01.more", "00-\(trace.uppercased())-\(span)-01",
            "00-00000000000000000000000000000000-\(span)-01", "00-\(trace)-0000000000000000-01",
            "00_\(trace)-\(span)-01", "0x-\(trace)-\(span)-01", "00-\(trace)-\(span)-1g", " 00-\(trace)-\(span)-01",
            "00-é\(trace.dropFirst(2))-\(span)-01", "cc-\(trace)-\(span)-01-\(String(repeating: "a", count: 300))",
        ])
    func `a malformed place is none`(text: String) { #expect(TraceContext(parent: text, state: nil) == nil) }

    @Test(
        arguments: [
            (nil, ""), ("a=1,b=2", "a=1,b=2"), ("a=1, ,b@c=2 3", "a=1, ,b@c=2 3"), (",,,===;; x", ""), ("a", ""),
            ("A=1", ""),
            ("a=1=2", ""), ("a=", ""), (Array(repeating: "a=1", count: 33).joined(separator: ","), ""),
            ("a=" + String(repeating: "a", count: 510), "a=" + String(repeating: "a", count: 510)),
            ("a=" + String(repeating: "a", count: 511), ""), ("a=é", ""), ("a=\u{7}", ""),
        ] as [(String?, String)])
    func `a state is passed on as it came or not at all`(state: String?, kept: String) throws {
        #expect(try #require(TraceContext(parent: "00-\(Self.trace)-\(Self.span)-01", state: state)).state == kept)
    }

    @Test func `ids are never zero and shares are spread evenly`() throws {
        let shares = (0..<10_000).map { _ in TraceID.random().share }
        #expect(shares.allSatisfy { (0..<1).contains($0) })
        #expect((4_500...5_500).contains(shares.count { $0 < 0.5 }))
        #expect(try #require(TraceID([UInt8](repeating: 255, count: 16))).share < 1)
    }
}
