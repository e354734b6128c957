"""Calls by gRPC's own Python library, without generated code: what each came to, as JSON."""

import base64
import json
import sys

import grpc

target, token = sys.argv[1], sys.argv[2]
known = [("authorization", f"Bearer {token}")]
options = [("grpc.max_receive_message_length", -1)]


def text(field: int, value: "str | bytes") -> bytes:
    data = value.encode() if isinstance(value, str) else value
    length = b""
    size = len(data)
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([field << 3 | 2]) + length + bytes([size]) + data


def outcome(call):
    try:
        return {"answer": base64.b64encode(call()).decode()}
    except grpc.RpcError as error:
        details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
        return {"code": error.code().name, "message": error.details(), "details": base64.b64encode(details).decode()}


with grpc.insecure_channel(target, options=options) as channel:
    health = channel.unary_unary("/grpc.health.v1.Health/Check")
    who = channel.unary_unary("/svc.v1.AuthService/WhoAmI")
    query = channel.unary_unary("/svc.v1.QueryService/Query")
    watch = channel.unary_stream("/grpc.health.v1.Health/Watch")
    asked = text(1, text(1, "user.id") + text(3, "5")) + text(2, "user.greeting")
    padded = asked + text(8, "x" * 100_000)
    watched = watch(b"", timeout=60)
    first = next(iter(watched))
    watched.cancel()
    print(
        json.dumps(
            {
                "health": outcome(lambda: health(b"", timeout=60)),
                "unknown": outcome(lambda: health(text(1, "no.such.Service"), timeout=60)),
                "watched": base64.b64encode(first).decode(),
                "nobody": outcome(lambda: who(b"", timeout=60)),
                "known": outcome(lambda: who(b"", timeout=60, metadata=known)),
                "query": outcome(lambda: query(asked, timeout=60, metadata=known)),
                "compressed": outcome(lambda: query(padded, timeout=60, metadata=known, compression=grpc.Compression.Gzip)),
                "wrong": outcome(lambda: query(text(2, "user.nmae"), timeout=60, metadata=known)),
                "missing": outcome(lambda: channel.unary_unary("/svc.v1.QueryService/Nothing")(b"", timeout=60, metadata=known)),
                "at_once": len([f.result() for f in [query.future(asked, timeout=60, metadata=known) for _ in range(50)]]),
            }
        )
    )
