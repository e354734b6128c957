"""The client's HTTP where no svc server answers: proxies, broken answers, connections that end."""

import contextlib
import errno
import json
import os
import pathlib
import socket
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Iterator
from unittest import mock

from svc._client.config import ConfigError
from svc._client.http import HttpServer
from svc._client.proxy import find_proxy
from svc.client import AuthenticationError, ServerUnreachable, SvcClient, UnexpectedAnswer

TOKEN = {"access_token": "token-1", "token_type": "Bearer", "expires_in": 3600, "primary_environment": "env_1", "engines": {}}
ANSWER = {"data": [{"field": "user.name", "value": "Ann", "ts": None}], "meta": {"query_id": "q"}}


class Peer:
    """A server whose answers the test chooses: status, content type and body by path."""

    def __init__(self, answer: Callable[[str, dict], Any], longest: int = 10_000_000) -> None:
        self.requests: list[tuple[str, dict, dict]] = []
        self.connections = 0
        peer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                peer.connections += 1
                super().setup()

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                self.close_connection = length > longest
                body = {} if self.close_connection else json.loads(self.rfile.read(length) or b"{}")
                peer.requests.append((self.path, dict(self.headers), body))
                status, kind, content = answer(self.path, body)
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST

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
    def peer(self, answer: Callable[[str, dict], Any], **options: Any) -> Peer:
        peer = Peer(answer, **options)
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
        plain_numbers = {"encode_large_integers_as_numbers": True}
        self.assertEqual(query[2], {"inputs": {"user.id": 1}, "outputs": ["user.name"], "encoding_options": plain_numbers})
        self.assertEqual(peer.connections, 1)

    def test_a_body_that_is_refused_unread_is_answered(self) -> None:
        refused = {"error": "body_too_large", "message": "The body is longer than 1000 bytes."}
        peer = self.peer(lambda path, _: as_json(TOKEN) if path.endswith("token") else as_json(refused, 413), longest=1000)
        client = self.client(peer.url)
        for _ in range(3):
            with self.assertRaisesRegex(Exception, "longer than 1000 bytes"):
                client.query({"user.id": "x" * 20_000_000})

    def test_the_query_server_of_the_environment_is_asked(self) -> None:
        engine = self.peer(lambda *_: as_json(ANSWER))
        api = self.peer(lambda *_: as_json({**TOKEN, "engines": {"env_1": engine.url}}))
        self.client(api.url).query({"user.id": 1})
        self.assertEqual(([path for path, _, _ in api.requests], len(engine.requests)), (["/v1/oauth/token"], 1))

    def test_a_body_that_cannot_be_written_is_no_fault_of_the_server(self) -> None:
        peer = self.peer(lambda *_: (200, "application/octet-stream", b"content"))
        server = HttpServer(peer.url, 10)
        self.addCleanup(server.close)

        def sink(_: bytes) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with self.assertRaisesRegex(OSError, "No space left"):
            server.download("/v1/objects/x", sink)

    def test_a_proxy(self) -> None:
        proxy = self.peer(lambda path, _: as_json(TOKEN if path.endswith("token") else ANSWER))
        with mock.patch.dict(os.environ, {"http_proxy": proxy.url}):
            self.client("http://svc.example.com:99").query({"user.id": 1})
        self.assertEqual([path for path, _, _ in proxy.requests], [f"http://svc.example.com:99/v1/{end}" for end in ("oauth/token", "query/online")])

    def test_the_rules_for_proxies(self) -> None:
        vectors = json.loads((pathlib.Path(__file__).parents[2] / "fixtures" / "proxies.json").read_text("utf-8"))
        for vector in vectors:
            with self.subTest(vector=vector):
                if "error" in vector:
                    with self.assertRaisesRegex(ConfigError, vector["error"]):
                        find_proxy(vector["url"], vector["env"])
                else:
                    found = find_proxy(vector["url"], vector["env"])
                    self.assertEqual(found.shown if found else None, vector["proxy"])

    def test_a_proxy_that_wants_credentials(self) -> None:
        proxy = self.peer(lambda *_: (407, "text/html", b"<html>"))
        with mock.patch.dict(os.environ, {"http_proxy": proxy.url.replace("//", "//user:p%40ss@")}):
            with self.assertRaisesRegex(ServerUnreachable, r"the proxy http://127\.0\.0\.1:\d+ \(environment variable http_proxy\).*407"):
                self.client("http://svc.example.com").query({"user.id": 1})
        self.assertEqual(proxy.requests[0][1]["proxy-authorization"], "Basic dXNlcjpwQHNz")

    def test_a_proxy_that_opens_no_tunnel(self) -> None:
        with self.refusing_proxy() as proxy, mock.patch.dict(os.environ, {"https_proxy": proxy.replace("//", "//user:p%40ss@")}):
            with self.assertRaisesRegex(ServerUnreachable, r"the proxy http://127\.0\.0\.1:\d+ \(environment variable https_proxy\).*403 Forbidden"):
                self.client("https://svc.example.com").query({"user.id": 1})
        self.assertIn("CONNECT svc.example.com:443", self.asked[0])
        self.assertIn("proxy-authorization: Basic dXNlcjpwQHNz", self.asked[0])

    def test_a_proxy_that_is_not_there(self) -> None:
        for scheme in ("http", "https"):
            with self.subTest(scheme), mock.patch.dict(os.environ, {f"{scheme}_proxy": "http://127.0.0.1:9"}):
                with self.assertRaisesRegex(ServerUnreachable, rf"through the proxy http://127\.0\.0\.1:9 \(environment variable {scheme}_proxy\)"):
                    self.client(f"{scheme}://svc.example.com").query({"user.id": 1})

    @contextlib.contextmanager
    def refusing_proxy(self) -> Iterator[str]:
        """A proxy that opens no tunnel; what it was asked is in `asked`."""
        self.asked: list[str] = []
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def answer() -> None:
                connection, _ = listener.accept()
                with connection:
                    self.asked.append(connection.recv(65536).decode("latin-1"))
                    connection.sendall(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")

            thread = threading.Thread(target=answer)
            thread.start()
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            thread.join()

    def test_this_machine_is_not_reached_through_a_proxy(self) -> None:
        peer = self.peer(lambda path, _: as_json(TOKEN if path.endswith("token") else ANSWER))
        with mock.patch.dict(os.environ, {name: "http://127.0.0.1:9" for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")}):
            self.client(peer.url).query({"user.id": 1})
        self.assertEqual(len(peer.requests), 2)

    def test_answers_that_no_server_gives(self) -> None:
        for answer, said in (
            ((200, "text/html", b"<html>"), "text/html instead of JSON: is it an svc server"),
            ((200, "application/json", b"{"), "JSON that cannot be read"),
            (as_json({}), "no token"),
            (as_json({**TOKEN, "access_token": "a\r\nx-evil: 1"}), "no token"),
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

    def test_a_server_is_told_how_long_an_answer_may_take(self) -> None:
        def answer(path: str, _: dict) -> Any:
            if path.endswith("token"):
                return as_json(TOKEN)
            time.sleep(0.3)
            return as_json(ANSWER)

        peer = self.peer(answer)
        self.assertEqual(self.client(peer.url, timeout=0.2501).query({"user.id": 1})["user.name"], "Ann")
        self.assertEqual(peer.requests[1][1]["connect-timeout-ms"], "251")
        self.client(peer.url, timeout=2e7).query({"user.id": 1})
        self.assertEqual(peer.requests[3][1]["connect-timeout-ms"], "9999999999")

    def test_a_token_that_is_refused_twice(self) -> None:
        said = {"code": "unauthenticated", "error": "unauthenticated", "message": "not today", "hint": "Come back."}
        peer = self.peer(lambda path, _: as_json(TOKEN) if path.endswith("token") else as_json(said, 401))
        with self.assertRaisesRegex(AuthenticationError, r"not today Come back\."):
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
