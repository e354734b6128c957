"""The client's HTTP where no svc server answers: proxies, broken answers, connections that end."""

import asyncio
import contextlib
import gzip
import errno
import inspect
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Iterator
from unittest import mock

from svc._client.config import ConfigError
from svc._client.asynchronous import Asynchronous
from svc._client.blocking import Blocking
from svc._client.proxy import find_proxy
from svc._client.retries import retry_after
from svc._client.server import Server
from svc._client.steps import Request, Steps
from svc._client import inflating
from svc.client import AsyncSvcClient, AuthenticationError, ClientError, ServerUnreachable, SvcClient, UnexpectedAnswer
from waited import Waited

TOKEN = {"access_token": "token-1", "token_type": "Bearer", "expires_in": 3600, "primary_environment": "env_1", "engines": {}}
ANSWER = {"data": [{"field": "user.name", "value": "Ann", "ts": None}], "meta": {"query_id": "q"}}


class Peer:
    """A server whose answers the test chooses: status, content type and body by path."""

    def __init__(self, answer: Callable[[str, dict], Any], longest: int = 10_000_000) -> None:
        self.requests: list[tuple[str, dict, dict]] = []
        self.connections = 0
        self.open: list[socket.socket] = []
        peer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                peer.connections += 1
                super().setup()
                peer.open.append(self.connection)

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                self.close_connection = length > longest
                body = {} if self.close_connection else json.loads(self.rfile.read(length) or b"{}")
                peer.requests.append((self.path, dict(self.headers), body))
                status, kind, content, *more = answer(self.path, body)
                if status == 0:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("content-type", kind)
                for name, value in more[0].items() if more else ():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        # Clients that hang up are a part of these tests.
        self.server.handle_error = lambda *_: None
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def end_connections(self) -> None:
        """Ends the open connections, without a word."""
        for connection in self.open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.open.clear()

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

    make: Callable[..., Any] = SvcClient

    def client(self, url: str, **options: Any) -> Any:
        client = self.make(client_id="id", client_secret="secret", api_server=url, **options)
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

    def test_answers_are_asked_for_compressed(self) -> None:
        def packed(content: bytes, encoding: str = "gzip") -> Any:
            return 200, "application/json", content, {"content-encoding": encoding}

        whole = gzip.compress(json.dumps(ANSWER).encode())
        answers = [packed(whole), packed(json.dumps(ANSWER).encode(), "identity"), packed(whole, " GZip")]
        wrong = {
            "is encoded as 'br', which was not asked for": packed(whole, "br"),
            "cannot be inflated: Error -3": packed(b"no gzip"),
            "it is cut off": packed(whole[:-9]),
            "followed by something else": packed(whole + b"more"),
            "comes to more than 1 MiB": packed(gzip.compress(bytes(20 << 20))),
        }
        left = [*answers, *wrong.values()]
        peer = self.peer(lambda path, _: as_json(TOKEN) if path.endswith("token") else left.pop(0))
        client = self.client(peer.url)
        for _ in answers:
            self.assertEqual(client.query({"user.id": 1}, ["user.name"])["user.name"], "Ann")
        with mock.patch.object(inflating, "LONGEST", 1 << 20):
            for said in wrong:
                with self.assertRaisesRegex(UnexpectedAnswer, f"{peer.url}/v1/query/online answered 200 with a body that .*{said}"):
                    client.query({"user.id": 1}, ["user.name"])
        self.assertEqual({sent["accept-encoding"] for _, sent, _ in peer.requests}, {"gzip"})

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
        run = Blocking()
        self.addCleanup(run.close)

        def download() -> Steps[None]:
            yield Request(Server(peer.url), "GET", "/v1/objects/x", {}, None, 10, sink=sink)

        def sink(_: bytes) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with self.assertRaisesRegex(OSError, "No space left"):
            run(download())

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
                self.client(peer.url, max_retries=0).query({"user.id": 1})

    def test_a_server_is_told_how_long_an_answer_may_take(self) -> None:
        def answer(path: str, _: dict) -> Any:
            if path.endswith("token"):
                return as_json(TOKEN)
            time.sleep(0.3)
            return as_json(ANSWER)

        peer = self.peer(answer)
        self.assertEqual(self.client(peer.url, timeout=0.2501).query({"user.id": 1})["user.name"], "Ann")
        told = [int(peer.requests[at][1]["connect-timeout-ms"]) for at in (0, 1)]
        self.assertTrue(251 >= told[0] >= told[1] > 0, told)
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
        peer.end_connections()
        with self.assertRaisesRegex(ServerUnreachable, "cannot be reached"):
            client.query({"user.id": 1})


