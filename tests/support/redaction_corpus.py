"""Corpus for `redact(text) -> str`: texts with secrets, and texts that must come back unchanged.

`SECRETS` says for each text which substrings must not survive (`secrets`) and which must (`keeps`).
`INNOCENT` holds what people read while they debug rollouts and a careless pattern would damage. A
new rule gets texts in both, by `_secret` and `_innocent`.

This file holds no key. A text is a template: `<<1>>` stands for its first draw, `<<2>>` for its
second, and so on. A draw makes random key material from a generator that is seeded with the label of
the entry: every run has the same texts, and a new entry changes no other. `_p` joins prefixes that a
secret scanner knows.

The secrets of an entry are, for each draw, the whole value and, if it is long, its consecutive
pieces of 12 characters or more: a redaction may show a few characters at either end of a key, but
may not split it at the first `/`, `+` or `-` and leave the rest. A password with an awkward
character is two draws with that character between them.
"""

import base64
import json
import random
import string
import struct
import zlib
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple


class Secret(NamedTuple):
    """A text with secrets.

    Attributes:
        label: Unique, in snake case.
        text: The whole text.
        secrets: Substrings of which none may survive: the secrets themselves without their names.
        keeps: Substrings that must survive, since people need them: host, message, status code.
    """

    label: str
    text: str
    secrets: tuple[str, ...]
    keeps: tuple[str, ...] = ()


class Innocent(NamedTuple):
    """A text without a secret, which must come back unchanged.

    Attributes:
        label: Unique, in snake case.
        text: The whole text.
    """

    label: str
    text: str


# --------------------------------------------------------------------------------------------------------------------
# Draws
# --------------------------------------------------------------------------------------------------------------------

_Draw = Callable[[random.Random], tuple[str, tuple[str, ...]]]
"""Makes a value and those of its substrings that must not survive."""

_LOWER, _UPPER, _DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
_ALNUM = _LOWER + _UPPER + _DIGITS
_HEX = "0123456789abcdef"
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PIECE = 12


def _p(*parts: str) -> str:
    """Join the parts of a known prefix, so that the whole is nowhere in this file."""
    return "".join(parts)


def _chars(rng: random.Random, alphabet: str, length: int) -> str:
    """Draw text with an alphanumeric at both ends and, if it is long, every class of the alphabet."""
    edge = [c for c in alphabet if c.isalnum()]
    special = "".join(c for c in alphabet if not c.isalnum())
    classes = [c for c in (_LOWER, _UPPER, _DIGITS, special) if set(c) & set(alphabet)]
    while True:
        middle = "".join(rng.choice(alphabet) for _ in range(length - 2))
        drawn = rng.choice(edge) + middle + rng.choice(edge)
        if length < 6 or all(set(c) & set(drawn) for c in classes):
            return drawn


def _pieces(value: str) -> tuple[str, ...]:
    """Return the value and, if it is long, its pieces of at least `_PIECE` characters."""
    count = len(value) // _PIECE
    if count < 2:
        return (value,)
    size = len(value) // count
    cuts = [i * size for i in range(count)] + [len(value)]
    return (value, *(value[a:b] for a, b in pairwise(cuts)))


def _of(alphabet: str, length: int, prefix: str = "", suffix: str = "") -> _Draw:
    def draw(rng: random.Random) -> tuple[str, tuple[str, ...]]:
        body = _chars(rng, alphabet, length)
        return prefix + body + suffix, _pieces(body)

    return draw


def _b62(length: int, prefix: str = "", suffix: str = "") -> _Draw:
    return _of(_ALNUM, length, prefix, suffix)


def _b64(length: int, prefix: str = "", suffix: str = "") -> _Draw:
    return _of(_ALNUM + "+/", length, prefix, suffix)


def _b64url(length: int, prefix: str = "", suffix: str = "") -> _Draw:
    return _of(_ALNUM + "-_", length, prefix, suffix)


def _hex(length: int, prefix: str = "", suffix: str = "") -> _Draw:
    return _of(_HEX, length, prefix, suffix)


def _up36(length: int, prefix: str = "", suffix: str = "") -> _Draw:
    return _of(_UPPER + _DIGITS, length, prefix, suffix)


def _low36(length: int, prefix: str = "", suffix: str = "") -> _Draw:
    return _of(_LOWER + _DIGITS, length, prefix, suffix)


def _b32(length: int) -> _Draw:
    return _of(_UPPER + "234567", length)


def _digits(length: int) -> _Draw:
    return _of("123456789", length)


def _pw(length: int = 11) -> _Draw:
    """Draw a password of letters and digits that is too short to look random."""
    return _of(_ALNUM, length)


def _word(length: int = 10) -> _Draw:
    """Draw a password of lower-case letters, which only its name reveals."""
    return _of(_LOWER, length)


def _joined(*draws: _Draw, sep: str = "") -> _Draw:
    """Draw a key of several parts."""

    def draw(rng: random.Random) -> tuple[str, tuple[str, ...]]:
        drawn = [part(rng) for part in draws]
        return sep.join(value for value, _ in drawn), tuple(
            s for _, secrets in drawn for s in secrets
        )

    return draw


def _plain(draw_secret: _Draw) -> _Draw:
    """Draw a value that is not secret."""

    def draw(rng: random.Random) -> tuple[str, tuple[str, ...]]:
        return draw_secret(rng)[0], ()

    return draw


def _uuid(rng: random.Random) -> tuple[str, tuple[str, ...]]:
    digits = _chars(rng, _HEX, 32)
    digits = digits[:12] + "4" + digits[13:16] + "a" + digits[17:]
    value = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return value, (value,)


def _basic(user: str = "svc-rollout") -> _Draw:
    """Draw the base64 of `user:password`."""

    def draw(rng: random.Random) -> tuple[str, tuple[str, ...]]:
        value = base64.b64encode(f"{user}:{_chars(rng, _ALNUM, 14)}".encode()).decode()
        return value, _pieces(value)

    return draw


def _b64url_json(value: object) -> str:
    return (
        base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode())
        .decode()
        .rstrip("=")
    )


def _jwt(rng: random.Random) -> tuple[str, tuple[str, ...]]:
    """Draw a signed JWT. Its first part is the same for everyone and not secret."""
    header = _b64url_json({"alg": "HS256", "typ": "JWT"})
    payload = _b64url_json(
        {"sub": f"user-{rng.randrange(10**9)}", "iss": "https://idp.example.com", "exp": 1767225600}
    )
    signature = _chars(rng, _ALNUM + "-_", 43)
    return f"{header}.{payload}.{signature}", (payload, *_pieces(signature))


def _jwt_unsigned(rng: random.Random) -> tuple[str, tuple[str, ...]]:
    """Draw a JWT of two parts."""
    payload = _b64url_json(
        {"sub": f"user-{rng.randrange(10**9)}", "email": "bob@example.com", "exp": 1767225600}
    )
    return f"{_b64url_json({'alg': 'none', 'typ': 'JWT'})}.{payload}", _pieces(payload)


def _flask_session(rng: random.Random) -> tuple[str, tuple[str, ...]]:
    """Draw a signed session cookie as Starlette's SessionMiddleware sets it."""
    payload = base64.b64encode(json.dumps({"session_id": _uuid(rng)[0]}).encode()).decode()
    signature = _chars(rng, _ALNUM + "-_", 27)
    return f"{payload}.{_chars(rng, _ALNUM, 6)}.{signature}", (payload, signature)


def _body(lines: int = 4, sep: str = "\n", indent: str = "", last: int = 44) -> _Draw:
    """Draw the lines of a private key block."""

    def draw(rng: random.Random) -> tuple[str, tuple[str, ...]]:
        drawn = [_chars(rng, _ALNUM + "+/", 64) for _ in range(lines - 1)] + [
            _chars(rng, _ALNUM + "+/", last)
        ]
        return (sep + indent).join(drawn), tuple(piece for line in drawn for piece in _pieces(line))

    return draw


