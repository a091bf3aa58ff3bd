"""Specs of apps for tests: random ones, and what documents say without what differs from server to server."""

import random

from pinledger import API, from_now, pin_of

KINDS = ["android_nsc", "okhttp", "trustkit_ios", "netkit", "remote_config"]
RAILS = ["G13", "G26", "G34"]
COUNTRIES = ["DE", "FR", "AT", "JP"]


def content(api: API, app: str) -> dict:
    """What an app's document says, but for its version and times."""
    payload = api.payload(app)
    return {name: value for name, value in payload.items() if name not in ("version", "iat", "exp", "content_sha256")}


class RandomSpecs:
    """Draws specs; the same seed draws the same ones."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def once_in(self, count: int) -> bool:
        return self.random.randrange(count) == 0

    def pins(self, least: int) -> list[dict]:
        pins = []
        for number in self.random.sample(range(12), self.random.randrange(least, 6)):
            pin = {"pin": pin_of(f"key {number}"), "role": "backup" if len(pins) else "primary"}
            if len(pins) > 2 and self.once_in(2):
                pin["state"] = "staged"
            if self.once_in(3):
                pin["note"] = self.random.choice(["HSM 2", "off", "Ä \"b\"\\: #c", "null", "5", "two\nlines"][:5])
            pins.append(pin)
        return pins

    def policy(self) -> dict:
        mode = self.random.choice(["enforce", "report_only", "off"])
        return {"mode": mode, "pins": self.pins(2 if mode == "enforce" else 0)}

    def rollout(self) -> dict:
        rollout: dict = {"basis_points": self.random.randrange(10_001), "sticky": self.once_in(2)}
        if self.once_in(2):
            rollout["salt"] = self.random.choice(["s", "sälzig", "2026-11"])
        if self.once_in(3):
            rollout |= {"method": "geography", "countries": self.random.sample(COUNTRIES, 2)}
        if self.once_in(3):
            rollout["seed"] = self.random.sample(["device_id", "user_id", "install_id"], 2)
        return rollout

    def host(self, name: str) -> dict:
        host: dict = {"host": name, "include_subdomains": self.once_in(3) and not name.startswith("*")}
        if self.once_in(4):
            host["baseline"] = {"source": "builtin"}
        else:
            host["baseline"] = {"source": "document"} | self.policy()
        if self.once_in(3):
            host["candidate"] = self.policy()
            if self.once_in(2):
                host["rollout"] = self.rollout()
        if self.once_in(4):
            host["endpoints"] = [f"edge{self.random.randrange(3)}.example.com:8443"]
        return host

    def spec(self) -> dict:
        names = ["api.example.com", "pay.example.com", "*.cdn.example.net", "login.example.org"]
        spec: dict = {"hosts": [self.host(name) for name in self.random.sample(names, self.random.randrange(4))]}
        if self.once_in(2):
            spec["display_name"] = self.random.choice(["Shop", "Läden & Co", "yes", "1.0", "'"])
        if self.once_in(3):
            spec["version_gate"] = self.random.choice(
                [{"minimum": "1.5.0"}, {"minimum": "1.0", "maximum": "3.0", "excluded": ["2.0"]}, {"minimum_build": 7}])
        if self.once_in(3):
            spec["rollout"] = self.rollout()
        if self.once_in(3):
            spec["fallback"] = {"use_builtin_pins": self.once_in(2), "builtin_pin_hosts": ["api.example.com"]}
        if self.once_in(3):
            spec["monitoring"] = {"enabled": True, "failure_threshold_bp": self.random.randrange(1, 5000)}
        if self.once_in(3):
            spec["pins_valid_until"] = from_now(days=self.random.randrange(2, 50))
        if self.once_in(3):
            spec["lowered_guard_rails"] = self.random.sample(RAILS, 2)
        if self.once_in(2):
            spec["clients"] = [{"client": kind} for kind in self.random.sample(KINDS, 2)]
        return spec
