// A stand-in for the little that the example app takes of SwiftUI.
@MainActor public protocol App {
    associatedtype Body: Scene
    init()
    @SceneBuilder var body: Body { get }
}

extension App {
    public static func main() {}
}

@MainActor public protocol Scene {}

@MainActor public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}

extension Never: View {
    public var body: Never { fatalError("a stand-in is only type-checked") }
}

extension View where Body == Never {
    public var body: Never { fatalError("a stand-in is only type-checked") }
}

extension View {
    public func onChange<V: Equatable>(
        of value: V, initial: Bool = false, _ action: @escaping (_ before: V, _ after: V) -> Void
    ) -> some View { self }
    public func task(_ action: @escaping @MainActor @Sendable () async -> Void) -> some View { self }
}

@resultBuilder public enum SceneBuilder {
    public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}

@resultBuilder public enum ViewBuilder {
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView { TupleView() }
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
}

public struct TupleView: View { public typealias Body = Never }

public struct WindowGroup: Scene {
    public init(@ViewBuilder content: () -> some View) {}
}

public struct VStack: View {
    public typealias Body = Never
    public init(@ViewBuilder content: () -> some View) {}
}

public struct Text: View {
    public typealias Body = Never
    public init(_ text: String) {}
}

public struct Button: View {
    public typealias Body = Never
    public init(_ title: String, action: @escaping @MainActor () -> Void) {}
}

public enum ScenePhase: Comparable, Sendable { case background, inactive, active }

public struct EnvironmentValues { public var scenePhase: ScenePhase { .active } }

@propertyWrapper public struct Environment<Value> {
    public var wrappedValue: Value { EnvironmentValues()[keyPath: self.path] }
    private let path: KeyPath<EnvironmentValues, Value>
    public init(_ path: KeyPath<EnvironmentValues, Value>) { self.path = path }
}

@propertyWrapper public struct State<Value> {
    public var wrappedValue: Value {
        get { self.value }
        nonmutating set {}
    }
    private let value: Value
    public init(wrappedValue: Value) { self.value = wrappedValue }
}
