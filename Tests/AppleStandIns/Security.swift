// Stand-ins for what PinledgerClient takes of Apple's systems, with the signatures that Swift has there: Linux type-checks the code for
// them, and runs none of it. A C function's result may be left, and what takes a pointer is unsafe, as in the imported headers.
@_exported import Foundation
public import FoundationNetworking

// Core Foundation, whose types are bridged to Foundation's on Apple's systems.
public typealias CFString = String
public typealias CFDictionary = [String: Any]
public typealias CFArray = [Any]
public typealias CFData = Data
public typealias CFTypeRef = AnyObject
public typealias OSStatus = Int32
public final class CFError: Error {}

// Trust.
public final class SecTrust {}
public final class SecPolicy {}
public final class SecCertificate {}

public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy { SecPolicy() }
@discardableResult public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: AnyObject) -> OSStatus { 0 }
@unsafe public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool {
    false
}
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { nil }
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { CFData() }

// The Keychain.
public let kSecClass: CFString = ""
public let kSecClassGenericPassword: CFString = ""
public let kSecAttrService: CFString = ""
public let kSecAttrAccessGroup: CFString = ""
public let kSecAttrAccount: CFString = ""
public let kSecAttrAccessible: CFString = ""
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = ""
public let kSecReturnData: CFString = ""
public let kSecUseDataProtectionKeychain: CFString = ""
public let kSecValueData: CFString = ""
public let errSecSuccess: OSStatus = 0
public let errSecItemNotFound: OSStatus = -25300
public let errSecDuplicateItem: OSStatus = -25299
@unsafe public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus
{ 0 }
@unsafe public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    0
}
public func SecItemUpdate(_ query: CFDictionary, _ attributes: CFDictionary) -> OSStatus { 0 }
@unsafe public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> CFString? {
    nil
}

// What URLSession has there, and FoundationNetworking lacks.
extension URLProtectionSpace {
    public var serverTrust: SecTrust? { nil }
}

extension URLCredential {
    public convenience init(trust: SecTrust) { self.init(user: "", password: "", persistence: .none) }
}

extension URLSession {
    public struct AsyncBytes: AsyncSequence, Sendable {
        public struct AsyncIterator: AsyncIteratorProtocol {
            public mutating func next() async throws -> UInt8? { nil }
        }

        public let task: URLSessionDataTask
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
    }

    public func bytes(for request: URLRequest, delegate: (any URLSessionTaskDelegate)?) async throws -> (
        AsyncBytes, URLResponse
    ) {
        throw CancellationError()
    }

    public var allTasks: [URLSessionTask] { get async { [] } }
}

public let NSURLAuthenticationMethodServerTrust = ""