class Retries(unittest.TestCase):
    """Which requests are sent again, and how often."""

    make: Callable[..., Any] = SvcClient

    def setUp(self) -> None:
        at_once = mock.patch("random.random", return_value=0.0)
        at_once.start()
        self.addCleanup(at_once.stop)

    def ask(self, answers: list[Any], call: Callable[[Any], Any], **options: Any) -> tuple[Any, list[str]]:
        """What a call came to, of a server that gives these answers in turn and then the last one
        again, and the ends of the paths that were asked for; without token exchanges.
        """
        left = list(answers)

        def answer(path: str, _: dict) -> Any:
            return as_json(TOKEN) if path.endswith("token") else left.pop(0) if len(left) > 1 else left[0]

        peer = Peer(answer)
        self.addCleanup(peer.close)
        client = self.make(client_id="id", client_secret="secret", api_server=peer.url, **options)
        self.addCleanup(client.close)
        try:
            came = call(client)
        except ClientError as error:
            came = error
        return came, [path.rpartition("/")[2] for path, _, _ in peer.requests if not path.endswith("token")]

    def query(self, answers: list[Any], **options: Any) -> tuple[Any, list[str]]:
        return self.ask(answers, lambda client: client.query({"user.id": 1}, ["user.name"])["user.name"], **options)

    def test_a_connection_that_breaks(self) -> None:
        self.assertEqual(self.query([(0, "", b""), (0, "", b""), as_json(ANSWER)]), ("Ann", ["online"] * 3))
        failed, asked = self.query([(0, "", b"")])
        self.assertIsInstance(failed, ServerUnreachable)
        # The first one over the connection of the exchange, which might have been gone before.
        self.assertEqual(len(asked), 5)
        self.assertTrue(failed.sent)
        self.assertEqual(len(self.query([(0, "", b"")], max_retries=0)[1]), 2)

    def test_a_server_that_says_when_to_come_back(self) -> None:
        busy = (503, "application/json", b'{"message": "busy"}', {"retry-after": "0"})
        self.assertEqual(self.query([busy, busy, busy, as_json(ANSWER)]), ("Ann", ["online"] * 4))
        failed, asked = self.query([busy])
        self.assertIn("503: busy", str(failed))
        self.assertEqual(len(asked), 4)
        later = (429, "application/json", b'{"message": "busy"}', {"retry-after": "60"})
        self.assertEqual(len(self.query([later])[1]), 1)
        soon = (429, "application/json", b'{"message": "busy"}', {"retry-after": "5"})
        self.assertEqual(len(self.query([soon], timeout=2)[1]), 1)

    def test_a_server_that_refuses_is_asked_once_more(self) -> None:
        self.assertEqual(len(self.query([(503, "application/json", b'{"message": "busy"}')])[1]), 2)

    def test_what_the_server_has_answered_is_an_answer(self) -> None:
        for status in (400, 403, 404, 409, 412, 500, 504):
            self.assertEqual(len(self.query([as_json({"message": "no"}, status)])[1]), 1, status)

    def test_what_has_an_effect_is_sent_again_only_when_it_had_none(self) -> None:
        columns = {"user.id": [1]}
        stored = {"rows": 1, "online_values": 1, "offline_values": 1, "deleted_values": 0}
        busy = (503, "application/json", b'{"message": "busy"}', {"retry-after": "0"})
        for answers, wanted in (
            ([(0, "", b"")], 1),
            ([(503, "application/json", b'{"message": "busy"}')], 1),
            ([(502, "text/plain", b"")], 1),
            ([busy, as_json(stored)], 2),
        ):
            asked = self.ask(answers, lambda client: client.upload_features(columns))[1]
            self.assertEqual(asked, ["upload"] * wanted, answers)
        self.assertEqual(self.ask([(0, "", b"")], lambda client: client.offline_query({"user.id": [1]}, ["user.name"]))[1], ["offline-queries"])
        begun = {"id": "job_1", "resolver": "r", "status": "running"}
        run, asked = self.ask([(0, "", b""), as_json(begun)], lambda client: client.trigger_resolver_run("r"))
        self.assertEqual(len(asked), 2)

    def test_all_retries_together_are_a_share_of_all_requests(self) -> None:
        busy = (503, "application/json", b'{"message": "busy"}', {"retry-after": "0"})

        def many(client: Any) -> None:
            for _ in range(20):
                with contextlib.suppress(ClientError):
                    client.query({"user.id": 1})

        # Ten for the burst, and a tenth of the one that succeeded, the exchange.
        self.assertEqual(len(self.ask([busy], many)[1]), 30)

    def test_times_of_retry_after(self) -> None:
        self.assertEqual([retry_after(value) for value in (None, "", "soon", "-1", "1.5", "10")], [None, None, None, None, 1.5, 10.0])
        self.assertEqual(retry_after("Wed, 21 Oct 2015 07:28:00 GMT"), 0.0)
        self.assertGreater(retry_after("Wed, 21 Oct 2099 07:28:00 GMT") or 0, 1e9)


