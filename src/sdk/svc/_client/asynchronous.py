"""The steps of calls, carried out by asyncio: HTTP/1.1 over connections that are kept and used again,
a bounded number of them for each server.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import http.client
import io
import re
import ssl
import sys
from typing import Any, AsyncIterator, Awaitable, Mapping, Optional, TypeVar

from .proxy import Proxy
from .server import Server
from .steps import Pause, Request, Response, Result, Step, Steps, Work

_T = TypeVar("_T")

#: Most bytes of the head of an answer, and of a line between the chunks of a body.
_MOST_HEAD = 65_536
_MOST_LINE = 4_096
#: Bytes that may wait to be read before the other side is no longer listened to.
_MOST_WAITING = 1 << 20


class Asynchronous:
    """Carries out the steps of calls in the running event loop. Where that is another one than
    before, the connections are new ones.
    """

    def __init__(self, most_connections: int) -> None:
        self._most = most_connections
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._pools: dict[Server, _Pool] = {}
        self._alone: dict[object, asyncio.Lock] = {}

    async def __call__(self, steps: Steps[Result]) -> Result:
        """The result of steps. Raises what they raise; a call that is cancelled ends the connection
        that it was using.
        """
        self._enter()
        try:
            step = next(steps)
            while True:
                try:
                    result = await self._carry_out(step)
                except BaseException as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(result)
        except StopIteration as ended:
            done: Result = ended.value
            return done

    def close(self) -> None:
        """Closes the waiting connections."""
        for pool in self._pools.values():
            pool.close()

    def _enter(self) -> None:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self.close()
            self._loop, self._pools, self._alone = loop, {}, {}

    async def _carry_out(self, step: Step) -> Any:
        if isinstance(step, Request):
            pool = self._pools.get(step.server)
            if pool is None:
                pool = self._pools[step.server] = _Pool(step.server, self._most)
            return await pool.send(step)
        if isinstance(step, Pause):
            return await asyncio.sleep(step.seconds)
        if isinstance(step, Work):
            return await asyncio.to_thread(step.run)
        async with self._alone.setdefault(step.key, asyncio.Lock()):
            return await self(step.steps)


class _Pool:
    """The connections to one server."""

    def __init__(self, server: Server, most: int) -> None:
        self._server = server
        self._places = most
        self._waiting: collections.deque[asyncio.Future[None]] = collections.deque()
        self._idle: list[_Connection] = []
        self._context: Optional[ssl.SSLContext] = None

    def close(self) -> None:
        while self._idle:
            self._idle.pop().end()

    async def send(self, request: Request) -> Response:
        """Sends a request as soon as there is a connection for it. Raises ServerUnreachable."""
        try:
            await self._take_place(request)
        except asyncio.TimeoutError:
            raise self._server.too_late(request.timeout, sent=False) from None
        try:
            return await self._send(request)
        finally:
            self._give_place()

    async def _take_place(self, request: Request) -> None:
        if self._places > 0:
            self._places -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await _within(request, turn)
        except BaseException:
            if turn.done() and not turn.cancelled():
                self._give_place()
            else:
                with contextlib.suppress(ValueError):
                    self._waiting.remove(turn)
            raise

    def _give_place(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._places += 1

    async def _send(self, request: Request) -> Response:
        server = self._server
        while True:
            kept = self._kept(request)
            connection = kept or await self._opened(request)
            try:
                response = await connection.exchange(request)
            except asyncio.TimeoutError:
                connection.end()
                raise server.too_late(request.timeout) from None
            except _Gone as error:
                connection.end()
                if kept:
                    continue
                raise server.unreachable(error, sent=True) from None
            except http.client.HTTPException as error:
                connection.end()
                raise server.unreachable(error, sent=True) from None
            except BaseException:
                connection.end()
                raise
            if connection.is_open:
                self._idle.append(connection)
            else:
                connection.end()
            return response

    def _kept(self, request: Request) -> Optional[_Connection]:
        """A connection that waits, which may be gone without a sign of it: what cannot be begun
        again gets a fresh one.
        """
        while self._idle and request.idempotent and request.sink is None:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
            connection.end()
        return None

    async def _opened(self, request: Request) -> _Connection:
        """A connected connection. Raises ServerUnreachable."""
        server = self._server
        tunnel, forwarder = server.tunnel, server.forwarder
        proxy = tunnel or forwarder
        host, port = (proxy.host, proxy.port) if proxy else (server.host, server.port)
        if self._context is None and (server.secure or (forwarder and forwarder.secure)):
            self._context = ssl.create_default_context()
        connection = _Connection()
        loop = asyncio.get_running_loop()
        try:
            tls = None if tunnel else self._context
            await _within(request, loop.create_connection(lambda: connection, host, port, ssl=tls))
            if tunnel and self._context:
                await connection.open_tunnel(request, tunnel)
                await connection.encrypt(request, self._context)
        except asyncio.TimeoutError:
            connection.end()
            raise server.too_late(request.timeout, sent=False) from None
        except (OSError, http.client.HTTPException) as error:
            connection.end()
            raise server.unreachable(error, sent=False) from None
        except BaseException:
            connection.end()
            raise
        return connection


async def _within(request: Request, work: Awaitable[_T]) -> _T:
    """What `work` gives. Raises asyncio.TimeoutError when the request has no more patience."""
    if sys.version_info >= (3, 11):
        async with asyncio.timeout(request.patience()):
            return await work
    else:
        return await asyncio.wait_for(work, request.patience())


class _Gone(OSError):
    """The other side has ended the connection."""


class _Connection(asyncio.Protocol):
    """One connection; what has come is read to its end, however the connection ended since."""

    def __init__(self) -> None:
        self._transport: Optional[asyncio.Transport] = None
        self._came = bytearray()
        self._is_held = False
        self._ended: Optional[Exception] = None
        self._is_last = False
        self._turn: Optional[asyncio.Future[None]] = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._came += data
        if len(self._came) > _MOST_WAITING and not self._is_held and self._transport:
            self._transport.pause_reading()
            self._is_held = True
        self._wake()

    def eof_received(self) -> None:
        self._ended = self._ended or _Gone("the connection was closed")
        self._wake()

    def connection_lost(self, error: Optional[Exception]) -> None:
        self._ended = self._ended or _Gone(str(error) if error else "the connection was closed")
        self._wake()

    @property
    def is_open(self) -> bool:
        """Whether another request can be sent."""
        return not (self._is_last or self._ended or self._came)

    def end(self) -> None:
        """Ends it, whatever is under way."""
        self._is_last = True
        if self._transport:
            # The loop that it was made in may be closed.
            with contextlib.suppress(RuntimeError):
                self._transport.abort()

    async def open_tunnel(self, request: Request, proxy: Proxy) -> None:
        """Has a proxy open a tunnel to the server. Raises OSError."""
        place = f"{request.server.host}:{request.server.port}"
        self._write("CONNECT", place, {"host": place, **proxy.headers}, None)
        status, reason, _, _ = await self._head(request)
        if status != 200:
            raise OSError(f"Tunnel connection failed: {status} {reason}")

    async def encrypt(self, request: Request, context: ssl.SSLContext) -> None:
        """Begins TLS with the server."""
        assert self._transport
        loop = asyncio.get_running_loop()
        secured = await _within(request, loop.start_tls(self._transport, self, context, server_hostname=request.server.host))
        assert isinstance(secured, asyncio.Transport)
        self._transport = secured

    async def exchange(self, request: Request) -> Response:
        """Sends a request and reads its answer. Raises _Gone, HTTPException, asyncio.TimeoutError
        and what the sink raises.
        """
        headers = {"host": request.server.host_header, "accept-encoding": "identity", **request.sent_headers()}
        self._write(request.method, request.server.target(request.path), headers, request.content)
        while True:
            status, _, answered, is_last = await self._head(request)
            if status >= 200:
                break
        self._is_last = is_last
        got: list[bytes] = []
        sink = request.sink if status in (200, 206) else None
        async for part in self._body(request, status, answered):
            if sink is None:
                got.append(part)
            else:
                await asyncio.to_thread(sink, part)
        return Response(status, answered, b"".join(got))

    def _write(self, method: str, target: str, headers: Mapping[str, str], content: Optional[bytes]) -> None:
        length = {} if content is None else {"content-length": str(len(content))}
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in {**headers, **length}.items()), "", ""]
        if any(re.search(r"[\r\n\0]", line) for line in lines):
            raise ValueError("a request has a line break in its path or headers")
        assert self._transport
        # What does not fit is kept by the transport, and the answer is read meanwhile: a body that
        # is not read to its end is answered while it is still sent.
        self._transport.write("\r\n".join(lines).encode("latin-1"))
        if content:
            self._transport.write(content)

    async def _head(self, request: Request) -> tuple[int, str, dict[str, str], bool]:
        """Status, reason and headers of an answer, and whether the connection ends with it."""
        head = await self._until(request, b"\r\n\r\n", _MOST_HEAD)
        line, _, rest = head.partition(b"\r\n")
        found = re.fullmatch(rb"HTTP/1\.([01]) (\d{3})(?: (.*))?", line)
        if not found:
            raise http.client.BadStatusLine(line[:100].decode("latin-1"))
        parsed = http.client.parse_headers(io.BytesIO(rest))
        headers = {name.lower(): value for name, value in parsed.items()}
        is_last = found[1] == b"0" or "close" in headers.get("connection", "").lower()
        return int(found[2]), (found[3] or b"").decode("latin-1"), headers, is_last

    async def _body(self, request: Request, status: int, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
        if status in (204, 304):
            return
        if "chunked" in headers.get("transfer-encoding", "").lower():
            while size := _chunk_size(await self._until(request, b"\r\n", _MOST_LINE)):
                async for part in self._exactly(request, size):
                    yield part
                await self._until(request, b"\r\n", _MOST_LINE)
            while await self._until(request, b"\r\n", _MOST_LINE) != b"\r\n":
                pass
        elif "content-length" in headers:
            if not headers["content-length"].isdecimal():
                raise http.client.HTTPException("the answer has a length that is no number")
            async for part in self._exactly(request, int(headers["content-length"])):
                yield part
        else:
            self._is_last = True
            while self._came or not self._ended:
                if self._came:
                    yield self._taken(len(self._came))
                else:
                    await self._more(request)

    async def _until(self, request: Request, end: bytes, most: int) -> bytes:
        """The bytes up to an end and with it."""
        while (at := self._came.find(end, 0, most)) < 0:
            if len(self._came) >= most:
                raise http.client.LineTooLong("header line")
            await self._more(request)
        return self._taken(at + len(end))

    async def _exactly(self, request: Request, size: int) -> AsyncIterator[bytes]:
        while size > 0:
            if not self._came:
                await self._more(request)
            part = self._taken(min(size, len(self._came)))
            size -= len(part)
            yield part

    def _taken(self, size: int) -> bytes:
        part = bytes(self._came[:size])
        del self._came[:size]
        return part

    async def _more(self, request: Request) -> None:
        """Waits until something has come. Raises _Gone when nothing more will."""
        if self._ended:
            raise self._ended
        if self._is_held and self._transport:
            self._transport.resume_reading()
            self._is_held = False
        self._turn = asyncio.get_running_loop().create_future()
        try:
            await _within(request, self._turn)
        finally:
            self._turn = None

    def _wake(self) -> None:
        if self._turn and not self._turn.done():
            self._turn.set_result(None)


def _chunk_size(line: bytes) -> int:
    found = re.fullmatch(rb"([0-9a-fA-F]{1,15})\s*(?:;.*)?\r\n", line)
    if not found:
        raise http.client.HTTPException("the answer has a chunk without a size")
    return int(found[1], 16)
