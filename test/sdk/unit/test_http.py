"""Calls of `svc.http`: which addresses are called, and that time and size are bounded. The server is
one of this process.
"""

import functools
import json
import os
import socket
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock

from svc import http
from svc._client.outgoing import ALLOWED_HOSTS, _is_public
from svc.http import HttpRefused

#: The tests may run on a machine that is busy.
http_get = functools.partial(http.http_get, timeout=60)
http_post = functools.partial(http.http_post, timeout=60)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path.startswith("/redirect/"):
            self.answer(302, Location=f"{self.server.other}/echo")
        elif self.path == "/loop":
            self.answer(302, Location="/loop")
        elif self.path == "/large":
            self.answer(200, b"x" * 5000)
        elif self.path == "/missing":
            self.answer(404, "nö".encode())
        elif self.path == "/drip":
            self.send_response(200)
            self.end_headers()
            while not self.server.over.wait(0.02):
                try:
                    self.wfile.write(b"x")
                except OSError:
                    return
        else:
            told = {"path": self.path, "key": self.headers.get("X-Key"), "host": self.headers["Host"]}
            self.answer(200, json.dumps(told).encode(), X_Twice="a")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/redirect":
            return self.answer(307, Location="/echo")
        return self.answer(200, body, X_Type=self.headers.get("Content-Type", ""))


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.servers = [ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2)]
        first, second = (f"http://127.0.0.1:{server.server_address[1]}" for server in cls.servers)
        cls.url, cls.other = first, second
        for server in cls.servers:
            server.over, server.other = threading.Event(), second
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        for server in cls.servers:
            server.over.set()
            server.shutdown()
            server.server_close()

    def setUp(self):
        allowed = mock.patch.dict(os.environ, {ALLOWED_HOSTS: "127.0.0.1"})
        allowed.start()
        self.addCleanup(allowed.stop)

    def test_get(self):
        answer = http_get(f"{self.url}/a?x=1#f", params={"y": "ä b", "z": [1, 2]}, headers={"X-Key": "k"})
        self.assertEqual((answer.status, answer.ok, answer.headers["x-twice"]), (200, True, "a"))
        self.assertEqual(answer.json(), {"path": "/a?x=1&y=%C3%A4+b&z=1&z=2", "key": "k", "host": self.url[len("http://") :]})
        missing = http_get(f"{self.url}/missing")
        self.assertEqual((missing.status, missing.ok, missing.text, missing.url), (404, False, "nö", f"{self.url}/missing"))

    def test_post(self):
        answer = http_post(f"{self.url}/echo", json={"a": [1, None]})
        self.assertEqual((answer.json(), answer.headers["x-type"]), ({"a": [1, None]}, "application/json"))
        self.assertEqual(http_post(f"{self.url}/echo", data="é", headers={"Content-Type": "text/x"}).headers["x-type"], "text/x")
        self.assertEqual((http_post(f"{self.url}/echo").body, http_post(f"{self.url}/redirect", data=b"x").status), (b"", 307))
        with self.assertRaisesRegex(HttpRefused, "not both"):
            http_post(self.url, json=1, data="x")

    def test_redirects(self):
        answer = http_get(f"{self.url}/redirect/1", headers={"X-Key": "secret"})
        self.assertEqual((answer.url, answer.json()["key"]), (f"{self.other}/echo", None))
        with self.assertRaisesRegex(HttpRefused, "redirects more than 5 times"):
            http_get(f"{self.url}/loop")

    def test_a_redirect_leads_to_no_other_host(self):
        with mock.patch.dict(os.environ, {ALLOWED_HOSTS: self.url[len("http://") :]}):
            self.assertEqual(http_get(f"{self.url}/echo").status, 200)
            with self.assertRaisesRegex(HttpRefused, "none of the hosts that SVC_HTTP_ALLOWED_HOSTS names"):
                http_get(f"{self.url}/redirect/1")

    def test_private_addresses_are_refused(self):
        with mock.patch.dict(os.environ):
            del os.environ[ALLOWED_HOSTS]
            for url in (self.url, self.url.replace("127.0.0.1", "localhost"), self.url.replace("127.0.0.1", "2130706433"), "http://[::ffff:127.0.0.1]/"):
                with self.assertRaises((HttpRefused, socket.gaierror)):
                    http_get(url)
        for address, is_public in (
            ("93.184.215.14", True),
            ("2606:4700::1111", True),
            ("10.0.0.1", False),
            ("169.254.169.254", False),
            ("100.64.0.1", False),
            ("0.0.0.0", False),
            ("224.0.0.1", False),
            ("255.255.255.255", False),
            ("::1", False),
            ("::", False),
            ("fe80::1%eth0", False),
            ("fd00::1", False),
            ("ff02::1", False),
            ("::ffff:10.0.0.1", False),
            ("64:ff9b::a00:1", False),
            ("2002:a00:1::1", False),
        ):
            self.assertEqual((address, _is_public(address)), (address, is_public))

    def test_hosts_by_pattern(self):
        with mock.patch.dict(os.environ, {ALLOWED_HOSTS: "*.example.com, other.example:81"}):
            for url in ("http://example.com/", "http://badexample.com/", "http://other.example/"):
                with self.assertRaisesRegex(HttpRefused, "none of the hosts"):
                    http_get(url)

    def test_size_and_time(self):
        with self.assertRaisesRegex(HttpRefused, "more than 4999 bytes"):
            http_get(f"{self.url}/large", max_bytes=4999)
        self.assertEqual(len(http_get(f"{self.url}/large", max_bytes=5000).body), 5000)
        with self.assertRaises(TimeoutError):
            http_get(f"{self.url}/drip", timeout=0.3)

    def test_what_is_no_call(self):
        for url in ("ftp://a/", "file:///etc/passwd", "http://", "http://a b/", "http://a/\n", "http://[", "http://a:99999/", "http://a:0/", "http://é/", "a"):
            with self.assertRaisesRegex(HttpRefused, "is no URL"):
                http_get(url)
        with self.assertRaisesRegex(HttpRefused, "has a user in it"):
            http_get("http://a:secret@b/")
        with self.assertRaisesRegex(HttpRefused, "is not made"):
            http_get(self.url, headers={"X-Key": "a\r\nX-Other: b"})
        for options in ({"timeout": 0}, {"timeout": 301}, {"max_bytes": 0}, {"max_bytes": 2**40}):
            with self.assertRaisesRegex(HttpRefused, "must be a"):
                http_get(self.url, **options)
