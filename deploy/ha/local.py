"""The cluster of three machines on one, on loopback: for a try, and for tests. Called by `start` and `stop`."""

import argparse
import configparser
import contextlib
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
BACKUP = HERE.parent / "backup"
PROGRAMS = {"patroni": "patroni", "etcd": "etcd-server", "haproxy": "haproxy", "pgbackrest": "pgbackrest"}
PORTS = ("postgres_port", "rest_port", "etcd_client_port", "etcd_peer_port")
#: Below the ports that the system gives to outgoing connections.
FIRST_PORT, LAST_PORT = 20_000, 32_000
#: The role and the database of the nodes.
ROLE = DATABASE = "pinledger"


# MARK: Settings

def read(directory: Path) -> configparser.ConfigParser:
    config = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation())
    with (directory / "cluster.ini").open() as file:
        config.read_file(file)
    return config


def machines(config: configparser.ConfigParser) -> list[str]:
    return [section for section in config.sections() if section not in ("cluster", "pgbackrest")]


def find(program: str) -> str | None:
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def find_binaries() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    return found[-1].parent if found else None


def missing_packages() -> list[str]:
    missing = [package for program, package in PROGRAMS.items() if find(program) is None]
    return missing + ([] if find_binaries() else ["postgresql"])


def free_ports(count: int) -> list[int]:
    found: list[int] = []
    for port in range(FIRST_PORT + secrets.randbelow(100) * 100, LAST_PORT):
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise SystemExit("no free ports")


def prepare(directory: Path) -> None:
    """Writes cluster.ini of a cluster on loopback: the example's, but for hosts, ports, directories and passwords."""
    config = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation())
    config.read(HERE / "cluster.ini")
    binaries = find_binaries()
    assert binaries is not None
    cluster = config["cluster"]
    for name in ("superuser", "replication", "rewind", "rest"):
        cluster[f"{name}_password"] = secrets.token_urlsafe(18)
    # No certificates, and no device that resets the machine.
    cluster.update({
        "network": "127.0.0.1/32", "host_kind": "host", "ssl": "off", "ssl_cert_file": "", "ssl_key_file": "",
        "watchdog": "off", "role_password": secrets.token_urlsafe(18),
    })  # fmt: skip
    config["pgbackrest"].update({
        "repo1-cipher-pass": secrets.token_urlsafe(36), "repo1-path": str(directory / "repository"),
    })  # fmt: skip
    names = machines(config)
    ports = iter(free_ports(len(PORTS) * len(names) + 2))
    for machine in names:
        home = directory / machine
        config[machine].update({name: str(next(ports)) for name in PORTS} | {
            "host": "127.0.0.1", "binaries": str(binaries), "data_directory": str(home / "data"),
            "etcd_directory": str(home / "etcd"), "socket_directory": str(home),
            "password_file": str(home / "pgpass"), "pgbackrest_directory": str(home / "pgbackrest"),
            "account": account_name(),
        })  # fmt: skip
    cluster.update({"haproxy_primary_port": str(next(ports)), "haproxy_standby_port": str(next(ports))})
    path = directory / "cluster.ini"
    path.touch(mode=0o600)
    with path.open("w") as file:
        config.write(file)
    own(path)


# MARK: Processes

def processes_of(directory: Path) -> dict[int, str]:
    """Every process that works below a directory, with its command line: each machine has a directory of its own."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            where = Path(os.readlink(entry / "cwd"))
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z" and (where == directory or directory in where.parents):
            found[int(entry.name)] = command
    return found


def account() -> dict:
    """What runs the programs: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam(os.environ.get("PINLEDGER_TEST_PGUSER", "postgres"))
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def account_name() -> str:
    return pwd.getpwuid(account().get("user", os.geteuid())).pw_name


def own(path: Path) -> None:
    if given := account():
        os.chown(path, given["user"], given["group"])


def spawn(directory: Path, name: str, arguments: list[str]) -> None:
    """Starts a program of a machine, unless it runs."""
    program = find(arguments[0])
    assert program is not None
    if any(f" {' '.join(arguments[1:])}" in command for command in processes_of(directory).values()):
        return
    with (directory / f"{name}.log").open("ab") as log:
        subprocess.Popen(
            [program, *arguments[1:]], cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env=environment_of(directory), start_new_session=True, **account(),
        )  # fmt: skip


def environment_of(home: Path) -> dict[str, str]:
    """What a machine's programs get: nothing that leads to another cluster, or to another repository."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PATRONI_", "ETCD_", "PG"))}
    return inherited | pgbackrest_environment(home) | {"HOME": str(home)}


def pgbackrest_environment(home: Path) -> dict[str, str]:
    """Where pgBackRest of a machine finds what it has in /etc, /run and /var on a machine of its own."""
    place = home / "pgbackrest"
    return {
        "PGBACKREST_CONFIG_PATH": str(place), "PGBACKREST_LOCK_PATH": str(place / "lock"), "PGBACKREST_LOG_LEVEL_FILE": "off",
    }  # fmt: skip


def install(directory: Path, machine: str) -> None:
    """Writes a machine's configuration, and gives it to what runs the programs."""
    home = directory / machine
    place = home / "pgbackrest"
    place.mkdir(exist_ok=True, mode=0o755, parents=True)
    subprocess.run([HERE / "render", directory / "cluster.ini", machine, home], check=True)
    # It holds the passphrase.
    (place / "pgbackrest.conf").touch(mode=0o600)
    shutil.copy(home / "pgbackrest.conf", place)
    for script in (*BACKUP.iterdir(), HERE / "make-standby", HERE / "restore-cluster"):
        if os.access(script, os.X_OK):
            shutil.copy(script, place)
    for path in (home, place, *home.glob("*.yml"), *home.glob("*.cfg"), *home.glob("*.conf"), *place.iterdir()):
        own(path)


