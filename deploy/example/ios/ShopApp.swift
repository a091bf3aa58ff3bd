import PinledgerClient
import SwiftUI

/// An app that shows what a pinned server answers, and what the device's document says of it.
@main
struct ShopApp: App {
    @State private var shop = Shop()

    var body: some Scene {
        WindowGroup {
            ShopView(shop: self.shop)
                .task { await self.shop.run() }
        }
    }
}

struct ShopView: View {
    let shop: Shop
    @State private var items = "Not asked yet."
    @State private var explanation = ""

    var body: some View {
        VStack {
            Text(self.items)
            Button("Ask the server") {
                Task {
                    self.items = await self.shop.items()
                    self.explanation = self.shop.explanation
                }
            }
            // For support: which rule decided, without any id.
            Text(self.explanation)
        }
    }
}
