import ArgumentParser
import Keys

/// What to believe of a log, for commands that verify.
struct LogTrustOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A key of the log (C2SP vkey). Repeat it for several.", valueName: "vkey"))
    var key: [String] = []
    @Option(help: ArgumentHelp("A key of a witness (C2SP vkey). Repeat it for several.", valueName: "vkey"))
    var witness: [String] = []
    @Option(help: ArgumentHelp("How many of the witnesses have to have cosigned.", valueName: "count"))
    var quorum = 0

    func trust() throws -> LogTrust {
        func parsed(_ text: String) throws -> NoteKey {
            guard let key = NoteKey(text: text) else {
                throw CommandFailure(
                    "\(text) is not a vkey", advice: "`pinledger log show` prints the log's.", status: .usage)
            }
            return key
        }
        guard !self.key.isEmpty else {
            throw CommandFailure(
                "no key of the log is given", advice: "Give --key; `pinledger log show` prints the log's.",
                status: .usage)
        }
        let (keys, witnesses) = (try self.key.map(parsed), try self.witness.map(parsed))
        guard let trust = LogTrust(log: keys, witnesses: witnesses, quorum: self.quorum) else {
            throw CommandFailure(
                "these keys do not make a log and its witnesses",
                advice:
                    "Give --key once or more, all of one log, and at least as many different witnesses as --quorum.",
                status: .usage)
        }
        return trust
    }
}
