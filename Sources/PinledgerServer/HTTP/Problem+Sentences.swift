package import EventStore
package import Pinning
package import Witnesses

// Failures in the words of their problem, for code without a request.

extension WriteFailure: CustomStringConvertible {
    package var description: String { Problem(self).detail }
}

extension Refusal: CustomStringConvertible {
    package var description: String { Problem(self).detail }
}

extension CheckpointSource.Unavailable: CustomStringConvertible {
    package var description: String { Problem(self).detail }
}
