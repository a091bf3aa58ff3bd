import Keys
import PinWire
import TransparencyLog

/// The text that tells a reviewer how to verify a report with other programs than this one.
struct AuditReportGuide {
    var since: Timestamp
    var until: Timestamp
    var positions: Range<Int64>
    var key: NoteKey
    var hasPrevious: Bool
    var checkpoint: Checkpoint

    /// Markdown; the test runs its commands.
    var text: String {
        """
        # Changes from \(self.since.rfc3339) to \(self.until.rfc3339)

        | File | Content |
        |---|---|
        | `events.ndjson` | the events of the period, \(self.span), one in a line, each byte as it was recorded and hashed |
        | `log/` | the signed checkpoint of \(self.checkpoint.size) events, and the part of the transparency log (C2SP tlog-tiles) that proves the events |
        | `documents/` | what the server says of each app's document at the end of the period. The log does not prove it: compare the SHA-256 with the `content_sha256` of a signed document that a client has |
        | `report.json` | the period, the log's keys, and the proofs that the log goes on from the period's ends |
        | `checkpoint.text`, `checkpoint.signature`, `log-key.pem` | the checkpoint's parts, for OpenSSL |\(self.hasPrevious ? "\n| `previous-checkpoint` | the checkpoint that this log continues |" : "")
        | `SHA256SUMS` | the digests of all files |

        You need the log's key by a way that does not lead through the people who gave you this directory. Compare:

            \(self.key.text)

        ## Verify it

        Nothing was altered on the way:

        ```sh
        sha256sum --check --quiet SHA256SUMS
        ```

        The log's key signed the checkpoint:

        ```sh
        openssl pkeyutl -verify -pubin -inkey log-key.pem -rawin -in checkpoint.text -sigfile checkpoint.signature
        ```

        \(self.hasPrevious ? "Put the checkpoint that you kept in the place of `previous-checkpoint`, or compare the two byte by byte.\n\n" : "")Each event is in the log, at its position, and lies in the period; those before and behind them do not\(self.hasPrevious ? "; the log continues the earlier checkpoint" : "") (Python with `tlog-scales` from PyPI):

        ```python
        import json
        from datetime import datetime
        from pathlib import Path
        from tlog_scales import signing, tiles
        from tlog_scales.backend import LocalBackend
        from tlog_scales.reader import TilesReader

        key = signing.Vkey.from_string("\(self.key.text)")
        log = TilesReader(LocalBackend(Path("log")))
        checkpoint = log.get_checkpoint()
        checkpoint.verify(key)

        def moment(text):
            return datetime.fromisoformat(text.replace("Z", "+00:00"))

        def proven(position):
            entry = log.get_entry(position)
            log.get_inclusion_proof(position, checkpoint.size).check(tiles.leaf_hash(entry), checkpoint.root_hash)
            assert json.loads(entry)["position"] == position
            return entry, moment(json.loads(entry)["time"])

        since, until = moment("\(self.since.rfc3339)"), moment("\(self.until.rfc3339)")
        first, end = \(self.positions.lowerBound), \(self.positions.upperBound)
        events = Path("events.ndjson").read_bytes().splitlines()
        assert len(events) == end - first
        for position in range(first, end):
            entry, time = proven(position)
            assert entry == events[position - first] and since <= time < until
        assert first == 0 or proven(first - 1)[1] < since
        assert end == checkpoint.size or until <= proven(end)[1]
        \(self.hasPrevious ? Self.continuation : "")print(f"{len(events)} events are in the log of {checkpoint.size}")
        ```

        Where the log ends with the period, only the age of the checkpoint says that no event came after.

        """
    }

    private var span: String {
        self.positions.isEmpty
            ? "none" : "positions \(self.positions.lowerBound) to \(self.positions.upperBound - 1)"
    }

    private static let continuation = """
        previous = type(checkpoint).from_text(Path("previous-checkpoint").read_text())
        previous.verify(key)
        log.get_consistency_proof(previous.size, checkpoint.size).check(previous.root_hash, checkpoint.root_hash)

        """
}
