import HTTPTypes
import NIOCore
import PinWire
import Publishing
import Signals
import Synchronization

/// What the connections of one event loop share: a coarse clock, the `Date` of the second, scratch space, and the round
/// that looks after every connection. Used on that loop alone.
///
/// One timer for the loop takes the place of several timers for each connection: an idle connection costs no more than
/// its place in the list.
final class EventLoopState {
    /// Half-seconds since the loop's share was made. Deadlines are met to the half-second.
    private(set) var now: UInt32 = 0
    /// The present time as HTTP spells it.
    private(set) var date: String
    /// The same with the line end and the empty line that close a head.
    private(set) var headEnd: [UInt8]
    /// The date as a field of HTTP/2.
    private(set) var dateField: [UInt8]
    /// Where answers are put together.
    var scratch = ByteBuffer()

    /// Makes the scratch buffer empty. It is free again as soon as the socket has taken everything, which is nearly
    /// always before the next request; where it is not, the bytes that wait keep theirs, and a new one begins small:
    /// not every short answer to a client that does not read is to hold a large buffer.
    func clearScratch() { self.scratch.clear(minimumCapacity: 512) }

    let served: ServedCount
    /// Which versions the clients hold.
    let tally: LoopTally
    /// Those of clients that wait for documents.
    let streams: LoopStreams
    /// Those that are not answered to the end.
    let held: HeldRequests
    /// Takes what is answered without the router; nil where there is no access log.
    let notes: RequestNotes?

    private let clock: @Sendable () -> Timestamp
    private var second: Int64
    private var connections: ContiguousArray<any ConnectionFront> = []
    private var preferences: [String: CodingPreference] = [:]
    private let plainPreference = CodingPreference(nil)
    /// Bytes of an `Accept-Encoding` that is remembered.
    private static let rememberedLength = 256

    static let roundInterval = TimeAmount.milliseconds(500)

    /// A time span in the loop's clock.
    static func rounds(seconds: Int) -> UInt32 { UInt32(clamping: seconds * 2) }

    init(
        clock: @escaping @Sendable () -> Timestamp, served: ServedCount, intake: AdoptionIntake?, streams: LoopStreams,
        held: HeldRequests = HeldRequests(limit: .max), notes: RequestNotes? = nil
    ) {
        self.notes = notes
        self.held = held
        self.streams = streams
        self.tally = LoopTally(intake: intake)
        let time = clock()
        self.clock = clock
        self.served = served
        self.second = time.seconds
        self.date = HTTPDate.text(time)
        self.headEnd = Array("\(self.date)\r\n\r\n".utf8)
        self.dateField = FieldBlock.date(self.date)
    }

    /// Lets time pass: renews the date, and has every connection look at its deadlines.
    func makeRound() {
        self.now &+= 1
        self.tally.makeRound()
        self.held.makeRound()
        let time = self.clock()
        if time.seconds != self.second {
            self.second = time.seconds
            self.date = HTTPDate.text(time)
            self.headEnd = Array("\(self.date)\r\n\r\n".utf8)
            self.dateField = FieldBlock.date(self.date)
        }
        // From the end: a connection that closes takes the last one's place in the list.
        var index = self.connections.count
        while index > 0 {
            index -= 1
            if index < self.connections.count { self.connections[index].checkDeadlines() }
        }
    }

    func add(_ connection: any ConnectionFront) {
        connection.indexInLoop = self.connections.count
        self.connections.append(connection)
    }

    func remove(_ connection: any ConnectionFront) {
        guard let index = connection.indexInLoop, let last = self.connections.last else { return }
        self.connections[index] = last
        last.indexInLoop = index
        self.connections.removeLast()
        connection.indexInLoop = nil
    }

    /// What an `Accept-Encoding` says; remembered, for there are only a few in the world.
    func preference(_ field: String?) -> CodingPreference {
        guard let field else { return self.plainPreference }
        guard field.utf8.count <= Self.rememberedLength else { return CodingPreference(field) }
        if let known = self.preferences[field] { return known }
        let preference = CodingPreference(field)
        if self.preferences.count >= 100 { self.preferences.removeAll() }
        self.preferences[field] = preference
        return preference
    }
}

/// How many requests were answered from prepared bytes, by status.
package final class ServedCount: Sendable {
    private let full = Atomic(0)
    private let notModified = Atomic(0)

    func count(_ status: HTTPResponse.Status) {
        if status == .notModified {
            self.notModified.wrappingAdd(1, ordering: .relaxed)
        } else {
            self.full.wrappingAdd(1, ordering: .relaxed)
        }
    }

    package var ok: Int { self.full.load(ordering: .relaxed) }
    package var unmodified: Int { self.notModified.load(ordering: .relaxed) }
}

/// The ``EventLoopState`` of each event loop.
struct EventLoopStates: Sendable {
    private let shares: [ObjectIdentifier: NIOLoopBoundBox<EventLoopState>]

    /// - Parameter served: The counts of the group's loops, as many as these, in their order.
    init(
        group: any EventLoopGroup, clock: @escaping @Sendable () -> Timestamp, intake: AdoptionIntake?,
        push: DocumentPush, requestMemory: Int, served: [ServedCount], notes: RequestNotes? = nil
    ) {
        let loops = served.count
        var shares: [ObjectIdentifier: NIOLoopBoundBox<EventLoopState>] = [:]
        for (loop, count) in zip(group.makeIterator(), served) {
            let wakeup = LoopWakeup()
            let box = NIOLoopBoundBox.makeBoxSendingValue(
                EventLoopState(
                    clock: clock, served: count, intake: intake, streams: LoopStreams(push: push, wakeup: wakeup),
                    held: HeldRequests(limit: requestMemory / max(1, loops)), notes: notes),
                eventLoop: loop
            )
            shares[ObjectIdentifier(loop)] = box
            push.listen { app in
                if wakeup.tell(app) { loop.execute { box.value.streams.wake(on: loop) } }
            }
        }
        self.shares = shares
    }

    /// The share of a loop of the group, on that loop.
    func share(of loop: any EventLoop) -> EventLoopState? { self.shares[ObjectIdentifier(loop)]?.value }

    /// Begins the rounds; the result ends them.
    func start(on group: any EventLoopGroup) -> [RepeatedTask] {
        group.makeIterator().compactMap { loop in
            guard let box = self.shares[ObjectIdentifier(loop)] else { return nil }
            return loop.scheduleRepeatedTask(
                initialDelay: EventLoopState.roundInterval, delay: EventLoopState.roundInterval
            ) {
                _ in box.value.makeRound()
            }
        }
    }

    /// Has every loop hand over what it has counted.
    func handOver(on group: any EventLoopGroup) async {
        for loop in group.makeIterator() {
            guard let box = self.shares[ObjectIdentifier(loop)] else { continue }
            // A loop that is shut down has nothing more to say.
            try? await loop.submit { box.value.tally.handOver() }.get()
        }
    }
}
