"""OkHttp 3 as Debian packages it (libokhttp-java), in a small program of its own."""

import subprocess
from pathlib import Path

LIBRARIES = ":".join(f"/usr/share/java/{name}.jar" for name in ("okhttp", "okio"))
SOURCE = Path(__file__).parent / "data/okhttp/Pinned.java"


class OkHttp:
    """The program, compiled into a directory."""

    def __init__(self, directory: Path):
        self.classes = directory
        subprocess.run(["javac", "-cp", LIBRARIES, "-d", str(directory), str(SOURCE)], check=True, capture_output=True, timeout=300)

    def connects(self, host: str, port: int, trusted: Path, pins: list[tuple[str, str]]) -> bool:
        """Whether a client with these patterns and pins, which trusts these certificates, gets its answer; whatever it
        fails at must be its pinner."""
        done = subprocess.run(
            ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{self.classes}:{LIBRARIES}", "Pinned", host, str(port), str(trusted)]
            + [text for pair in pins for text in pair],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        if done.stdout == "200\n":
            return True
        assert done.stdout.startswith("Certificate pinning failure!"), done.stdout
        return False
