"""ClickHouse's own engine (chdb) behind the essentials of its HTTP interface: one connection of the
engine for each request, settings and `param_*` from the address and a form. No users, no TLS.

    python clickhouse-http.py PORT FOLDER
"""

import re
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import chdb

FOLDER = sys.argv[2]
KEPT = chdb.connect(FOLDER)
#: Statements that the engine is given at once.
ROOM = threading.BoundedSemaphore(4)
#: Settings of the interface, which the engine has not.
OF_HTTP = {"default_format", "wait_end_of_query", "cancel_http_readonly_queries_on_client_close", "database", "query", "readonly"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_arguments):
        pass

    def do_GET(self):
        self.reply(200, b"Ok.\n")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        given = {name: values[-1] for name, values in urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query).items()}
        kind = self.headers.get("Content-Type", "")
        if kind.startswith("multipart/form-data"):
            boundary = b"--" + kind.split("boundary=")[1].encode()
            for part in body.split(boundary)[1:-1]:
                head, _, text = part[2:-2].partition(b"\r\n\r\n")
                given[re.search(rb'name="([^"]+)"', head)[1].decode()] = text.decode("utf8")
        else:
            given["query"] = body.decode("utf8")
        if self.headers.get("X-ClickHouse-Key") == "wrong":
            self.reply(403, b"Code: 516. DB::Exception: default: Authentication failed: password is incorrect. (AUTHENTICATION_FAILED)")
            return
        parameters = {name[6:]: value for name, value in given.items() if name.startswith("param_")}
        with ROOM:
            self.run(given, parameters)

    def run(self, given, parameters):
        connection = chdb.connect(FOLDER)
        try:
            settings = {name: value for name, value in given.items() if name not in OF_HTTP and not name.startswith("param_")}
            settings["function_sleep_max_microseconds_per_block"] = "10000000000"
            if "readonly" in given:
                settings["readonly"] = given["readonly"]
            connection.query("set " + ", ".join(f"{name} = '{value}'" for name, value in settings.items()))
            answer = connection.query(given["query"], given.get("default_format", "TabSeparated"), params=parameters)
            self.reply(200, answer.bytes() if answer is not None else b"")
        except Exception as error:
            text = str(error)
            self.reply(404 if "Code: 60." in text else 500, text.encode("utf8"))
        finally:
            connection.close()

    def reply(self, status, data):
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Type", "text/plain; charset=UTF-8")
        self._headers_buffer.append(b"\r\n" + data)
        self.flush_headers()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1_024


server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
print("ready", flush=True)
server.serve_forever()
