import ArgumentParser
import PinWire

/// The known attributes of a device, for commands that evaluate what it gets.
struct DeviceOptions: ParsableArguments {
    // Ids in base64url may begin with a hyphen.
    @Option(parsing: .unconditional, help: "Id of the device.") var deviceID: String?
    @Option(parsing: .unconditional, help: "Id of the user.") var userID: String?
    @Option(parsing: .unconditional, help: "Id of the installation.") var installID: String?
    @Option(help: "Version of the app.") var appVersion: String?
    @Option(help: "Build number of the app.") var build: Int64?
    @Option(help: "Country of the device: two letters (ISO 3166-1).") var country: String?

    /// The device, as the library evaluates it.
    var device: Device {
        var ids: [Rollout.Seed: String] = [:]
        ids[.deviceID] = self.deviceID
        ids[.userID] = self.userID
        ids[.installID] = self.installID
        return Device(ids: ids, appVersion: self.appVersion, build: self.build, country: self.country)
    }

    /// The attributes in the API's form.
    var json: JSON {
        .members([
            "device_id": self.deviceID.map { .string($0) },
            "user_id": self.userID.map { .string($0) },
            "install_id": self.installID.map { .string($0) },
            "app_version": self.appVersion.map { .string($0) },
            "build": self.build.map { .integer($0) },
            "country": self.country.map { .string($0) },
        ])
    }
}
