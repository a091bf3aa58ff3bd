/// What the server shows of itself, as UTF-8: texts that are part of the program file.
///
/// A module of its own because its bytes take the compiler minutes, and change less often than the code that shows them.
package enum Handbook {
    /// The contract: OpenAPI 3.1 in YAML.
    package static var contract: [UInt8] { PackageResources.openapi_yaml }

    /// The guard rails' pages, in Markdown.
    package static var guardRails: [UInt8] { PackageResources.guard_rails_md }
}
