"""The client's HTTP where no svc server answers: proxies, broken answers, connections that end."""

import json
import os
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable
from unittest import mock

from svc.client import AuthenticationError, ServerUnreachable, SvcClient, UnexpectedAnswer

TOKEN = {"access_token": "token-1", "token_type": "Bearer", "expires_in": 3600, "primary_environment": "env_1", "engines": {}}
ANSWER = {"data": [{"field": "user.name", "value": "Ann", "ts": None}], "meta": {"query_id": "q"}}


class Peer:
    """A server whose answers the test chooses: status, content type and body by path."""

    def __init__(self, answer: Callable[[str, dict], Any]) -> None:
        self.requests: list[tuple[str, dict, dict]] = []
        self.connections = 0
        peer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                peer.connections += 1
                super().setup()

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                peer.requests.append((self.path, dict(self.headers), body))
                status, kind, content = answer(self.path, body)
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def as_json(value: Any, status: int = 200) -> Any:
    return status, "application/json", json.dumps(value).encode()


class Http(unittest.TestCase):
    def peer(self, answer: Callable[[str, dict], Any]) -> Peer:
        peer = Peer(answer)
        self.addCleanup(peer.close)
        return peer

    def client(self, url: str, **options: Any) -> SvcClient:
        client = SvcClient(client_id="id", client_secret="secret", api_server=url, **options)
        self.addCleanup(client.close)
        return client

    def setUp(self) -> None:
        bare = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy") and not name.startswith("SVC_")}
        patch = mock.patch.dict(os.environ, bare, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def test_what_is_sent(self) -> None:
        peer = self.peer(lambda path, _: as_json(TOKEN if path.endswith("token") else ANSWER))
        client = self.client(f"{peer.url}/base/", environment="pr\u00f6d 100%", branch="b")
        self.assertEqual(client.query({"user.id": 1}, ["user.name"])["user.name"], "Ann")
        client.query({"user.id": 2}, ["user.name"])
        (exchange, query, _) = peer.requests
        self.assertEqual((exchange[0], exchange[2]["client_secret"]), ("/base/v1/oauth/token", "secret"))
        self.assertEqual(query[0], "/base/v1/query/online")
        self.assertEqual(query[1]["authorization"], "Bearer token-1")
        self.assertEqual((query[1]["svc-environment"], query[1]["svc-branch"]), ("pr%C3%B6d%20100%25", "b"))
        self.assertEqual(query[2], {"inputs": {"user.id": 1}, "outputs": ["user.name"]})
        self.assertEqual(peer.connections, 1)

    def test_the_query_server_of_the_environment_is_asked(self) -> None:
        engine = self.peer(lambda *_: as_json(ANSWER))
        api = self.peer(lambda *_: as_json({**TOKEN, "engines": {"env_1": engine.url}}))
        self.client(api.url).query({"user.id": 1})
        self.assertEqual(([path for path, _, _ in api.requests], len(engine.requests)), (["/v1/oauth/token"], 1))

    def test_a_proxy(self) -> None:
        proxy = self.peer(lambda path, _: as_json(TOKEN if path.endswith("token") else ANSWER))
        with mock.patch.dict(os.environ, {"http_proxy": proxy.url}):
            self.client("http://svc.example.com:99").query({"user.id": 1})
        self.assertEqual([path for path, _, _ in proxy.requests], [f"http://svc.example.com:99/v1/{end}" for end in ("oauth/token", "query/online")])

    def test_this_machine_is_not_reached_through_a_proxy(self) -> None:
        peer = self.peer(lambda path, _: as_json(TOKEN if path.endswith("token") else ANSWER))
        with mock.patch.dict(os.environ, {"http_proxy": "http://127.0.0.1:9"}):
            self.client(peer.url).query({"user.id": 1})
        self.assertEqual(len(peer.requests), 2)

    def test_answers_that_no_server_gives(self) -> None:
        for answer, said in (
            ((200, "text/html", b"<html>"), "text/html instead of JSON: is it an svc server"),
            ((200, "application/json", b"{"), "JSON that cannot be read"),
            (as_json({}), "no token"),
            (as_json({"message": "out of order"}, 500), "500 and no token: out of order"),
            ((302, "text/plain", b""), "answered 302"),
        ):
            with self.subTest(said), self.assertRaisesRegex(UnexpectedAnswer, said):
                self.client(self.peer(lambda *_: answer).url).query({"user.id": 1})

    def test_failures_of_the_query_server(self) -> None:
        for answer, said in ((as_json({"message": "no luck"}, 500), "500: no luck"), (as_json([], 200), "200"), ((502, "text/plain", b"x"), "502")):
            peer = self.peer(lambda path, _: as_json(TOKEN) if path.endswith("token") else answer)
            with self.subTest(said), self.assertRaisesRegex(UnexpectedAnswer, said):
                self.client(peer.url).query({"user.id": 1})

    def test_a_token_that_is_refused_twice(self) -> None:
        errors = {"data": [], "errors": [{"code": "UNAUTHENTICATED", "category": "NETWORK", "message": "not today"}]}
        peer = self.peer(lambda path, _: as_json(TOKEN) if path.endswith("token") else as_json(errors, 401))
        with self.assertRaisesRegex(AuthenticationError, "not today"):
            self.client(peer.url).query({"user.id": 1})
        self.assertEqual([path.rpartition("/")[2] for path, _, _ in peer.requests], ["token", "online", "token", "online"])

    def test_a_server_that_went_away(self) -> None:
        peer = Peer(lambda path, _: as_json(TOKEN if path.endswith("token") else ANSWER))
        client = self.client(peer.url)
        client.query({"user.id": 1})
        peer.close()
        for connection in client._session.api._idle:
            connection.sock.shutdown(2)
        with self.assertRaisesRegex(ServerUnreachable, "cannot be reached"):
            client.query({"user.id": 1})


if __name__ == "__main__":
    unittest.main()
