"""Requests of nodes that remember nothing, as a login of the database sees and answers them."""

import contextlib
import threading

import psycopg
from pinledger import eventually


@contextlib.contextmanager
def answering(connection_string: str, answer):
    """Answers each challenge in a database, as a login of a node may, with what `answer` makes of it: gives the answers."""
    stop, answered = threading.Event(), []

    def work() -> None:
        with psycopg.connect(connection_string, autocommit=True) as connection:
            while not stop.is_set():
                for (challenge,) in connection.execute(
                    "SELECT challenge FROM pinledger.vouch_request WHERE answer IS NULL"
                ).fetchall():
                    if (made := answer(challenge)) is not None:
                        connection.execute("SELECT pinledger.answer_vouch(%s, %s)", [challenge, made])
                        answered.append(made)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield answered
    finally:
        stop.set()
        thread.join()


def asked(connection_string: str, challenge: bytes) -> bytes:
    """The answer of the nodes of a database to a challenge."""
    with psycopg.connect(connection_string, autocommit=True) as connection:
        connection.execute("SELECT pinledger.ask_to_vouch(%s)", [challenge])
        query = "SELECT answer FROM pinledger.vouch_request WHERE challenge = %s"
        eventually(lambda: connection.execute(query, [challenge]).fetchone()[0], "the answer")
        return connection.execute(query, [challenge]).fetchone()[0]