def start_patroni(directory: Path, machine: str) -> None:
    home = directory / machine
    spawn(home, "patroni", ["patroni", str(home / "patroni.yml")])


def start_programs(directory: Path, names: list[str] | None = None, place=contextlib.nullcontext) -> None:
    """Those of all machines, or of some, that do not run. `place`: a context in which a machine's programs are started."""
    config = read(directory)
    names = names or machines(config)
    repository = directory / "repository"
    repository.mkdir(exist_ok=True, mode=0o750)
    own(repository)
    for machine in names:
        home = directory / machine
        install(directory, machine)
        with place(machine):
            spawn(home, "etcd", ["etcd", "--config-file", str(home / "etcd.yml")])
    for machine in names:
        with place(machine):
            start_patroni(directory, machine)
    # One is enough on one machine. It works outside the three.
    home = directory / "haproxy"
    home.mkdir(exist_ok=True, mode=0o755)
    own(home)
    shutil.copy2(directory / names[0] / "haproxy.cfg", home / "haproxy.cfg")
    own(home / "haproxy.cfg")
    spawn(home, "haproxy", ["haproxy", "-db", "-f", str(home / "haproxy.cfg")])


def state(config: configparser.ConfigParser) -> dict[str, str]:
    """What each machine's Patroni says that it is: primary, synchronous, replica; not there where it says nothing."""
    found = {}
    for machine in machines(config):
        address = f"{config[machine]['host']}:{config[machine]['rest_port']}"
        for role in ("primary", "synchronous", "replica"):
            try:
                with urllib.request.urlopen(f"http://{address}/{role}", timeout=2):
                    found[machine] = role
                    break
            except OSError:
                continue
    return found


def followers(config: configparser.ConfigParser, primary: str) -> int:
    """How many machines stream from the primary. One that was primary itself is a replica before it follows anyone."""
    address = f"{config[primary]['host']}:{config[primary]['rest_port']}"
    try:
        with urllib.request.urlopen(f"http://{address}/patroni", timeout=2) as answer:
            return sum(one.get("state") == "streaming" for one in json.load(answer).get("replication", []))
    except (OSError, ValueError):
        return 0


def wait_until_whole(directory: Path, seconds: float) -> None:
    config = read(directory)
    wanted = ["primary", "replica", "synchronous"]
    if not config["cluster"].getboolean("synchronous_mode"):
        wanted = ["primary", "replica", "replica"]
    deadline = time.monotonic() + seconds
    while True:
        found = state(config)
        primary = next((machine for machine, role in found.items() if role == "primary"), None)
        if sorted(found.values()) == wanted and primary and followers(config, primary) == len(wanted) - 1:
            return
        if time.monotonic() > deadline:
            raise SystemExit(f"the cluster is not whole after {seconds:.0f} s: {found}; see {directory}/*/*.log")
        time.sleep(0.5)


# MARK: Connections

def conninfo(directory: Path, database: str = DATABASE, user: str = ROLE, *, through: str = "connect") -> str:
    """For libpq: every member (`connect`: where others reach it, `listen`: where it listens), or haproxy's `primary`."""
    config = read(directory)
    cluster = config["cluster"]
    if through == "primary":
        addresses = [("127.0.0.1", cluster["haproxy_primary_port"])]
    elif through == "listen":
        addresses = [(config[each]["host"], config[each]["postgres_port"]) for each in machines(config)]
    else:
        addresses = [tuple(config[each]["postgres_connect"].rsplit(":", 1)) for each in machines(config)]
    hosts, ports = (",".join(each) for each in zip(*addresses, strict=True))
    password = cluster["superuser_password" if user == "postgres" else "role_password"]
    return f"host={hosts} port={ports} dbname={database} user={user} password={password} connect_timeout=5"


