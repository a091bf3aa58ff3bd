internal import COpenSSL

/// The functions around OpenSSL that this whole module uses.
enum OpenSSL {
    /// Overwrites an array in a way that the compiler may not remove. Earlier copies of it stay.
    static func wipe(_ bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
    }

    /// Empties the thread's queue of errors, which would otherwise show in the next use of OpenSSL on this thread.
    static func forgetErrors() {
        ERR_clear_error()
    }

    /// OpenSSL's text for the last failure; empties the queue.
    static func takeError() -> String {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0, let reason = unsafe ERR_reason_error_string(code) else { return "no reason given" }
        return unsafe String(cString: reason)
    }

    /// Lets `parse`, which is one of OpenSSL's `d2i_` functions, read a value at the beginning of `bytes`; nil where
    /// there is none. Also returns the number of its bytes.
    static func decode<Object>(
        _ bytes: ArraySlice<UInt8>,
        _ parse: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> Object?
    ) -> (object: Object, count: Int)? {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return nil }
            var place: UnsafePointer<UInt8>? = unsafe start
            guard let object = unsafe parse(&place, buffer.count) else { return nil }
            return unsafe (object, place.map { unsafe $0 - start } ?? 0)
        }
    }

    /// The bytes that `write`, which is one of OpenSSL's `i2d_` functions, gives; nil where it fails.
    static func encode(_ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> CInt) -> [UInt8]? {
        let length = write(nil)
        guard length > 0 else { return nil }
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, count in
            var place = buffer.baseAddress
            count = unsafe max(0, Int(write(&place)))
        }
        return bytes.isEmpty ? nil : bytes
    }

    /// The digest of `bytes`; nil where OpenSSL has no such hash or no memory.
    static func digest(_ bytes: [UInt8], _ hash: OpaquePointer?) -> [UInt8]? {
        var size: CUnsignedInt = 0
        let digest = unsafe [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            let isDone = unsafe EVP_Digest(bytes, bytes.count, buffer.baseAddress, &size, hash, nil) == 1
            count = isDone ? Int(size) : 0
        }
        return digest.isEmpty ? nil : digest
    }

    /// Copies `count` bytes that belong to an OpenSSL object.
    static func copy(_ start: UnsafePointer<UInt8>?, count: CInt) -> [UInt8] {
        guard let start = unsafe start, count > 0 else { return [] }
        return unsafe Array(UnsafeBufferPointer(start: start, count: Int(count)))
    }

    /// The bytes of an ASN.1 string of whatever type.
    static func bytes(of string: UnsafePointer<ASN1_STRING>?) -> [UInt8] {
        guard let string = unsafe string else { return [] }
        return unsafe self.copy(ASN1_STRING_get0_data(string), count: ASN1_STRING_length(string))
    }

    /// The number of elements of a stack.
    static func count(of stack: OpaquePointer?) -> Int { max(0, Int(unsafe OPENSSL_sk_num(stack))) }

    /// Calls `body` with the elements of a stack, which the stack owns.
    static func each<Failure: Error>(
        of stack: OpaquePointer?, _ body: (OpaquePointer) throws(Failure) -> Void
    ) throws(Failure) {
        for index in 0..<(unsafe self.count(of: stack)) {
            guard let element = unsafe OPENSSL_sk_value(stack, CInt(index)) else { continue }
            try unsafe body(OpaquePointer(element))
        }
    }
}

/// An OpenSSL object that this value owns and frees.
@safe final class Owned {
    private let object: OpaquePointer
    private let free: (OpaquePointer?) -> Void

    /// Takes over an object; nil for a null pointer.
    init?(_ object: OpaquePointer?, free: @escaping (OpaquePointer?) -> Void) {
        guard let object = unsafe object else { return nil }
        unsafe self.object = object
        unsafe self.free = free
    }

    deinit {
        unsafe self.free(self.object)
    }

    /// Calls `body` with the object, which MUST NOT leave it: it is valid only during the call.
    func with<Result, Failure: Error>(
        _ body: (OpaquePointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(self.object)
    }
}
