"""An authorization server on loopback that publishes its keys, and makes tokens, good and bad ones."""

from __future__ import annotations

import json
import time
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from hikidashi.testing.server import Exchange, LoopbackServer

AUDIENCE = "https://gateway.example/mcp"


def public_jwk(key: Any, key_id: str | None = None, **more: Any) -> dict[str, Any]:
    """The public half of a key, as an issuer publishes it."""
    kind = {rsa.RSAPrivateKey: RSAAlgorithm, ec.EllipticCurvePrivateKey: ECAlgorithm}
    algorithm: Any = next((given for cls, given in kind.items() if isinstance(key, cls)), OKPAlgorithm)
    described = json.loads(algorithm.to_jwk(key.public_key()))
    described.pop("key_ops", None)
    return {**described, **({} if key_id is None else {"kid": key_id}), **more}


RSA_KEY = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
ED_KEY = ed25519.Ed25519PrivateKey.generate()


class Issuer(LoopbackServer):
    """Publishes metadata and keys, and counts who asks."""

    def __init__(self, keys: list[dict[str, Any]] | None = None, *, path: str = "", openid: bool = False) -> None:
        super().__init__()
        self.keys = [public_jwk(RSA_KEY, "one")] if keys is None else keys
        self.path = path
        self.openid = openid
        self.asked: list[str] = []
        self.answer: bytes | None = None
        """What it answers instead of keys."""
        self.metadata: dict[str, Any] = {}
        self.status = 200

    @property
    def issuer(self) -> str:
        return self.url + self.path

    def handle(self, exchange: Exchange) -> None:
        self.asked.append(exchange.path)
        well_known = "/.well-known/oauth-authorization-server" + self.path
        if self.openid:
            well_known = self.path + "/.well-known/openid-configuration"
        if exchange.path == well_known:
            said: Any = {"issuer": self.issuer, "jwks_uri": f"{self.url}/keys", **self.metadata}
        elif exchange.path == "/keys":
            said = {"keys": self.keys}
        else:
            exchange.answer(404, b"", {})
            return
        content = self.answer if self.answer is not None and exchange.path == "/keys" else json.dumps(said).encode()
        exchange.answer(self.status, content, {"content-type": "application/json"})

    def claims(self, **more: Any) -> dict[str, Any]:
        """What a good token says; a claim that is None is left out."""
        now = int(time.time())
        said = {"iss": self.issuer, "aud": AUDIENCE, "sub": "ann", "iat": now, "exp": now + 600, **more}
        return {name: value for name, value in said.items() if value is not None}

    def token(
        self, key: Any = RSA_KEY, *, algorithm: str = "RS256", headers: dict[str, Any] | None = None, **claims: Any
    ) -> str:
        """A token as this issuer signs it."""
        given = {"kid": "one"} if headers is None else headers
        return jwt.encode(self.claims(**claims), key, algorithm, given)