def psql(directory: Path, statement: str) -> str:
    """As superuser on the primary."""
    binaries = read(directory)[machines(read(directory))[0]]["binaries"]
    target = conninfo(directory, "postgres", "postgres") + " target_session_attrs=read-write"
    arguments = [f"{binaries}/psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", target]
    # The statement holds a password: not as an argument, which everybody on this machine can read.
    done = subprocess.run(arguments, input=statement, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise SystemExit(f"psql: {done.stderr}")
    return done.stdout.strip()


def make_database(directory: Path) -> None:
    if psql(directory, f"SELECT 1 FROM pg_database WHERE datname = '{DATABASE}'"):
        return
    password = read(directory)["cluster"]["role_password"]
    psql(directory, f"CREATE ROLE {ROLE} LOGIN PASSWORD '{password}';\nCREATE DATABASE {DATABASE};")


def make_repository(directory: Path) -> None:
    """The stanza, without which nothing can be archived."""
    config = read(directory)
    primary = next(machine for machine, role in state(config).items() if role == "primary")
    done = subprocess.run(
        ["pgbackrest", "--stanza=pinledger", "stanza-create"], cwd=directory / primary, capture_output=True, text=True,
        env=environment_of(directory / primary), timeout=120, **account(),
    )  # fmt: skip
    if done.returncode != 0:
        raise SystemExit(f"pgbackrest: {done.stdout}{done.stderr}")


# MARK: Commands

def start(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="deploy/ha/start",
        description="Starts three machines' PostgreSQL, Patroni and etcd, and haproxy, on loopback. As root, they run as"
        " the account postgres. Ctrl-C stops them; a directory that this command made goes with them.",
    )
    parser.add_argument("directory", nargs="?", type=Path, help="of the cluster: new, or of one that was stopped")
    parser.add_argument("--detach", action="store_true", help="return once it is whole; deploy/ha/stop ends it")
    parser.add_argument("--prepare", action="store_true", help="only write DIRECTORY/cluster.ini, to be changed")
    parser.add_argument("--seconds", type=float, default=180, help="how long to wait for the cluster (%(default)s)")
    options = parser.parse_args(arguments)
    if missing := missing_packages():
        print(
            f"these are missing: apt-get install --no-install-recommends {' '.join(missing)}\n"
            "The packages start daemons of their own; stop and disable etcd, patroni and haproxy: this does not use them.",
            file=sys.stderr,
        )
        return 69
    is_own = options.directory is None
    # A socket's path has at most 107 bytes.
    directory = Path(tempfile.mkdtemp(prefix="pinledger-ha-")) if is_own else options.directory.absolute()
    directory.mkdir(exist_ok=True)
    directory.chmod(0o755)
    own(directory)
    if not (directory / "cluster.ini").exists():
        prepare(directory)
    if options.prepare:
        print(directory / "cluster.ini")
        return 0
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    try:
        start_programs(directory)
        wait_until_whole(directory, options.seconds)
        make_database(directory)
        make_repository(directory)
        describe(directory)
        if options.detach:
            return 0
        print("Ctrl-C stops it.", flush=True)
        while True:
            signal.pause()
    except KeyboardInterrupt:
        end(directory, removes=is_own)
        return 130
    except BaseException:
        if not options.detach:
            end(directory, removes=False)
        raise


def describe(directory: Path) -> None:
    first = directory / machines(read(directory))[0] / "patroni.yml"
    print(
        f"""The cluster is whole: {json.dumps(state(read(directory)))}

--database for nodes, with every member:
  {conninfo(directory)}
or through haproxy:
  {conninfo(directory, through="primary")}
The superuser, for `pinledger migrate --grant-to {ROLE}`:
  {conninfo(directory, user="postgres")}

Look:         patronictl -c {first} list
Switch over:  patronictl -c {first} switchover
Back up:      {" ".join(f"{name}={value}" for name, value in pgbackrest_environment(first.parent).items())} \\
              pgbackrest --stanza=pinledger backup   (as {account_name()}, and of the primary's machine)
Stop:         {HERE}/stop {directory}""",
        flush=True,
    )


def end(directory: Path, *, removes: bool) -> None:
    """haproxy first, then Patroni with PostgreSQL, then etcd; what is left after that is killed."""
    for program, seconds in (("haproxy", 5), ("patroni", 30), ("etcd", 10)):
        end_program(directory, program, seconds)
    kill(directory)
    if removes:
        shutil.rmtree(directory, ignore_errors=True)


def end_program(directory: Path, program: str, seconds: float) -> None:
    """SIGTERM to a program of every machine, or of one: Patroni ends its PostgreSQL first."""

    def left() -> list[int]:
        found = processes_of(directory).items()
        return [process for process, command in found if f"/{program}" in command.split(".yml")[0]]

    for process in left():
        signal_process(process, signal.SIGTERM)
        signal_process(process, signal.SIGCONT)
    deadline = time.monotonic() + seconds
    while left() and time.monotonic() < deadline:
        time.sleep(0.1)


def kill(directory: Path) -> None:
    """SIGKILL to everything."""
    while found := processes_of(directory):
        for process in found:
            signal_process(process, signal.SIGKILL)
        time.sleep(0.05)


def signal_process(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


def stop(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="deploy/ha/stop", description="Stops what deploy/ha/start --detach started.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--remove", action="store_true", help="remove the directory as well")
    options = parser.parse_args(arguments)
    directory = options.directory.absolute()
    if not (directory / "cluster.ini").exists():
        print(f"there is no cluster in {directory}", file=sys.stderr)
        return 66
    end(directory, removes=options.remove)
    return 0


if __name__ == "__main__":
    sys.exit({"start": start, "stop": stop}[sys.argv[1]](sys.argv[2:]))
