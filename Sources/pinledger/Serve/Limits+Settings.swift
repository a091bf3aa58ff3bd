import PinledgerServer

extension Server.Limits {
    /// The limits that settings give.
    ///
    /// - Throws: ``CommandFailure`` for a setting that is no number or out of range.
    init(_ settings: Settings) throws {
        /// The number that stands for no limit is 0 in settings.
        func limit(_ setting: Setting) throws -> Int? {
            try settings.integer(ifGiven: setting).map { $0 == 0 ? .max : $0 }
        }
        self.init()
        self.connections = try settings.integer(.maxConnections)
        self.networkConnections = try limit(.connectionsPerNetwork)
        self.clientStreams = try settings.integer(ifGiven: .clientStreams)
        self.networkStreams = try limit(.streamsPerNetwork)
        self.networkRequests = try settings.number(.requestsPerNetwork)
        self.operatorRequests = try settings.number(.requestsPerOperator)
        self.requestMemory = try settings.integer(.requestMemory) << 20
        self.headerSeconds = try settings.integer(.headerTimeout)
        self.idleSeconds = try settings.integer(.idleTimeout)
        self.bodySeconds = try settings.integer(.bodyTimeout)
        self.writeSeconds = try settings.integer(.writeTimeout)
        self.drainSeconds = try settings.integer(.drainTimeout)
    }
}
