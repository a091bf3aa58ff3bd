public import PinWire

// The root of trust, where an app ships one: taken over from the store, and replaced by its successors.

extension PinledgerClient {
    /// The root of trust that holds; nil where the app ships keys alone.
    public var root: RootOfTrust? { self.verifier.anchors.root }

    /// Whether a document may be had only with the next root, after what became of one.
    func needsRoot(after cause: RefreshFailure.Cause?) -> Bool {
        guard let root else { return false }
        // A refusal may have its cause in a root that is out of date: a new key, or a version that the thief of an old one has signed.
        if case .refused = cause { return true }
        return root.expiresAt <= self.now
    }

    /// Looks for the next root where the last look was long enough ago: otherwise nothing tells that a key was revoked whose documents are
    /// still taken. No fetch, and no connection that waits for one, waits for it.
    ///
    /// - Parameter dead: Services that could not be reached: each one costs its time.
    func lookForRootsIfDue(leavingOut dead: [ServiceAddress]) {
        let isDue = self.lastRootLook.map { $0.duration(to: .now) >= self.rootPause } ?? true
        guard self.root != nil, self.rootLook == nil, isDue else { return }
        guard let first = self.configuration.services.first(where: { !dead.contains($0) }) else { return }
        self.rootLook = Task {
            defer { self.rootLook = nil }
            guard await self.lookForRoots(beginningAt: first, leavingOut: dead) else { return }
            // A fetch that began before has asked by the root before.
            _ = try? await self.flight?.task.result()
            _ = try? await self.refresh()
            await self.keep()
        }
    }

    /// The most roots that are taken over in one go.
    private static let stepLimit = 64

    /// Looks for the next root, at one service first: a service that lies, or is behind, hides none that another one has.
    ///
    /// - Returns: Whether another root holds now.
    func lookForRoots(beginningAt service: ServiceAddress, leavingOut dead: [ServiceAddress] = []) async -> Bool {
        self.lastRootLook = .now
        for service in [service] + self.configuration.services.filter({ $0 != service && !dead.contains($0) }) {
            if await self.fetchRoots(from: service) { return true }
        }
        return false
    }

    /// Fetches the roots after the present one, one after the other, and takes them over.
    ///
    /// What a service cannot give is no failure: most of the time there is no next root. A held document whose key the new root leaves out goes
    /// on to judge connections until another one takes its place, whatever its version: otherwise someone who can block one answer could
    /// end pinning.
    ///
    /// - Returns: Whether another root holds now.
    private func fetchRoots(from service: ServiceAddress) async -> Bool {
        guard let first = self.root else { return false }
        var roots: [RootOfTrust] = []
        let began = ContinuousClock.now
        while began.duration(to: .now) < self.configuration.fetchTimeout, roots.count < Self.stepLimit,
            self.laterRoots.count + roots.count < StoredState.rootLimit
        {
            let last = roots.last ?? first
            guard let bytes = await self.fetchRoot(last.version + 1, from: service) else { break }
            do throws(RootOfTrust.Failure) {
                roots.append(try last.next(bytes))
                self.rootFailure = nil
            } catch {
                self.rootFailure = error
                self.onFailure(.root(error))
                break
            }
        }
        guard let last = roots.last, self.root == first else { return false }
        self.laterRoots += roots
        self.verifier.anchors = TrustAnchors(last)
        return true
    }

    private func fetchRoot(_ version: Int64, from service: ServiceAddress) async -> [UInt8]? {
        let response = try? await self.get(
            TransportRequest(
                service.resource("roots/\(version)"), headers: [.init("Accept", "application/json")],
                limit: RootOfTrust.byteLimit, timeout: self.configuration.fetchTimeout))
        guard let response, response.status == 200 else { return nil }
        return response.body
    }

    /// Takes over the roots that a store has kept.
    ///
    /// The store need not be trusted: each root has to be the next one, from the one on that ships with the app. A newer app ships a newer one: the
    /// earlier ones are skipped.
    func takeRoots(_ stored: [[UInt8]]) {
        guard var root = self.root else { return }
        for bytes in stored {
            guard let next = try? root.next(bytes) else { continue }
            self.laterRoots.append(next)
            root = next
        }
        guard root != self.root else { return }
        self.verifier.anchors = TrustAnchors(root)
    }
}
