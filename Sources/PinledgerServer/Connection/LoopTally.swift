import HTTPTypes
import Publishing
import Signals

/// What one event loop counts of the clients that it answers, until it hands it over. Used on that loop alone.
///
/// A request of a client that holds the current document, or nothing, and says no more of itself costs an addition;
/// every other one a look at what it says and an entry in a dictionary of at most so many.
final class LoopTally {
    private struct Slot {
        /// The version that the two numbers are of.
        var version: Int64 = 0
        var holding: Int64 = 0
        var empty: Int64 = 0
    }

    private let intake: AdoptionIntake?
    /// By the app's index.
    private var slots: ContiguousArray<Slot> = []
    /// The indices whose slots are not empty.
    private var touched: [Int] = []
    private var batch = AdoptionBatch()
    private var rounds = 0

    /// How often it is handed over: every two seconds.
    private static let roundsBetween = 4

    /// - Parameter intake: Where it is handed over; nil to count nothing.
    init(intake: AdoptionIntake?) { self.intake = intake }

    /// Counts a GET that was answered.
    ///
    /// - Parameters:
    ///   - condition: The value of `If-None-Match`.
    ///   - report: The value of `Pinledger-Client`.
    func count(_ answer: PreparedAnswer, _ status: HTTPResponse.Status, _ condition: String?, _ report: String?) {
        guard let document = answer.document, let intake = self.intake else { return }
        let isCurrent = status == .notModified
        guard report == nil, condition == nil || isCurrent && condition?.utf8.count ?? 0 > 1 else {
            if self.batch.isFull { self.handOver() }
            return self.batch.add(
                intake.sighting(
                    at: document.appIndex, current: document.version, isCurrent: isCurrent, condition: condition,
                    report: report
                )
            )
        }
        while self.slots.count <= document.appIndex { self.slots.append(Slot()) }
        if self.slots[document.appIndex].version != document.version { self.spill(document.appIndex, document.version) }
        if isCurrent { self.slots[document.appIndex].holding += 1 } else { self.slots[document.appIndex].empty += 1 }
    }

    /// Puts away what was counted of another version, and begins with this one.
    private func spill(_ index: Int, _ version: Int64) {
        let slot = self.slots[index]
        if slot.version == 0 {
            self.touched.append(index)
        } else {
            self.put(slot, index)
        }
        self.slots[index] = Slot(version: version)
    }

    private func put(_ slot: Slot, _ index: Int) {
        guard slot.holding > 0 || slot.empty > 0 else { return }
        self.batch.steady.append(
            AdoptionBatch.Steady(index: index, version: slot.version, holding: slot.holding, empty: slot.empty))
    }

    /// Lets a round pass.
    func makeRound() {
        self.rounds += 1
        if self.rounds >= Self.roundsBetween { self.handOver() }
    }

    /// Hands over everything that was counted.
    func handOver() {
        self.rounds = 0
        for index in self.touched {
            self.put(self.slots[index], index)
            self.slots[index] = Slot()
        }
        self.touched.removeAll(keepingCapacity: true)
        guard !self.batch.isEmpty else { return }
        self.intake?.take(self.batch)
        self.batch = AdoptionBatch()
    }
}
