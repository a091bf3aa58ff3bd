import Testing

@testable import Postgres

@Suite(.timeLimit(.minutes(60)))
struct PoolStateMachineTests {
    @Test func `a pool fills up, queues, and then refuses`() {
        var machine = PoolStateMachine(maximumConnections: 2, maximumWaiters: 2)
        #expect(machine.request(1) == .lease(.vacancy(0)))
        #expect(machine.request(2) == .lease(.vacancy(1)))
        #expect(machine.request(3) == .wait)
        #expect(machine.request(4) == .wait)
        #expect(machine.request(5) == .fail(.poolExhausted))
    }

    @Test func `a returned connection goes to the request that has waited longest`() {
        var machine = PoolStateMachine(maximumConnections: 1, maximumWaiters: 3)
        _ = machine.request(1)
        _ = machine.request(2)
        _ = machine.request(3)
        #expect(machine.release(0, hasConnection: true) == .resume(2, .connection(0)))
        #expect(machine.release(0, hasConnection: false) == .resume(3, .vacancy(0)))
        #expect(machine.release(0, hasConnection: true) == .keep)
        #expect(machine.request(4) == .lease(.connection(0)))
    }

    @Test func `connections that are dropped are not lent again, whether idle or lent`() {
        var machine = PoolStateMachine(maximumConnections: 2, maximumWaiters: 1)
        for id in 1...2 { _ = machine.request(UInt64(id)) }
        _ = machine.release(1, hasConnection: true)
        #expect(machine.dropAll() == [1])
        #expect(machine.request(3) == .lease(.vacancy(1)))
        #expect(machine.request(4) == .wait)
        #expect(machine.release(0, hasConnection: true) == .resume(4, .vacancy(0)))
        #expect(machine.release(0, hasConnection: true) == .keep)
        #expect(machine.request(5) == .lease(.connection(0)))
    }

    @Test func `a broken connection frees its slot`() {
        var machine = PoolStateMachine(maximumConnections: 1, maximumWaiters: 0)
        #expect(machine.request(1) == .lease(.vacancy(0)))
        #expect(machine.release(0, hasConnection: false) == .drop(isLast: false))
        #expect(machine.request(2) == .lease(.vacancy(0)))
    }

    @Test func `a request that has left the line is skipped`() {
        var machine = PoolStateMachine(maximumConnections: 1, maximumWaiters: 2)
        _ = machine.request(1)
        _ = machine.request(2)
        _ = machine.request(3)
        #expect(machine.withdraw(2) == true)
        #expect(machine.withdraw(2) == false)
        #expect(machine.release(0, hasConnection: true) == .resume(3, .connection(0)))
        #expect(machine.withdraw(3) == false)
    }

    @Test func `the connection used last is lent first, and old ones retire`() {
        var machine = PoolStateMachine(maximumConnections: 3, maximumWaiters: 0)
        for id in 1...3 { _ = machine.request(UInt64(id)) }
        for slot in [2, 0, 1] { _ = machine.release(slot, hasConnection: true) }
        #expect(machine.request(4) == .lease(.connection(1)))
        #expect(machine.retire(2) == true)
        #expect(machine.retire(1) == false)
        #expect(machine.request(5) == .lease(.connection(0)))
        #expect(machine.request(6) == .lease(.vacancy(2)))
    }

    @Test func `closing fails the line, drops the idle and waits for the lent`() {
        var machine = PoolStateMachine(maximumConnections: 2, maximumWaiters: 2)
        _ = machine.request(1)
        _ = machine.request(2)
        _ = machine.request(3)
        _ = machine.withdraw(3)
        _ = machine.release(1, hasConnection: true)
        #expect(machine.close() == .init(failed: [], dropped: [1], isLast: false))
        #expect(machine.request(4) == .fail(.poolClosed))
        #expect(machine.release(0, hasConnection: true) == .drop(isLast: true))
        #expect(machine.close() == .init(failed: [], dropped: [], isLast: true))
    }

    @Test func `a slot given back twice changes nothing`() {
        var machine = PoolStateMachine(maximumConnections: 1, maximumWaiters: 0)
        _ = machine.request(1)
        _ = machine.release(0, hasConnection: true)
        let before = machine.idle
        #expect(machine.release(0, hasConnection: true) == .keep)
        #expect(machine.idle == before)
    }