@unittest.skipUnless(shutil.which("openssl"), "needs openssl")
class Tls(unittest.TestCase):
    """Servers behind TLS, directly and through a proxy's tunnel."""

    make: Callable[..., Any] = SvcClient

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.certificate, cls.key = os.path.join(cls.folder, "certificate.pem"), os.path.join(cls.folder, "key.pem")
        names = ["-subj", "/CN=svc.test", "-addext", "subjectAltName=DNS:svc.test,DNS:localhost"]
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-keyout", cls.key, "-out", cls.certificate, *names],
            check=True,
            capture_output=True,
        )

    def setUp(self) -> None:
        bare = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy") and not name.startswith("SVC_")}
        patch = mock.patch.dict(os.environ, bare, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def peer(self) -> Peer:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        peer = Peer(lambda path, _: as_json(TOKEN if path.endswith("token") else ANSWER))
        peer.server.socket = context.wrap_socket(peer.server.socket, server_side=True)
        self.addCleanup(peer.close)
        return peer

    def client(self, url: str, **options: Any) -> Any:
        client = self.make(client_id="id", client_secret="secret", api_server=url, **options)
        self.addCleanup(client.close)
        return client

    def test_a_certificate_that_is_trusted(self) -> None:
        peer = self.peer()
        with mock.patch.dict(os.environ, {"SSL_CERT_FILE": self.certificate}):
            client = self.client(f"https://localhost:{peer.server.server_port}")
            for _ in range(3):
                self.assertEqual(client.query({"user.id": 1})["user.name"], "Ann")
        self.assertEqual(peer.connections, 1)

    def test_a_certificate_that_is_not(self) -> None:
        peer = self.peer()
        with self.assertRaisesRegex(ServerUnreachable, "certificate verify failed"):
            self.client(f"https://localhost:{peer.server.server_port}").query({"user.id": 1})
        # Another attempt would come to the same.
        self.assertLessEqual(peer.connections, 1)

    def test_a_tunnel(self) -> None:
        peer, asked = self.peer(), []
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def pass_on(source: socket.socket, target: socket.socket) -> None:
            with contextlib.suppress(OSError):
                while part := source.recv(65536):
                    target.sendall(part)
            for end in (source, target):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

        def serve() -> None:
            connection, _ = listener.accept()
            asked.append(connection.recv(65536).decode("latin-1"))
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with connection, socket.create_connection(("127.0.0.1", peer.server.server_port)) as target:
                back = threading.Thread(target=pass_on, args=(target, connection))
                back.start()
                pass_on(connection, target)
                back.join()

        thread = threading.Thread(target=serve)
        thread.start()
        proxy = f"http://user:p%40ss@127.0.0.1:{listener.getsockname()[1]}"
        with mock.patch.dict(os.environ, {"SSL_CERT_FILE": self.certificate, "https_proxy": proxy}):
            client = self.client("https://svc.test:8443")
            self.assertEqual(client.query({"user.id": 1})["user.name"], "Ann")
            client.close()
        thread.join()
        self.assertTrue(asked[0].startswith("CONNECT svc.test:8443 HTTP/1."), asked)
        self.assertIn("proxy-authorization: Basic dXNlcjpwQHNz", asked[0])


class AwaitedTls(Tls):
    make = Waited


class AwaitedHttp(Http):
    make = Waited


class AwaitedRetries(Retries):
    make = Waited


class Raw(unittest.TestCase):
    """Answers that the library's server does not give, byte by byte."""

    def ask(self, *parts: bytes, path: str = "/x") -> Any:
        """What the client for asyncio makes of an answer that comes in parts."""

        async def main() -> Any:
            ended = asyncio.Event()

            async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                try:
                    await reader.readuntil(b"\r\n\r\n")
                    for part in parts:
                        writer.write(part)
                        await writer.drain()
                        await asyncio.sleep(0)
                except (asyncio.IncompleteReadError, ConnectionError):
                    pass
                writer.close()
                ended.set()

            server = await asyncio.start_server(answer, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            run = Asynchronous(1)
            try:
                return await run(self.get(Server(f"http://127.0.0.1:{port}"), path))
            finally:
                run.close()
                await ended.wait()
                server.close()
                await asyncio.sleep(0)

        return asyncio.run(main())

    @staticmethod
    def get(server: Server, path: str) -> Steps[Any]:
        return (yield Request(server, "GET", path, {}, None, 5))

    def test_every_way_to_tell_the_length_of_a_body(self) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"
        for body in (
            b"content-length: 5\r\n\r\nhello",
            b"transfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
            b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nx-trailer: 1\r\n\r\n",
            b"\r\nhello",
        ):
            whole = head + body
            for cut in range(0, len(whole), 7):
                response = self.ask(whole[:cut], whole[cut:])
                self.assertEqual((response.status, response.content, response.headers["content-type"]), (200, b"hello", "text/plain"), body)

    def test_what_comes_before_an_answer(self) -> None:
        self.assertEqual(self.ask(b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n").status, 204)

    def test_answers_that_are_none(self) -> None:
        for said in (
            b"",
            b"HTTP/1.1 200 OK\r\n",
            b"HTTP/2 200\r\n\r\n",
            b"nonsense\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell",
            b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nhello",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nz\r\nhello",
            b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000 + b"\r\n\r\n",
        ):
            with self.subTest(said[:60]), self.assertRaisesRegex(ServerUnreachable, "cannot be reached"):
                self.ask(said)

    def test_a_line_break_is_not_sent(self) -> None:
        with self.assertRaisesRegex(ValueError, "line break"):
            self.ask(b"HTTP/1.1 204 No Content\r\n\r\n", path="/x\r\nx-evil: 1")


class SideBySide(unittest.TestCase):
    """What only the client for asyncio does."""

    def peer(self, answer: Callable[[str, dict], Any]) -> Peer:
        peer = Peer(lambda path, body: as_json(TOKEN) if path.endswith("token") else answer(path, body))
        self.addCleanup(peer.close)
        return peer

    def client(self, peer: Peer, **options: Any) -> AsyncSvcClient:
        return AsyncSvcClient(client_id="id", client_secret="secret", api_server=peer.url, **options)

    def test_connections_are_bounded_and_the_token_is_exchanged_once(self) -> None:
        at_once, most, lock = 0, 0, threading.Lock()

        def answer(*_: Any) -> Any:
            nonlocal at_once, most
            with lock:
                at_once += 1
                most = max(most, at_once)
            time.sleep(0.01)
            with lock:
                at_once -= 1
            return as_json(ANSWER)

        peer = self.peer(answer)

        async def main() -> list[str]:
            async with self.client(peer, max_connections=3) as client:
                results = await asyncio.gather(*[client.query({"user.id": id}) for id in range(40)])
            return [result["user.name"] for result in results]

        self.assertEqual(asyncio.run(main()), ["Ann"] * 40)
        self.assertLessEqual(most, 3)
        self.assertLessEqual(peer.connections, 3)
        self.assertEqual([path for path, _, _ in peer.requests].count("/v1/oauth/token"), 1)

    def test_a_call_that_is_cancelled_ends_its_connection_and_no_other(self) -> None:
        began, go_on = threading.Event(), threading.Event()

        def answer(_: str, body: dict) -> Any:
            if body["inputs"]["user.id"] == 13:
                began.set()
                go_on.wait()
            return as_json(ANSWER)

        peer = self.peer(answer)
        self.addCleanup(go_on.set)

        async def main() -> None:
            async with self.client(peer, max_connections=1) as client:
                await client.query({"user.id": 1})
                slow = asyncio.create_task(client.query({"user.id": 13}))
                await asyncio.to_thread(began.wait)
                waiting = asyncio.create_task(client.query({"user.id": 2}))
                given_up = asyncio.create_task(client.query({"user.id": 3}))
                await asyncio.sleep(0)
                given_up.cancel()
                slow.cancel()
                for task in (slow, given_up):
                    with self.assertRaises(asyncio.CancelledError):
                        await task
                self.assertEqual((await waiting)["user.name"], "Ann")
                # The connection that was ended is not used again.
                self.assertEqual(peer.connections, 2)
                self.assertEqual((await client.query({"user.id": 4}))["user.name"], "Ann")
                self.assertEqual(peer.connections, 2)

        asyncio.run(main())
        self.assertNotIn(3, [body.get("inputs", {}).get("user.id") for _, _, body in peer.requests])

    def test_another_event_loop_gets_connections_of_its_own(self) -> None:
        peer = self.peer(lambda *_: as_json(ANSWER))
        client = self.client(peer)

        async def ask() -> str:
            try:
                return (await client.query({"user.id": 1}))["user.name"]
            finally:
                await client.close()

        self.assertEqual([asyncio.run(ask()) for _ in range(3)], ["Ann"] * 3)

    def test_a_turn_that_does_not_come_is_counted_as_time(self) -> None:
        go_on = threading.Event()

        def answer(_: str, body: dict) -> Any:
            go_on.wait()
            return as_json(ANSWER)

        peer = self.peer(answer)
        self.addCleanup(go_on.set)

        async def main() -> Any:
            async with self.client(peer, max_connections=1, timeout=0.2) as client:
                return await asyncio.gather(*[client.query({"user.id": id}) for id in range(2)], return_exceptions=True)

        for failed in asyncio.run(main()):
            self.assertRegex(str(failed), "did not answer within 0.2 s")

    def test_both_clients_have_the_same_calls(self) -> None:
        def calls(kind: type) -> dict[str, list[str]]:
            found = {name: getattr(kind, name) for name in vars(kind) if not name.startswith("_")}
            return {name: list(map(str, inspect.signature(call).parameters.values())) for name, call in found.items()}

        self.assertEqual(calls(AsyncSvcClient), calls(SvcClient))
        options = [set(inspect.signature(kind).parameters) for kind in (AsyncSvcClient, SvcClient)]
        self.assertEqual(options[0] - options[1], {"max_connections"})
        self.assertEqual(options[1] - options[0], set())

    def test_asyncio_is_loaded_when_it_is_asked_for(self) -> None:
        code = "import sys, svc.client; assert 'asyncio' not in sys.modules; svc.client.AsyncSvcClient; assert 'asyncio' in sys.modules"
        subprocess.run([sys.executable, "-B", "-c", code], check=True, env=dict(os.environ))

    def test_options_that_make_no_sense(self) -> None:
        for options in ({"max_connections": 0}, {"max_connections": True}, {"max_retries": -1}, {"max_retries": 1.5}, {"timeout": 0}):
            with self.subTest(options), self.assertRaises(ValueError):
                AsyncSvcClient(client_id="id", client_secret="secret", **options)


if __name__ == "__main__":
    unittest.main()
