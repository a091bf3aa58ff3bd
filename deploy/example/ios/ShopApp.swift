import PinledgerClient
import SwiftUI

/// An app that shows what a pinned server answers, and what the device's document says of it.
@main
struct ShopApp: App {
    var body: some Scene {
        WindowGroup { ShopView() }
    }
}

struct ShopView: View {
    @Environment(\.scenePhase) private var scenePhase
    @State private var shop: Shop?
    @State private var items = "Not asked yet."
    @State private var diagnostics = ""

    var body: some View {
        VStack {
            Text(self.items)
            Button("Ask the server") {
                Task {
                    self.items = await self.shop?.items() ?? "The app is not ready."
                    self.diagnostics = await self.shop?.diagnostics() ?? ""
                }
            }
            // For support: what holds and which rule decided, without any id.
            Text(self.diagnostics)
        }
        .task {
            while !Task.isCancelled {
                do {
                    let shop = try await Shop()
                    self.shop = shop
                    return await shop.run()
                } catch {
                    // A mistake of the build, or a device that was not unlocked yet: no connection is made without pins.
                    self.items = "\(error)"
                    try? await Task.sleep(for: .seconds(5))
                }
            }
        }
        .onChange(of: self.scenePhase) { _, phase in
            let shop = self.shop
            Task {
                switch phase {
                case .active: await shop?.becameActive()
                case .background: await shop?.wentToBackground()
                default: break
                }
            }
        }
    }
}