    @Test func `requests of one kind hold their share, and leave connections and places in the line to others`() {
        var machine = PoolStateMachine(maximumConnections: 3, maximumWaiters: 4, maximumPerKind: 2)
        #expect(machine.request(1, of: "adoption") == .lease(.vacancy(0)))
        #expect(machine.request(2, of: "adoption") == .lease(.vacancy(1)))
        #expect(machine.request(3, of: "adoption") == .wait)
        #expect(machine.request(4, of: "adoption") == .wait)
        #expect(machine.request(5, of: "adoption") == .fail(.poolExhausted))
        #expect(machine.request(6, of: "history") == .lease(.vacancy(2)))
        #expect(machine.request(7) == .wait)
        // The first in line whose kind has room.
        #expect(machine.release(2, hasConnection: true) == .resume(7, .connection(2)))
        #expect(machine.release(2, hasConnection: true) == .keep)
        #expect(machine.waiting == [3, 4])
        #expect(machine.release(0, hasConnection: true) == .resume(3, .connection(0)))
        #expect(machine.release(1, hasConnection: false) == .resume(4, .vacancy(1)))
        #expect(machine.request(8, of: "history") == .lease(.connection(2)))
    }

    /// Every sequence of six inputs on a pool of two connections of which each kind may hold one.
    @Test func `no sequence of inputs has a request wait for a connection that it may hold`() {
        let kinds: [String?] = [nil, "a", "b"]
        func visit(_ machine: PoolStateMachine, _ asked: [UInt64: String], _ depth: Int, _ nextID: UInt64) {
            for id in machine.waiting where machine.leased.count < 2 {
                let kind = asked[id]
                #expect(kind != nil && machine.holders.count { $0 == kind } == 1)
            }
            for kind in ["a", "b"] { #expect(machine.holders.count { $0 == kind } <= 1) }
            guard depth > 0 else { return }
            for kind in kinds {
                var (copy, asked) = (machine, asked)
                asked[nextID] = kind
                _ = copy.request(nextID, of: kind)
                visit(copy, asked, depth - 1, nextID + 1)
            }
            for slot in machine.leased {
                var copy = machine
                _ = copy.release(slot, hasConnection: true)
                visit(copy, asked, depth - 1, nextID)
            }
            for id in machine.waiting {
                var copy = machine
                #expect(copy.withdraw(id) == true)
                visit(copy, asked, depth - 1, nextID)
            }
        }
        visit(PoolStateMachine(maximumConnections: 2, maximumWaiters: 4, maximumPerKind: 1), [:], 6, 1)
    }

    /// Every sequence of seven inputs on a pool of two connections and two waiters.
    @Test func `no sequence of inputs loses a slot or a request`() {
        func visit(_ machine: PoolStateMachine, _ depth: Int, _ nextID: UInt64) -> Int {
            let slots = Set(machine.leased).union(machine.idle)
            #expect(machine.leased.isDisjoint(with: machine.idle))
            #expect(Set(machine.idle).count == machine.idle.count)
            #expect(slots.isSubset(of: [0, 1]))
            #expect(machine.waiting.count <= 2)
            #expect(machine.waiting.isEmpty || machine.leased.count == 2)
            #expect(!machine.isClosed || (machine.waiting.isEmpty && machine.idle.isEmpty))
            guard depth > 0 else { return 1 }
            var visited = 1
            var copy = machine
            _ = copy.request(nextID)
            visited += visit(copy, depth - 1, nextID + 1)
            for slot in machine.leased {
                for hasConnection in [true, false] {
                    copy = machine
                    _ = copy.release(slot, hasConnection: hasConnection)
                    visited += visit(copy, depth - 1, nextID)
                }
            }
            for id in machine.waiting {
                copy = machine
                #expect(copy.withdraw(id) == true)
                visited += visit(copy, depth - 1, nextID)
            }
            for slot in machine.idle {
                copy = machine
                #expect(copy.retire(slot) == true)
                visited += visit(copy, depth - 1, nextID)
            }
            if !machine.isClosed {
                copy = machine
                _ = copy.close()
                visited += visit(copy, depth - 1, nextID)
            }
            return visited
        }
        #expect(visit(PoolStateMachine(maximumConnections: 2, maximumWaiters: 2), 7, 1) > 1000)
    }
}
