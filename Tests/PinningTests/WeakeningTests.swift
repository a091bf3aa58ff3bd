import PinWire
import Pinning
import SeededRandom
import Testing

/// Whoever may change apps, and not weaken protection, weakens it for no device: not by one command, not by several, and not by what the
/// server does by itself afterwards.
@Suite struct `Protection without the right to weaken it` {
    /// A ledger with one app, and a token that may change it and nothing else.
    private struct World {
        var state = LedgerState()
        var now = noon
        static let weak = Actor(kind: .token, id: "tok_w", name: "w")

        init() throws {
            try self.record(.access(.defineRole(roleName("weak"), [.readApps, .changeApps])))
            try self.record(
                .access(
                    .issueToken(newToken("tok_w", digest: sha256([1]), [Grant(role: roleName("weak"), apps: [.all])]))))
            try self.record(.app(shop, [.create(displayName: "Shop")]))
        }

        mutating func record(_ command: Command, as actor: Actor? = nil) throws(Refusal) {
            var context = PinningTests.context("ticket 7", at: self.now)
            context.rails = []
            context.commander = actor
            if let actor { context.actor = actor.kind }
            for event in try self.state.decide(command, in: context).events {
                _ = self.state.apply(event, of: command.stream, at: self.now)
            }
        }

        var document: Document { get throws { try #require(self.state.document(of: shop)) } }
    }

    /// How much a device is protected, by what it is told: pins that are built in protect where a release ships them.
    private static func strength(_ evaluator: Evaluator, _ name: String, _ device: Device, at now: Timestamp) -> Int {
        switch evaluator.decide(name, for: device, at: now).outcome {
        case .enforce: return 2
        case .reportOnly: return 1
        case .off: return 0
        case .builtin:
            let fallback = evaluator.document.fallback
            let isShipped = fallback.usesBuiltinPins && fallback.hosts.contains { $0.matches(name) }
            return isShipped ? 2 : 0
        }
    }

    private static func losses(from before: Document, to after: Document, at now: Timestamp) -> [String] {
        let (was, now, time) = (Evaluator(before), Evaluator(after), now)
        var losses: [String] = []
        for name in RandomProtection.names {
            for (place, device) in RandomProtection.devices.enumerated() {
                let (old, new) = (
                    Self.strength(was, name, device, at: time), Self.strength(now, name, device, at: time)
                )
                if new < old { losses.append("\(name) for device \(place): \(old) to \(new)") }
            }
        }
        return losses
    }

    @Test func `lasts, whatever is commanded and however plans go on`() throws {
        let seed = TestSeed.chosen(or: 46)
        var draw = RandomProtection(seed: seed)
        let empty = try World()
        var (made, refused, steps, pauses) = (0, 0, 0, 0)
        for app in 0..<(TestDepth.isFull ? 20_000 : 2_000) {
            var start = empty
            try? start.record(.app(shop, draw.trial()))
            for _ in 0..<2 { try? start.record(.app(shop, [draw.addition()])) }
            for _ in 0..<Int.random(in: 0..<5, using: &draw.generator) {
                try? start.record(.app(shop, [draw.command()]))
            }
            // Plans that someone set who may weaken go on.
            for place in try #require(start.state.apps[shop]).plannedPlaces {
                try? start.record(.app(shop, [.rollout(place, .clearPlan)]))
            }
            for sequence in 0..<5 {
                var world = start
                var next: [AppCommand] = []
                let tried = try #require(start.state.apps[shop]).hosts.filter { $0.value.candidate != nil }.map(\.key)
                if !tried.isEmpty, sequence < 2 { next = draw.planned(for: draw.generator.pick(tried)) }
                for _ in 0..<Int.random(in: 1...3, using: &draw.generator) { next.append(draw.command()) }
                let scene = "seed \(seed), app \(app).\(sequence): \(next)"
                for command in next {
                    let before = try world.document
                    do throws(Refusal) {
                        try world.record(.app(shop, [command]), as: World.weak)
                        made += 1
                    } catch {
                        if case .permissionMissing(.weakenProtection, _) = error { refused += 1 }
                    }
                    try Self.check(before, world, scene)
                }
                pauses += try #require(world.state.apps[shop]).pausedPlans
                for _ in 0..<3 {
                    world.now = world.now.adding(seconds: 61)
                    for place in try #require(world.state.apps[shop]).plannedPlaces {
                        let before = try world.document
                        try? world.record(.app(shop, [.rollout(place, .drive)]), as: .system)
                        if try world.document.version != before.version { steps += 1 }
                        try Self.check(before, world, "\(scene), by itself")
                    }
                }
            }
        }
        // The draw reaches what it is about.
        #expect(made > 5_000 && refused > 1_000 && steps > 100 && pauses > 10, "\(made) \(refused) \(steps) \(pauses)")
    }

    /// Records a loss as a failure.
    private static func check(_ before: Document, _ world: World, _ scene: String) throws {
        let losses = Self.losses(from: before, to: try world.document, at: world.now)
        #expect(losses.isEmpty, "\(scene): \(losses.prefix(3))")
    }
}

extension App {
    fileprivate var pausedPlans: Int {
        self.plannedPlaces.count { self.plan(of: $0)?.pause?.cause == .blocked }
    }
}
