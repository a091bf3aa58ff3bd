package import EventStore
package import Pinning

// Failures in the words of the problem that they would be, for whoever meets them without a request.

extension WriteFailure: CustomStringConvertible {
    package var description: String { Problem(self).detail }
}

extension Refusal: CustomStringConvertible {
    package var description: String { Problem(self).detail }
}
