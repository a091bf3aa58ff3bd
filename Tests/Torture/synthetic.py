"""Many events in a short time: made here, appended by the ledger's own function, as valid as those of the server."""

import json
from datetime import timedelta, timezone

import batch_mac

import tree
from ledger import ACCOUNT, Ledger

BATCH = 2000
_ACTOR = {"id": "synthetic", "kind": "system", "name": "Synthetic"}


def extend(ledger: Ledger, streams: list[str], count: int) -> None:
    """Appends `count` events: the apps of the streams (which exist) are renamed by turns."""
    with ledger.cluster.connect(ledger.name, ACCOUNT) as connection:
        position, encoded, last = connection.execute(
            "SELECT next_position, frontier, last_time FROM pinledger.head"
        ).fetchone()
        versions = dict(
            connection.execute("SELECT name, version FROM pinledger.stream WHERE name = ANY (%s)", [streams]).fetchall()
        )
        frontier = tree.Frontier.decode(position, encoded)
        moment = last
        end = position + count
        while position < end:
            moment = max(moment + timedelta(microseconds=1), last)
            time = (moment.astimezone(timezone.utc)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            events, nodes = [], []
            before = dict(versions)
            old = frontier.encoded
            for number in range(position, min(position + BATCH, end)):
                stream = streams[number % len(streams)]
                versions[stream] += 1
                # Canonical JSON: sorted names, no spaces.
                entry = json.dumps(
                    {
                        "actor": _ACTOR, "data": {"display_name": f"Name {number}"}, "position": number, "schema": 1,
                        "stream": stream, "stream_version": versions[stream], "time": time, "type": "AppRenamed",
                    },
                    sort_keys=True, separators=(",", ":"),
                ).encode()  # fmt: skip
                events.append((stream, versions[stream], entry))
                nodes += frontier.append(tree.leaf_hash(entry))
            touched = [stream for stream in versions if versions[stream] != before[stream]]
            outcome = connection.execute(
                """
                SELECT outcome FROM pinledger.append(
                    %s, %s, %s, %s, %s::text[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::bytea[],
                    %s::smallint[], %s::bigint[], %s::bytea[], %s::text[], %s::bigint[], %s::bigint[], %s::bigint[],
                    '{}', '{}', '{}', '{}', '{}', true, %s)
                """,
                [
                    position, old, frontier.encoded, moment,
                    [e[0] for e in events], [e[1] for e in events], ["AppRenamed"] * len(events),
                    ["system"] * len(events), ["synthetic"] * len(events), [e[2] for e in events],
                    [n[0] for n in nodes], [n[1] for n in nodes], [n[2] for n in nodes],
                    touched, [before[s] for s in touched], [versions[s] for s in touched],
                    [position + max(i for i, e in enumerate(events) if e[0] == s) for s in touched],
                    batch_mac.of(ledger.kek, position + len(events), moment, frontier.root),
                ],
            ).fetchone()[0]  # fmt: skip
            if outcome != "appended":
                raise RuntimeError(f"the batch at {position} was not appended but {outcome}")
            position += len(events)
