import NIOCore

/// The connections of a listener on which no request's head has come yet, of each network in the order of their arrival.
///
/// Every operation takes the same time, however many there are. Connections of no known network are not kept: many
/// clients share them.
struct SilentConnections {
    struct Connection {
        let channel: any Channel
        let since: NIODeadline
    }

    /// A connection's number: the order of arrival.
    private typealias Number = UInt64

    private struct Link {
        let connection: Connection
        let network: ClientNetwork
        /// The one that came before it, of the same network.
        var older: Number?
        var newer: Number?
    }

    private struct Ends {
        var oldest: Number
        var newest: Number
    }

    private var numbers: [ObjectIdentifier: Number] = [:]
    private var links: [Number: Link] = [:]
    private var ends: [ClientNetwork: Ends] = [:]
    private var next: Number = 0

    var count: Int { self.links.count }

    /// The connection of a network that has been silent for longest; nil for none.
    func oldest(of network: ClientNetwork) -> Connection? {
        guard let ends = self.ends[network] else { return nil }
        return self.links[ends.oldest]?.connection
    }

    /// Takes in a connection that is not there yet.
    mutating func add(_ channel: any Channel, of network: ClientNetwork?, at now: NIODeadline) {
        let id = ObjectIdentifier(channel)
        guard let network, self.numbers[id] == nil else { return }
        let number = self.next
        self.next += 1
        self.numbers[id] = number
        var link = Link(connection: Connection(channel: channel, since: now), network: network)
        if var ends = self.ends[network] {
            link.older = ends.newest
            self.links[ends.newest]?.newer = number
            ends.newest = number
            self.ends[network] = ends
        } else {
            self.ends[network] = Ends(oldest: number, newest: number)
        }
        self.links[number] = link
    }

    /// Leaves a connection out, which need not be there.
    mutating func remove(_ id: ObjectIdentifier) {
        guard let number = self.numbers.removeValue(forKey: id), let link = self.links.removeValue(forKey: number)
        else { return }
        if let older = link.older { self.links[older]?.newer = link.newer }
        if let newer = link.newer { self.links[newer]?.older = link.older }
        switch (link.older, link.newer) {
        case (nil, nil): self.ends[link.network] = nil
        case (nil, let newer?): self.ends[link.network]?.oldest = newer
        case (let older?, nil): self.ends[link.network]?.newest = older
        case (_?, _?): break
        }
    }
}
