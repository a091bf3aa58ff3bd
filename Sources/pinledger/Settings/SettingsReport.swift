import ArgumentParser
import PinWire

/// How settings are shown.
struct SettingsReport: ParsableArguments {
    @Flag(help: "Only what is given, without the defaults.") var given = false
    @Option(help: "Form of the output.") var output = OutputForm.table

    func print(_ settings: [EffectiveSetting]) {
        let shown = settings.filter { !self.given || $0.source != .standard }
        guard self.output.isTable else { return Console.print(JSON.array(shown.map(\.json)), self.output) }
        var table = Table(["SETTING", "VALUE", "SOURCE", "RELOADED"])
        for setting in shown {
            table.add([
                setting.setting.rawValue, setting.values.isEmpty ? "-" : setting.shown, setting.source.text,
                setting.setting.isReloaded ? "yes" : "no",
            ])
        }
        Console.print(table)
    }
}
