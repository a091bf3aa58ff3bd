import Foundation
import PackagePlugin

/// Makes the source file that declares `Migration.all` from the files of `db/migrations`, so that one program file can
/// migrate a database and no list repeats the files' names.
@main struct EmbedMigrations: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let script = context.package.directoryURL.appending(path: "db/embed")
        let directory = context.package.directoryURL.appending(path: "db/migrations")
        let files = try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
        let output = context.pluginWorkDirectoryURL.appending(path: "Migrations.swift")
        return [
            .buildCommand(
                displayName: "Embedding db/migrations", executable: URL(filePath: "/bin/sh"),
                arguments: [script.path(percentEncoded: false), directory.path(percentEncoded: false)]
                    + [output.path(percentEncoded: false)],
                // The directory too: it changes when a file is added.
                inputFiles: [script, directory] + files.sorted { $0.path < $1.path }, outputFiles: [output]
            )
        ]
    }
}
