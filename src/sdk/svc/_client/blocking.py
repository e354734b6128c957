"""The steps of calls, carried out in the thread that asks for them, over connections that are kept
and used again. Safe to use from several threads.
"""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
from typing import Any, Optional

from .server import Server
from .steps import Pause, Request, Response, Result, Step, Steps, Work

#: Connections to a server that wait for the next request.
_IDLE = 8
_GONE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError, http.client.CannotSendRequest)


class _SinkFailed(Exception):
    """A body could not be taken, as on a full disk: an OSError that says nothing of the server."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class Blocking:
    """Carries out the steps of calls, and waits for each."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[Server, list[http.client.HTTPConnection]] = {}
        self._alone: dict[object, threading.Lock] = {}

    def __call__(self, steps: Steps[Result]) -> Result:
        """The result of steps. Raises what they raise."""
        try:
            step = next(steps)
            while True:
                try:
                    result = self._carry_out(step)
                except BaseException as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(result)
        except StopIteration as ended:
            done: Result = ended.value
            return done

    def close(self) -> None:
        """Closes the waiting connections."""
        with self._lock:
            waiting = [connection for idle in self._idle.values() for connection in idle]
            self._idle.clear()
        for connection in waiting:
            connection.close()

    def __del__(self) -> None:
        self.close()

    def _carry_out(self, step: Step) -> Any:
        if isinstance(step, Request):
            return self._send(step)
        if isinstance(step, Pause):
            return time.sleep(step.seconds)
        if isinstance(step, Work):
            return step.run()
        with self._lock:
            lock = self._alone.setdefault(step.key, threading.Lock())
        with lock:
            return self(step.steps)

    def _send(self, request: Request) -> Response:
        server = request.server
        while True:
            kept = self._kept(request)
            connection = kept or self._opened(request)
            got: list[bytes] = []
            try:
                response = _exchanged(connection, request, got)
            except _SinkFailed as failure:
                connection.close()
                raise failure.error from None
            except TimeoutError:
                connection.close()
                raise server.too_late(request.timeout) from None
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if kept and isinstance(error, _GONE):
                    continue
                raise server.unreachable(error, sent=True) from None
            except BaseException:
                connection.close()
                raise
            self._keep(server, connection, response)
            return Response(response.status, {name.lower(): value for name, value in response.getheaders()}, b"".join(got))

    def _kept(self, request: Request) -> Optional[http.client.HTTPConnection]:
        """A connection that waits, which may be gone without a sign of it: what cannot be begun
        again gets a fresh one.
        """
        with self._lock:
            idle = self._idle.get(request.server)
            return idle.pop() if idle and request.idempotent and request.sink is None else None

    def _keep(self, server: Server, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        with self._lock:
            idle = self._idle.setdefault(server, [])
            is_kept = not response.will_close and len(idle) < _IDLE
            if is_kept:
                idle.append(connection)
        if not is_kept:
            connection.close()

    def _opened(self, request: Request) -> http.client.HTTPConnection:
        """A connected connection. Raises ServerUnreachable."""
        server = request.server
        connection = _connection(server, request.patience())
        try:
            connection.connect()
        except TimeoutError:
            connection.close()
            raise server.too_late(request.timeout, sent=False) from None
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise server.unreachable(error, sent=False) from None
        except BaseException:
            connection.close()
            raise
        return connection


def _connection(server: Server, patience: float) -> http.client.HTTPConnection:
    tunnel, forwarder = server.tunnel, server.forwarder
    proxy = tunnel or forwarder
    host, port = (proxy.host, proxy.port) if proxy else (server.host, server.port)
    if not server.secure and not (forwarder and forwarder.secure):
        return http.client.HTTPConnection(host, port, timeout=patience)
    import ssl

    tls = http.client.HTTPSConnection(host, port, timeout=patience, context=ssl.create_default_context())
    if tunnel:
        tls.set_tunnel(server.host, server.port, headers=dict(tunnel.headers))
    return tls


def _exchanged(connection: http.client.HTTPConnection, request: Request, got: list[bytes]) -> http.client.HTTPResponse:
    """Sends a request and reads its answer, into `got` where the request has no sink for it."""
    sock = connection.sock
    sock.settimeout(request.patience())
    headers = {"host": request.server.host_header, **request.sent_headers()}
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        # A body that is not read to its end is answered, and the connection closed, while it is
        # still sent.
        connection.request(request.method, request.server.target(request.path), request.content, headers)
    response = connection.getresponse()
    is_passed_on = request.sink is not None and response.status in (200, 206)
    length, received = int(response.getheader("content-length") or -1), 0
    while not response.isclosed():
        if received:
            sock.settimeout(request.patience())
        chunk = response.read1(1 << 20)
        received += len(chunk)
        if request.sink is None or not is_passed_on:
            got.append(chunk)
        else:
            try:
                request.sink(chunk)
            except OSError as error:
                raise _SinkFailed(error) from None
        if not chunk:
            break
    if received < length:
        raise http.client.IncompleteRead(b"", length - received)
    # Its end may still have to be read.
    response.read()
    return response
