import Keys
import TransparencyLog

/// The text that tells a reviewer how to verify a report with other programs than this one.
struct AuditReportGuide {
    var since: String
    var until: String
    var positions: Range<Int64>
    var key: NoteKey
    var hasPrevious: Bool
    var checkpoint: Checkpoint

    /// Markdown; the test runs its commands.
    var text: String {
        """
        # Changes from \(self.since) to \(self.until)

        | File | Content |
        |---|---|
        | `events.ndjson` | the events of the period, positions \(self.positions.lowerBound) to \(self.positions.upperBound - 1), one in a line, each byte as it was recorded and hashed |
        | `log/` | the signed checkpoint of \(self.checkpoint.size) events, and the part of the transparency log (C2SP tlog-tiles) that proves the events |
        | `documents/` | each app's document at the end of the period; its SHA-256 is the `content_sha256` of what clients were served |
        | `report.json` | the period, the log's keys, and the proofs that the log goes on from the period's ends |
        | `checkpoint.text`, `checkpoint.signature`, `log-key.pem` | the checkpoint's parts, for OpenSSL |\(self.hasPrevious ? "\n| `previous-checkpoint` | the checkpoint that this log continues |" : "")
        | `SHA256SUMS` | the digests of all files |

        You need the log's key by a way that does not lead through whoever gave you this directory. Compare:

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

        Each event is in the log, at its position, and none of the period is missing\(self.hasPrevious ? "; the log continues the earlier checkpoint" : "") (Python with `tlog-scales` from PyPI):

        ```python
        import json
        from pathlib import Path
        from tlog_scales import signing, tiles
        from tlog_scales.backend import LocalBackend
        from tlog_scales.reader import TilesReader

        log = TilesReader(LocalBackend(Path("log")))
        checkpoint = log.get_checkpoint()
        checkpoint.verify(signing.Vkey.from_string("\(self.key.text)"))
        events = Path("events.ndjson").read_bytes().splitlines()
        assert [json.loads(event)["position"] for event in events] == list(range(\(self.positions.lowerBound), \(self.positions.upperBound)))
        for event in events:
            proof = log.get_inclusion_proof(json.loads(event)["position"], checkpoint.size)
            proof.check(tiles.leaf_hash(event), checkpoint.root_hash)
        \(self.hasPrevious ? Self.continuation : "")print(f"{len(events)} events are in the log of {checkpoint.size}")
        ```

        """
    }

    private static let continuation = """
        origin, size, root = Path("previous-checkpoint").read_text().splitlines()[:3]
        import base64
        log.get_consistency_proof(int(size), checkpoint.size).check(base64.b64decode(root), checkpoint.root_hash)

        """
}
