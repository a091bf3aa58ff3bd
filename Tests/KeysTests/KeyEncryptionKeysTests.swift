import Keys
import PinWire
import Testing

struct KeyEncryptionKeysTests {
    @Test func `the key in force is the first one, until another of them is named`() throws {
        let keys = try (1...3).map { try KeyEncryptionKey([UInt8](repeating: $0, count: 32)) }
        let both = KeyEncryptionKeys(keys[0], beside: keys[1])
        #expect(both.current.id == keys[0].id)
        both.use(keys[2].idBytes)
        both.use([])
        #expect(both.current.id == keys[0].id)
        both.use(keys[1].idBytes)
        #expect(both.current.id == keys[1].id)
        both.use(keys[0].idBytes)
        #expect(both.current.id == keys[0].id)
    }

    @Test func `a key is found by its name, and the one in force stands for those that are not there`() throws {
        let keys = try (1...3).map { try KeyEncryptionKey([UInt8](repeating: $0, count: 32)) }
        let both = KeyEncryptionKeys(keys[0], beside: keys[1])
        #expect(keys.map { both[$0.id].id } == [keys[0].id, keys[1].id, keys[0].id])
    }

    @Test func `the same key twice is one key`() throws {
        let key = try KeyEncryptionKey([UInt8](repeating: 1, count: 32))
        #expect(KeyEncryptionKeys(key, beside: key).keys.count == 1)
        #expect(KeyEncryptionKeys(key).keys.count == 1)
    }
}