def _png(rng: random.Random) -> tuple[str, tuple[str, ...]]:
    """Draw the base64 of a valid PNG image with random pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    rows = b"".join(b"\x00" + rng.randbytes(24) for _ in range(16))
    header = struct.pack(">IIBBBBB", 8, 16, 8, 2, 0, 0, 0)
    data = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
    return base64.b64encode(data).decode(), ()


def _magic(start: bytes, length: int) -> _Draw:
    """Draw the base64 of a file that starts with `start`."""

    def draw(rng: random.Random) -> tuple[str, tuple[str, ...]]:
        return base64.b64encode(start + rng.randbytes(length)).decode(), ()

    return draw


_JPEG = _magic(
    b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xdb\x00C\x00", 600
)
_GIF = _magic(b"GIF89a\x20\x00\x20\x00\xf7\x00\x00", 300)
_WAV = _magic(b"RIFF\x24\x08\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00", 300)
_PDF = _magic(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", 300)


def _filled(label: str, template: str, draws: tuple[_Draw, ...], keeps: tuple[str, ...]) -> Secret:
    """Fill the template and its keeps."""
    rng = random.Random(f"redaction-corpus/{label}")
    secrets: list[str] = []
    for number, draw in enumerate(draws, start=1):
        value, fragments = draw(rng)
        placeholder = f"<<{number}>>"
        if placeholder not in template:
            raise ValueError(f"{label}: the template has no {placeholder}")
        template = template.replace(placeholder, value)
        keeps = tuple(keep.replace(placeholder, value) for keep in keeps)
        secrets.extend(fragments)
    if "<<" in template and ">>" in template.split("<<", 1)[1][:4]:
        raise ValueError(f"{label}: a placeholder has no draw")
    return Secret(label, template, tuple(dict.fromkeys(secrets)), keeps)


def _secret(label: str, template: str, *draws: _Draw, keeps: tuple[str, ...] = ()) -> Secret:
    return _filled(label, template, draws, keeps)


def _innocent(label: str, template: str, *draws: _Draw) -> Innocent:
    return Innocent(label, _filled(label, template, draws, ()).text)


def _nested(value: object, levels: int) -> str:
    """Dump the value as JSON inside a string of JSON, `levels` deep."""
    for level in range(levels):
        value = {"error": {"message": json.dumps(value), "code": 400 + level}}
    return json.dumps(value)


# --------------------------------------------------------------------------------------------------------------------
# Secrets: request headers
# --------------------------------------------------------------------------------------------------------------------

_AUTHORIZATION: tuple[Secret, ...] = (
    _secret("auth_bearer_raw", "Authorization: Bearer <<1>>", _b62(40), keeps=("Authorization",)),
    _secret(
        "auth_bearer_raw_between_headers",
        "Host: judge.internal:8443\nAuthorization: Bearer <<1>>\nContent-Type: application/json\n\n{}",
        _b64url(43),
        keeps=("Host: judge.internal:8443", "Content-Type: application/json"),
    ),
    _secret(
        "auth_bearer_crlf_between_headers",
        "POST /verify HTTP/1.1\r\nauthorization: bearer <<1>>\r\naccept: */*\r\n\r\n",
        _pw(16),
        keeps=("POST /verify HTTP/1.1", "accept: */*"),
    ),
    _secret(
        "auth_bearer_upper_case",
        "AUTHORIZATION: BEARER <<1>>\nHOST: a.example.com",
        _b62(24),
        keeps=("a.example.com",),
    ),
    _secret(
        "auth_bearer_no_space", "Authorization:Bearer <<1>>", _b62(24), keeps=("Authorization",)
    ),
    _secret(
        "auth_bearer_two_spaces",
        "Authorization:  Bearer  <<1>>",
        _b62(24),
        keeps=("Authorization",),
    ),
    _secret("auth_bearer_base64_padding", "Authorization: Bearer <<1>>", _b64(42, suffix="==")),
    _secret(
        "auth_bearer_ends_in_dash",
        "Authorization: Bearer <<1>>-_\nAccept: */*",
        _b64url(30),
        keeps=("Accept: */*",),
    ),
    _secret(
        "auth_bearer_tilde_and_dots",
        "Authorization: Bearer <<1>>~<<2>>.<<3>>",
        _pw(9),
        _pw(9),
        _pw(9),
    ),
    _secret("auth_bearer_uuid", "Authorization: Bearer <<1>>", _uuid),
    _secret("auth_bearer_hex", "Authorization: Bearer <<1>>", _hex(40)),
    _secret(
        "auth_bearer_jwt", "Authorization: Bearer <<1>>\nAccept: */*", _jwt, keeps=("Accept: */*",)
    ),
    _secret(
        "auth_basic_raw",
        "Authorization: Basic <<1>>\nAccept: */*",
        _basic(),
        keeps=("Accept: */*",),
    ),
    _secret("auth_basic_short", "authorization: basic <<1>>", _basic("a")),
    _secret(
        "auth_raw_key_without_scheme",
        "Authorization: <<1>>\nAccept: */*",
        _b62(20),
        keeps=("Accept: */*",),
    ),
    _secret("auth_token_scheme", "Authorization: Token <<1>>", _hex(40)),
    _secret("auth_token_scheme_parameter", 'Authorization: Token token="<<1>>"', _pw(20)),
    _secret("auth_apikey_scheme", "Authorization: ApiKey <<1>>", _b64(38, suffix="==")),
    _secret("auth_negotiate", "Authorization: Negotiate YIIJ<<1>>==", _b64(90)),
    _secret(
        "auth_digest",
        'Authorization: Digest username="bob", realm="gym", nonce="<<2>>", uri="/verify", qop=auth, nc=00000001, '
        'cnonce="0a4f113b", response="<<1>>"\nAccept: */*',
        _hex(32),
        _plain(_hex(32)),
        keeps=("Authorization", "Accept: */*"),
    ),
    _secret(
        "auth_aws4_hmac",
        "Authorization: AWS4-HMAC-SHA256 Credential=<<1>>/20260517/us-east-1/s3/aws4_request, "
        "SignedHeaders=host;x-amz-date, Signature=<<2>>\nX-Amz-Date: 20260517T080311Z",
        _up36(16, _p("AK", "IA")),
        _hex(64),
        keeps=("X-Amz-Date: 20260517T080311Z",),
    ),
    _secret(
        "auth_proxy_authorization",
        "Proxy-Authorization: Basic <<1>>\nHost: proxy.corp:3128",
        _basic("proxyuser"),
        keeps=("Proxy-Authorization", "Host: proxy.corp:3128"),
    ),
    _secret(
        "auth_python_dict",
        "{'Authorization': 'Bearer <<1>>', 'Content-Type': 'application/json', 'User-Agent': 'nemo-gym/0.2'}",
        _b62(32),
        keeps=(
            "'Authorization'",
            "'Content-Type': 'application/json'",
            "'User-Agent': 'nemo-gym/0.2'",
        ),
    ),
    _secret(
        "auth_python_dict_short_key",
        "request headers: {'accept': '*/*', 'authorization': 'Bearer <<1>>', 'x-attempt': '3'}",
        _word(),
        keeps=("'accept': '*/*'", "'x-attempt': '3'"),
    ),
    _secret(
        "auth_python_dict_raw_key",
        "headers={'Authorization': '<<1>>', 'Accept': 'application/json'}",
        _pw(14),
        keeps=("'Accept': 'application/json'",),
    ),
    _secret(
        "auth_python_bytes_pairs",
        "[(b'host', b'model:8000'), (b'authorization', b'Bearer <<1>>'), (b'accept', b'*/*')]",
        _b62(28),
        keeps=("(b'host', b'model:8000')", "(b'accept', b'*/*')"),
    ),
    _secret(
        "auth_python_string_pairs",
        "[('Authorization', 'Basic <<1>>'), ('Accept-Encoding', 'gzip')]",
        _basic(),
        keeps=("('Accept-Encoding', 'gzip')",),
    ),
    _secret(
        "auth_python_string_pairs_raw_key",
        "[('X-Api-Key', '<<1>>'), ('Accept-Encoding', 'gzip')]",
        _pw(14),
        keeps=("('Accept-Encoding', 'gzip')",),
    ),
    _secret(
        "auth_json",
        '{"headers": {"Authorization": "Bearer <<1>>", "Accept": "*/*"}, "status": 401}',
        _b62(40),
        keeps=('"Authorization"', '"Accept": "*/*"', '"status": 401'),
    ),
    _secret(
        "auth_json_compact",
        '{"authorization":"Basic <<1>>","accept":"*/*"}',
        _basic(),
        keeps=('"accept":"*/*"',),
    ),
    _secret(
        "auth_json_list_value",
        '{"Authorization": ["Bearer <<1>>"], "Accept": ["*/*"]}',
        _b62(24),
        keeps=('"Accept": ["*/*"]',),
    ),
    _secret(
        "auth_cimultidict",
        "<CIMultiDict('Host': 'model:8000', 'Authorization': 'Bearer <<1>>', 'Content-Type': 'application/json')>",
        _b62(36),
        keeps=("'Host': 'model:8000'", "'Content-Type': 'application/json'"),
    ),
    _secret(
        "auth_cimultidictproxy_api_key",
        "<CIMultiDictProxy('X-API-Key': '<<1>>', 'Server': 'uvicorn')>",
        _pw(14),
        keeps=("'Server': 'uvicorn'",),
    ),
    _secret(
        "auth_httpx_headers_repr",
        "Headers({'host': 'model:8000', 'api-key': '<<1>>', 'accept': '*/*'})",
        _hex(32),
        keeps=("'host': 'model:8000'", "'accept': '*/*'"),
    ),
    _secret(
        "auth_curl_double_quotes",
        'curl -sS -H "Authorization: Bearer <<1>>" -H "Accept: application/json" https://api.example.com/v1/models',
        _b62(32),
        keeps=("curl", '-H "Accept: application/json"', "https://api.example.com/v1/models"),
    ),
    _secret(
        "auth_curl_single_quotes",
        "curl --header 'X-Api-Key: <<1>>' 'https://api.example.com/v1/models'",
        _pw(14),
        keeps=("https://api.example.com/v1/models",),
    ),
    _secret(
        "auth_curl_user_option",
        "+ curl -u svc-rollout:<<1>> -o out.json https://artifacts.example.com/x.json",
        _pw(14),
        keeps=("-o out.json https://artifacts.example.com/x.json",),
    ),
    _secret(
        "auth_curl_verbose_dump",
        "*   Trying 10.0.0.7:443...\n> GET /v1/models HTTP/2\n> Host: api.example.com\n> Authorization: Bearer <<1>>\n"
        '> User-Agent: curl/8.5.0\n>\n< HTTP/2 401\n< www-authenticate: Bearer realm="api"\n',
        _b62(32),
        keeps=("> Host: api.example.com", "> User-Agent: curl/8.5.0", "< HTTP/2 401"),
    ),
    _secret(
        "auth_http_client_debug",
        r"send: b'GET /v1/models HTTP/1.1\r\nHost: api.example.com\r\nAuthorization: Bearer <<1>>\r\nAccept: "
        r"*/*\r\n\r\n'",
        _b62(24),
        keeps=("Host: api.example.com", "Accept: */*"),
    ),
    _secret(
        "auth_subprocess_list_header",
        "['curl', '-H', 'Authorization: Bearer <<1>>', 'https://api.example.com/v1/models']",
        _pw(18),
        keeps=("'https://api.example.com/v1/models'",),
    ),
    _secret("bare_bearer", "credential was Bearer <<1>>", _b62(24), keeps=("credential was",)),
    _secret(
        "bare_bearer_lower_case",
        "sending bearer <<1>> to host a.example.com",
        _b62(24),
        keeps=("a.example.com",),
    ),
    _secret(
        "bare_bearer_quoted",
        "header value 'Bearer <<1>>' was refused",
        _pw(16),
        keeps=("was refused",),
    ),
    _secret("bare_bearer_start", "Bearer <<1>>", _b62(32)),
    _secret("bare_bearer_jwt", "got (Bearer <<1>>), status 403", _jwt, keeps=("status 403",)),
    _secret("bare_basic", "credential was Basic <<1>>", _basic(), keeps=("credential was",)),
    _secret(
        "bare_basic_quoted",
        "header value 'Basic <<1>>' was refused",
        _basic("bob"),
        keeps=("was refused",),
    ),
    _secret(
        "header_x_api_key",
        "x-api-key: <<1>>\naccept: */*",
        _b62(22),
        keeps=("x-api-key", "accept: */*"),
    ),
    _secret(
        "header_x_api_key_word",
        "X-API-Key: <<1>>\r\nAccept: */*\r\n",
        _word(),
        keeps=("X-API-Key", "Accept: */*"),
    ),
    _secret(
        "header_x_api_key_uuid", "X-Api-Key: <<1>>\nAccept: */*", _uuid, keeps=("Accept: */*",)
    ),
    _secret(
        "header_azure_api_key",
        "api-key: <<1>>\nhost: x.openai.azure.com",
        _hex(32),
        keeps=("x.openai.azure.com",),
    ),
    _secret("header_x_goog_api_key", "x-goog-api-key: <<1>>", _b64url(35, _p("AI", "za"))),
    _secret(
        "header_x_auth_token",
        "X-Auth-Token: <<1>>\nAccept: */*",
        _hex(32),
        keeps=("X-Auth-Token", "Accept: */*"),
    ),
    _secret(
        "header_x_vault_token",
        "X-Vault-Token: <<1>>\nAccept: */*",
        _b62(24),
        keeps=("Accept: */*",),
    ),
    _secret(
        "header_private_token",
        "PRIVATE-TOKEN: <<1>>\nAccept: */*",
        _b62(20),
        keeps=("Accept: */*",),
    ),
    _secret(
        "header_x_amz_security_token",
        "X-Amz-Security-Token: IQoJ<<1>>==\nHost: s3.amazonaws.com",
        _b64(200),
        keeps=("Host: s3.amazonaws.com",),
    ),
    _secret(
        "header_subscription_key",
        "Ocp-Apim-Subscription-Key: <<1>>\nAccept: */*",
        _hex(32),
        keeps=("Accept: */*",),
    ),
    _secret(
        "header_cf_access_client_secret",
        "CF-Access-Client-Secret: <<1>>\nAccept: */*",
        _hex(64),
        keeps=("Accept: */*",),
    ),
    _secret(
        "header_x_csrf_token", "X-CSRF-Token: <<1>>\nAccept: */*", _b62(32), keeps=("Accept: */*",)
    ),
    _secret(
        "header_dd_api_key", "DD-API-KEY: <<1>>\nAccept: */*", _hex(32), keeps=("Accept: */*",)
    ),
    _secret(
        "header_ngc_api_key", "NGC-API-KEY: <<1>>\nAccept: */*", _b62(84), keeps=("Accept: */*",)
    ),
    _secret(
        "header_otlp_headers_variable",
        "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer <<1>>\nOTEL_SERVICE_NAME=rollouts",
        _b62(32),
        keeps=("OTEL_SERVICE_NAME=rollouts",),
    ),
    _secret(
        "header_otlp_headers_percent_encoded",
        "OTEL_EXPORTER_OTLP_HEADERS=Authorization=Basic%20<<1>>\nOTEL_SERVICE_NAME=rollouts",
        _basic("123456"),
        keeps=("OTEL_SERVICE_NAME=rollouts",),
    ),
)

_COOKIES: tuple[Secret, ...] = (
    _secret(
        "cookie_request",
        "Cookie: session=<<1>>\nAccept: */*",
        _b62(32),
        keeps=("Cookie", "Accept: */*"),
    ),
    _secret(
        "cookie_request_many",
        "Host: gym:9000\ncookie: theme=dark; sessionid=<<1>>; csrftoken=<<2>>\nAccept: */*",
        _low36(32),
        _b62(32),
        keeps=("Host: gym:9000", "Accept: */*"),
    ),
    _secret(
        "cookie_jsessionid",
        "Cookie: JSESSIONID=<<1>>.node7\nAccept: */*",
        _of("0123456789ABCDEF", 32),
        keeps=("Accept: */*",),
    ),
    _secret(
        "cookie_short_value", "Cookie: sid=<<1>>\nAccept: */*", _pw(12), keeps=("Accept: */*",)
    ),
    _secret(
        "cookie_set_cookie",
        "HTTP/1.1 200 OK\r\nSet-Cookie: session=<<1>>; Path=/; HttpOnly; Secure; SameSite=Lax\r\nServer: uvicorn\r\n",
        _b64url(43),
        keeps=("HTTP/1.1 200 OK", "Set-Cookie", "Server: uvicorn"),
    ),
    _secret(
        "cookie_starlette_session",
        "set-cookie: session=<<1>>; path=/; Max-Age=1209600; httponly; samesite=lax\ncontent-length: 42",
        _flask_session,
        keeps=("content-length: 42",),
    ),
    _secret(
        "cookie_python_dict",
        "{'Cookie': 'session=<<1>>', 'Accept': '*/*'}",
        _pw(16),
        keeps=("'Accept': '*/*'",),
    ),
    _secret(
        "cookie_json_set_cookie",
        '{"set-cookie": "auth=<<1>>; Path=/; HttpOnly", "content-type": "text/html"}',
        _b62(24),
        keeps=('"content-type": "text/html"',),
    ),
    _secret(
        "cookie_cimultidictproxy",
        "<CIMultiDictProxy('Set-Cookie': 'session=<<1>>; Path=/', 'Content-Length': '17')>",
        _b62(24),
        keeps=("'Content-Length': '17'",),
    ),
    _secret(
        "cookie_simple_cookie_repr",
        "while handling response: <SimpleCookie: session='<<1>>'> status 500",
        _b62(32),
        keeps=("status 500",),
    ),
    _secret(
        "cookie_requests_jar_repr",
        "<RequestsCookieJar[<Cookie sessionid=<<1>> for api.example.com/>]>",
        _low36(32),
        keeps=("api.example.com",),
    ),
    _secret(
        "cookie_header_pairs",
        "[(b'cookie', b'session=<<1>>'), (b'accept', b'*/*')]",
        _pw(16),
        keeps=("(b'accept', b'*/*')",),
    ),
    _secret(
        "cookie_curl_option",
        "curl -b 'sessionid=<<1>>' https://gym.example.com/rollouts/7",
        _b62(32),
        keeps=("https://gym.example.com/rollouts/7",),
    ),
)


# --------------------------------------------------------------------------------------------------------------------
# Secrets: keys of a known shape without a name
# --------------------------------------------------------------------------------------------------------------------

_PLACES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("provider refused <<1>> with 401 Unauthorized", ("provider refused", "401 Unauthorized")),
    (
        "2026-05-17T08:03:11Z ERROR refused '<<1>>' (status=403)",
        ("2026-05-17T08:03:11Z ERROR", "status=403"),
    ),
    ("<<1>> is not valid for region eu-west-1", ("is not valid for region eu-west-1",)),
    ("judge.py:42 will retry with <<1>>", ("judge.py:42 will retry with",)),
    (
        '{"detail": "unknown credential <<1>>", "status": 401}',
        ("unknown credential", '"status": 401'),
    ),
    (
        "RuntimeError: refused (<<1>>), giving up after 3 attempts",
        ("RuntimeError", "giving up after 3 attempts"),
    ),
    ("args=('<<1>>', 'eu-west-1'), kwargs={}", ("'eu-west-1'", "kwargs={}")),
    ("line one\n<<1>>\nline three", ("line one\n", "\nline three")),
)

_SHAPES: tuple[tuple[str, _Draw], ...] = (
    ("openai_legacy", _joined(_b62(20, _p("sk", "-")), _b62(20, _p("T3Blbk", "FJ")))),
    ("openai_project", _joined(_b64url(74, _p("sk", "-proj-")), _b64url(74, _p("T3Blbk", "FJ")))),
    ("openai_project_short", _b62(48, _p("sk", "-proj-"))),
    ("openai_service_account", _b64url(60, _p("sk", "-svcacct-"))),
    ("openai_admin", _b64url(60, _p("sk", "-admin-"))),
    ("openai_compatible_hex", _hex(32, _p("sk", "-"))),
    ("openrouter", _hex(64, _p("sk", "-or-v1-"))),
    ("anthropic", _b64url(93, _p("sk", "-ant-api03-"), "AA")),
    ("anthropic_oauth", _b64url(93, _p("sk", "-ant-oat01-"), "AA")),
    ("nvidia", _b64url(64, _p("nv", "api-"))),
    ("github_classic", _b62(36, _p("gh", "p_"))),
    ("github_oauth", _b62(36, _p("gh", "o_"))),
    ("github_server", _b62(36, _p("gh", "s_"))),
    ("github_refresh", _b62(76, _p("gh", "r_"))),
    ("github_fine_grained", _joined(_b62(22, _p("github", "_pat_")), _b62(59), sep="_")),
    ("gitlab_personal", _b64url(20, _p("gl", "pat-"))),
    ("gitlab_runner", _b64url(20, _p("gl", "rt-"))),
    (
        "slack_bot",
        _joined(_plain(_of(_DIGITS, 12, _p("xo", "xb-"))), _plain(_digits(13)), _b62(24), sep="-"),
    ),
    ("slack_app", _joined(_up36(11, _p("xa", "pp-1-A")), _digits(13), _hex(64), sep="-")),
    ("aws_access_key_id", _up36(16, _p("AK", "IA"))),
    ("aws_temporary_key_id", _up36(16, _p("AS", "IA"))),
    ("google_api_key", _b64url(35, _p("AI", "za"))),
    ("google_oauth_token", _b64url(120, _p("ya", "29."))),
    ("google_client_secret", _b64url(28, _p("GOC", "SPX-"))),
    ("hugging_face", _of(_LOWER + _UPPER, 34, _p("h", "f_"))),
    ("stripe_live", _b62(24, _p("sk", "_live_"))),
    ("stripe_live_long", _b62(99, _p("sk", "_live_"))),
    ("stripe_restricted", _b62(24, _p("rk", "_live_"))),
    ("stripe_test", _b62(24, _p("sk", "_test_"))),
    ("stripe_webhook", _b62(32, _p("wh", "sec_"))),
    ("sendgrid", _joined(_b64url(22, _p("S", "G.")), _b64url(43), sep=".")),
    ("npm", _b62(36, _p("np", "m_"))),
    ("pypi", _b64url(150, _p("pypi-AgEI", "cHlwaS5vcmc"))),
    ("groq", _b62(52, _p("gs", "k_"))),
    ("xai", _b62(80, _p("xa", "i-"))),
    ("replicate", _b62(37, _p("r", "8_"))),
    ("perplexity", _b62(48, _p("pp", "lx-"))),
    ("databricks", _hex(32, _p("da", "pi"))),
    ("databricks_suffix", _hex(32, _p("da", "pi"), "-2")),
    ("digitalocean", _hex(64, _p("dop", "_v1_"))),
    ("docker_hub", _b64url(27, _p("dckr", "_pat_"))),
    ("vault_service", _b62(24, _p("hv", "s."))),
    ("vault_service_long", _b64url(92, _p("hv", "s.CAESI"))),
    ("langsmith", _joined(_hex(32, _p("lsv2", "_pt_")), _hex(10), sep="_")),
    ("pinecone", _joined(_plain(_b62(5, _p("pc", "sk_"))), _b62(63), sep="_")),
    ("telegram_bot", _joined(_plain(_digits(10)), _b64url(33, _p("A", "A")), sep=":")),
    ("shopify", _hex(32, _p("shp", "at_"))),
    ("tailscale", _joined(_b62(12, _p("tskey", "-auth-k")), _b62(32), sep="CNTRL-")),
    ("linear", _b62(40, _p("lin", "_api_"))),
    ("notion", _b62(46, _p("nt", "n_"))),
    ("figma", _b64url(40, _p("fi", "gd_"))),
    ("together", _b64url(43, _p("tgp", "_v1_"))),
    ("supabase", _hex(40, _p("sb", "p_"))),
    ("new_relic", _up36(27, _p("NR", "AK-"))),
    ("postman", _joined(_hex(24, _p("PM", "AK-")), _hex(34), sep="-")),
    ("grafana_service", _joined(_b62(32, _p("gl", "sa_")), _hex(8), sep="_")),
    ("doppler", _b62(40, _p("dp", ".pt."))),
    ("atlassian", _b64url(180, _p("ATA", "TT3xFfGF0"))),
    ("terraform_cloud", _joined(_b62(14), _b64url(67), sep=_p(".atlas", "v1."))),
    ("discord_bot", _joined(_b62(24), _plain(_b62(6)), _b64url(38), sep=".")),
    ("mailchimp", _hex(32, suffix=_p("-us", "12"))),
    ("age_secret_key", _of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58, _p("AGE-SECRET", "-KEY-1"))),
    ("planetscale", _b64url(43, _p("pscale", "_tkn_"))),
    ("jwt_signed", _jwt),
    ("jwt_two_parts", _jwt_unsigned),
)


def _shapes() -> tuple[Secret, ...]:
    """Put each key in the next of the places."""
    made = []
    for number, (name, draw) in enumerate(_SHAPES):
        template, keeps = _PLACES[number % len(_PLACES)]
        made.append(_secret(f"shape_{name}", template, draw, keeps=keeps))
    return tuple(made)


_VENDORS: tuple[Secret, ...] = (
    _secret(
        "vendor_aws_key_pair_bare",
        "assumed role with <<1>> <<2>> in us-east-1",
        _up36(16, _p("AK", "IA")),
        _b64(40),
        keeps=("assumed role with", "in us-east-1"),
    ),
    _secret(
        "vendor_aws_credentials_file",
        "[default]\naws_access_key_id = <<1>>\naws_secret_access_key = <<2>>\naws_session_token = IQoJ<<3>>=\n"
        "region = us-east-1\n",
        _up36(16, _p("AS", "IA")),
        _b64(40),
        _b64(180),
        keeps=("[default]", "aws_secret_access_key", "region = us-east-1"),
    ),
    _secret(
        "vendor_aws_environment",
        "AWS_ACCESS_KEY_ID=<<1>>\nAWS_SECRET_ACCESS_KEY=<<2>>\nAWS_DEFAULT_REGION=eu-west-1\n",
        _up36(16, _p("AK", "IA")),
        _b64(40),
        keeps=("AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION=eu-west-1"),
    ),
    _secret(
        "vendor_aws_sts_json",
        '{"Credentials": {"AccessKeyId": "<<1>>", "SecretAccessKey": "<<2>>", "SessionToken": "FwoG<<3>>==", '
        '"Expiration": "2026-05-17T09:00:00+00:00"}}',
        _up36(16, _p("AS", "IA")),
        _b64(40),
        _b64(160),
        keeps=('"Expiration": "2026-05-17T09:00:00+00:00"',),
    ),
    _secret(
        "vendor_azure_storage_connection_string",
        "DefaultEndpointsProtocol=https;AccountName=rollouts;AccountKey=<<1>>;EndpointSuffix=core.windows.net",
        _b64(86, suffix="=="),
        keeps=("AccountName=rollouts", "AccountKey", "EndpointSuffix=core.windows.net"),
    ),
    _secret(
        "vendor_azure_service_bus",
        "Endpoint=sb://gym.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey=<<1>>;EntityPath=jobs",
        _b64(43, suffix="="),
        keeps=("gym.servicebus.windows.net", "EntityPath=jobs"),
    ),
    _secret(
        "vendor_azure_sql",
        "Server=tcp:db.example.net,1433;Database=gym;User ID=app;Password=<<1>>;Encrypt=True;Connection Timeout=30;",
        _pw(14),
        keeps=("Server=tcp:db.example.net,1433", "Database=gym", "Encrypt=True"),
    ),
    _secret(
        "vendor_odbc",
        "DRIVER={ODBC Driver 18 for SQL Server};SERVER=db.example.net;UID=sa;PWD=<<1>>;Encrypt=yes",
        _pw(12),
        keeps=("SERVER=db.example.net", "Encrypt=yes"),
    ),
    _secret(
        "vendor_slack_webhook",
        "POST https://hooks.slack.com/services/T02AB3CD4/B05EF6GH7/<<1>> returned 404 no_service",
        _b62(24),
        keeps=("hooks.slack.com", "returned 404 no_service"),
    ),
    _secret(
        "vendor_discord_webhook",
        "POST https://discord.com/api/webhooks/118273645564738291/<<1>> returned 429",
        _b64url(68),
        keeps=("discord.com", "returned 429"),
    ),
    _secret(
        "vendor_telegram_url",
        "GET https://api.telegram.org/bot7264518390:AA<<1>>/getMe: 401 Unauthorized",
        _b64url(33),
        keeps=("api.telegram.org", "401 Unauthorized"),
    ),
    _secret(
        "vendor_wandb_variable",
        "WANDB_API_KEY=<<1>>\nWANDB_PROJECT=gym",
        _hex(40),
        keeps=("WANDB_PROJECT=gym",),
    ),
    _secret(
        "vendor_netrc",
        "machine api.wandb.ai\n  login user\n  password <<1>>\nmachine github.com\n",
        _hex(40),
        keeps=("machine api.wandb.ai", "machine github.com"),
    ),
    _secret(
        "vendor_netrc_one_line",
        "machine artifacts.example.com login bob password <<1>>",
        _pw(12),
        keeps=("machine artifacts.example.com",),
    ),
    _secret(
        "vendor_npmrc",
        "//npm.example.org/:_authToken=<<1>>\ncafile=/etc/ssl/ca.pem\n",
        _uuid,
        keeps=("cafile=/etc/ssl/ca.pem",),
    ),
    _secret(
        "vendor_docker_config",
        '{"auths": {"nvcr.io": {"auth": "<<1>>"}, "ghcr.io": {}}, "credsStore": "desktop"}',
        _basic("$oauthtoken"),
        keeps=("nvcr.io", "ghcr.io"),
    ),
    _secret(
        "vendor_kubernetes_secret",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db-credentials\ntype: Opaque\nstringData:\n  username: app\n"
        "  password: <<1>>\n",
        _pw(12),
        keeps=("kind: Secret", "name: db-credentials", "type: Opaque"),
    ),
    _secret(
        "vendor_otpauth",
        "otpauth://totp/gym:bob@example.com?secret=<<1>>&issuer=gym",
        _b32(32),
        keeps=("issuer=gym",),
    ),
    _secret(
        "vendor_twilio",
        "account_sid=AC<<2>> auth_token=<<1>> status=20003",
        _hex(32),
        _plain(_hex(32)),
        keeps=("status=20003",),
    ),
)

_UNNAMED: tuple[Secret, ...] = (
    _secret(
        "unnamed_base62_32_inside",
        "upstream refused <<1>> (403)",
        _b62(32),
        keeps=("upstream refused", "(403)"),
    ),
    _secret(
        "unnamed_base62_40_start",
        "<<1>> was refused by the judge",
        _b62(40),
        keeps=("was refused by the judge",),
    ),
    _secret(
        "unnamed_base62_48_end", "the judge refused <<1>>", _b62(48), keeps=("the judge refused",)
    ),
    _secret("unnamed_base62_64_alone", "<<1>>", _b62(64)),
    _secret(
        "unnamed_base62_100_quoted",
        "ValueError: cannot parse '<<1>>' as int",
        _b62(100),
        keeps=("as int",),
    ),
    _secret(
        "unnamed_base62_36_parenthesis",
        "refused (<<1>>), retry in 5s",
        _b62(36),
        keeps=("retry in 5s",),
    ),
    _secret(
        "unnamed_base62_44_full_stop",
        "We saw <<1>>. Then it stopped.",
        _b62(44),
        keeps=("Then it stopped.",),
    ),
    _secret(
        "unnamed_base64_44",
        "refused <<1>>, status 403",
        _b64(43, suffix="="),
        keeps=("status 403",),
    ),
    _secret(
        "unnamed_base64_64_brackets", "refused [<<1>>] status 403", _b64(64), keeps=("status 403",)
    ),
    _secret(
        "unnamed_base64_88",
        "refused: <<1>>\nstatus 403",
        _b64(86, suffix="=="),
        keeps=("status 403",),
    ),
    _secret(
        "unnamed_base64url_43", 'refused "<<1>>", status 403', _b64url(43), keeps=("status 403",)
    ),
    _secret(
        "unnamed_base64url_64", "refused <<1>>; status 403", _b64url(64), keeps=("status 403",)
    ),
    _secret(
        "unnamed_base64url_86", "refused\t<<1>>\tstatus 403", _b64url(86), keeps=("status 403",)
    ),
    _secret(
        "unnamed_in_positional_args",
        "call('<<1>>', 7, None) raised TimeoutError",
        _b62(40),
        keeps=("7, None) raised TimeoutError",),
    ),
    _secret(
        "unnamed_in_json_list",
        '{"items": ["<<1>>", "ok"], "status": 403}',
        _b62(40),
        keeps=('"status": 403',),
    ),
    _secret(
        "unnamed_in_url_path",
        "GET https://hooks.example.com/in/<<1>> returned 410",
        _b62(40),
        keeps=("hooks.example.com", "returned 410"),
    ),
    _secret(
        "unnamed_beside_git_sha",
        "at commit <<2>> the judge refused <<1>>",
        _b62(40),
        _plain(_hex(40)),
        keeps=("at commit <<2>>",),
    ),
    _secret(
        "unnamed_beside_uuid",
        "rollout <<2>>: refused <<1>>",
        _b62(40),
        _plain(_uuid),
        keeps=("rollout <<2>>",),
    ),
)


# --------------------------------------------------------------------------------------------------------------------
# Secrets: private keys
# --------------------------------------------------------------------------------------------------------------------


def _begin(kind: str) -> str:
    return _p("-----BE", "GIN ") + kind + "-----"


def _end(kind: str) -> str:
    return _p("-----E", "ND ") + kind + "-----"


def _block(kind: str, newline: str = "\n", indent: str = "") -> str:
    return f"{_begin(kind)}{newline}{indent}<<1>>{newline}{indent}{_end(kind)}"


_RSA, _EC, _PKCS8 = _p("RSA ", "PRIVATE KEY"), _p("EC ", "PRIVATE KEY"), _p("PRIVATE", " KEY")
_OPENSSH, _PGP, _ENCRYPTED = (
    _p("OPENSSH ", _PKCS8),
    _p("PGP ", _PKCS8, " BLOCK"),
    _p("ENCRYPTED ", _PKCS8),
)

_PRIVATE_KEYS: tuple[Secret, ...] = (
    _secret(
        "pem_rsa",
        f"could not load\n{_block(_RSA)}\nfrom /etc/gym/key.pem",
        _body(6),
        keeps=("/etc/gym/key.pem",),
    ),
    _secret("pem_ec", f"{_block(_EC)}\n", _body(3)),
    _secret("pem_pkcs8", f"key:\n{_block(_PKCS8)}\nretry in 5s", _body(5), keeps=("retry in 5s",)),
    _secret("pem_encrypted", f"{_block(_ENCRYPTED)}", _body(5)),
    _secret(
        "pem_openssh",
        f"Load key failed: {_block(_OPENSSH)}\nexit status 255",
        _body(5),
        keeps=("Load key failed", "exit status 255"),
    ),
    _secret(
        "pem_pgp",
        f"{_begin(_PGP)}\nVersion: GnuPG v2\n\n<<1>>\n=aB3d\n{_end(_PGP)}\ngpg: done",
        _body(5),
        keeps=("gpg: done",),
    ),
    _secret(
        "pem_crlf",
        _block(_RSA, "\r\n") + "\r\nretry in 5s",
        _body(4, "\r\n"),
        keeps=("retry in 5s",),
    ),
    _secret(
        "pem_service_account_json",
        '{"type": "service_account", "private_key_id": "<<2>>", "private_key": "'
        + _block(_PKCS8, "\\n")
        + '\\n", "client_email": "robot@proj.iam.gserviceaccount.com"}',
        _body(5, "\\n"),
        _plain(_hex(40)),
        keeps=('"type": "service_account"', '"client_email": "robot@proj.iam.gserviceaccount.com"'),
    ),
    _secret(
        "pem_literal_newlines_in_repr",
        "Settings(key='" + _block(_RSA, "\\n") + "', timeout=30)",
        _body(4, "\\n"),
        keeps=("timeout=30",),
    ),
    _secret(
        "pem_twice_escaped_newlines",
        '{"error": "{\\"pem\\": \\"' + _block(_EC, "\\\\n") + '\\", \\"status\\": 400}"}',
        _body(3, "\\\\n"),
        keeps=('\\"status\\": 400',),
    ),
    _secret("pem_on_one_line_with_spaces", f"KEY={_block(_RSA, ' ')}", _body(4, " ")),
    _secret(
        "pem_indented_in_yaml",
        f"tls:\n  key: |\n    {_block(_PKCS8, indent='    ')}\n  ca_bundle: /etc/ssl/certs/ca.pem\n",
        _body(4, indent="    "),
        keeps=("ca_bundle: /etc/ssl/certs/ca.pem",),
    ),
    _secret(
        "pem_truncated",
        f"could not load key {_begin(_RSA)}\n<<1>>",
        _body(3, last=37),
        keeps=("could not load",),
    ),
    _secret(
        "pem_truncated_literal_newlines",
        f"could not load key '{_begin(_EC)}\\n<<1>>",
        _body(3, "\\n", last=30),
        keeps=("could not load",),
    ),
    _secret(
        "pem_truncated_with_dots",
        f"could not load key {_begin(_OPENSSH)}\n<<1>>...",
        _body(2, last=50),
        keeps=("could not load",),
    ),
    _secret(
        "pem_two_blocks",
        f"{_block(_RSA)}\nand\n{_block(_EC).replace('<<1>>', '<<2>>')}\nbye",
        _body(3),
        _body(3),
        keeps=("bye",),
    ),
)


# --------------------------------------------------------------------------------------------------------------------
# Secrets: URLs
# --------------------------------------------------------------------------------------------------------------------

_URLS: tuple[Secret, ...] = (
    _secret(
        "url_https_user_password",
        "GET https://bob:<<1>>@api.example.com:8443/v1?page=2 failed",
        _pw(),
        keeps=("api.example.com:8443/v1?page=2", "failed"),
    ),
    _secret(
        "url_http_word_password",
        "http://admin:<<1>>@10.0.0.7:8080/health",
        _word(),
        keeps=("10.0.0.7:8080/health",),
    ),
    _secret(
        "url_git_https",
        "fatal: unable to access 'https://bob:<<1>>@github.com/org/repo.git/'",
        _b62(40),
        keeps=("fatal: unable to access", "github.com/org/repo.git"),
    ),
    _secret(
        "url_git_plus_https",
        "pip install git+https://oauth2:<<1>>@gitlab.com/org/repo.git@v1.2",
        _pw(20),
        keeps=("pip install", "gitlab.com/org/repo.git@v1.2"),
    ),
    _secret(
        "url_git_scheme",
        "cloning git://bob:<<1>>@git.example.com/repo.git",
        _pw(),
        keeps=("git.example.com",),
    ),
    _secret(
        "url_user_only_token",
        "https://<<1>>@github.com/org/repo.git",
        _b62(36, _p("gh", "p_")),
        keeps=("github.com/org/repo.git",),
    ),
    _secret(
        "url_user_only_unknown_token",
        "https://<<1>>@git.example.com/org/repo.git",
        _b62(24),
        keeps=("git.example.com/org/repo.git",),
    ),
    _secret(
        "url_user_token_empty_password",
        "https://<<1>>:@api.stripe.com/v1/charges",
        _b62(24, _p("sk", "_live_")),
        keeps=("api.stripe.com/v1/charges",),
    ),
    _secret(
        "url_token_with_x_oauth_basic",
        "https://<<1>>:x-oauth-basic@github.com/org/repo.git",
        _hex(40),
        keeps=("github.com/org/repo.git",),
    ),
    _secret(
        "url_sentry_dsn",
        "dsn=https://<<1>>@o4501.ingest.sentry.io/4507",
        _hex(32),
        keeps=("ingest.sentry.io",),
    ),
    _secret(
        "url_ipv6_host",
        "https://bot:<<1>>@[2001:db8::7]:8443/hook timed out",
        _pw(),
        keeps=("[2001:db8::7]:8443/hook", "timed out"),
    ),
    _secret(
        "url_password_with_at_sign",
        "https://bob:<<1>>@<<2>>@api.example.com/v1",
        _pw(7),
        _pw(7),
        keeps=("api.example.com/v1",),
    ),
    _secret(
        "url_password_percent_encoded",
        "https://bob:<<1>>%40<<2>>%2F@api.example.com/v1",
        _pw(7),
        _pw(7),
        keeps=("api.example.com/v1",),
    ),
    _secret(
        "url_password_with_colon",
        "https://bob:<<1>>:<<2>>@api.example.com/v1",
        _pw(7),
        _pw(7),
        keeps=("api.example.com/v1",),
    ),
    _secret(
        "url_password_with_specials",
        "https://bob:<<1>>$!*<<2>>@api.example.com/v1",
        _pw(7),
        _pw(7),
        keeps=("api.example.com/v1",),
    ),
    _secret(
        "url_email_as_user",
        "https://bob%40example.com:<<1>>@api.example.com/v1",
        _pw(),
        keeps=("api.example.com/v1",),
    ),
    _secret(
        "url_proxy",
        "HTTPS_PROXY=http://svc:<<1>>@proxy.corp:3128\nNO_PROXY=localhost",
        _pw(),
        keeps=("proxy.corp:3128", "NO_PROXY=localhost"),
    ),
    _secret(
        "url_proxy_error",
        "ProxyError('Cannot connect to http://svc:<<1>>@proxy.corp:3128', OSError('407'))",
        _pw(),
        keeps=("proxy.corp:3128", "OSError('407')"),
    ),
    _secret(
        "url_pip_index",
        "Looking in indexes: https://__token__:<<1>>@pypi.example.com/simple",
        _pw(24),
        keeps=("Looking in indexes", "pypi.example.com/simple"),
    ),
    _secret(
        "url_socks_proxy",
        "socks5h://svc:<<1>>@proxy.corp:1080 refused",
        _pw(),
        keeps=("proxy.corp:1080 refused",),
    ),
    _secret(
        "url_ftp", "ftp://svc:<<1>>@files.example.com/in/", _pw(), keeps=("files.example.com/in/",)
    ),
    _secret(
        "url_two_in_text",
        "tried http://a:<<1>>@h1.example.com/x and http://b:<<2>>@h2.example.com/y",
        _pw(),
        _pw(),
        keeps=("h1.example.com/x", "h2.example.com/y"),
    ),
    _secret(
        "url_yarl_repr",
        "URL('https://bob:<<1>>@api.example.com/v1')",
        _pw(),
        keeps=("api.example.com/v1",),
    ),
    _secret(
        "url_markdown",
        "see [the run](https://bob:<<1>>@gym.example.com/run/7) for more",
        _pw(),
        keeps=("[the run]", "gym.example.com/run/7", "for more"),
    ),
    _secret(
        "url_aws_presigned",
        "403 for https://rollouts.s3.amazonaws.com/a/b.jsonl?X-Amz-Algorithm=AWS4-HMAC-SHA256"
        "&X-Amz-Credential=<<1>>%2F20260517%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20260517T080311Z"
        "&X-Amz-Expires=3600&X-Amz-Security-Token=IQoJ<<2>>%3D&X-Amz-SignedHeaders=host&X-Amz-Signature=<<3>>",
        _up36(16, _p("AS", "IA")),
        _b62(120),
        _hex(64),
        keeps=("403 for", "rollouts.s3.amazonaws.com/a/b.jsonl", "X-Amz-Expires=3600"),
    ),
    _secret(
        "url_aws_presigned_v2",
        "https://rollouts.s3.amazonaws.com/a?AWSAccessKeyId=<<1>>&Signature=<<2>>%2B<<3>>%3D&Expires=1767225600",
        _up36(16, _p("AK", "IA")),
        _b62(13),
        _b62(13),
        keeps=("rollouts.s3.amazonaws.com/a", "Expires=1767225600"),
    ),
    _secret(
        "url_azure_sas",
        "PUT https://acct.blob.core.windows.net/c/b.bin?sv=2022-11-02&sp=rl&se=2026-06-01T00%3A00%3A00Z"
        "&sig=<<1>>%2B<<2>>%2F<<3>>%3D -> 403",
        _b62(14),
        _b62(14),
        _b62(13),
        keeps=("acct.blob.core.windows.net/c/b.bin", "sv=2022-11-02", "-> 403"),
    ),
    _secret(
        "url_google_signed",
        "https://storage.googleapis.com/b/o.bin?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Expires=900"
        "&X-Goog-Signature=<<1>>",
        _hex(256),
        keeps=("storage.googleapis.com/b/o.bin", "X-Goog-Expires=900"),
    ),
    _secret(
        "url_cloudfront_signed",
        "https://d1.cloudfront.net/a.bin?Expires=1767225600&Signature=<<1>>~<<2>>__&Key-Pair-Id=K2JCJMDEHXQW5F",
        _b62(60),
        _b62(60),
        keeps=("d1.cloudfront.net/a.bin", "Expires=1767225600"),
    ),
    _secret(
        "url_query_access_token",
        "https://api.example.com/me?access_token=<<1>>&fields=id",
        _pw(20),
        keeps=("https://api.example.com/me", "access_token", "fields=id"),
    ),
    _secret(
        "url_query_api_key",
        "https://api.example.com/v1?lang=en&api_key=<<1>>",
        _word(),
        keeps=("https://api.example.com/v1", "lang=en", "api_key"),
    ),
    _secret(
        "url_query_apikey",
        "https://api.example.com/v1?apikey=<<1>>#top",
        _pw(),
        keeps=("api.example.com/v1",),
    ),
    _secret(
        "url_query_key_google",
        "https://generativelanguage.googleapis.com/v1beta/models?key=<<1>>&alt=sse",
        _b64url(35, _p("AI", "za")),
        keeps=("generativelanguage.googleapis.com/v1beta/models", "alt=sse"),
    ),
    _secret(
        "url_query_key_other",
        "https://maps.example.com/tile?key=<<1>>&z=3",
        _b62(24),
        keeps=("maps.example.com", "z=3"),
    ),
    _secret(
        "url_query_token",
        "wss://stream.example.com/ws?token=<<1>>&v=2",
        _pw(16),
        keeps=("stream.example.com/ws", "v=2"),
    ),
    _secret(
        "url_query_password",
        "http://gym:9000/login?user=bob&password=<<1>>&next=/",
        _word(),
        keeps=("http://gym:9000/login", "user=bob", "next=/"),
    ),
    _secret(
        "url_query_client_secret",
        "https://idp.example.com/t?client_id=gym&client_secret=<<1>>",
        _pw(),
        keeps=("idp.example.com/t", "client_id=gym"),
    ),
    _secret(
        "url_query_jwt",
        "https://idp.example.com/cb?id_token=<<1>>&state=7",
        _jwt,
        keeps=("idp.example.com/cb",),
    ),
    _secret(
        "url_fragment_access_token",
        "https://app.example.com/cb#access_token=<<1>>&expires_in=3600",
        _pw(24),
        keeps=("app.example.com/cb", "expires_in=3600"),
    ),
    _secret(
        "url_query_without_host",
        "Max retries exceeded with url: /v1/models?api_key=<<1>>&page=2",
        _pw(),
        keeps=("Max retries exceeded with url: /v1/models", "page=2"),
    ),
    _secret(
        "url_query_html_escaped",
        '<a href="https://a.example.com/x?token=<<1>>&amp;page=2">x</a>',
        _pw(16),
        keeps=("a.example.com/x", "page=2"),
    ),
    _secret(
        "url_query_percent_encoded_url",
        "https://a.example.com/go?to=https%3A%2F%2Fb%2F%3Faccess_token%3D<<1>>%26p%3D1",
        _pw(16),
        keeps=("a.example.com/go",),
    ),
    _secret(
        "url_access_log",
        '10.0.0.7:51432 - "GET /verify?token=<<1>> HTTP/1.1" 401 Unauthorized',
        _pw(16),
        keeps=("10.0.0.7:51432", "/verify", "401 Unauthorized"),
    ),
)

_DATABASES: tuple[Secret, ...] = (
    _secret(
        "database_postgresql",
        "postgresql://app:<<1>>@db.internal:5432/rollouts?sslmode=require",
        _pw(),
        keeps=("db.internal:5432/rollouts",),
    ),
    _secret(
        "database_postgres_word",
        "could not connect to postgres://app:<<1>>@db.internal/rollouts",
        _word(6),
        keeps=("could not connect to", "db.internal/rollouts"),
    ),
    _secret(
        "database_asyncpg",
        "create_async_engine('postgresql+asyncpg://app:<<1>>@db.internal/rollouts', echo=False)",
        _pw(),
        keeps=("db.internal/rollouts", "echo=False"),
    ),
    _secret(
        "database_mysql",
        "mysql+pymysql://root:<<1>>@127.0.0.1:3306/gym?charset=utf8mb4",
        _pw(),
        keeps=("127.0.0.1:3306/gym",),
    ),
    _secret(
        "database_mongodb_srv",
        "mongodb+srv://app:<<1>>@c0.ab1cd.mongodb.net/?retryWrites=true",
        _pw(),
        keeps=("c0.ab1cd.mongodb.net",),
    ),
    _secret(
        "database_mongodb_replicas",
        "mongodb://app:<<1>>@m1:27017,m2:27017,m3:27017/gym?replicaSet=rs0",
        _pw(),
        keeps=("m1:27017,m2:27017,m3:27017/gym",),
    ),
    _secret(
        "database_redis_password_only",
        "redis://:<<1>>@cache.internal:6379/0",
        _pw(),
        keeps=("cache.internal:6379/0",),
    ),
    _secret(
        "database_rediss",
        "Error 111 connecting to rediss://default:<<1>>@cache.internal:6380",
        _pw(),
        keeps=("Error 111 connecting to", "cache.internal:6380"),
    ),
    _secret(
        "database_amqp",
        "amqp://svc:<<1>>@rabbit:5672/%2Fgym closed",
        _pw(),
        keeps=("rabbit:5672", "closed"),
    ),
    _secret(
        "database_clickhouse",
        "clickhouse://default:<<1>>@ch:9440/gym?secure=True",
        _pw(),
        keeps=("ch:9440/gym",),
    ),
    _secret(
        "database_password_with_slash",
        "postgresql://app:<<1>>/<<2>>@db.internal:5432/rollouts",
        _pw(7),
        _pw(7),
        keeps=("db.internal:5432/rollouts",),
    ),
    _secret(
        "database_password_with_hash",
        "postgresql://app:<<1>>#<<2>>@db.internal:5432/rollouts",
        _pw(7),
        _pw(7),
        keeps=("db.internal:5432/rollouts",),
    ),
    _secret(
        "database_password_with_question_mark",
        "mysql://app:<<1>>?<<2>>@db.internal:3306/rollouts",
        _pw(7),
        _pw(7),
        keeps=("db.internal:3306/rollouts",),
    ),
    _secret(
        "database_password_with_percent_40",
        "postgresql://app:<<1>>%40<<2>>@db.internal:5432/rollouts",
        _pw(7),
        _pw(7),
        keeps=("db.internal:5432/rollouts",),
    ),
    _secret(
        "database_password_with_at_sign",
        "postgresql://app:<<1>>@<<2>>@db.internal:5432/rollouts",
        _pw(7),
        _pw(7),
        keeps=("db.internal:5432/rollouts",),
    ),
    _secret(
        "database_password_with_all",
        "redis://:<<1>>/<<2>>#<<3>>?<<4>>@cache.internal:6379/0",
        _pw(6),
        _pw(6),
        _pw(6),
        _pw(6),
        keeps=("cache.internal:6379/0",),
    ),
    _secret(
        "database_url_in_json",
        '{"dsn": "postgresql://app:<<1>>@db.internal/rollouts", "pool": 5}',
        _pw(),
        keeps=("db.internal/rollouts", '"pool": 5'),
    ),
    _secret(
        "database_url_variable",
        "DATABASE_URL=postgres://app:<<1>>@db.internal/rollouts\nDEBUG=0",
        _pw(),
        keeps=("db.internal/rollouts", "DEBUG=0"),
    ),
    _secret(
        "database_jdbc",
        "jdbc:postgresql://db.internal:5432/rollouts?user=app&password=<<1>>&ssl=true",
        _pw(),
        keeps=("db.internal:5432/rollouts", "ssl=true"),
    ),
    _secret(
        "database_libpq",
        "host=db.internal port=5432 dbname=rollouts user=app password=<<1>> sslmode=require",
        _word(),
        keeps=("host=db.internal port=5432 dbname=rollouts", "sslmode=require"),
    ),
    _secret(
        "database_libpq_quoted",
        "host=db.internal user=app password='<<1>> <<2>>' sslmode=require",
        _pw(7),
        _pw(7),
        keeps=("host=db.internal", "sslmode=require"),
    ),
    _secret(
        "database_pgpassword",
        "PGPASSWORD=<<1>> psql -h db.internal -U app rollouts",
        _pw(),
        keeps=("psql -h db.internal",),
    ),
    _secret(
        "database_alter_user",
        "ALTER USER app WITH PASSWORD '<<1>>';",
        _pw(),
        keeps=("ALTER USER app",),
    ),
    _secret(
        "database_identified_by",
        "CREATE USER 'app'@'%' IDENTIFIED BY '<<1>>'",
        _pw(),
        keeps=("CREATE USER",),
    ),
)


# --------------------------------------------------------------------------------------------------------------------
# Secrets: a name and a value
# --------------------------------------------------------------------------------------------------------------------

_PAIRS: tuple[Secret, ...] = (
    _secret(
        "pair_password_equals",
        "login failed: user=bob password=<<1>> host=db.internal",
        _pw(),
        keeps=("login failed: user=bob password", "host=db.internal"),
    ),
    _secret("pair_password_word", "password=<<1>>", _word(8), keeps=("password",)),
    _secret(
        "pair_password_colon",
        "user: bob\npassword: <<1>>\nhost: db.internal",
        _word(),
        keeps=("user: bob", "host: db.internal"),
    ),
    _secret(
        "pair_password_upper_case",
        "PASSWORD=<<1>>\nHOST=db.internal",
        _word(),
        keeps=("PASSWORD", "HOST=db.internal"),
    ),
    _secret(
        "pair_password_spaces_around",
        "password = <<1>>\nhost = db.internal",
        _pw(),
        keeps=("host = db.internal",),
    ),
    _secret(
        "pair_password_with_spaces",
        '{"password": "<<1>> <<2>> <<3>>", "user": "bob"}',
        _word(7),
        _word(7),
        _word(7),
        keeps=('"password"', '"user": "bob"'),
    ),
    _secret(
        "pair_password_with_comma",
        '{"password": "<<1>>,<<2>>", "user": "bob"}',
        _pw(7),
        _pw(7),
        keeps=('"user": "bob"',),
    ),
    _secret(
        "pair_password_with_braces",
        '{"password": "<<1>>}]<<2>>", "user": "bob"}',
        _pw(7),
        _pw(7),
        keeps=('"user": "bob"',),
    ),
    _secret(
        "pair_password_with_semicolon",
        "{'password': '<<1>>;<<2>>', 'user': 'bob'}",
        _pw(7),
        _pw(7),
        keeps=("'user': 'bob'",),
    ),
    _secret(
        "pair_password_with_equals",
        "password=<<1>>=<<2>>\nuser=bob",
        _pw(7),
        _pw(7),
        keeps=("user=bob",),
    ),
    _secret(
        "pair_password_with_other_quote",
        "{'password': \"<<1>>'<<2>>\", 'user': 'bob'}",
        _pw(7),
        _pw(7),
        keeps=("'user': 'bob'",),
    ),
    _secret(
        "pair_password_escaped_quote",
        r'{"password": "<<1>>\"<<2>>", "user": "bob"}',
        _pw(7),
        _pw(7),
        keeps=('"user": "bob"',),
    ),
    _secret(
        "pair_password_escaped_backslash",
        r'{"password": "<<1>>\\", "user": "bob"}',
        _pw(7),
        keeps=('"user": "bob"',),
    ),
    _secret(
        "pair_password_escaped_single_quote",
        r"{'password': '<<1>>\'<<2>>', 'user': 'bob'}",
        _pw(7),
        _pw(7),
        keeps=("'user': 'bob'",),
    ),
    _secret(
        "pair_password_with_newline_escape",
        r'{"password": "<<1>>\n<<2>>", "user": "bob"}',
        _pw(7),
        _pw(7),
        keeps=('"user": "bob"',),
    ),
    _secret(
        "pair_password_cjk",
        '{"password": "密码<<1>>", "user": "bob"}',
        _pw(7),
        keeps=('"user": "bob"',),
    ),
    _secret(
        "pair_password_number",
        '{"password": <<1>>, "user": "bob"}',
        _digits(9),
        keeps=('"user": "bob"',),
    ),
    _secret(
        "pair_password_last",
        '{"user": "bob", "password": "<<1>>"}',
        _pw(),
        keeps=('"user": "bob"',),
    ),
    _secret(
        "pair_password_unterminated",
        '{"user": "bob", "password": "<<1>>',
        _pw(),
        keeps=('"user": "bob"',),
    ),
    _secret("pair_passwd", "passwd=<<1>> uid=0", _pw(), keeps=("uid=0",)),
    _secret("pair_pwd_in_json", '{"pwd": "<<1>>", "user": "bob"}', _pw(), keeps=('"user": "bob"',)),
    _secret(
        "pair_passphrase",
        "passphrase: '<<1>> <<2>>'\ncipher: aes",
        _word(7),
        _word(7),
        keeps=("cipher: aes",),
    ),
    _secret(
        "pair_old_and_new_password",
        '{"oldPassword":"<<1>>","newPassword":"<<2>>","id":7}',
        _pw(),
        _pw(),
        keeps=('"id":7',),
    ),
    _secret(
        "pair_db_password",
        "DB_HOST=db.internal\nDB_PASSWORD=<<1>>\nDB_PORT=5432",
        _pw(),
        keeps=("DB_HOST=db.internal", "DB_PASSWORD", "DB_PORT=5432"),
    ),
    _secret(
        "pair_postgres_password",
        "environment:\n  - POSTGRES_USER=app\n  - POSTGRES_PASSWORD=<<1>>\n  - TZ=UTC\n",
        _pw(),
        keeps=("POSTGRES_USER=app", "TZ=UTC"),
    ),
    _secret(
        "pair_mysql_root_password",
        'docker run -e MYSQL_ROOT_PASSWORD="<<1>>" -p 3306:3306 mysql:8',
        _pw(),
        keeps=("-p 3306:3306 mysql:8",),
    ),
    _secret(
        "pair_rabbitmq_default_pass",
        "RABBITMQ_DEFAULT_PASS=<<1>>\nRABBITMQ_DEFAULT_USER=gym",
        _pw(),
        keeps=("RABBITMQ_DEFAULT_USER=gym",),
    ),
    _secret(
        "pair_client_secret_camel",
        "{'clientId': 'gym', 'clientSecret': '<<1>>'}",
        _pw(),
        keeps=("'clientId': 'gym'",),
    ),
    _secret(
        "pair_client_secret_snake",
        '{"client_id": "gym", "client_secret": "<<1>>"}',
        _word(),
        keeps=('"client_id": "gym"',),
    ),
    _secret(
        "pair_secret_key",
        "SECRET_KEY = '<<1>>'\nDEBUG = True",
        _b62(24),
        keeps=("SECRET_KEY", "DEBUG = True"),
    ),
    _secret(
        "pair_django_secret_key",
        "SECRET_KEY = 'django-insecure-<<1>>$^&<<2>>'\nDEBUG = True",
        _low36(20),
        _low36(20),
        keeps=("DEBUG = True",),
    ),
    _secret(
        "pair_session_secret", "session_secret: <<1>>\nport: 9000", _pw(), keeps=("port: 9000",)
    ),
    _secret(
        "pair_secret_equals",
        "webhook secret=<<1>> url=https://a.example.com",
        _pw(),
        keeps=("url=https://a.example.com",),
    ),
    _secret(
        "pair_signing_key",
        '{"signing_key": "<<1>>", "alg": "HS256"}',
        _pw(16),
        keeps=('"alg": "HS256"',),
    ),
    _secret("pair_encryption_key", "encryption_key=<<1>>\nmode=gcm", _hex(64), keeps=("mode=gcm",)),
    _secret(
        "pair_private_key_hex", "PRIVATE_KEY=0x<<1>>\nCHAIN_ID=1", _hex(64), keeps=("CHAIN_ID=1",)
    ),
    _secret(
        "pair_export_api_key",
        "export API_KEY=<<1>>\nexport LANG=C.UTF-8",
        _pw(),
        keeps=("API_KEY", "export LANG=C.UTF-8"),
    ),
    _secret(
        "pair_export_api_key_quoted",
        "export OPENAI_API_KEY='<<1>>' && python run.py",
        _pw(),
        keeps=("python run.py",),
    ),
    _secret(
        "pair_api_key_equals",
        "calling judge with api_key=<<1>>, timeout=60",
        _pw(),
        keeps=("calling judge with", "timeout=60"),
    ),
    _secret(
        "pair_api_key_word",
        "api_key: <<1>>\nmodel: judge",
        _word(),
        keeps=("api_key", "model: judge"),
    ),
    _secret("pair_api_key_uuid", "api_key=<<1>> model=judge", _uuid, keeps=("model=judge",)),
    _secret("pair_api_key_hex", "api_key=<<1>> model=judge", _hex(32), keeps=("model=judge",)),
    _secret(
        "pair_api_key_spelt_with_space",
        "API key: <<1>>\nmodel: judge",
        _pw(20),
        keeps=("model: judge",),
    ),
    _secret(
        "pair_api_key_camel",
        '{"apiKey":"<<1>>","model":"judge"}',
        _word(),
        keeps=('"apiKey"', '"model":"judge"'),
    ),
    _secret(
        "pair_api_key_pascal",
        '{"ApiKey": "<<1>>", "Model": "judge"}',
        _word(),
        keeps=('"Model": "judge"',),
    ),
    _secret(
        "pair_api_key_dashed",
        '{"api-key": "<<1>>", "model": "judge"}',
        _word(),
        keeps=('"model": "judge"',),
    ),
    _secret("pair_apikey_lower", "apikey=<<1>>&model=judge", _word(), keeps=("model=judge",)),
    _secret(
        "pair_policy_api_key",
        "policy_base_url: http://vllm:8000/v1\npolicy_api_key: <<1>>\npolicy_model_name: m\n",
        _word(),
        keeps=("policy_base_url: http://vllm:8000/v1", "policy_api_key", "policy_model_name: m"),
    ),
    _secret(
        "pair_openai_api_key_dict",
        "environ({'OPENAI_API_KEY': '<<1>>', 'HOME': '/root'})",
        _pw(),
        keeps=("'HOME': '/root'",),
    ),
    _secret(
        "pair_judge_api_key_hydra",
        "python run.py +judge.api_key=<<1>> judge.timeout=60",
        _pw(),
        keeps=("judge.timeout=60",),
    ),
    _secret(
        "pair_access_key", "access_key=<<1>> bucket=rollouts", _pw(16), keeps=("bucket=rollouts",)
    ),
    _secret(
        "pair_storage_options",
        "storage_options={'key': '<<1>>', 'secret': '<<2>>', 'anon': False}",
        _up36(16, _p("AK", "IA")),
        _b64(40),
        keeps=("'anon': False",),
    ),
    _secret("pair_token_equals", "refused token=<<1>> status=401", _pw(16), keeps=("status=401",)),
    _secret(
        "pair_token_colon_json",
        '{"token": "<<1>>", "user": "bob"}',
        _pw(16),
        keeps=('"user": "bob"',),
    ),
    _secret(
        "pair_hf_token", "HF_TOKEN=<<1>>\nHF_HOME=/data/hf", _pw(16), keeps=("HF_HOME=/data/hf",)
    ),
    _secret(
        "pair_github_token",
        "GITHUB_TOKEN: <<1>>\nGITHUB_REF: refs/heads/main",
        _pw(20),
        keeps=("refs/heads/main",),
    ),
    _secret(
        "pair_access_token",
        '{"access_token":"<<1>>","token_type":"Bearer","expires_in":3600}',
        _b62(24),
        keeps=('"expires_in":3600',),
    ),
    _secret(
        "pair_refresh_token",
        '{"refresh_token": "1//<<1>>", "scope": "read"}',
        _b64url(60),
        keeps=('"scope": "read"',),
    ),
    _secret(
        "pair_access_token_camel",
        '{"accessToken":"<<1>>","expiresIn":3600}',
        _word(14),
        keeps=('"expiresIn":3600',),
    ),
    _secret(
        "pair_id_token",
        '{"id_token": "<<1>>", "scope": "openid"}',
        _jwt,
        keeps=('"scope": "openid"',),
    ),
    _secret(
        "pair_session_token",
        "session_token=<<1>>\nregion=us-east-1",
        _b62(24),
        keeps=("region=us-east-1",),
    ),
    _secret("pair_auth_token", "auth_token: '<<1>>'\nretries: 3", _pw(16), keeps=("retries: 3",)),
    _secret("pair_bot_token", "BOT_TOKEN=<<1>>\nCHANNEL=#gym", _pw(20), keeps=("CHANNEL=#gym",)),
    _secret(
        "pair_credentials_json",
        '{"credentials": {"username": "bob", "password": "<<1>>"}, "retries": 3}',
        _pw(),
        keeps=('"retries": 3',),
    ),
    _secret(
        "pair_option_password_space",
        "gymctl login --user bob --password <<1>> --host db.internal",
        _word(),
        keeps=("gymctl login --user bob --password", "--host db.internal"),
    ),
    _secret(
        "pair_option_api_key_equals",
        "vllm serve Qwen/Qwen3-8B --api-key=<<1>> --port 8000",
        _pw(),
        keeps=("vllm serve Qwen/Qwen3-8B --api-key", "--port 8000"),
    ),
    _secret(
        "pair_option_api_key_space",
        "vllm serve Qwen/Qwen3-8B --api-key <<1>> --port 8000",
        _word(),
        keeps=("vllm serve Qwen/Qwen3-8B", "--port 8000"),
    ),
    _secret(
        "pair_option_token_quoted",
        'gymctl push --token "<<1>>" ./out',
        _pw(16),
        keeps=("gymctl push", "./out"),
    ),
    _secret(
        "pair_option_in_list",
        "['vllm', 'serve', '--api-key', '<<1>>', '--port', '8000']",
        _pw(),
        keeps=("'vllm', 'serve'", "'--port', '8000'"),
    ),
    _secret(
        "pair_option_in_list_equals",
        "['gymctl', '--password=<<1>>', '--port', '8000']",
        _pw(),
        keeps=("'--port', '8000'",),
    ),
    _secret(
        "pair_yaml",
        'judge:\n  url: http://judge:8000\n  api_key: "<<1>>"\n  timeout: 60\n',
        _pw(),
        keeps=("url: http://judge:8000", "timeout: 60"),
    ),
    _secret(
        "pair_yaml_unquoted_spaces",
        "judge:\n  password: <<1>> <<2>>\n  timeout: 60\n",
        _word(7),
        _word(7),
        keeps=("timeout: 60",),
    ),
    _secret(
        "pair_yaml_comment", "password: <<1>>  # rotate me\nport: 1", _pw(), keeps=("port: 1",)
    ),
    _secret(
        "pair_yaml_anchor_list",
        "users:\n  - name: bob\n    password: '<<1>>'\n  - name: eve\n    password: '<<2>>'\n",
        _pw(),
        _pw(),
        keeps=("- name: bob", "- name: eve"),
    ),
    _secret(
        "pair_ini",
        "[judge]\nhost = judge.internal\npassword = <<1>>\nport = 8000\n",
        _pw(),
        keeps=("[judge]", "host = judge.internal", "port = 8000"),
    ),
    _secret(
        "pair_toml",
        '[judge]\napi_key = "<<1>>"\nport = 8000\n',
        _pw(),
        keeps=("[judge]", "port = 8000"),
    ),
    _secret(
        "pair_properties",
        "spring.datasource.username=app\nspring.datasource.password=<<1>>\nserver.port=8080\n",
        _pw(),
        keeps=("spring.datasource.username=app", "server.port=8080"),
    ),
    _secret(
        "pair_logfmt",
        'level=error msg="verify failed" api_key=<<1>> status=401 dur=12ms',
        _word(),
        keeps=('level=error msg="verify failed"', "status=401 dur=12ms"),
    ),
    _secret(
        "pair_logfmt_quoted",
        'level=error password="<<1>> <<2>>" status=401',
        _word(7),
        _word(7),
        keeps=("level=error", "status=401"),
    ),
    _secret(
        "pair_json_log",
        '{"level":"error","msg":"refused","apiKey":"<<1>>","status":401}',
        _word(),
        keeps=('"level":"error","msg":"refused"', '"status":401'),
    ),
    _secret(
        "pair_json_pretty",
        '{\n  "user": "bob",\n  "password" : "<<1>>",\n  "port": 1\n}',
        _pw(),
        keeps=('"user": "bob"', '"port": 1'),
    ),
    _secret(
        "pair_kwargs_repr",
        "JudgeClient(base_url='http://judge:8000', api_key='<<1>>', timeout=60.0)",
        _word(),
        keeps=("JudgeClient(base_url='http://judge:8000'", "api_key", "timeout=60.0)"),
    ),
    _secret(
        "pair_pydantic_repr",
        "base_url='http://judge:8000' api_key='<<1>>' model='judge' retries=3",
        _word(),
        keeps=("base_url='http://judge:8000'", "model='judge' retries=3"),
    ),
    _secret(
        "pair_basic_auth_repr",
        "auth=BasicAuth(login='bob', password='<<1>>', encoding='latin1'), ssl=None",
        _word(),
        keeps=("encoding='latin1'", "ssl=None"),
    ),
    _secret(
        "pair_bytes_value",
        "{b'password': b'<<1>>', b'user': b'bob'}",
        _pw(),
        keeps=("b'user': b'bob'",),
    ),
    _secret(
        "pair_bytes_body",
        'body=b\'{"password": "<<1>>", "user": "bob"}\' status=422',
        _pw(),
        keeps=("status=422",),
    ),
    _secret(
        "pair_form_body",
        "grant_type=password&username=bob&password=<<1>>&client_secret=<<2>>&scope=read",
        _pw(),
        _pw(),
        keeps=("grant_type=password", "scope=read"),
    ),
    _secret(
        "pair_form_body_percent",
        "username=bob&password=<<1>>%21%26<<2>>&scope=read",
        _pw(7),
        _pw(7),
        keeps=("username=bob", "scope=read"),
    ),
    _secret(
        "pair_xml",
        "<login><user>bob</user><password><<1>></password></login>",
        _pw(),
        keeps=("<user>bob</user>",),
    ),
    _secret(
        "pair_xml_attribute",
        '<db host="db.internal" password="<<1>>" port="5432"/>',
        _pw(),
        keeps=('host="db.internal"', 'port="5432"'),
    ),
    _secret(
        "pair_html_escaped_json",
        "<pre>{&quot;password&quot;: &quot;<<1>>&quot;, &quot;id&quot;: 7}</pre>",
        _pw(),
        keeps=("&quot;id&quot;: 7",),
    ),
    _secret("pair_ruby_hash", '{:password=>"<<1>>", :user=>"bob"}', _pw(), keeps=(':user=>"bob"',)),
    _secret(
        "pair_ruby_string_hash",
        '{"password"=>"<<1>>", "user"=>"bob"}',
        _pw(),
        keeps=('"user"=>"bob"',),
    ),
    _secret(
        "pair_go_struct",
        "{Host:judge.internal APIKey:<<1>> Timeout:60s}",
        _b62(32),
        keeps=("Host:judge.internal", "Timeout:60s"),
    ),
    _secret(
        "pair_python_assignment", '>>> api_key = "<<1>>"\n>>> run()', _pw(), keeps=(">>> run()",)
    ),
    _secret(
        "pair_env_python_assignment",
        'os.environ["OPENAI_API_KEY"] = "<<1>>"\nrun()',
        _pw(),
        keeps=("run()",),
    ),
    _secret(
        "pair_fallback_in_source",
        'token = os.environ.get("GYM_TOKEN", "<<1>>")',
        _b62(40),
        keeps=("os.environ.get(",),
    ),
    _secret(
        "pair_tuple_in_locals",
        "locals: password = '<<1>>', attempt = 3",
        _pw(),
        keeps=("attempt = 3",),
    ),
    _secret(
        "pair_table_of_locals",
        "│ api_key = '<<1>>' │\n│ attempt = 3 │",
        _pw(),
        keeps=("│ attempt = 3 │",),
    ),
    _secret(
        "pair_json_once_nested",
        _nested({"detail": "bad credential", "password": "<<1>>", "user": "bob"}, 1),
        _pw(),
        keeps=("bad credential", '\\"user\\": \\"bob\\"', '"code": 400'),
    ),
    _secret(
        "pair_json_twice_nested",
        _nested({"detail": "bad credential", "api_key": "<<1>>", "model": "judge"}, 2),
        _word(),
        keeps=("bad credential", "judge", '"code": 401'),
    ),
    _secret(
        "pair_json_thrice_nested",
        _nested({"detail": "bad credential", "api_key": "<<1>>", "model": "judge"}, 3),
        _word(),
        keeps=("bad credential", "judge"),
    ),
    _secret(
        "pair_json_once_nested_spaces",
        _nested({"password": "<<1>> <<2>>", "user": "bob"}, 1),
        _word(7),
        _word(7),
        keeps=("bob",),
    ),
    _secret(
        "pair_json_once_nested_escaped_quote",
        _nested({"password": '<<1>>"<<2>>', "user": "bob"}, 1),
        _pw(7),
        _pw(7),
        keeps=("bob",),
    ),
    _secret(
        "pair_json_twice_nested_escaped_quote",
        _nested({"password": '<<1>>"<<2>>', "user": "bob"}, 2),
        _pw(7),
        _pw(7),
        keeps=("bob",),
    ),
    _secret(
        "pair_json_once_nested_authorization",
        _nested({"headers": {"Authorization": "Bearer <<1>>", "Accept": "*/*"}, "status": 401}, 1),
        _pw(16),
        keeps=("*/*", '\\"status\\": 401'),
    ),
    _secret(
        "pair_json_twice_nested_basic",
        _nested({"headers": {"authorization": "Basic <<1>>", "accept": "*/*"}, "status": 401}, 2),
        _basic(),
        keeps=("*/*",),
    ),
    _secret(
        "pair_json_once_nested_cookie",
        _nested({"headers": {"set-cookie": "session=<<1>>; Path=/", "server": "uvicorn"}}, 1),
        _pw(16),
        keeps=("uvicorn",),
    ),
    _secret(
        "pair_json_once_nested_url",
        _nested(
            {"url": "https://bob:<<1>>@api.example.com/v1?api_key=<<2>>&page=2", "status": 502}, 1
        ),
        _pw(),
        _pw(),
        keeps=("api.example.com/v1", "page=2", '\\"status\\": 502'),
    ),
    _secret(
        "pair_json_nested_in_python_dict",
        'HTTP 400: {\'detail\': \'{"password": "<<1>>", "user": "bob"}\', \'code\': 7}',
        _pw(),
        keeps=("HTTP 400", '"user": "bob"', "'code': 7"),
    ),
    _secret(
        "pair_json_nested_in_escaped_python_repr",
        "'{\\'password\\': \\'<<1>>\\', \\'user\\': \\'bob\\'}'",
        _pw(),
        keeps=("bob",),
    ),
    _secret(
        "pair_at_start",
        "<<1>>: password=<<2>>, host=db.internal",
        _plain(_uuid),
        _pw(),
        keeps=("<<1>>", "host=db.internal"),
    ),
    _secret(
        "pair_full_stop_after",
        "It was sent with api_key=<<1>>. Then it failed.",
        _pw(),
        keeps=("Then it failed.",),
    ),
    _secret(
        "pair_parenthesis_after",
        "refused (password=<<1>>) on db.internal",
        _pw(),
        keeps=("on db.internal",),
    ),
    _secret(
        "pair_angle_brackets",
        "<Client api_key=<<1>> at 0x7f3c5c1d2b10>",
        _pw(),
        keeps=("<Client", "at 0x7f3c5c1d2b10>"),
    ),
    _secret(
        "pair_backticks",
        "run with `--api-key <<1>>` on node-3",
        _pw(),
        keeps=("run with", "on node-3"),
    ),
    _secret("pair_pipe", "api_key=<<1>>|model=judge", _pw(), keeps=("model=judge",)),
    _secret(
        "pair_ansi",
        "\x1b[31mapi_key\x1b[0m=\x1b[33m<<1>>\x1b[0m retry in 5s",
        _b62(40),
        keeps=("retry in 5s",),
    ),
    _secret(
        "pair_ansi_around",
        "\x1b[31mAuthorization: Bearer <<1>>\x1b[0m\nretry in 5s",
        _b62(24),
        keeps=("retry in 5s",),
    ),
    _secret("unnamed_ansi", "\x1b[33m<<1>>\x1b[0m retry in 5s", _b62(40), keeps=("retry in 5s",)),
    _secret(
        "pair_cjk_around",
        "请求失败\uff1aapi_key=<<1>>\uff0c请稍后重试。",
        _pw(),
        keeps=("请求失败", "请稍后重试"),
    ),
    _secret(
        "shape_cjk_around", "密钥<<1>>无效", _b62(48, _p("sk", "-proj-")), keeps=("密钥", "无效")
    ),
    _secret("unnamed_cjk_around", "令牌<<1>>已过期", _b62(40), keeps=("令牌", "已过期")),
    _secret("pair_emoji_after", "api_key=<<1>>🚨 retry in 5s", _b62(24), keeps=("retry in 5s",)),
    _secret(
        "pair_zero_width_space", "api_key=\u200b<<1>> status=401", _b62(40), keeps=("status=401",)
    ),
    _secret(
        "many_kinds_in_one_text",
        "GET https://bob:<<1>>@a.example.com/x?token=<<2>> with Authorization: Bearer <<3>>\npassword=<<4>>\n"
        "then <<5>> from 10.0.0.7",
        _pw(),
        _pw(16),
        _b62(24),
        _word(),
        _b62(36, _p("gh", "p_")),
        keeps=("a.example.com/x", "from 10.0.0.7"),
    ),
    _secret(
        "same_secret_many_times",
        "api_key=<<1>> refused; retry with api_key=<<1>>; {'api_key': '<<1>>'} status=401",
        _pw(),
        keeps=("refused; retry with", "status=401"),
    ),
    _secret(
        "environment_dump",
        "HOME=/home/gym\nLANG=C.UTF-8\nNVIDIA_API_KEY=<<1>>\nCUDA_VISIBLE_DEVICES=0,1\nHF_TOKEN=<<2>>\n"
        "REDIS_URL=redis://:<<3>>@c:6379/0\n"
        "TOKENIZERS_PARALLELISM=false\nMY_SERVICE_PASSWORD=<<4>>\nPWD=/workspace/gym\n",
        _b64url(64, _p("nv", "api-")),
        _of(_LOWER + _UPPER, 34, _p("h", "f_")),
        _pw(),
        _word(),
        keeps=(
            "HOME=/home/gym",
            "CUDA_VISIBLE_DEVICES=0,1",
            "TOKENIZERS_PARALLELISM=false",
            "PWD=/workspace/gym",
            "c:6379/0",
        ),
    ),
)


# --------------------------------------------------------------------------------------------------------------------
# Secrets: messages of libraries
# --------------------------------------------------------------------------------------------------------------------

_ERRORS: tuple[Secret, ...] = (
    _secret(
        "error_chain",
        'Traceback (most recent call last):\n  File "/app/gym/judge.py", line 41, in call\n'
        "    return await self._post(body)\n           ^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "gym.errors.Unauthorized: 401 for https://judge:8443/v1?api_key=<<1>>\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        'Traceback (most recent call last):\n  File "/app/gym/rollout.py", line 97, in run\n'
        "    score = await judge.call(body)\n            ^^^^^^^^^^^^^^^^^^^^^^\n"
        "RuntimeError: judge refused Bearer <<2>>\n",
        _pw(),
        _b62(32),
        keeps=(
            "The above exception was the direct cause of the following exception:",
            'File "/app/gym/judge.py", line 41, in call',
            "401 for https://judge:8443/v1",
            "RuntimeError: judge refused",
        ),
    ),
    _secret(
        "error_chain_context",
        "KeyError: 'HF_TOKEN'\n\nDuring handling of the above exception, another exception occurred:\n\n"
        "ValueError: cannot log in with password='<<1>>'",
        _word(),
        keeps=(
            "KeyError: 'HF_TOKEN'",
            "During handling of the above exception",
            "ValueError: cannot log in with",
        ),
    ),
    _secret(
        "error_traceback_last_line",
        'Traceback (most recent call last):\n  File "/app/run.py", line 7, in <module>\n    client = connect(token)\n'
        "             ^^^^^^^^^^^^^^\nValueError: bad token: <<1>>",
        _b62(40),
        keeps=(
            'File "/app/run.py", line 7, in <module>',
            "client = connect(token)",
            "ValueError: bad token",
        ),
    ),
    _secret(
        "error_traceback_source_line",
        'Traceback (most recent call last):\n  File "/app/run.py", line 7, in <module>\n'
        '    client = OpenAI(base_url="http://vllm:8000/v1", api_key="<<1>>")\nTypeError: unhashable type: \'dict\'',
        _pw(),
        keeps=('base_url="http://vllm:8000/v1"', "TypeError: unhashable type: 'dict'"),
    ),
    _secret(
        "error_exception_group",
        "  + Exception Group Traceback (most recent call last):\n"
        "  | ExceptionGroup: 2 tasks failed (2 sub-exceptions)\n"
        "  +-+---------------- 1 ----------------\n    | ValueError: api_key=<<1>>\n"
        "    +---------------- 2 ----------------\n    | TimeoutError: judge:8443\n"
        "    +------------------------------------\n",
        _pw(),
        keeps=("2 tasks failed (2 sub-exceptions)", "TimeoutError: judge:8443"),
    ),
    _secret(
        "error_aiohttp_client_response_error",
        "ClientResponseError(RequestInfo(url=URL('https://judge:8443/v1?access_token=<<1>>'), method='POST', "
        "headers=<CIMultiDictProxy('Host': 'judge:8443', 'Authorization': 'Bearer <<2>>', "
        "'User-Agent': 'Python/3.12 aiohttp/3.13.2')>, real_url=URL('https://judge:8443/v1?access_token=<<1>>')), (), "
        "status=401, message='Unauthorized', headers=<CIMultiDictProxy('Server': 'uvicorn')>)",
        _pw(16),
        _b62(32),
        keeps=(
            "https://judge:8443/v1",
            "'User-Agent': 'Python/3.12 aiohttp/3.13.2'",
            "status=401, message='Unauthorized'",
        ),
    ),
    _secret(
        "error_aiohttp_message",
        "aiohttp.client_exceptions.ClientResponseError: 403, message='Forbidden', "
        "url='https://judge:8443/v1?token=<<1>>'",
        _pw(16),
        keeps=("403, message='Forbidden'", "https://judge:8443/v1"),
    ),
    _secret(
        "error_aiohttp_connector",
        "ClientConnectorError: Cannot connect to host judge:8443 ssl:default [Connection refused], "
        "proxy URL('http://svc:<<1>>@proxy.corp:3128')",
        _pw(),
        keeps=(
            "Cannot connect to host judge:8443 ssl:default [Connection refused]",
            "proxy.corp:3128",
        ),
    ),
    _secret(
        "error_httpx",
        "httpx.HTTPStatusError: Client error '401 Unauthorized' for url "
        "'https://judge.example.com/v1/score?key=<<1>>'\n"
        "For more information check: https://developer.mozilla.org/en-US/docs/Web/HTTP/Status/401",
        _b62(32),
        keeps=(
            "Client error '401 Unauthorized' for url",
            "https://judge.example.com/v1/score",
            "https://developer.mozilla.org/en-US/docs/Web/HTTP/Status/401",
        ),
    ),
    _secret(
        "error_httpx_illegal_header",
        r"httpcore.LocalProtocolError: Illegal header value b'Bearer <<1>>\n'",
        _pw(20),
        keeps=("httpcore.LocalProtocolError: Illegal header value",),
    ),
    _secret(
        "error_httpx_log",
        'INFO httpx HTTP Request: POST https://judge.example.com/v1/score?api_key=<<1>> "HTTP/1.1 429 Too Many '
        'Requests"',
        _pw(),
        keeps=("https://judge.example.com/v1/score", '"HTTP/1.1 429 Too Many Requests"'),
    ),
    _secret(
        "error_requests_invalid_header",
        "requests.exceptions.InvalidHeader: Invalid leading whitespace, reserved character(s), or return character(s) "
        "in header value: ' Bearer <<1>>'",
        _pw(20),
        keeps=(
            "Invalid leading whitespace, reserved character(s), or return character(s) in header value",
        ),
    ),
    _secret(
        "error_urllib3_max_retries",
        "HTTPSConnectionPool(host='api.example.com', port=443): Max retries exceeded with url: "
        "/v1/models?api_key=<<1>> "
        "(Caused by NewConnectionError('<urllib3.connection.HTTPSConnection object at 0x7f3c5c1d2b10>: Failed to "
        "establish a new connection: [Errno 111] Connection refused'))",
        _word(),
        keeps=("host='api.example.com', port=443", "/v1/models", "[Errno 111] Connection refused"),
    ),
    _secret(
        "error_openai_incorrect_key",
        "openai.AuthenticationError: Error code: 401 - {'error': {'message': 'Incorrect API key provided: <<1>>. "
        "You can "
        "find your API key at https://platform.openai.com/account/api-keys.', 'type': 'invalid_request_error', "
        "'param': None, 'code': 'invalid_api_key'}}",
        _b62(48, _p("sk", "-proj-")),
        keeps=(
            "Error code: 401",
            "Incorrect API key provided",
            "You can find your API key at https://platform.openai.com/account/api-keys.",
            "'code': 'invalid_api_key'",
        ),
    ),
    _secret(
        "error_openai_incorrect_key_of_no_shape",
        "Error code: 401 - {'error': {'message': 'Incorrect API key provided: <<1>>. You can find your API key at "
        "https://platform.openai.com/account/api-keys.', 'code': 'invalid_api_key'}}",
        _pw(20),
        keeps=("Incorrect API key provided", "'code': 'invalid_api_key'"),
    ),
    _secret(
        "error_litellm",
        "litellm.AuthenticationError: AuthenticationError: OpenAIException - The api_key=<<1>> is invalid. model=judge",
        _b62(48, _p("sk", "-")),
        keeps=("litellm.AuthenticationError", "model=judge"),
    ),
    _secret(
        "error_vllm_validation",
        "[{'type': 'extra_forbidden', 'loc': ('body', 'api_key'), 'msg': 'Extra inputs are not permitted', "
        "'input': '<<1>>'}]",
        _b62(40),
        keeps=("'msg': 'Extra inputs are not permitted'", "'loc': ('body', 'api_key')"),
    ),
    _secret(
        "error_pydantic",
        "1 validation error for JudgeConfig\ntimeout\n  Input should be a valid integer [type=int_type, "
        "input_value={'api_key': '<<1>>', 'timeout': 'x'}, input_type=dict]\n"
        "    For further information visit https://errors.pydantic.dev/2.11/v/int_type",
        _pw(),
        keeps=(
            "1 validation error for JudgeConfig\ntimeout\n  Input should be a valid integer [type=int_type",
            "input_type=dict]",
            "https://errors.pydantic.dev/2.11/v/int_type",
        ),
    ),
    _secret(
        "error_pydantic_truncated_input",
        "1 validation error for JudgeConfig\nurl\n  Field required [type=missing, "
        "input_value={'api_key': '<<1>>...judge', 'timeout': 60}, input_type=dict]",
        _b62(20, _p("sk", "-")),
        keeps=("url\n  Field required [type=missing", "input_type=dict]"),
    ),
    _secret(
        "error_pydantic_field_is_key",
        "1 validation error for JudgeConfig\napi_key\n"
        "  String should have at most 20 characters [type=string_too_long, "
        "input_value='<<1>>', input_type=str]",
        _b62(40),
        keeps=("api_key\n  String should have at most 20 characters", "input_type=str]"),
    ),
    _secret(
        "error_called_process_list",
        "subprocess.CalledProcessError: Command '['git', 'clone', 'https://bob:<<1>>@github.com/org/repo.git', "
        "'/tmp/r']' "
        "returned non-zero exit status 128.",
        _pw(),
        keeps=(
            "'git', 'clone'",
            "github.com/org/repo.git",
            "'/tmp/r'",
            "returned non-zero exit status 128.",
        ),
    ),
    _secret(
        "error_called_process_shell",
        "subprocess.CalledProcessError: Command 'docker login -u bob --password <<1>> nvcr.io' returned non-zero "
        "exit status 1.",
        _word(),
        keeps=("docker login -u bob", "nvcr.io", "returned non-zero exit status 1."),
    ),
    _secret(
        "error_called_process_environment",
        "CalledProcessError: Command 'HF_TOKEN=<<1>> python train.py' died with <Signals.SIGKILL: 9>.",
        _pw(20),
        keeps=("python train.py", "died with <Signals.SIGKILL: 9>"),
    ),
    _secret(
        "error_git_clone",
        "Cloning into 'repo'...\nremote: Invalid username or token.\n"
        "fatal: Authentication failed for 'https://<<1>>@github.com/org/repo.git/'",
        _b62(40),
        keeps=(
            "remote: Invalid username or token.",
            "fatal: Authentication failed for",
            "github.com/org/repo.git/",
        ),
    ),
    _secret(
        "error_psycopg",
        'psycopg.OperationalError: connection failed: connection to server at "10.0.0.9", port 5432 failed: '
        "FATAL:  password "
        'authentication failed for user "app"\nconninfo: host=10.0.0.9 user=app password=<<1>> dbname=gym',
        _word(),
        keeps=(
            'connection to server at "10.0.0.9", port 5432 failed',
            'password authentication failed for user "app"',
            "dbname=gym",
        ),
    ),
    _secret(
        "error_sqlalchemy_url",
        "sqlalchemy.exc.ArgumentError: Could not parse rfc1738 URL from string "
        "'DATABASE_URL=postgresql://app:<<1>>@db.internal/gym'",
        _pw(),
        keeps=("Could not parse rfc1738 URL from string", "db.internal/gym"),
    ),
    _secret(
        "error_pymongo",
        "pymongo.errors.ConfigurationError: The DNS query name does not exist: c0.mongodb.net; "
        "uri mongodb+srv://app:<<1>>@c0.mongodb.net/gym",
        _pw(),
        keeps=("The DNS query name does not exist: c0.mongodb.net",),
    ),
    _secret(
        "error_boto3_client",
        "botocore.exceptions.ClientError: An error occurred (InvalidAccessKeyId) when calling the PutObject "
        "operation: The AWS "
        "Access Key Id you provided does not exist in our records: <<1>>",
        _up36(16, _p("AK", "IA")),
        keeps=("An error occurred (InvalidAccessKeyId) when calling the PutObject operation",),
    ),
    _secret(
        "error_s3_xml",
        "<Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId><<1>></AWSAccessKeyId>"
        "<SignatureProvided><<2>></SignatureProvided><RequestId>4442587FB7D0A2F9</RequestId></Error>",
        _up36(16, _p("AK", "IA")),
        _b64(43, suffix="="),
        keeps=("<Code>SignatureDoesNotMatch</Code>", "<RequestId>4442587FB7D0A2F9</RequestId>"),
    ),
    _secret(
        "error_s3_credentials_repr",
        "NoSuchBucket: session(aws_access_key_id='<<1>>', aws_secret_access_key='<<2>>', region_name='us-east-1')",
        _up36(16, _p("AK", "IA")),
        _b64(40),
        keeps=("NoSuchBucket", "region_name='us-east-1'"),
    ),
    _secret(
        "error_google_auth",
        "google.auth.exceptions.RefreshError: ('invalid_grant: Bad Request', {'error': 'invalid_grant', "
        "'refresh_token': '1//<<1>>', 'client_secret': '<<2>>'})",
        _b64url(60),
        _b64url(28, _p("GOC", "SPX-")),
        keeps=("invalid_grant: Bad Request", "'error': 'invalid_grant'"),
    ),
    _secret(
        "error_grpc",
        "grpc.aio.AioRpcError: <AioRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNAUTHENTICATED\n"
        '\tdetails = "token <<1>> expired"\n>',
        _jwt,
        keeps=("status = StatusCode.UNAUTHENTICATED", "expired"),
    ),
    _secret(
        "error_otlp_exporter",
        "Failed to export traces to collector:4317, error code: StatusCode.UNAUTHENTICATED, headers=(('authorization', "
        "'Bearer <<1>>'), ('user-agent', 'OTel-OTLP-Exporter-Python/1.38.0'))",
        _pw(20),
        keeps=("Failed to export traces to collector:4317", "OTel-OTLP-Exporter-Python/1.38.0"),
    ),
    _secret(
        "error_gym_server",
        'Request to POST http://127.0.0.1:9001/verify failed with status 500: {"detail": "{\\"error\\": \\"judge '
        'refused\\", '
        '\\"headers\\": {\\"authorization\\": \\"Bearer <<1>>\\"}}"}',
        _pw(20),
        keeps=("http://127.0.0.1:9001/verify failed with status 500", "judge refused"),
    ),
    _secret(
        "error_unicode_encode",
        "UnicodeEncodeError: 'latin-1' codec can't encode character '\\u2026' in position 12: 'Bearer <<1>>\u2026'",
        _pw(20),
        keeps=("'latin-1' codec can't encode character", "in position 12"),
    ),
    _secret(
        "error_json_decode_document",
        "JSONDecodeError: Expecting ',' delimiter: line 1 column 38 (char 37), document: '{\"password\": "
        '"<<1>>" "user": 1}\'',
        _pw(),
        keeps=("Expecting ',' delimiter: line 1 column 38 (char 37)",),
    ),
    _secret(
        "error_ray_runtime_env",
        "RuntimeEnvSetupError: Failed to set up runtime environment: {'env_vars': {'WANDB_API_KEY': '<<1>>', "
        "'NCCL_DEBUG': 'INFO'}}",
        _hex(40),
        keeps=("Failed to set up runtime environment", "'NCCL_DEBUG': 'INFO'"),
    ),
)

# --------------------------------------------------------------------------------------------------------------------
# Secrets: the name in one field, the value in another
# --------------------------------------------------------------------------------------------------------------------

_APART: tuple[Secret, ...] = (
    _secret(
        "apart_header_object",
        '{"key": "x-api-key", "value": "<<1>>"}',
        _pw(14),
        keeps=('"key": "x-api-key"',),
    ),
    _secret(
        "apart_grpc_metadata",
        "metadata=(_Metadatum(key='x-api-key', value='<<1>>'),)",
        _pw(14),
        keeps=("_Metadatum",),
    ),
    _secret(
        "apart_environment_object",
        '{"name": "OPENAI_API_KEY", "value": "<<1>>"}',
        _pw(),
        keeps=('"name": "OPENAI_API_KEY"',),
    ),
    _secret(
        "apart_environment_word",
        '{"name": "HF_TOKEN", "value": "<<1>>"}, {"name": "TZ", "value": "UTC"}',
        _word(),
        keeps=('"value": "UTC"',),
    ),
    _secret(
        "apart_k8s_yaml",
        "  env:\n  - name: DB_PASSWORD\n    value: <<1>>\n  - name: TZ\n    value: UTC\n",
        _pw(),
        keeps=("value: UTC",),
    ),
    _secret(
        "apart_k8s_yaml_quoted",
        '  - name: DB_PASSWORD\n    value: "<<1>>"\n',
        _word(),
        keeps=("name: DB_PASSWORD",),
    ),
    _secret(
        "apart_k8s_yaml_in_json",
        '{"manifest": "- name: HF_TOKEN\\n  value: <<1>>\\n- name: TZ\\n  value: UTC"}',
        _pw(14),
        keeps=("value: UTC",),
    ),
    _secret(
        "apart_k8s_flow",
        "env: [{name: HF_TOKEN, value: <<1>>}, {name: TZ, value: UTC}]",
        _pw(),
        keeps=("value: UTC",),
    ),
    _secret(
        "apart_k8s_python",
        "V1EnvVar(name='WANDB_API_KEY', value='<<1>>', value_from=None)",
        _hex(40),
        keeps=("value_from=None",),
    ),
    _secret(
        "apart_k8s_python_pretty",
        "{'name': 'WANDB_API_KEY',\n 'value': '<<1>>',\n 'value_from': None}",
        _hex(40),
        keeps=("'value_from': None",),
    ),
    _secret(
        "apart_cookie_repr",
        "Cookie(version=0, name='session', value='<<1>>', port=None)",
        _b62(24),
        keeps=("port=None",),
    ),
    _secret(
        "apart_cookie_of_playwright",
        "{'name': 'sessionid', 'value': '<<1>>', 'domain': '.example.com'}",
        _pw(16),
        keeps=("'domain': '.example.com'",),
    ),
    _secret(
        "apart_xml_add", '<add key="ApiKey" value="<<1>>"/>', _pw(), keeps=('<add key="ApiKey"',)
    ),
    _secret(
        "apart_html_input",
        "<input name='password' value='<<1>>'>",
        _pw(),
        keeps=("<input name='password'",),
    ),
    _secret(
        "apart_html_hidden_input",
        '<input type="hidden" name="csrf_token" value="<<1>>">',
        _pw(16),
        keeps=('name="csrf_token"',),
    ),
    _secret(
        "apart_form_data",
        'Content-Disposition: form-data; name="password"\r\n\r\n<<1>>\r\n--boundary--',
        _pw(),
        keeps=("--boundary--",),
    ),
    _secret(
        "apart_form_data_line_feeds",
        'Content-Disposition: form-data; name="api_key"\n\n<<1>>\n--boundary--',
        _pw(),
        keeps=("--boundary--",),
    ),
    _secret(
        "apart_form_data_repr",
        "b'Content-Disposition: form-data; name=\"api_key\"\\r\\n\\r\\n<<1>>\\r\\n--boundary--'",
        _pw(),
        keeps=("--boundary--",),
    ),
    _secret(
        "apart_tag_with_attribute",
        '<ns:Password Type="x#PasswordText"><<1>></ns:Password>',
        _pw(),
        keeps=("</ns:Password>",),
    ),
    _secret(
        "apart_tag_cdata", "<password><![CDATA[<<1>>]]></password>", _pw(), keeps=("</password>",)
    ),
    _secret(
        "apart_tag_escaped",
        "&lt;password&gt;<<1>>&lt;/password&gt;",
        _pw(),
        keeps=("&lt;/password&gt;",),
    ),
    _secret(
        "apart_tag_pass",
        "<user>bob</user><pass><<1>></pass>",
        _pw(),
        keeps=("<user>bob</user>", "</pass>"),
    ),
    _secret(
        "apart_tuple_in_tuple",
        "form: (('username','bob'),('password','<<1>> <<2>>'))",
        _pw(7),
        _pw(7),
        keeps=("('username','bob')",),
    ),
    _secret(
        "apart_ordered_dict",
        "OrderedDict([('model', 'judge'), ('api_key', '<<1>>')])",
        _word(12),
        keeps=("('model', 'judge')",),
    ),
    _secret(
        "apart_setenv_word",
        'monkeypatch.setenv("OPENAI_API_KEY", "<<1>>")',
        _word(),
        keeps=("monkeypatch.setenv",),
    ),
    _secret("apart_putenv", "os.putenv('DB_PASSWORD', '<<1>>')", _word(), keeps=("os.putenv",)),
)

# --------------------------------------------------------------------------------------------------------------------
# Secrets: in lists, in calls
# --------------------------------------------------------------------------------------------------------------------

_CONTAINED: tuple[Secret, ...] = (
    _secret(
        "contained_secret_str",
        "{'api_key': SecretStr('<<1>>'), 'model': 'judge'}",
        _word(),
        keeps=("'model': 'judge'",),
    ),
    _secret(
        "contained_secret_str_keyword",
        "Judge(api_key=SecretStr('<<1>>'), timeout=30)",
        _pw(),
        keeps=("timeout=30",),
    ),
    _secret("contained_str", "api_key=str('<<1>>')", _pw()),
    _secret("contained_quote_plus", "password=quote_plus('<<1>>')", _pw()),
    _secret(
        "contained_getenv_default",
        "password=getenv('DB_PASSWORD', '<<1>>')",
        _pw(),
        keeps=("DB_PASSWORD",),
    ),
    _secret(
        "contained_field_default", "password: str = Field(default='<<1>>')", _pw(), keeps=("Field",)
    ),
    _secret(
        "contained_field_positional",
        "api_key: str = Field('<<1>>', repr=False)",
        _pw(),
        keeps=("repr=False",),
    ),
    _secret(
        "contained_argument_default",
        "parser.add_argument('--api-key', default='<<1>>')",
        _pw(),
        keeps=("add_argument('--api-key'",),
    ),
    _secret(
        "contained_vllm_arguments",
        "non-default args: {'api_key': ['<<1>>'], 'model': 'Qwen/Qwen3-8B'}",
        _word(),
        keeps=("'model': 'Qwen/Qwen3-8B'",),
    ),
    _secret(
        "contained_namespace",
        "Namespace(api_key=['<<1>>'], model='judge')",
        _word(),
        keeps=("model='judge'",),
    ),
    _secret(
        "contained_plural", "api_keys=['<<1>>', '<<2>>']", _pw(), _word(12), keeps=("api_keys",)
    ),
    _secret(
        "contained_plural_json",
        '{"api_keys": ["<<1>>", "<<2>>"], "id": 7}',
        _pw(),
        _pw(),
        keeps=('"id": 7',),
    ),
    _secret("contained_tokens", "tokens: ['<<1>>']", _pw(14)),
    _secret("contained_passwords", "passwords=['<<1>>']", _pw()),
    _secret(
        "contained_secrets",
        "secrets={'db': '<<1>>', 'host': 'db.internal'}",
        _pw(),
        keeps=("'host': 'db.internal'",),
    ),
    _secret(
        "contained_secrets_word", "'secrets': {'judge': '<<1>>'}", _word(12), keeps=("'judge'",)
    ),
    _secret("contained_brackets", "api_key=[<<1>>] model=judge", _pw(), keeps=("model=judge",)),
    _secret("contained_angles", "password=<<<1>>>", _pw()),
    _secret("contained_parentheses", "password=(<<1>>)", _pw()),
    _secret("contained_braces", "password={<<1>>}", _pw()),
    _secret(
        "contained_expired_in_parentheses",
        "token=<<1>>(expired) on node-3",
        _word(12),
        keeps=("(expired) on node-3",),
    ),
    _secret("contained_credentials_pair", "credentials=('bob', '<<1>>')", _pw(), keeps=("'bob'",)),
    _secret(
        "contained_auth_pair",
        "requests.get(url, auth=('bob', '<<1>>'))",
        _pw(),
        keeps=("requests.get(url",),
    ),
    _secret("contained_auth_pair_bytes", "auth=(b'bob', b'<<1>>')", _pw(), keeps=("b'bob'",)),
    _secret(
        "contained_basic_auth",
        "aiohttp.BasicAuth('bob', '<<1>>')",
        _pw(),
        keeps=("BasicAuth('bob'",),
    ),
    _secret(
        "contained_http_basic_auth",
        "HTTPBasicAuth('bob', '<<1>>')",
        _pw(),
        keeps=("HTTPBasicAuth",),
    ),
    _secret(
        "contained_http_digest_auth",
        "HTTPDigestAuth('bob', '<<1>>')",
        _pw(),
        keeps=("HTTPDigestAuth",),
    ),
    _secret(
        "contained_plain_credentials",
        "PlainCredentials('guest', '<<1>>')",
        _pw(),
        keeps=("'guest'",),
    ),
    _secret(
        "contained_azure_credential",
        "AzureKeyCredential('<<1>>')",
        _hex(32),
        keeps=("AzureKeyCredential",),
    ),
    _secret(
        "contained_authorization_list",
        "{'authorization': ['Bearer <<1>>']}",
        _pw(14),
        keeps=("authorization",),
    ),
    _secret(
        "contained_authorization_tuple",
        "{'authorization': ('Bearer', '<<1>>')}",
        _pw(14),
        keeps=("authorization",),
    ),
)

# --------------------------------------------------------------------------------------------------------------------
# Secrets: names that also mean other things
# --------------------------------------------------------------------------------------------------------------------

_NAMES: tuple[Secret, ...] = (
    _secret(
        "name_pass",
        "user=bob pass=<<1>> host=db.internal",
        _pw(),
        keeps=("user=bob", "host=db.internal"),
    ),
    _secret("name_pass_line", "user: bob\npass: <<1>>", _pw(), keeps=("user: bob",)),
    _secret("name_pass_json", '{"user": "bob", "pass": "<<1>>"}', _pw(), keeps=('"user": "bob"',)),
    _secret(
        "name_pass_json_word", "{'user': 'bob', 'pass': '<<1>>'}", _word(), keeps=("'user': 'bob'",)
    ),
    _secret(
        "name_pass_form", "POST data: user=bob&pass=<<1>>&x=1", _word(12), keeps=("user=bob", "x=1")
    ),
    _secret(
        "name_pass_query", "https://a.example.com/x?pass=<<1>>&user=bob", _pw(), keeps=("user=bob",)
    ),
    _secret(
        "name_db_pass",
        "db_pass: <<1>>\ndb_host: db.internal",
        _pw(),
        keeps=("db_host: db.internal",),
    ),
    _secret("name_db_pass_quoted", "db_pass='<<1>>'", _pw()),
    _secret(
        "name_db_pass_camel", "{ dbPass: '<<1>>', dbUser: 'bob' }", _pw(), keeps=("dbUser: 'bob'",)
    ),
    _secret("name_smtp_pass", "smtp_pass=<<1>>", _word(12)),
    _secret(
        "name_ansible_pass",
        "AnsibleError: ansible_ssh_pass=<<1>> is wrong",
        _pw(),
        keeps=("AnsibleError", "is wrong"),
    ),
    _secret("name_pgpass", "PGPASS=<<1>> PGHOST=db.internal", _pw(), keeps=("PGHOST=db.internal",)),
    _secret("name_userpass", "userpass=<<1>>", _pw()),
    _secret("name_pw", "pw=<<1>> user=bob", _pw(), keeps=("user=bob",)),
    _secret("name_pw_quoted", "{'pw': '<<1>>'}", _pw()),
    _secret("name_passcode", "passcode=<<1>>", _pw()),
    _secret("name_pass_word", "pass_word=<<1>>", _pw()),
    _secret("name_pass_word_dash", "pass-word: <<1>>", _pw()),
    _secret("name_kennwort", "Kennwort: <<1>>", _pw()),
    _secret("name_chinese", "密码：<<1>>", _pw()),
    _secret("name_openai_key", "OPENAI_KEY=<<1>>", _pw(14), keeps=("OPENAI_KEY",)),
    _secret("name_openai_key_quoted", "{'openai_key': '<<1>>'}", _pw(14)),
    _secret("name_jwt_key", "JWT_KEY=<<1>>", _pw(12), keeps=("JWT_KEY",)),
    _secret("name_hmac_key", "HMAC_KEY=<<1>>", _pw(12), keeps=("HMAC_KEY",)),
    _secret("name_master_key", "LITELLM_MASTER_KEY=<<1>>", _hex(32), keeps=("LITELLM_MASTER_KEY",)),
    _secret("name_deploy_key", "DEPLOY_KEY=<<1>>", _b62(24), keeps=("DEPLOY_KEY",)),
    _secret("name_ssh_key", "ssh_key='<<1>>'", _b62(24)),
    _secret("name_storage_key", "storageKey=<<1>>==", _pw(14)),
    _secret("name_wandb_key", "WANDB_KEY=<<1>>", _hex(40), keeps=("WANDB_KEY",)),
    _secret(
        "name_judge_key",
        "judge_key: <<1>>\njudge_model: gpt-4o",
        _pw(14),
        keeps=("judge_model: gpt-4o",),
    ),
    _secret("name_service_role_key", "SERVICE_ROLE_KEY=<<1>>", _pw(14)),
    _secret("name_azure_key_number", "AZURE_KEY1=<<1>>", _hex(32)),
    _secret("name_github_pat", "GITHUB_PAT=<<1>>", _pw(14), keeps=("GITHUB_PAT",)),
    _secret(
        "name_header_key",
        "X-Judge-Key: <<1>>\nAccept: */*",
        _b62(24),
        keeps=("X-Judge-Key", "Accept: */*"),
    ),
    _secret(
        "name_header_key_dict",
        "headers: {'X-Nemo-Gym-Key': '<<1>>'}",
        _pw(),
        keeps=("X-Nemo-Gym-Key",),
    ),
    _secret("name_header_functions_key", "x-functions-key: <<1>>==", _pw(14)),
    _secret(
        "name_header_quoted_word",
        "curl -H 'X-Judge-Token: <<1>>' https://a.example.com",
        _word(12),
        keeps=("https://a.example.com",),
    ),
)

# --------------------------------------------------------------------------------------------------------------------
# Secrets: on command lines
# --------------------------------------------------------------------------------------------------------------------

_COMMANDS: tuple[Secret, ...] = (
    _secret(
        "command_underscores",
        "run.py --wandb_api_key <<1>> --lr 3e-6",
        _hex(40),
        keeps=("--lr 3e-6",),
    ),
    _secret("command_one_dash", "tool -password <<1>>", _word()),
    _secret("command_list_unquoted", "cmd: [--token, <<1>>]", _pw(14)),
    _secret(
        "command_yaml_list", "args:\n- --api-key\n- <<1>>\n- --port\n", _pw(14), keeps=("- --port",)
    ),
    _secret("command_option_pass", "tool --pass <<1>>", _pw()),
    _secret("command_option_db_pass", "tool --db-pass=<<1>>", _pw()),
    _secret(
        "command_curl_joined",
        "curl -ubob:<<1>> https://a.example.com",
        _pw(),
        keeps=("https://a.example.com",),
    ),
    _secret(
        "command_curl_flags",
        "curl -sSu bob:<<1>> https://a.example.com",
        _pw(),
        keeps=("https://a.example.com",),
    ),
    _secret(
        "command_curl_token_alone",
        "curl -u <<1>>: https://api.example.com",
        _b62(24),
        keeps=("https://api.example.com",),
    ),
    _secret(
        "command_curl_quoted",
        "curl --user 'bob:<<1>> <<2>>' https://a.example.com",
        _pw(7),
        _pw(7),
        keeps=("https://a.example.com",),
    ),
    _secret(
        "command_httpie",
        "http --auth bob:<<1>> GET https://a.example.com",
        _pw(),
        keeps=("GET https://a.example.com",),
    ),
    _secret("command_sshpass", "sshpass -p <<1>> ssh bob@node-3", _pw(), keeps=("ssh bob@node-3",)),
    _secret(
        "command_sshpass_quoted",
        "sshpass -p '<<1>> <<2>>' ssh bob@node-3",
        _pw(7),
        _pw(7),
        keeps=("ssh bob@node-3",),
    ),
    _secret(
        "command_mysql",
        "mysql -uroot -p<<1>> -h db.internal gym",
        _pw(),
        keeps=("-h db.internal gym",),
    ),
    _secret(
        "command_mysql_quoted",
        "mysql -u root -p'<<1>> <<2>>' gym",
        _pw(7),
        _pw(7),
        keeps=("mysql -u root",),
    ),
    _secret(
        "command_redis_cli",
        "redis-cli -h cache -a <<1>> ping",
        _pw(),
        keeps=("redis-cli -h cache", "ping"),
    ),
    _secret(
        "command_docker_login",
        "docker login -u bob -p <<1>> registry.example.com",
        _word(),
        keeps=("registry.example.com",),
    ),
    _secret(
        "command_docker_login_ngc",
        "docker login nvcr.io -u '$oauthtoken' -p <<1>>",
        _b62(24),
        keeps=("docker login nvcr.io",),
    ),
    _secret(
        "command_docker_login_stdin",
        "echo <<1>> | docker login --password-stdin",
        _b62(24),
        keeps=("docker login --password-stdin",),
    ),
    _secret(
        "command_mongosh", "mongosh --host m1 -u app -p <<1>> --quiet", _pw(), keeps=("--quiet",)
    ),
    _secret(
        "command_ldapsearch",
        "ldapsearch -x -D cn=admin -w <<1>> -b dc=x",
        _pw(),
        keeps=("-b dc=x",),
    ),
    _secret("command_wandb_login", "wandb login <<1>>", _hex(40), keeps=("wandb login",)),
    _secret("command_wandb_relogin", "wandb login --relogin <<1>>", _hex(40), keeps=("--relogin",)),
    _secret("command_csh_setenv", "setenv HF_TOKEN <<1>>", _pw(14), keeps=("setenv HF_TOKEN",)),
    _secret("command_dockerfile_env", "ENV HF_TOKEN <<1>>", _pw(14), keeps=("ENV HF_TOKEN",)),
    _secret(
        "command_redis_requirepass",
        "CONFIG SET requirepass <<1>>",
        _pw(16),
        keeps=("CONFIG SET requirepass",),
    ),
    _secret(
        "command_identified_by",
        "ALTER USER x IDENTIFIED BY <<1>>",
        _pw(16),
        keeps=("ALTER USER x",),
    ),
)

# --------------------------------------------------------------------------------------------------------------------
# Secrets: URLs and cookies in other forms
# --------------------------------------------------------------------------------------------------------------------

_URL_FORMS: tuple[Secret, ...] = (
    _secret(
        "url_form_socket",
        "postgresql+psycopg://app:<<1>>@/gym?host=/var/run/postgresql",
        _pw(),
        keeps=("/gym?host=/var/run/postgresql",),
    ),
    _secret(
        "url_form_variable_host",
        "postgresql://app:<<1>>@$DB_HOST/gym",
        _pw(),
        keeps=("$DB_HOST/gym",),
    ),
    _secret("url_form_template_host", "https://bob:<<1>>@{host}/x", _pw(), keeps=("{host}/x",)),
    _secret("url_form_any_host", "http://bob:<<1>>@*:8000", _pw(), keeps=("*:8000",)),
    _secret("url_form_template_user", "https://{user}:<<1>>@judge/x", _pw(), keeps=("judge/x",)),
    _secret(
        "url_form_escaped_slashes",
        r"https:\/\/bob:<<1>>@api.example.com\/v1",
        _pw(),
        keeps=("api.example.com",),
    ),
    _secret(
        "url_form_percent",
        "next=https%3A%2F%2Fbob%3A<<1>>%40api.example.com%2Fx",
        _pw(),
        keeps=("api.example.com%2Fx",),
    ),
    _secret(
        "url_form_netloc",
        "ParseResult(scheme='https', netloc='bob:<<1>>@judge:8443', path='/x')",
        _pw(),
        keeps=("judge:8443",),
    ),
    _secret(
        "url_form_netloc_no_user",
        "SplitResult(scheme='redis', netloc=':<<1>>@cache:6379', path='/0')",
        _pw(),
        keeps=("cache:6379",),
    ),
    _secret(
        "url_form_proxy", "http_proxy=bob:<<1>>@proxy.corp:3128", _pw(), keeps=("proxy.corp:3128",)
    ),
    _secret(
        "url_form_proxy_option",
        "--proxy bob:<<1>>@proxy.corp:3128",
        _pw(),
        keeps=("proxy.corp:3128",),
    ),
    _secret(
        "url_form_invalid",
        "Invalid URL 'bob:<<1>>@db.internal:5432': No scheme supplied",
        _pw(),
        keeps=("No scheme supplied",),
    ),
    _secret(
        "url_form_letters_as_user",
        "fatal: unable to access 'https://<<1>>@github.com/o/r.git/': 403",
        _of(_LOWER + _UPPER, 24),
        keeps=("github.com/o/r.git",),
    ),
    _secret(
        "url_form_session_query",
        "https://a.example.com/x?session_id=<<1>>",
        _b62(24),
        keeps=("a.example.com/x",),
    ),
    _secret(
        "url_form_sentry_key",
        "https://sentry.io/api/1/store/?sentry_key=<<1>>",
        _hex(32),
        keeps=("sentry.io/api/1/store",),
    ),
    _secret(
        "cookie_simple_cookie",
        "<SimpleCookie: csrftoken='<<1>>' sessionid='<<2>>'>",
        _pw(),
        _pw(),
        keeps=("<SimpleCookie",),
    ),
    _secret(
        "cookie_header_list",
        '{"Cookie": ["session=<<1>>"], "Host": ["judge"]}',
        _pw(),
        keeps=('"Host": ["judge"]',),
    ),
    _secret(
        "cookie_set_cookie_list",
        "{'set-cookie': ['session=<<1>>; Path=/']}",
        _pw(),
        keeps=("set-cookie",),
    ),
    _secret(
        "cookie_dict_with_braces",
        "cookies: {'session': '<<1>>', 'x': '{}', 'csrf': '<<2>>'}",
        _pw(),
        _word(),
        keeps=("cookies",),
    ),
    _secret(
        "cookie_set_call",
        "session.cookies.set('session', '<<1>>')",
        _pw(),
        keeps=("cookies.set('session'",),
    ),
    _secret(
        "cookie_beside_a_jwt",
        "Cookie: auth=<<1>>; session=<<2>>",
        _jwt,
        _word(12),
        keeps=("Cookie",),
    ),
    _secret(
        "cookie_simple_cookie_jwt",
        "<SimpleCookie: auth='<<1>>' session='<<2>>'>",
        _jwt,
        _word(12),
        keeps=("<SimpleCookie",),
    ),
    _secret("cookie_word", "Cookie: session=<<1>>", _word(12), keeps=("Cookie",)),
)

# --------------------------------------------------------------------------------------------------------------------
# Secrets: in sentences, in tables, quoted by other formats
# --------------------------------------------------------------------------------------------------------------------

_FORMS: tuple[Secret, ...] = (
    _secret(
        "sentence_incorrect_key",
        "Incorrect API key provided: <<1>>. You can find your key at https://x.example.com",
        _word(12),
        keeps=("https://x.example.com",),
    ),
    _secret("sentence_invalid_token", "Invalid token '<<1>>'", _pw(16), keeps=("Invalid token",)),
    _secret("sentence_password_is", "The password is <<1>>", _pw(16), keeps=("The password is",)),
    _secret(
        "sentence_password_is_colon",
        "Temporary password is: <<1>>",
        _pw(16),
        keeps=("Temporary password",),
    ),
    _secret(
        "sentence_with_password",
        "login as bob with password <<1>> refused",
        _pw(16),
        keeps=("refused",),
    ),
    _secret("sentence_key_is", "the API key is <<1>>", _pw(16)),
    _secret(
        "sentence_using_key", "Using API key <<1>> for the judge", _pw(16), keeps=("for the judge",)
    ),
    _secret(
        "sentence_using_token",
        "Using token <<1>> for the judge",
        _b62(24),
        keeps=("for the judge",),
    ),
    _secret("sentence_key_in_angles", "unknown api key <<<1>>>", _pw(16)),
    _secret(
        "sentence_key_in_brackets", "API key [<<1>>] is not valid", _pw(16), keeps=("is not valid",)
    ),
    _secret(
        "sentence_key_in_parentheses", "api_key (<<1>>) rejected", _pw(16), keeps=("rejected",)
    ),
    _secret(
        "sentence_password_for", "Password for bob: <<1>>", _pw(16), keeps=("Password for bob",)
    ),
    _secret(
        "sentence_password_of_somebody", "Password (bob): <<1>>", _pw(16), keeps=("Password (bob)",)
    ),
    _secret("sentence_passphrase_for_key", "passphrase for key '/x': <<1>>", _pw(16)),
    _secret("sentence_password_set_to", "new password set to <<1>>", _pw(16)),
    _secret(
        "sentence_log_prefix",
        "(RolloutWorker pid=4242) api_key: <<1>>",
        _word(12),
        keeps=("(RolloutWorker pid=4242)",),
    ),
    _secret(
        "sentence_log_prefix_line",
        "2026-05-17 08:03:11 ERROR password: <<1>>\n2026-05-17 08:03:12 INFO retry",
        _word(12),
        keeps=("INFO retry",),
    ),
    _secret("table_markdown", "| password | <<1>> |", _pw(16), keeps=("| password |",)),
    _secret("table_box", "│   api_key │ <<1>> │", _pw(16)),
    _secret("table_columns", "api_key         <<1>>", _pw(16)),
    _secret("form_f_string", "password=f'<<1>>'", _pw()),
    _secret("form_triple_quotes", 'password="""<<1>>"""', _pw()),
    _secret("form_typed_optional", "hf_token: Optional[str] = '<<1>>'", _pw(14)),
    _secret("form_typed_final", 'OPENAI_API_KEY: Final[str] = "<<1>>"', _pw(14)),
    _secret(
        "form_yaml_block",
        "password: |\n  <<1>>\nhost: db.internal",
        _pw(),
        keeps=("host: db.internal",),
    ),
    _secret("form_yaml_folded", "password: >-\n  <<1>>\n", _pw()),
    _secret("form_yaml_tag", "password: !!str <<1>>", _pw()),
    _secret("form_yaml_flow", "judge: {api_key: <<1>>, model: x}", _word(12), keeps=("model: x",)),
    _secret(
        "form_yaml_comment", "  api_key: <<1>> # of the judge", _word(12), keeps=("# of the judge",)
    ),
    _secret("form_full_width_colon", "password：<<1>>", _pw()),
    _secret("form_arrow", "password→<<1>>", _pw()),
    _secret(
        "form_ansi_name_and_value",
        "\x1b[1mpassword\x1b[0m: \x1b[33m<<1>>\x1b[0m",
        _pw(),
        keeps=("\x1b[0m: \x1b[33m",),
    ),
    _secret("form_ansi_value", "password=\x1b[33m<<1>>\x1b[0m", _pw(), keeps=("\x1b[33m",)),
    _secret(
        "form_ansi_quoted",
        "\x1b[32m'api_key'\x1b[0m: \x1b[32m'<<1>>'\x1b[0m",
        _pw(),
        keeps=("'api_key'",),
    ),
    _secret(
        "form_html_hex_quotes",
        "{&#x27;password&#x27;: &#x27;<<1>>&#x27;}",
        _word(),
        keeps=("&#x27;password&#x27;",),
    ),
    _secret("form_html_equals", "password&#61;<<1>>", _pw()),
    _secret(
        "form_unicode_quotes",
        r"{\u0022password\u0022: \u0022<<1>>\u0022}",
        _word(),
        keeps=(r"\u0022}",),
    ),
    _secret("form_percent_quotes", "%22password%22%3A%22<<1>>%22", _pw()),
    _secret("form_percent_colon", "apikey%3A<<1>>", _pw()),
    _secret("form_percent_bearer", "authorization=Bearer%20<<1>>", _b62(24)),
    _secret("form_dollar", "password=$<<1>>", _pw()),
    _secret(
        "nested_json_in_auth",
        json.dumps({"auth": json.dumps({"password": "<<1>>", "user": "bob"})}),
        _word(),
        keeps=("bob",),
    ),
    _secret(
        "nested_json_in_credentials",
        json.dumps({"credentials": json.dumps({"password": "<<1>>"})}),
        _word(),
    ),
    _secret(
        "nested_json_in_secret_string",
        json.dumps({"SecretString": json.dumps({"username": "app", "password": "<<1>>"})}),
        _word(),
        keeps=("app",),
    ),
    _secret(
        "nested_dict_in_auth",
        str({"auth": str({"user": "bob", "password": "<<1>>"})}),
        _word(),
        keeps=("bob",),
    ),
    _secret(
        "nested_prose_in_auth",
        '{"auth": "login with password=<<1>> please"}',
        _word(),
        keeps=("please",),
    ),
    _secret(
        "nested_prose_two_names",
        "bad token: 'expired, password=<<1>> and api_key=<<2>> too'",
        _word(),
        _word(),
        keeps=("too'",),
    ),
    _secret(
        "nested_dict_in_credentials",
        "credentials={'user': 'bob', 'password': '<<1>>'}",
        _word(7),
        keeps=("'user': 'bob'",),
    ),
    _secret(
        "nested_names_in_sentence",
        "invalid token: api_key: <<1>>",
        _pw(12),
        keeps=("invalid token: api_key",),
    ),
    _secret(
        "shape_gitlab_trigger", "trigger <<1>>", _b62(40, _p("glp", "tt-")), keeps=("trigger",)
    ),
    _secret(
        "shape_firecrawl", "key <<1>> was refused", _hex(32, _p("f", "c-")), keeps=("was refused",)
    ),
    _secret(
        "shape_mailgun", "mail <<1>> was refused", _hex(32, _p("ke", "y-")), keeps=("was refused",)
    ),
    _secret("shape_openai_session", "<<1>> expired", _b62(40, _p("se", "ss-")), keeps=("expired",)),
    _secret("shape_openai_letters", "OPENAI: <<1>>", _of(_LOWER + _UPPER, 40, _p("s", "k-"))),
    _secret(
        "shape_half_of_base64", "<<1>>/Y6gX6A/Q3/joAQwfVwsjfeg/g/sh4p0Dd4b3Ogp", _of(_ALNUM, 24)
    ),
)

SECRETS: tuple[Secret, ...] = (
    *_AUTHORIZATION,
    *_COOKIES,
    *_shapes(),
    *_VENDORS,
    *_UNNAMED,
    *_PRIVATE_KEYS,
    *_URLS,
    *_DATABASES,
    *_PAIRS,
    *_ERRORS,
    *_APART,
    *_CONTAINED,
    *_NAMES,
    *_COMMANDS,
    *_URL_FORMS,
    *_FORMS,
)


# --------------------------------------------------------------------------------------------------------------------
# Innocent: identifiers and hashes
# --------------------------------------------------------------------------------------------------------------------

_ULID = _of(_CROCKFORD, 24, "01")

_IDENTIFIERS: tuple[Innocent, ...] = (
    _innocent("id_git_sha", "HEAD is now at <<1>> fix the verifier", _hex(40)),
    _innocent("id_git_sha_alone", "<<1>>", _hex(40)),
    _innocent("id_git_sha_short", "HEAD is now at <<1>> fix the verifier", _hex(7)),
    _innocent(
        "id_git_log",
        "commit <<1>>\nAuthor: Jane Doe <jane@example.com>\nDate:   Sun May 17 08:03:11 2026 +0200\n",
        _hex(40),
    ),
    _innocent(
        "id_git_diff_index",
        "diff --git a/x.py b/x.py\nindex 83db48f..bf2a3c1 100644\n@@ -1,7 +1,9 @@ def run():\n",
    ),
    _innocent("id_git_describe", "version 1.4.0-37-g3f2a9bc-dirty built from refs/heads/main"),
    _innocent("id_github_commit_url", "https://github.com/org/repo/commit/<<1>>", _hex(40)),
    _innocent(
        "id_github_compare_url",
        "https://github.com/org/repo/compare/<<1>>...<<2>>",
        _hex(40),
        _hex(40),
    ),
    _innocent(
        "id_pip_git_requirement",
        "gym @ git+https://github.com/org/repo.git@<<1>>#egg=gym",
        _hex(40),
    ),
    _innocent("id_md5", "<<1>>  dataset.jsonl", _hex(32)),
    _innocent("id_sha1", "sha1 mismatch: expected <<1>>, got <<2>>", _hex(40), _hex(40)),
    _innocent("id_sha256", "sha256 mismatch: expected <<1>>, got <<2>>", _hex(64), _hex(64)),
    _innocent("id_sha256_upper", "SHA256: <<1>>", _of("0123456789ABCDEF", 64)),
    _innocent("id_sha512", "sha512 <<1>> dataset.tar", _hex(128)),
    _innocent("id_image_digest", "nvcr.io/nvidia/nemo-gym@sha256:<<1>>", _hex(64)),
    _innocent(
        "id_image_digest_pull",
        "Digest: sha256:<<1>>\nStatus: Downloaded newer image for nvcr.io/nvidia/nemo:25.04\n",
        _hex(64),
    ),
    _innocent(
        "id_pip_hash",
        "aiohttp==3.13.2 \\\n    --hash=sha256:<<1>> \\\n    --hash=sha256:<<2>>\n",
        _hex(64),
        _hex(64),
    ),
    _innocent("id_npm_integrity", '"integrity": "sha512-<<1>>"', _b64(86, suffix="==")),
    _innocent("id_uuid", "rollout <<1>> failed", _uuid),
    _innocent("id_uuid_alone", "<<1>>", _uuid),
    _innocent("id_uuid_hex", "rollout_id=<<1>>", _hex(32)),
    _innocent("id_uuid_repr", "UUID('<<1>>')", _uuid),
    _innocent("id_uuid_urn", "urn:uuid:<<1>>", _uuid),
    _innocent("id_uuid_braces", "{<<1>>}", _uuid),
    _innocent("id_uuid_upper", "job 6BA7B810-9DAD-11D1-80B4-00C04FD430C8 done"),
    _innocent("id_uuid_list", '{"rollout_ids": ["<<1>>", "<<2>>"], "status": 500}', _uuid, _uuid),
    _innocent("id_ulid", "job <<1>> enqueued", _ULID),
    _innocent("id_nanoid", "run V1StGXR8_Z5jdHi6B started"),
    _innocent("id_trace_and_span", "trace_id=<<1>> span_id=<<2>> sampled=1", _hex(32), _hex(16)),
    _innocent(
        "id_trace_context_repr",
        "SpanContext(trace_id=0x<<1>>, span_id=0x<<2>>, trace_flags=0x01, trace_state=[], is_remote=False)",
        _hex(32),
        _hex(16),
    ),
    _innocent(
        "id_trace_decimal", "trace_id=291823190481029384712093847120938471 span_id=8271938471029384"
    ),
    _innocent("id_traceparent", "traceparent: 00-<<1>>-<<2>>-01", _hex(32), _hex(16)),
    _innocent(
        "id_traceparent_dict",
        "{'traceparent': '00-<<1>>-<<2>>-01', 'accept': '*/*'}",
        _hex(32),
        _hex(16),
    ),
    _innocent("id_tracestate", "tracestate: rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"),
    _innocent("id_b3", "b3: <<1>>-<<2>>-1", _hex(32), _hex(16)),
    _innocent("id_uber_trace_id", "uber-trace-id: <<1>>:<<2>>:0:1", _hex(32), _hex(16)),
    _innocent(
        "id_amzn_trace_id",
        "X-Amzn-Trace-Id: Root=1-6828a1b3-<<1>>;Parent=<<2>>;Sampled=1",
        _hex(24),
        _hex(16),
    ),
    _innocent("id_baggage", "baggage: rollout.id=17,attempt=2,env=math"),
    _innocent(
        "id_chatcmpl",
        "ChatCompletion(id='chatcmpl-<<1>>', object='chat.completion', model='gpt-4o-2024-08-06')",
        _b62(29),
    ),
    _innocent("id_chatcmpl_alone", "request chatcmpl-<<1>> aborted", _b62(29)),
    _innocent(
        "id_chatcmpl_vllm",
        "INFO Received request chatcmpl-<<1>>: max_tokens=4096, temperature=1.0",
        _hex(32),
    ),
    _innocent(
        "id_chatcmpl_tool", '{"tool_call_id": "chatcmpl-tool-<<1>>", "role": "tool"}', _hex(32)
    ),
    _innocent("id_cmpl", '{"id": "cmpl-<<1>>", "object": "text_completion"}', _b62(29)),
    _innocent("id_call", "No tool output found for function call call_<<1>>.", _b62(24)),
    _innocent("id_resp", "Previous response with id 'resp_<<1>>' not found.", _hex(48)),
    _innocent(
        "id_openai_items",
        '{"output": [{"id": "rs_<<1>>"}, {"id": "msg_<<2>>"}, {"id": "fc_<<3>>"}]}',
        _hex(48),
        _hex(48),
        _hex(48),
    ),
    _innocent(
        "id_anthropic_message",
        '{"id": "msg_01<<1>>", "type": "message", "role": "assistant"}',
        _b62(22),
    ),
    _innocent(
        "id_anthropic_tool_use",
        "tool_use ids were found without tool_result blocks: toolu_01<<1>>",
        _b62(22),
    ),
    _innocent("id_anthropic_request", "'request_id': 'req_011C<<1>>'", _b62(20)),
    _innocent("id_openai_request", "x-request-id: req_<<1>>", _hex(32)),
    _innocent("id_openai_file", "No such File object: file-<<1>>", _b62(24)),
    _innocent("id_openai_batch", "Batch(id='batch_<<1>>', status='failed')", _hex(32)),
    _innocent(
        "id_openai_assistants", "thread_<<1>> run_<<2>> asst_<<3>>", _b62(24), _b62(24), _b62(24)
    ),
    _innocent(
        "id_openai_fingerprint", "system_fingerprint='fp_44709d6fcb', service_tier='default'"
    ),
    _innocent(
        "id_openai_rate_limit",
        "Rate limit reached for gpt-4o in organization org-<<1>> on tokens per min (TPM): Limit 30000, Used 29500, "
        "Requested 1200. Please try again in 1.4s.",
        _b62(24),
    ),
    _innocent(
        "id_docker_container",
        "Error response from daemon: container <<1>> is not running",
        _hex(64),
    ),
    _innocent(
        "id_docker_container_short",
        "CONTAINER ID   IMAGE\n<<1>>   nvcr.io/nvidia/nemo:25.04",
        _hex(12),
    ),
    _innocent("id_etag", 'ETag: "<<1>>-12"', _hex(32)),
    _innocent("id_content_md5", "Content-MD5: Q2hlY2sgSW50ZWdyaXR5IQ=="),
    _innocent("id_cf_ray", "cf-ray: 8c1f2a3b4c5d6e7f-SJC\ncf-cache-status: DYNAMIC"),
    _innocent(
        "id_ray_actor",
        "ray.exceptions.RayActorError: The actor <<1>> died unexpectedly before finishing this task.",
        _hex(32),
    ),
    _innocent(
        "id_ray_object",
        "ray.exceptions.ObjectLostError: Failed to retrieve object <<1>>.",
        _hex(56),
    ),
    _innocent("id_ray_repr", "Actor(RolloutWorker, <<1>>) ObjectRef(<<2>>)", _hex(32), _hex(56)),
    _innocent(
        "id_ray_worker_log",
        "/tmp/ray/session_2026-05-17_08-03-11_123456_789/logs/worker-<<1>>-01000000-4242.err",
        _hex(56),
    ),
    _innocent(
        "id_slurm",
        "slurmstepd: error: *** STEP 1234567.0 ON pool0-01234 CANCELLED AT 2026-05-17T08:03:11 ***",
    ),
    _innocent(
        "id_slurm_environment",
        "SLURM_JOB_ID=1234567 SLURM_NODELIST=pool0-[0123-0130] SLURM_PROCID=7",
    ),
    _innocent("id_gpu_uuid", "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-<<1>>)", _uuid),
    _innocent("id_mig_uuid", "MIG 1g.10gb Device 0: (UUID: MIG-<<1>>)", _uuid),
    _innocent("id_wandb_run", "wandb: View run at https://wandb.ai/team/gym/runs/3k9x2b7q"),
    _innocent(
        "id_pod",
        "pod/nemo-gym-judge-7d9f8b6c5d-x2k4p evicted: The node was low on resource: memory.",
    ),
    _innocent(
        "id_pod_like_key_prefix",
        "pod/task-runner-6c8f9d7b5-zq4xw and pod/disk-cache-warmer-5f6b7c8d9-abc12 are Running",
    ),
    _innocent("id_k8s_uid", 'uid: <<1>>\nresourceVersion: "481516"\ngeneration: 2\n', _uuid),
    _innocent(
        "id_arn_role",
        "arn:aws:iam::123456789012:role/gym-rollout-worker is not authorized to perform: s3:PutObject",
    ),
    _innocent(
        "id_arn_secret_name",
        "arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/gym/db-a1B2c3",
    ),
    _innocent(
        "id_huggingface_snapshot",
        "/home/gym/.cache/huggingface/hub/models--Qwen--Qwen3-8B/snapshots/<<1>>/config.json",
        _hex(40),
    ),
    _innocent(
        "id_huggingface_blob",
        "/home/gym/.cache/huggingface/hub/models--Qwen--Qwen3-8B/blobs/<<1>>",
        _hex(64),
    ),
    _innocent(
        "id_torch_compile_cache",
        "/tmp/torchinductor_root/ab/cab<<1>>.py",
        _of(_LOWER + "234567", 48),
    ),
    _innocent(
        "id_triton_cache",
        "/home/gym/.triton/cache/<<1>>/fused_moe_kernel.cubin",
        _of(_UPPER + "234567", 52),
    ),
    _innocent("id_machine_id", "/var/log/journal/<<1>>/system.journal", _hex(32)),
    _innocent(
        "id_memory_address",
        "<gym.judge.Judge object at 0x7f3c5c1d2b10> <function run at 0x7f3c5c1d2c10>",
    ),
    _innocent("id_hex_number", "mask=0xDEADBEEFCAFEBABE0123456789ABCDEF flags=0xff"),
    _innocent(
        "id_fingerprint_colons",
        "SHA1 Fingerprint=3A:9F:0C:11:7E:62:8B:D4:55:A0:99:1C:2D:7F:E8:04:61:BB:C3:7A",
    ),
    _innocent("id_mac_address", "ether 02:42:ac:11:00:02  txqueuelen 0  (Ethernet)"),
)

_TRACEBACKS: tuple[Innocent, ...] = (
    _innocent(
        "traceback_aiohttp",
        "Traceback (most recent call last):\n"
        '  File "/opt/venv/lib/python3.12/site-packages/aiohttp/connector.py", line 1268, in _wrap_create_connection\n'
        "    sock = await aiohappyeyeballs.start_connection(\n           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        '  File "/opt/venv/lib/python3.12/site-packages/aiohappyeyeballs/impl.py", line 122, in start_connection\n'
        "    raise first_exception\n"
        "ConnectionRefusedError: [Errno 111] Connect call failed ('127.0.0.1', 9001)\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        '  File "/app/nemo_gym/rollout_collection.py", line 214, in run_one\n'
        '    response = await server_client.post(server_name=name, url_path="/verify", json=row)\n'
        "               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "aiohttp.client_exceptions.ClientConnectorError: Cannot connect to host 127.0.0.1:9001 ssl:default "
        "[Connect call failed ('127.0.0.1', 9001)]\n",
    ),
    _innocent(
        "traceback_token_call",
        'Traceback (most recent call last):\n  File "/app/gym/auth.py", line 31, in refresh\n'
        "    token = self.get_token()\n            ^^^^^^^^^^^^^^^^\n"
        '  File "/app/gym/auth.py", line 44, in get_token\n    return self._tokens[self._key]\n'
        "           ~~~~~~~~~~~~^^^^^^^^^^^\nKeyError: 'judge'\n",
    ),
    _innocent(
        "traceback_login_definition",
        '  File "/app/gym/auth.py", line 12, in <module>\n'
        "    def login(user: str, password: str | None = None) -> Session:\n"
        "                                                         ^^^^^^^\nNameError: name 'Session' is not defined\n",
    ),
    _innocent(
        "traceback_api_key_keyword",
        '  File "/app/gym/judge.py", line 20, in __init__\n'
        "    self.client = AsyncOpenAI(api_key=api_key, base_url=base_url, timeout=timeout)\n"
        "TypeError: AsyncOpenAI.__init__() got an unexpected keyword argument 'proxies'\n",
    ),
    _innocent(
        "traceback_attributes",
        "    api_key=self.config.api_key, token=self._token, password=settings.db.password,\n",
    ),
    _innocent(
        "traceback_getenv",
        "    token = os.environ[\"HF_TOKEN\"]\n            ~~~~~~~~~~^^^^^^^^^^^^\nKeyError: 'HF_TOKEN'\n",
    ),
    _innocent(
        "traceback_getenv_call",
        '    api_key = os.environ.get("OPENAI_API_KEY")\n    password = os.getenv("DB_PASSWORD", "")\n',
    ),
    _innocent(
        "traceback_f_string_header",
        '    headers = {"Authorization": f"Bearer {self.token}", "Accept": "*/*"}\n',
    ),
    _innocent(
        "traceback_header_concatenation", '    headers["Authorization"] = "Bearer " + token\n'
    ),
    _innocent(
        "traceback_header_format",
        "    request.headers['Authorization'] = 'Basic {}'.format(encoded)\n",
    ),
    _innocent("traceback_url_f_string", '    url = f"https://{user}:{password}@{host}/repo.git"\n'),
    _innocent("traceback_getpass", '    password = getpass.getpass("Password: ")\n'),
    _innocent(
        "traceback_comparison",
        "    if password != expected_password or token is None:\n        raise ValueError('mismatch')\n",
    ),
    _innocent("traceback_hmac", "    secret = hmac.new(key, body, hashlib.sha256).hexdigest()\n"),
    _innocent(
        "traceback_secret_str", "    password: SecretStr = Field(default=None, repr=False)\n"
    ),
    _innocent(
        "traceback_depends",
        "async def me(token: Annotated[str, Depends(oauth2_scheme)]) -> User:\n",
    ),
    _innocent(
        "traceback_tokens_index", "    token = tokens[i]\n    next_token = logits.argmax(dim=-1)\n"
    ),
    _innocent(
        "traceback_cookie_get",
        '    cookie = request.cookies.get("session")\n    session = SessionMiddleware(app, secret_key=secret_key)\n',
    ),
    _innocent(
        "traceback_await_token", "    access_token = await self._fetch_access_token(session)\n"
    ),
    _innocent(
        "traceback_none_defaults",
        "connect(host='db.internal', port=5432, user='app', password=None, sslmode='require', token=None)",
    ),
    _innocent(
        "traceback_empty_values", "{'user': 'app', 'password': '', 'token': None, 'api_key': None}"
    ),
    _innocent(
        "traceback_json_nulls", '{"password": null, "token": "", "api_key": null, "secret": false}'
    ),
    _innocent(
        "traceback_lambda_key",
        "    rows = sorted(rows, key=lambda row: row['score'], reverse=True)\n    best = max(rows, key=len)\n",
    ),
    _innocent(
        "traceback_missing_argument",
        "TypeError: login() missing 1 required positional argument: 'password'",
    ),
    _innocent(
        "traceback_unexpected_keyword",
        "TypeError: Judge.__init__() got an unexpected keyword argument 'api_key'",
    ),
    _innocent(
        "traceback_attribute_error",
        "AttributeError: 'NoneType' object has no attribute 'access_token'. Did you mean: 'accept_token'?",
    ),
    _innocent("traceback_key_error", "KeyError: 'api_key'"),
    _innocent("traceback_name_error", "NameError: name 'password' is not defined"),
    _innocent(
        "traceback_otel_context_token",
        "ValueError: <Token var=<ContextVar name='current_context' default={} at 0x7f1b2c3d4e50> at "
        "0x7f1b2c3d5f60> was "
        "created in a different Context",
    ),
    _innocent(
        "traceback_unclosed_session",
        "Unclosed client session\nclient_session: <aiohttp.client.ClientSession object at 0x7f3c5c1d2b10>\n",
    ),
    _innocent(
        "traceback_auth_object",
        "auth=<requests.auth.HTTPBasicAuth object at 0x7f3c5c1d2b10>, cookies=None, cert=None",
    ),
    _innocent(
        "traceback_task_exception",
        "Task exception was never retrieved\nfuture: <Task finished name='Task-12' coro=<run_one() done, defined at "
        "/app/nemo_gym/rollout_collection.py:201> exception=TimeoutError()>",
    ),
    _innocent(
        "traceback_pydantic_missing",
        "1 validation error for JudgeConfig\napi_key\n  Field required [type=missing, input_value={'base_url': "
        "'http://judge:8000/v1', 'timeout': 60}, input_type=dict]\n"
        "    For further information visit https://errors.pydantic.dev/2.11/v/missing",
    ),
    _innocent(
        "traceback_openai_key_missing",
        "openai.OpenAIError: The api_key client option must be set either by passing api_key to the client or by "
        "setting the "
        "OPENAI_API_KEY environment variable",
    ),
    _innocent(
        "traceback_omegaconf",
        "omegaconf.errors.InterpolationKeyError: Interpolation key 'policy_api_key' not found\n    full_key: "
        "policy_model.responses_api_models.vllm_model.api_key\n    object_type=dict",
    ),
    _innocent(
        "traceback_exception_group",
        "  + Exception Group Traceback (most recent call last):\n"
        "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n"
        "  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n"
        '    |   File "/app/gym/pool.py", line 8, in work\n    |     raise TimeoutError\n    | TimeoutError\n'
        "    +------------------------------------\n",
    ),
    _innocent(
        "traceback_java",
        "org.springframework.security.authentication.InternalAuthenticationServiceException: null\n"
        "\tat com.fasterxml.jackson.databind.exc.UnrecognizedPropertyException.from(UnrecognizedPropertyException"
        ".java:61)\n"
        "\tat org.springframework.security.oauth2.server.resource.web.BearerTokenAuthenticationFilter.doFilterInternal"
        "(BearerTokenAuthenticationFilter.java:146) ~[spring-security-oauth2-resource-server-6.2.1.jar!/:6.2.1]\n",
    ),
    _innocent(
        "traceback_node",
        "TypeError: fetch failed\n    at node:internal/deps/undici/undici:13502:13\n"
        "  cause: Error: connect ECONNREFUSED ::1:9001\n",
    ),
    _innocent(
        "traceback_rust",
        "thread 'tokio-runtime-worker' panicked at src/router.rs:118:14:\n"
        "called `Result::unwrap()` on an `Err` value: RecvError(())\n",
    ),
    _innocent(
        "traceback_go",
        "goroutine 1 [running]:\nmain.main()\n\t/src/main.go:12 +0x1d\n"
        "panic: runtime error: invalid memory address or nil pointer dereference\n",
    ),
    _innocent(
        "traceback_cpp_mangled",
        "#4 0x00007f1b in _ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_"
        "4NodeERNS0_11InputBufferE () "
        "from libtorch_cpu.so",
    ),
    _innocent(
        "traceback_cuda_kernel",
        "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x1_tn_align8>"
        "(cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x1_tn_align8::Params)",
    ),
)

_TOKENS: tuple[Innocent, ...] = (
    _innocent(
        "token_usage_json",
        '{"usage": {"prompt_tokens": 123, "completion_tokens": 456, "total_tokens": 579}}',
    ),
    _innocent(
        "token_usage_repr",
        "CompletionUsage(completion_tokens=456, prompt_tokens=123, total_tokens=579, prompt_tokens_details=None)",
    ),
    _innocent(
        "token_usage_details",
        '"output_tokens_details": {"reasoning_tokens": 0, "accepted_prediction_tokens": 12}',
    ),
    _innocent(
        "token_usage_escaped",
        _nested({"usage": {"input_tokens": 10, "output_tokens": 20}, "max_tokens": 4096}, 1),
    ),
    _innocent(
        "token_max_tokens",
        "max_tokens=4096, max_completion_tokens=None, max_output_tokens=2048, min_tokens=0",
    ),
    _innocent("token_count", "token_count: 12\ntokens: 4096\nnum_tokens: 7\n"),
    _innocent("token_word_count", "token 4 of 128, tokens/s=91.3, tokens_per_second=91.3"),
    _innocent(
        "token_context_length",
        "This model's maximum context length is 8192 tokens. However, you requested 9216 tokens (5120 in the "
        "messages, 4096 in the completion). Please reduce the length of the messages or completion.",
    ),
    _innocent("token_limit_exceeded", "Token limit exceeded"),
    _innocent(
        "token_ids",
        "prompt_token_ids=[151644, 8948, 198], generation_token_ids=[1249, 11625, 419], stop_token_ids=[151645]",
    ),
    _innocent(
        "token_ids_json",
        '{"prompt_token_ids": [1, 2, 3], "generation_log_probs": [-0.1, -2.5e-05], "token_id": 151645}',
    ),
    _innocent(
        "token_logprobs",
        '{"logprobs": {"content": [{"token": "Hello", "logprob": -0.31725305, "bytes": [72, 101], '
        '"top_logprobs": []}]}}',
    ),
    _innocent(
        "token_special_map",
        "{'bos_token': '<|im_start|>', 'eos_token': '<|im_end|>', 'pad_token': '<|endoftext|>', 'unk_token': None}",
    ),
    _innocent(
        "token_eos_repr",
        "eos_token='</s>', bos_token='<s>', pad_token_id=2, add_special_tokens=False, skip_special_tokens=True",
    ),
    _innocent(
        "token_pad_warning",
        "Setting `pad_token_id` to `eos_token_id`:151643 for open-end generation.",
    ),
    _innocent(
        "token_too_long_warning",
        "Token indices sequence length is longer than the specified maximum sequence length for this model (5012 "
        "> 4096)",
    ),
    _innocent(
        "token_vocabulary_warning",
        "Special tokens have been added in the vocabulary, make sure the associated word embeddings are fine-tuned.",
    ),
    _innocent(
        "token_tokenizer_config",
        "tokenizer: Qwen/Qwen3-8B\ntokenizer_mode: auto\ntokenizer_class: Qwen2TokenizerFast\n",
    ),
    _innocent(
        "token_parallelism",
        "huggingface/tokenizers: The current process just got forked. To disable this warning: "
        "TOKENIZERS_PARALLELISM=(true | false)",
    ),
    _innocent(
        "token_chat_template",
        "<|im_start|>system\nYou are a judge.<|im_end|>\n<|im_start|>user\nIs 7 prime?<|im_end|>\n"
        "<|im_start|>assistant\n",
    ),
    _innocent("token_json_unexpected", "SyntaxError: Unexpected token < in JSON at position 0"),
    _innocent(
        "token_json_unexpected_quoted", 'Unexpected token \'}\', ..."a": 1,}" is not valid JSON'
    ),
    _innocent("token_expected_identifier", "invalid token: expected identifier"),
    _innocent(
        "token_yaml_scanner",
        "yaml.scanner.ScannerError: while scanning for the next token\n"
        "found character '\\t' that cannot start any token",
    ),
    _innocent(
        "token_python_tokenize", "tokenize.TokenError: ('EOF in multi-line statement', (12, 0))"
    ),
    _innocent(
        "token_python_token_repr",
        "TokenInfo(type=1 (NAME), string='password', start=(1, 0), end=(1, 8), line='password()\\n')",
    ),
    _innocent(
        "token_lark",
        "UnexpectedToken: Unexpected token Token('NAME', 'frac') at line 1, column 7.\nExpected one of:\n"
        "\t* RPAR\n\t* PLUS\n",
    ),
    _innocent("token_expired", "Authentication token expired"),
    _innocent("token_jwt_expired", "jwt.exceptions.ExpiredSignatureError: Signature has expired"),
    _innocent(
        "token_invalid_grant",
        "google.auth.exceptions.RefreshError: ('invalid_grant: Token has been expired or revoked.',)",
    ),
    _innocent(
        "token_oauth_error",
        '{"error":"invalid_token","error_description":"The access token is invalid or has expired"}',
    ),
    _innocent(
        "token_www_authenticate",
        'WWW-Authenticate: Bearer realm="judge", error="invalid_token", error_description="The access token expired"',
    ),
    _innocent(
        "token_www_authenticate_basic",
        'WWW-Authenticate: Basic realm="Restricted", charset="UTF-8"',
    ),
    _innocent("token_type", '{"token_type": "bearer", "expires_in": 3600, "scope": "read write"}'),
    _innocent("token_csrf_missing", "403 Forbidden: CSRF token missing or incorrect."),
    _innocent("token_csrf_flask", "The CSRF session token is missing."),
    _innocent(
        "token_invalid_key_code",
        "{'error': {'message': 'Unauthorized', 'type': 'authentication_error', 'param': 'api_key', 'code': "
        "'invalid_api_key'}}",
    ),
    _innocent(
        "token_hugging_face_gated",
        "401 Client Error. Cannot access gated repo for url "
        "https://huggingface.co/meta-llama/Llama-3.1-8B/resolve/main/config.json.\n"
        "Access to model meta-llama/Llama-3.1-8B is restricted. You must have access to it and be authenticated "
        "to access it. Please log in.",
    ),
    _innocent(
        "token_hugging_face_pass_token",
        "If this is a private repository, make sure to pass a token having permission to this repo either by "
        "logging in "
        "with `hf auth login` or by passing `token=<your_token>`",
    ),
    _innocent(
        "token_boolean_option",
        "use_auth_token=True, token=False, trust_remote_code=True, has_password=False",
    ),
    _innocent("token_bucket", "token bucket: capacity=100 refill=10/s"),
    _innocent(
        "token_cancellation",
        "cancellation_token=None, continuation_token=None, next_page_token=None",
    ),
    _innocent("token_prng_key", "key=Array([0, 42], dtype=uint32), PRNGKey(0)"),
    _innocent(
        "token_attention_key",
        "query.shape=torch.Size([1, 32, 128, 64]) key.shape=torch.Size([1, 8, 128, 64]) past_key_values=None",
    ),
)

_WORDS: tuple[Innocent, ...] = (
    _innocent("words_basic_understanding", "Basic understanding of linear algebra is required."),
    _innocent("words_basic_long_word", "Basic internationalization support is missing."),
    _innocent("words_basic_instrumentation", "Basic Instrumentation failed for module judge"),
    _innocent(
        "words_basic_auth_disabled",
        "Basic authentication is disabled; use Bearer authentication instead.",
    ),
    _innocent("words_bearer_of_bad_news", "The bearer of bad news: your rollout failed."),
    _innocent("words_bearer_missing", "Bearer token missing"),
    _innocent(
        "words_bearer_bonds",
        "A bearer instrument belongs to whoever holds it; bearer securities are rare.",
    ),
    _innocent("words_authorization_failed", "Authorization failed for user bob"),
    _innocent("words_authorization_missing", "Missing Authorization header"),
    _innocent("words_password_incorrect", "the password is incorrect"),
    _innocent("words_password_rule", "password must be at least 8 characters"),
    _innocent("words_password_expired", "Your password has expired and must be changed."),
    _innocent(
        "words_password_sudo",
        "sudo: a terminal is required to read the password; either use the -S option to read from standard input",
    ),
    _innocent("words_password_prompt", "Password for 'https://git.example.com': "),
    _innocent("words_passphrase_prompt", "Enter passphrase for key '/home/bob/.ssh/id_ed25519': "),
    _innocent("words_ssh_denied", "git@github.com: Permission denied (publickey,password)."),
    _innocent(
        "words_mysql_denied", "Access denied for user 'root'@'172.17.0.1' (using password: YES)"
    ),
    _innocent(
        "words_postgres_denied", 'FATAL:  password authentication failed for user "postgres"'
    ),
    _innocent(
        "words_postgres_no_password",
        'connection to server at "127.0.0.1", port 5432 failed: fe_sendauth: no password supplied',
    ),
    _innocent(
        "words_redis_wrongpass", "WRONGPASS invalid username-password pair or user is disabled."
    ),
    _innocent("words_redis_noauth", "NOAUTH Authentication required."),
    _innocent(
        "words_git_no_password",
        "fatal: could not read Password for 'https://git.example.com': No such device or address",
    ),
    _innocent(
        "words_gitlab_denied",
        "remote: HTTP Basic: Access denied. If a password was provided for Git authentication, the password was "
        "incorrect or "
        "you're required to use a token instead of a password.",
    ),
    _innocent(
        "words_fastapi_field_required",
        '{"detail":[{"type":"missing","loc":["body","password"],"msg":"Field required","input":null}]}',
    ),
    _innocent(
        "words_json_schema",
        '{"properties": {"password": {"type": "string", "minLength": 8}, "token": {"type": "string"}}, '
        '"required": ["password"]}',
    ),
    _innocent("words_secret_santa", "secret santa is on 20 December"),
    _innocent(
        "words_secret_is_patience",
        "The secret to good bread is patience; there is no secret ingredient.",
    ),
    _innocent(
        "words_secret_not_found", 'Error from server (NotFound): secrets "regcred" not found'
    ),
    _innocent(
        "words_secrets_manager",
        "An error occurred (ResourceNotFoundException) when calling the GetSecretValue operation: Secrets "
        "Manager can't find "
        "the specified secret.",
    ),
    _innocent(
        "words_key_idea",
        "Here's the key: practise every day. A key insight, a key frame and a key signature.",
    ),
    _innocent("words_cookie_recipe", "Cookie recipe: 200 g flour, 100 g butter, 1 egg."),
    _innocent(
        "words_cookie_missing", "Set-Cookie header missing from the response of /seed_session"
    ),
    _innocent("words_session_expired", "Session expired; please log in again."),
    _innocent("words_credentials", "NoCredentialsError: Unable to locate credentials"),
    _innocent("words_invalid_credentials", "Invalid username or password. 2 attempts left."),
    _innocent(
        "words_signature",
        "Signature verification failed: the digest does not match the expected value.",
    ),
    _innocent("words_pass_at_k", "pass@1=0.43 pass@8: 0.71 pass_rate: 0.83 passed: 12 failed: 3"),
    _innocent("words_bypass_compass", "bypass=true compass=north passage=3 passenger: Bob"),
    _innocent("words_keyboard_monkey", "keyboard=us monkey: george turkey=roast hockey: 3-2"),
    _innocent(
        "words_author_authority", "author: Jane Doe\nauthority: model:8000\nauthored_by: bob\n"
    ),
    _innocent(
        "words_database_keys",
        "primary_key: id\nforeign_key: rollout_id\nsort_key: created_at\npartition_key: day\n",
    ),
    _innocent(
        "words_argparse_usage",
        "usage: run.py [-h] [--api-key API_KEY] [--token TOKEN] [--password PASSWORD] [--max-tokens N]",
    ),
    _innocent(
        "words_argparse_required",
        "run.py: error: the following arguments are required: --api-key, --password",
    ),
    _innocent(
        "words_locale_sk",
        "lang=sk-SK fallback=cs-CZ; risk-adjusted, disk-backed, desk-lamp-replacement-order-12345",
    ),
    _innocent(
        "words_hf_names",
        "hf_hub_download() retried; set hf_transfer=1 or hf_xet_high_performance=1",
    ),
    _innocent("words_npm_names", "npm_config_cafile=/etc/ssl/ca.pem npm_lifecycle_event=test"),
)

_OUTPUT: tuple[Innocent, ...] = (
    _innocent(
        "output_prose",
        "The train leaves at 9:15 and covers 240 km at 80 km/h, so it arrives at 12:15. Since Bob boards one "
        "stop later, he "
        "travels for 2 h 20 min; his average speed is therefore about 77 km/h.",
    ),
    _innocent(
        "output_chain_of_thought",
        "<think>\nOkay, let me think. We need f(x)=x^2-5x+6. Roots: x=2, x=3. Wait, check: 4-10+6=0. Yes. "
        "9-15+6=0. Yes.\n</think>\n"
        "The roots are $\\boxed{2}$ and $\\boxed{3}$.",
    ),
    _innocent(
        "output_latex",
        r"$$\int_0^\infty \frac{x^{s-1}}{e^x-1}\,dx=\Gamma(s)\zeta(s),\qquad "
        r"\sum_{n=1}^{\infty}\frac{1}{n^2}=\frac{\pi^2}{6}$$ "
        r"so \(\boxed{\dfrac{\sqrt{3}}{2}}\).",
    ),
    _innocent(
        "output_python_code",
        "```python\nfrom dataclasses import dataclass\n\n\n@dataclass\nclass Node:\n    key: int\n"
        '    left: "Node | None" = None\n\n\n'
        "def insert(root: Node | None, key: int) -> Node:\n    if root is None:\n        return Node(key)\n"
        "    if key < root.key:\n"
        "        root.left = insert(root.left, key)\n    return root\n```",
    ),
    _innocent(
        "output_cpp_code",
        "std::vector<std::pair<int,int>> v; for (auto& [key, value] : m) { std::cout << key << ' ' << value << "
        "'\\n'; }",
    ),
    _innocent(
        "output_javascript_code",
        "const token = tokens[i++]; if (token.type === 'NUMBER') return { type: 'Literal', value: +token.value };",
    ),
    _innocent(
        "output_bash_code",
        "for f in *.jsonl; do jq -r .reward \"$f\" | awk '{s+=$1} END {print s/NR}'; done",
    ),
    _innocent(
        "output_password_tutorial",
        'password = input("Enter your password: ")\nif len(password) < 8:\n'
        '    print("Password must have at least 8 characters")\n',
    ),
    _innocent(
        "output_markdown_table",
        "| model | pass@1 | tokens |\n|:------|-------:|-------:|\n| Qwen3-8B | 0.431 | 1,204,113 |\n"
        "| Llama-3.1-8B | 0.397 | 998,201 |\n",
    ),
    _innocent(
        "output_html",
        '<form action="/login"><input type="password" name="password" placeholder="Password"><h1>403 '
        "Forbidden</h1></form>",
    ),
    _innocent(
        "output_chinese",
        "根据题意\uff0c设小明有x个苹果\uff0c则小红有2x个苹果。由题意得x+2x=36\uff0c解得x=12。所以答案是12。",
    ),
    _innocent(
        "output_japanese",
        "パスワードが正しくありません。もう一度お試しください。トークン数の上限は4096です。",
    ),
    _innocent("output_korean", "비밀번호가 올바르지 않습니다. 토큰 한도를 초과했습니다."),
    _innocent("output_arabic", "كلمة المرور غير صحيحة. عدد الرموز هو 4096 والحد الأقصى 8192."),
    _innocent("output_emoji", "✅ 12 passed, ❌ 3 failed 🚀🚀🚀 👩‍👩‍👧‍👦 reward=0.8 🎉"),
    _innocent(
        "output_accents",
        "Die Geheimzahl darf nicht leer sein. Le mot de passe est erroné. ¿Dónde está la biblioteca?",
    ),
    _innocent(
        "output_tool_call",
        '<tool_call>\n{"name": "search", "arguments": {"query": "capital of France", "top_k": 5}}\n</tool_call>',
    ),
    _innocent(
        "output_json_schema_answer",
        '{"answer": "B", "confidence": 0.92, "reasoning": "Option B is the only even prime.", "key_points": '
        '["even", "prime"]}',
    ),
    _innocent(
        "output_pi",
        "3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170679",
    ),
    _innocent(
        "output_big_integer",
        "100! = 9332621544394415268169923885626670049071596826438162146859296389521759999322991560894146397615651"
        "8286253697920827223758251185210916864000000000000000000000000",
    ),
    _innocent(
        "output_binary",
        "01001000 01100101 01101100 01101100 01101111 101010101010101010101010101010101010101010101010",
    ),
    _innocent(
        "output_dna",
        ">seq1\nATGGCCATTGTAATGGGCCGCTGAAAGGGTGCCCGATAGATGGCCATTGTAATGGGCCGCTGAAAGGGTGCCCGATAG",
    ),
    _innocent(
        "output_protein",
        "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVKALPDAQFEVVHSLAKWKRQTLGQHDFSAGEGLYTHMKALR",
    ),
    _innocent(
        "output_smiles",
        "Aspirin is CC(=O)OC1=CC=CC=C1C(=O)O and caffeine is CN1C=NC2=C1C(=O)N(C(=O)N2C)C.",
    ),
    _innocent(
        "output_chess",
        "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1",
    ),
    _innocent(
        "output_caesar_cipher",
        "Decode: Wkh txlfn eurzq ira mxpsv ryhu wkh odcb grj. Answer: The quick brown fox jumps over the lazy dog.",
    ),
    _innocent(
        "output_repetition", "hahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahaha"
    ),
    _innocent(
        "output_no_spaces",
        "Antidisestablishmentarianism Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesell"
        "schaft",
    ),
    _innocent("output_rule_equals", "=" * 100 + "\nresults\n" + "=" * 100),
    _innocent("output_rule_dashes", "-" * 100 + "\nresults\n" + "-" * 100),
    _innocent("output_rule_mixed", "=-" * 30 + "\n" + "_" * 60 + "\n" + "*" * 60 + "\n" + "#" * 60),
    _innocent(
        "output_ascii_art",
        r"""
  /\_/\      ____
 ( o.o )    |    |___________________________
  > ^ <     |____|///////////////////////////
