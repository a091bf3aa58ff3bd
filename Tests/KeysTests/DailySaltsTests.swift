import Keys
import PinWire
import Testing

/// What addresses and ids are hashed with.
@Suite struct DailySaltsTests {
    private static let midnight = Timestamp(seconds: 1_769_817_600)

    private func salts(_ byte: UInt8 = 7, for purpose: String = "reports") throws -> DailySalts {
        DailySalts(try KeyEncryptionKey([UInt8](repeating: byte, count: 32)), for: purpose)
    }

    @Test func `daily salts are the same on every node that has the key, all day`() throws {
        let (one, other) = (try self.salts(), try self.salts())
        let salt = one.salt(at: Self.midnight)
        #expect(salt.count == 32)
        for seconds in [0, 1, 86_399] as [Int64] {
            #expect(other.salt(at: Self.midnight.adding(seconds: seconds)) == salt)
        }
    }

    @Test func `daily salts differ by day, purpose and key`() throws {
        var seen: Set<[UInt8]> = []
        for days in -3...3 as ClosedRange<Int64> {
            seen.insert(try self.salts().salt(at: Self.midnight.adding(seconds: days * 86_400)))
        }
        seen.insert(try self.salts(for: "installs").salt(at: Self.midnight))
        seen.insert(try self.salts(8).salt(at: Self.midnight))
        #expect(seen.count == 9)
    }

    @Test func `daily salts are found again after many other days, and exist for a day before 1970 too`() throws {
        let salts = try self.salts()
        let salt = salts.salt(at: Self.midnight)
        for day in 0..<20 as Range<Int64> { _ = salts.salt(at: Self.midnight.adding(seconds: day * 86_400)) }
        #expect(salts.salt(at: Self.midnight) == salt)
        #expect(salts.salt(at: Timestamp(seconds: -1)) == salts.salt(at: Timestamp(seconds: -86_400)))
        #expect(salts.salt(at: Timestamp(seconds: -1)) != salts.salt(at: Timestamp(seconds: 0)))
    }
}