""",
    ),
    _innocent(
        "output_box_drawing",
        "╭──────────┬────────╮\n│ env      │ reward │\n├──────────┼────────┤\n│ math     │ 0.43   │\n"
        "╰──────────┴────────╯",
    ),
    _innocent(
        "output_progress_bar",
        "Collecting rollouts:  43%|████▎     | 430/1000 [02:11<02:54,  3.27it/s, reward=0.41]",
    ),
    _innocent(
        "output_ansi",
        "\x1b[32mINFO\x1b[0m \x1b[1mrollout 17\x1b[0m finished in \x1b[36m1.25s\x1b[0m",
    ),
    _innocent("output_data_url_png", "data:image/png;base64,<<1>>", _png),
    _innocent(
        "output_data_url_png_json",
        '{"type": "image_url", "image_url": {"url": "data:image/png;base64,<<1>>", "detail": "low"}}',
        _png,
    ),
    _innocent("output_data_url_jpeg", '<img src="data:image/jpeg;base64,<<1>>" alt="plot">', _JPEG),
    _innocent("output_data_url_gif", "![x](data:image/gif;base64,<<1>>)", _GIF),
    _innocent("output_data_url_pdf", "data:application/pdf;base64,<<1>>", _PDF),
    _innocent(
        "output_data_url_audio",
        "{'input_audio': 'data:audio/wav;base64,<<1>>', 'format': 'wav'}",
        _WAV,
    ),
    _innocent("output_bare_png", '{"image": "<<1>>", "mime": "image/png"}', _png),
    _innocent("output_bare_png_alone", "<<1>>", _png),
    _innocent("output_bare_jpeg", "frame 7: <<1>>", _JPEG),
    _innocent("output_truncated_png", "image=<<1>>... (truncated)", _png),
    _innocent(
        "output_hexdump",
        "00000000  7f 45 4c 46 02 01 01 00  00 00 00 00 00 00 00 00  |.ELF............|\n"
        "00000010  03 00 3e 00 01 00 00 00  40 10 00 00 00 00 00 00  |..>.....@.......|\n",
    ),
    _innocent(
        "output_xxd", "00000000: 8950 4e47 0d0a 1a0a 0000 000d 4948 4452  .PNG........IHDR\n"
    ),
    _innocent(
        "output_bytes_repr", r"b'\x00\x01\x02\xff\xfe\x80PNG\r\n\x1a\n' could not be decoded"
    ),
    _innocent(
        "output_tensor",
        "tensor([[ 0.0312, -1.4523,  2.7181],\n"
        "        [ 3.1416, -0.5772,  1.6180]], device='cuda:0', dtype=torch.bfloat16,\n"
        "       grad_fn=<MulBackward0>)",
    ),
    _innocent(
        "output_numpy",
        "array([0.1, 0.2, nan], dtype=float32), shape=(3,), mean=1.4999999999999998e-01",
    ),
)

_PLACES_AND_NAMES: tuple[Innocent, ...] = (
    _innocent(
        "path_long",
        "/lustre/fsw/portfolios/llmservice/users/bob/experiments/2026_05_17_grpo_math_v12/rollouts/step_000120/"
        "part-00007.jsonl.zst",
    ),
    _innocent(
        "path_site_packages",
        "/opt/nemo_rl_venv/lib/python3.12/site-packages/vllm/v1/engine/async_llm.py:412",
    ),
    _innocent(
        "path_windows",
        r"C:\Users\bob\AppData\Local\Programs\Python\Python312\Lib\site-packages\aiohttp\client.py",
    ),
    _innocent(
        "path_nested_camel_case",
        "/src/main/java/com/example/SecurityConfiguration/OAuth2ResourceServerProperties/"
        "JwtTokenValidatorFactory2.java",
    ),
    _innocent(
        "path_secrets_mount",
        "FileNotFoundError: [Errno 2] No such file or directory: '/run/secrets/db_password'",
    ),
    _innocent(
        "path_token_file", "/var/run/secrets/kubernetes.io/serviceaccount/token: permission denied"
    ),
    _innocent(
        "path_ssh_key_file",
        "Identity file /home/bob/.ssh/id_rsa not accessible: No such file or directory.",
    ),
    _innocent(
        "path_s3_uri",
        "s3://gym-rollouts-prod/runs/2026-05-17/part-00000-<<1>>-c000.snappy.parquet",
        _uuid,
    ),
    _innocent(
        "path_gs_uri", "gs://gym-rollouts/checkpoints/step_1200/model-00003-of-00008.safetensors"
    ),
    _innocent(
        "path_wheel",
        "flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp312-cp312-manylinux_2_24_x86_64.whl",
    ),
    _innocent(
        "path_conda_build",
        "pytorch-2.5.1-cuda126_generic_py312_h4459643_200 numpy-2.1.3-py312h58c1407_0",
    ),
    _innocent(
        "path_shared_library",
        "libcudnn_engines_precompiled.so.9.10.2: cannot open shared object file",
    ),
    _innocent(
        "url_port_and_query",
        "http://judge.internal:8000/v1/models?limit=20&order=desc&after=gpt-4o",
    ),
    _innocent("url_at_in_path", "GET http://host:8080/users/@me returned 404"),
    _innocent(
        "url_at_in_path_medium", "https://medium.com/@jane.doe/how-we-train-agents-3f2a9bc01d4e"
    ),
    _innocent(
        "url_at_version", "https://unpkg.com/react-dom@18.2.0/umd/react-dom.production.min.js"
    ),
    _innocent("url_maps_at", "https://www.google.com/maps/@48.8583701,2.2922926,17z"),
    _innocent("url_port_then_at_in_query", "http://judge:8000/find?email=bob@example.com&page=2"),
    _innocent("url_ipv6", "Uvicorn running on http://[::1]:9001 (Press CTRL+C to quit)"),
    _innocent(
        "url_harmless_query_names",
        "https://a.example.com/x?sort_key=date&max_tokens=100&keyword=tokens&design=flat&monkey=1",
    ),
    _innocent("url_search_for_token", "https://a.example.com/search?q=token+expired&lang=en"),
    _innocent(
        "url_percent_encoded",
        "https://a.example.com/q?text=%E4%BD%A0%E5%A5%BD%20world%21&range=%5B1%2C%202%5D&file=a%2Fb%2Fc.txt",
    ),
    _innocent(
        "url_docs_with_anchor",
        "see https://docs.example.com/authentication/api-keys#create-an-api-key for help",
    ),
    _innocent("url_openai_endpoint", 'POST https://api.openai.com/v1/responses "HTTP/1.1 200 OK"'),
    _innocent(
        "url_database_without_password",
        "redis://localhost:6379/0 mongodb://localhost:27017/gym sqlite:////data/gym.db",
    ),
    _innocent(
        "url_password_reset_path",
        "POST /accounts/password/reset/ 404, POST /oauth/token 400, GET /.well-known/jwks.json 200",
    ),
    _innocent("url_youtube", "https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=42s"),
    _innocent(
        "url_arxiv", "https://arxiv.org/abs/2402.03300v3 (GRPO), doi:10.48550/arXiv.2402.03300"
    ),
    _innocent(
        "url_huggingface_resolve",
        "https://huggingface.co/Qwen/Qwen3-8B/resolve/main/model-00001-of-00005.safetensors",
    ),
    _innocent(
        "name_email",
        "Contact jane.doe+gym@example.co.uk or <bob@example.com> (mailto:ops@example.com)",
    ),
    _innocent("name_git_ssh", "git@github.com:org/repo.git"),
    _innocent("name_git_ssh_url", "ssh://git@github.com:22/org/repo.git"),
    _innocent("name_shell_prompt", "bob@node-3:~/gym$ python run.py"),
    _innocent(
        "name_docker_image",
        "nvcr.io/nvidia/nemo-rl:v0.4.0-cu12.9-ubuntu24.04 ghcr.io/org/gym-judge:sha-3f2a9bc",
    ),
    _innocent("name_npm_package", "@opentelemetry/instrumentation-http@0.53.0"),
    _innocent(
        "name_huggingface_model",
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B nvidia/Llama-3_3-Nemotron-Super-49B-v1_5",
    ),
    _innocent(
        "name_models_with_key_prefixes",
        "perplexity model pplx-70b-chat, xai-org/grok-1, replicate/llama-2-70b-chat",
    ),
    _innocent(
        "name_snake_case_long",
        "test_rollout_collection_with_256_parallel_requests_and_retry_after_429_from_judge_model_v2",
    ),
    _innocent(
        "name_camel_case_long",
        "AuthenticationTokenExpiredExceptionHandlerFactoryBeanPostProcessor2Impl",
    ),
    _innocent("name_camel_case_alone", "MultiHeadLatentAttentionBackendForSm90WithFp8KvCache128"),
    _innocent("name_camel_case_lower", "getAllRolloutsWithVerifierScoresGroupedByEnvironmentV2"),
    _innocent(
        "name_java_class",
        "org.apache.hadoop.mapreduce.lib.input.CombineFileInputFormat$OneBlockInfo2",
    ),
    _innocent(
        "name_constants",
        "CUDA_ERROR_ILLEGAL_ADDRESS CUBLAS_STATUS_EXECUTION_FAILED NCCL_ASYNC_ERROR_HANDLING_TIMEOUT_2",
    ),
    _innocent(
        "name_kebab_case_long",
        "nemo-gym-math-with-judge-resources-server-2-west-europe-staging-canary-01",
    ),
    _innocent(
        "name_pytest_node_id",
        "FAILED tests/test_auth.py::TestLogin::test_password_reset[expired-token-400] - assert 400 == 200",
    ),
    _innocent(
        "name_pytest_parameters",
        "tests/test_a.py::test_b[True-None-int8-1e-05-<lambda>] PASSED [ 43%]",
    ),
    _innocent("name_jupyter_kernel", "kernel-<<1>>.json", _uuid),
)

_MACHINES: tuple[Innocent, ...] = (
    _innocent(
        "log_http_status",
        "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: 42\r\n"
        "Date: Sun, 17 May 2026 08:03:11 GMT\r\n\r\n",
    ),
    _innocent(
        "log_uvicorn", 'INFO:     10.0.0.7:51432 - "POST /verify HTTP/1.1" 422 Unprocessable Entity'
    ),
    _innocent(
        "log_headers_without_secret",
        "{'Host': 'judge:8000', 'Accept': '*/*', 'User-Agent': 'nemo-gym/0.2', 'Content-Length': '512'}",
    ),
    _innocent(
        "log_rate_limit_headers",
        "x-ratelimit-remaining-tokens: 149984\nx-ratelimit-reset-tokens: 6ms\nretry-after: 20\n",
    ),
    _innocent(
        "log_timestamps",
        "2026-05-17T08:03:11.123456Z 2026-05-17 10:03:11,123 +0200 1779004991.123456 1779004991123456789",
    ),
    _innocent(
        "log_addresses",
        "10.0.0.7:51432 -> 192.168.178.21:443, fe80::1ff:fe23:4567:890a%eth0, 2001:db8:85a3::8a2e:370:7334",
    ),
    _innocent(
        "log_versions",
        "torch==2.8.0+cu129 vllm 0.11.0rc2.dev35+g3f2a9bc01 CPython 3.12.11 glibc 2.39-0ubuntu8.4",
    ),
    _innocent(
        "log_semver_ranges",
        '"openai": ">=1.99.0,<3", "aiohttp": "~=3.12", "zod": "^3.22.4 || ^4.0.0-beta.1"',
    ),
    _innocent(
        "log_numbers",
        "loss=1.4999999999999998e-05 lr=3.000000e-06 grad_norm=0.8712345678901234 step=1200/100000",
    ),
    _innocent(
        "log_nvidia_smi",
        "| NVIDIA-SMI 570.124.06    Driver Version: 570.124.06    CUDA Version: 12.8 |\n"
        "|   0  NVIDIA H100 80GB HBM3    On  | 00000000:19:00.0 Off |    0 |\n",
    ),
    _innocent(
        "log_cuda_oom",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
        "79.11 GiB of which "
        "1.12 GiB is free. See PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
    ),
    _innocent(
        "log_cuda_assert",
        "RuntimeError: CUDA error: device-side assert triggered\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1",
    ),
    _innocent(
        "log_nccl",
        "node-3:4242:4343 [3] NCCL INFO comm 0x55d0c8a1b2c0 rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId 5d000 "
        "commId 0x9f3b1c2d4e5f6a7b - Init COMPLETE",
    ),
    _innocent(
        "log_xid",
        "NVRM: Xid (PCI:0000:19:00): 79, pid=4242, name=python3, GPU has fallen off the bus.",
    ),
    _innocent(
        "log_vllm_serve",
        "vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2 --enable-auto-tool-choice --tool-call-parser hermes "
        "--max-model-len 32768",
    ),
    _innocent(
        "log_kernel_oom",
        "Out of memory: Killed process 4242 (python3) total-vm:81234567kB, anon-rss:61234567kB, UID:0 "
        "pgtables:123456kB oom_score_adj:0",
    ),
    _innocent(
        "log_exit_status",
        "subprocess.CalledProcessError: Command '['pytest', '-x', 'tests/']' returned non-zero exit status 1.",
    ),
    _innocent(
        "log_regex",
        r"re.error: missing ), unterminated subpattern at position 4: (?i)(password|secret|token)\s*[:=]\s*(\S+)",
    ),
    _innocent("log_regex_base64", r"pattern=^[A-Za-z0-9+/]{40,}={0,2}$ flags=re.MULTILINE"),
    _innocent(
        "log_sql_select",
        "SELECT id, email, password_hash, token_count FROM users WHERE email = 'bob@example.com' ORDER BY "
        "created_at DESC LIMIT 10",
    ),
    _innocent(
        "log_sql_parameters",
        "[SQL: UPDATE users SET password = %(password)s, token = $2 WHERE id = ?]",
    ),
    _innocent(
        "log_sql_ddl",
        "CREATE TABLE users (id BIGINT PRIMARY KEY, password VARCHAR(255) NOT NULL, api_key TEXT UNIQUE)",
    ),
    _innocent(
        "log_gym_failures",
        "failure_kind=verifier_error reason='judge returned no verdict' stage=verify attempt=2 retryable=true",
    ),
    _innocent(
        "log_gym_reasons",
        "reasons: max_output_tokens=41, tool_call_parse_error=7, timeout=3, http_500=2, empty_response=1",
    ),
    _innocent(
        "log_gym_row",
        '{"agent_ref": {"type": "responses_api_agents", "name": "math_simple_agent"}, "_task_index": 17, '
        '"_rollout_index": 3, "reward": 0.0}',
    ),
    _innocent(
        "log_gym_verify",
        "Request to POST http://127.0.0.1:9001/verify failed with status 500: Internal Server Error",
    ),
    _innocent(
        "log_gym_incomplete",
        "{'status': 'incomplete', 'incomplete_details': {'reason': 'max_output_tokens'}, 'parallel_tool_calls': True}",
    ),
    _innocent(
        "log_span_attributes",
        "{'gen_ai.request.model': 'judge', 'gen_ai.request.max_tokens': 4096, 'gen_ai.usage.input_tokens': 123, "
        "'gen_ai.token.type': 'input'}",
    ),
    _innocent(
        "log_prometheus",
        'gen_ai_client_token_usage_bucket{gen_ai_token_type="output",le="4096.0"} 12 1779004991123',
    ),
    _innocent(
        "log_protobuf_text",
        'resource {\n  attributes {\n    key: "service.name"\n    value { string_value: "nemo-gym" }\n  }\n}\n'
        "dropped_attributes_count: 0\n",
    ),
    _innocent(
        "log_otlp_json",
        '{"key": "service.instance.id", "value": {"stringValue": "judge-3"}}, {"key": "process.pid", "value": '
        '{"intValue": "4242"}}',
    ),
    _innocent(
        "log_yaml_config",
        "judge:\n  url: http://judge:8000/v1\n  model: Qwen/Qwen3-8B\n  max_tokens: 4096\n  auth: none\n"
        "  keys: [id, reward]\n  tokenizer: auto\n",
    ),
    _innocent(
        "log_yaml_interpolation",
        "policy_model:\n  base_url: ${policy_base_url}\n  api_key: ${policy_api_key}\n  model: ${policy_model_name}\n",
    ),
    _innocent(
        "log_yaml_key_name",
        "api_key_env_var: OPENAI_API_KEY\npassword_file: /run/secrets/db_password\n"
        "token_endpoint: https://idp.example.com/token\n",
    ),
    _innocent(
        "log_yaml_secret_reference",
        "env:\n- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db-credentials\n"
        "      key: password\nimagePullSecrets:\n- name: regcred\n",
    ),
    _innocent(
        "log_env_dump",
        "HOME=/home/gym\nLANG=C.UTF-8\nPATH=/opt/venv/bin:/usr/local/bin:/usr/bin\nPWD=/workspace/gym\nOLDPWD=/root\n"
        "SHLVL=2\nCUDA_VISIBLE_DEVICES=0,1,2,3\n"
        "TOKENIZERS_PARALLELISM=false\nHF_HOME=/data/hf\nSSH_AUTH_SOCK=/tmp/ssh-abcdef/agent.4242\n"
        "XAUTHORITY=/run/user/1000/gdm/Xauthority\nMAX_TOKENS=4096\n",
    ),
    _innocent(
        "log_docker_compose",
        'services:\n  judge:\n    image: nvcr.io/nvidia/nemo-gym:0.2\n    ports: ["8000:8000"]\n    secrets:\n'
        "      - db_password\n",
    ),
    _innocent(
        "log_oauth_form",
        "grant_type=client_credentials&scope=read%20write&audience=https%3A%2F%2Fapi.example.com",
    ),
    _innocent(
        "log_tls",
        "ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: unable to get "
        "local issuer certificate (_ssl.c:1006)",
    ),
    _innocent(
        "log_tls_cipher",
        "TLSv1.3 / TLS_AES_256_GCM_SHA384 / X25519MLKEM768 / RSASSA-PSS; ECDHE-RSA-AES256-GCM-SHA384",
    ),
    _innocent(
        "log_private_key_words",
        "ValueError: Could not deserialize key data: no PRIVATE KEY block found in /etc/gym/key.pem",
    ),
    _innocent(
        "log_s3_error",
        "botocore.exceptions.ClientError: An error occurred (AccessDenied) when calling the PutObject operation: "
        "Access Denied",
    ),
    _innocent(
        "log_s3_expired",
        "An error occurred (ExpiredToken) when calling the ListObjectsV2 operation: The provided token has expired.",
    ),
    _innocent(
        "log_grpc",
        'grpc.aio.AioRpcError: status = StatusCode.UNAVAILABLE, details = "failed to connect to all addresses; '
        "last error: UNKNOWN: "
        'ipv4:127.0.0.1:4317: Failed to connect to remote host: connect: Connection refused (111)"',
    ),
    _innocent("log_empty", ""),
    _innocent("log_whitespace", " \n\t\r\n  "),
    _innocent("log_single_word", "password"),
    _innocent(
        "log_nested_error_json",
        _nested({"detail": "judge returned no verdict", "status": 500, "attempt": 2}, 2),
    ),
    _innocent("log_unterminated_json", '{"detail": "judge returned no verdict", "status": 50'),
)

_VOCABULARIES: tuple[Innocent, ...] = (
    _innocent("vocabulary_logprob_repr", "TopLogprob(token='Hello', bytes=[72], logprob=-0.1)"),
    _innocent(
        "vocabulary_chat_logprob_repr",
        "ChatCompletionTokenLogprob(token='B', bytes=[66], logprob=-0.0, top_logprobs=[])",
    ),
    _innocent("vocabulary_long_token", '{"token": "internationalization", "logprob": -0.2}'),
    _innocent("vocabulary_vllm_logprob", "Logprob(logprob=-0.1, rank=1, decoded_token='Paris')"),
    _innocent("vocabulary_vllm_space", "Logprob(logprob=-0.1, rank=1, decoded_token=' the')"),
    _innocent("vocabulary_word_piece", '{"token": "##ing", "id": 262}'),
    _innocent("vocabulary_byte_pair", "token='Ġhello' logprob=-0.1"),
    _innocent("vocabulary_sentence_piece", "token='▁the', id=278"),
    _innocent("vocabulary_line_break", r'{"token": "\n", "logprob": -0.2}'),
    _innocent("vocabulary_apostrophe", '{"token": "don\'t", "logprob": -0.2}'),
    _innocent("vocabulary_name", '{"token": "_id", "logprob": -0.2}'),
    _innocent("vocabulary_number", '{"token": "3.14", "logprob": -0.2}'),
    _innocent("vocabulary_prompt_of_python", "{'token': '>>>', 'logprob': -0.2}"),
    _innocent("vocabulary_suffix", '{"token": ".py", "logprob": -0.2}'),
    _innocent("vocabulary_letter_and_digit", '{"token": "x1", "logprob": -0.2}'),
    _innocent("vocabulary_chinese", '{"token": "你好", "logprob": -0.2}'),
    _innocent("vocabulary_str_of_token", "decoded_token=\"x\", token_str='y'"),
    _innocent(
        "vocabulary_special",
        "eos_token='<|endoftext|>', pad_token='[PAD]', cls_token='[CLS]', mask_token='[MASK]'",
    ),
    _innocent(
        "vocabulary_special_json",
        '"pad_token": "[PAD]", "unk_token": "[UNK]", "sep_token": "[SEP]"',
    ),
    _innocent("vocabulary_pad", "pad_token=! image_token: <image>, think_start_token: <think>"),
    _innocent("vocabulary_stop", 'stop_token = "Observation:" stop_token=END'),
    _innocent("vocabulary_columns", '["token", "logprob"]'),
    _innocent(
        "vocabulary_columns_tuple",
        "('token', 'rank') and ['num_token', 'reward'] and df[[\"token\", \"score\"]]",
    ),
    _innocent("vocabulary_group_by", "df.groupby(['token', 'rank'])"),
    _innocent("vocabulary_default", 'row.get("token", "unk")'),
    _innocent("vocabulary_next_token", "next token: 'foo'"),
    _innocent("vocabulary_unexpected", "Unexpected token: 'else'"),
    _innocent("vocabulary_unexpected_colon", "unexpected token: ':' at line 3"),
    _innocent("vocabulary_invalid", "Invalid token: x_1 at pos 4"),
    _innocent("vocabulary_near", "Parse error near token: SELECT2"),
    _innocent(
        "vocabulary_tag", "<token>the</token> <token>123</token> <next_token>None</next_token>"
    ),
    _innocent("unit_milliseconds", "time_per_token=12.3ms time_to_first_token=312ms"),
    _innocent("unit_milliseconds_colon", "time_per_token: 12.3ms"),
    _innocent("unit_seconds", "first token: 0.31s, per token: 4.1e-3"),
    _innocent("unit_prose", "time per output token: 12.34ms"),
    _innocent("unit_cost", "cost_per_token=0.0000025"),
    _innocent("unit_loss", "loss_per_token=2.31e-05 latency_per_token=0.0123s"),
    _innocent("unit_mean", "avg_token=123.45 mean_token=123.45 p95_token=2345.67"),
    _innocent("unit_count", '{"num_token": 123456789, "token": 12345678}'),
    _innocent("unit_total", "total_token=123456789"),
    _innocent("unit_fraction", "token=7/12 token: 7/12 token=12% token=0x1F"),
    _innocent("unit_negative", '{"token": -1} {"token": 1.5} bad token: -100'),
    _innocent("unit_passes", "forward_pass: 12.3ms backward_pass=24.1ms pass=3/10"),
)

_SOURCE_LINES: tuple[Innocent, ...] = (
    _innocent("source_get_auth", 'headers["Authorization"] = get_auth()'),
    _innocent("source_auth_header", "headers['Authorization'] = auth_header"),
    _innocent("source_comparison", 'if token == "eos":'),
    _innocent("source_comparison_of_names", "if token == Punctuation: opening = value == '('"),
    _innocent("source_triple_equals", "if (token === '(') {"),
    _innocent("source_optional", "password: Optional[str] = None"),
    _innocent("source_parameter", "password: str,"),
    _innocent("source_process_env", "const apiKey = process.env.OPENAI_API_KEY;"),
    _innocent("source_process_env_object", "apiKey: process.env.OPENAI_API_KEY,"),
    _innocent("source_get_header", 'String token = request.getHeader("Authorization");'),
    _innocent("source_short_names", "self.token = tok"),
    _innocent("source_annotated", "self.token: Token = tok"),
    _innocent("source_unpacked", "key, token = parts"),
    _innocent("source_sum", "token = prefix + suffix"),
    _innocent("source_f_string", 'token = f"{a}:{b}"'),
    _innocent("source_literal", "token = 'the'"),
    _innocent("source_arrow", "tokens.map(token => token.text)"),
    _innocent("source_lambda", "lambda token: token.text"),
    _innocent("source_scope", "token::kind == Name"),
    _innocent("source_cookies", "cookies = {c.name: c.value for c in jar}"),
    _innocent("source_cookies_call", "cookies = dict(session=sid)"),
    _innocent("source_cookies_empty", "cookies={}"),
    _innocent("source_cookies_typed", "cookies: dict[str, str] = {}"),
    _innocent("source_cookies_optional", "cookies: Mapping[str, str] | None = None"),
    _innocent("source_cookie_parameter", "cookie: str = Cookie(default=None)"),
    _innocent("source_getattr", "getattr(self, 'token', 'default')"),
    _innocent(
        "source_fields", "('secret', 'config') ['password', 'token'] ('api_key', 'base_url')"
    ),
    _innocent("source_required", "required=['password', 'user']"),
    _innocent(
        "source_from_keys", "defaults = dict.fromkeys(['username', 'password', 'repository'], '')"
    ),
    _innocent("source_names", '["name", "secret", "key"]'),
    _innocent("source_options", '["--api-key", "--port"]'),
    _innocent("source_regex", 'token = r"[-!#$%&\'*+.^_`|~0-9a-zA-Z]+"'),
    _innocent("source_masked_secret", "'password': SecretStr('**********')"),
    _innocent("source_basic", 'auth = "Basic " + base64.b64encode(raw.encode()).decode("ascii")'),
    _innocent("source_class_names", "'ASAuthorization', 'ASAuthorizationAppleIDButton'"),
    _innocent("source_join", 'userpass = b":".join((to_bytes(username), to_bytes(password)))'),
    _innocent("source_schema", '{"token": {"type": "string"}, "password": {"min": 8}}'),
)

_STAND_INS: tuple[Innocent, ...] = (
    _innocent("stand_in_dummy", "api_key='dummy'"),
    _innocent("stand_in_dummy_line", "api_key: dummy"),
    _innocent("stand_in_not_needed", "api_key=not-needed"),
    _innocent("stand_in_yours", "api_key: your-api-key"),
    _innocent("stand_in_yours_upper", 'api_key: "YOUR_API_KEY"'),
    _innocent("stand_in_bearer", "Authorization: Bearer YOUR_TOKEN"),
    _innocent("stand_in_variable", "api_key: OPENAI_API_KEY"),
    _innocent("stand_in_variable_prefix", "api_key: env:OPENAI_API_KEY"),
    _innocent("stand_in_dots", "api_key='sk-...'"),
    _innocent("stand_in_dots_line", "api_key: sk-..."),
    _innocent("stand_in_x", "api_key=sk-xxxx"),
    _innocent("stand_in_jinja", 'password: "{{ db_password }}"'),
    _innocent("stand_in_vault", "password: !vault |"),
    _innocent("stand_in_encrypted", "password: ENC[AES256]"),
    _innocent("stand_in_secure", "{'Authorization': '[secure]', 'api-key': '<redacted>'}"),
    _innocent("stand_in_secure_line", "Authorization: [secure]"),
    _innocent("stand_in_redacted", "Authorization: Bearer [REDACTED]"),
    _innocent("stand_in_scheme", "auth: oauth2"),
    _innocent("stand_in_scheme_quoted", 'auth = "basic"'),
    _innocent("stand_in_scheme_argument", "auth='oauth2', region='eu-1'"),
    _innocent("stand_in_schemes", "auth=ldap auth=v2 auth: ldap,oidc"),
    _innocent("stand_in_algorithm", "signing_key: RS256"),
    _innocent("stand_in_kms", "encryption_key: kms"),
    _innocent("stand_in_license", "license_key: MIT"),
    _innocent("stand_in_hash", "password_hash=bcrypt"),
    _innocent(
        "stand_in_fetch",
        '{"credentials": "same-origin"}, {"credentials": "omit"}, credentials="include"',
    ),
    _innocent("path_credentials", "GOOGLE_APPLICATION_CREDENTIALS=/etc/gcp/key.json"),
    _innocent(
        "path_credentials_root",
        "credentials=/home/gym/.config/gcloud/application_default_credentials.json",
    ),
    _innocent("path_credentials_home", "credentials: ~/.aws/credentials"),
    _innocent("path_private_key", "private_key: /etc/ssl/key.pem"),
    _innocent("path_private_key_relative", "private-key: ./id_rsa"),
    _innocent("path_working_directory", "pwd: /workspace"),
    _innocent("path_working_directory_windows", r"pwd: C:\work"),
    _innocent("k8s_secret", "secret: regcred"),
    _innocent("k8s_pull_secret", "imagePullSecret: regcred-2"),
    _innocent(
        "k8s_environment",
        "{name: HF_HOME, value: /data/hf}, {name: TOKENIZERS_PARALLELISM, value: false}",
    ),
)

_SENTENCES: tuple[Innocent, ...] = (
    _innocent("prose_login_with_password", "login with password failed"),
    _innocent("prose_login_prompt", "login bob password prompt timed out"),
    _innocent("prose_login_incorrect", "Login failed: password incorrect"),
    _innocent("prose_cookies", "Cookies: 12 cups = 3 batches"),
    _innocent("prose_cookies_baked", "The cookies, baked at T=180, were good"),
    _innocent("prose_cookies_disabled", "cookies: disabled, mode=strict"),
    _innocent("prose_cookies_count", "cookies: 3 (theme=dark)"),
    _innocent("prose_cookie_expected", "cookie: expected x=1 got y=2"),
    _innocent("prose_identified_by", 'each rollout is identified by "task_index-3"'),
    _innocent("prose_password_must", 'password "must contain a digit"'),
    _innocent("prose_password_user", "invalid password 'for user bob'"),
    _innocent("prose_column", 'column password "users" missing'),
    _innocent("prose_password_blank", '"password": "This field may not be blank."'),
    _innocent("prose_password_too_short", '"password": ["too_short"]'),
    _innocent("prose_password_attempts", "wrong password: 3 attempts left"),
    _innocent("prose_password_wrong", "password: incorrect, try again"),
    _innocent("prose_password_error_code", "password: value_error.missing"),
    _innocent("prose_field_required", "api_key: field_required"),
    _innocent("prose_token_expired", "token: expired"),
    _innocent("prose_token_not_found", "token: not-found"),
    _innocent("prose_token_missing", "token=missing-or-invalid"),
    _innocent("prose_bearer_malformed", "invalid bearer token: jwt_malformed"),
    _innocent("prose_bearer_unsupported", "Bearer auth_scheme_v2 is unsupported"),
    _innocent("prose_bearer_based", "bearer token-based-auth is off"),
    _innocent("prose_bearer_challenge", "WWW-Authenticate: Bearer error=invalid_token"),
    _innocent("prose_authorization_mode", "authorization=rbac-v1 x-auth-mode: strict-v2"),
    _innocent("prose_credentials_status", "Bad credentials: HTTP_401"),
    _innocent("prose_option_of", "--token of the user"),
    _innocent("prose_option_without_value", "--api-key has no value"),
    _innocent("prose_option_may_be_omitted", "--password can be omitted"),
    _innocent("prose_option_instead", "use --token or --password instead"),
    _innocent("prose_option_argument", "the --token argument"),
    _innocent("prose_option_unrecognized", "error: unrecognized arguments: --token foo"),
    _innocent("prose_options", "given via the --username and --password options"),
    _innocent("prose_secret_tag", "<secret>hello</secret> means"),
    _innocent("query_key_of_rows", "https://a.example.com/x?sort=1&key=reward_mean"),
    _innocent("query_key_of_object", "https://s3.example.com/b?prefix=a&key=runs/12/part.jsonl"),
    _innocent("query_key_of_experiment", "GET /items?key=experiment-12 HTTP/1.1"),
    _innocent("query_code", "https://a.example.com/x?error=1&code=invalid_grant"),
    _innocent("query_code_number", "/oauth/cb?error=access_denied&code=12345678"),
    _innocent("url_template", "https://{user}:{password}@{host}/x"),
    _innocent(
        "command_ports",
        "docker run -p 8000:8000 img; mysql -P 3306 -h db -u root; redis-cli -p 6379 ping",
    ),
    _innocent(
        "metric_pair", '{"name": "reward_token", "value": 0.5}, key=\'reward/mean\', value=0.43'
    ),
    _innocent("tool_call_token", '{"name": "get_token_price", "arguments": {"token": "bitcoin"}}'),
    _innocent("words_of_prompt", "Let the key be k and the token be t; then k = 3t."),
    _innocent("url_service_user", "ssh://svc-rollout-007@login.example.com"),
)

_SHAPES_OF_WORDS: tuple[Innocent, ...] = (
    _innocent("shape_estimator", "sk-learn-compatible-estimator-v12"),
    _innocent(
        "shape_test_function",
        "sk_test_collection_of_items pk_test_fixture1234 rs_test_something1234",
    ),
    _innocent(
        "shape_transfer",
        "hf_transferenabledversion2 npm_configregistrycache1 gsk_quantizationscheme12",
    ),
    _innocent(
        "shape_report",
        "xai-explainability-report-2026 pplx-embed-context-v1-large tskey-something-not-a-key",
    ),
    _innocent(
        "shape_kernel", "r8_convolutionkernel12345 fw_bwpassaccumulation12 e2b_environmenttemplate1"
    ),
    _innocent("shape_wheel_record", "gym/judge.py,sha256=<<1>>,1234", _plain(_b64url(43))),
    _innocent(
        "shape_wheel_record_prefix",
        "gym/keys.py,sha256=<<1>>,1234",
        _plain(_b64url(40, _p("r", "8_"))),
    ),
    _innocent(
        "shape_public_key",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI<<1>> bob@node-3",
        _plain(_b64(43)),
    ),
    _innocent(
        "shape_certificate",
        "-----BEGIN CERTIFICATE-----\n<<1>>\n-----END CERTIFICATE-----",
        _plain(_body(3)),
    ),
    _innocent(
        "shape_certificate_escaped",
        r"-----BEGIN CERTIFICATE-----\n<<1>>\n-----END CERTIFICATE-----",
        _plain(_body(3, r"\n")),
    ),
    _innocent(
        "shape_public_key_block",
        "-----BEGIN PUBLIC KEY-----\n<<1>>\n-----END PUBLIC KEY-----",
        _plain(_body(2)),
    ),
    _innocent("shape_upload_id", "upload_id=<<1>>", _plain(_b62(40))),
    _innocent("shape_request_id", "x-request-id: <<1>>", _plain(_b62(40))),
    _innocent(
        "shape_s3_ids", "x-amz-id-2: <<1>>= HostId: <<2>>=", _plain(_b64(43)), _plain(_b64(43))
    ),
    _innocent("shape_tool_use", "openai-request-id tooluse_<<1>>", _plain(_b62(32))),
    _innocent(
        "shape_thought",
        '"thoughtSignature": "<<1>>", encrypted_content: <<2>>',
        _plain(_b64(60)),
        _plain(_b64url(60)),
    ),
    _innocent("shape_drive", "https://drive.google.com/file/d/<<1>>/view", _plain(_b62(33))),
)

INNOCENT: tuple[Innocent, ...] = (
    *_IDENTIFIERS,
    *_TRACEBACKS,
    *_TOKENS,
    *_WORDS,
    *_OUTPUT,
    *_PLACES_AND_NAMES,
    *_MACHINES,
    *_VOCABULARIES,
    *_SOURCE_LINES,
    *_STAND_INS,
    *_SENTENCES,
    *_SHAPES_OF_WORDS,
)
