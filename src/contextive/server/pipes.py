"""Standard input and output as asynchronous lines, protected from other code in the process that prints."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator

_CHUNK = 65_536
_HIGH_WATER = 1024
_LOW_WATER = 256


##= docs/spec/host.md#standard-output
##% While stdio is served, standard output MUST carry only protocol messages.
##= docs/spec/host.md#standard-output
##% Output printed by a tool, a plugin or a library MUST go to standard error.
def claim_stdio() -> tuple[int, int]:
    """Private descriptors of stdin and stdout. From then on `print` goes to standard error and `input` reads nothing.

    This is never undone: the process ends when stdio is closed.
    """
    sys.stdout.flush()
    private_in, private_out = _dup_high(0), _dup_high(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return private_in, private_out


@contextlib.contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Send everything printed by packs to standard error, so that it does not mix with a command's own output."""
    sys.stdout.flush()
    saved = _dup_high(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


def _dup_high(fd: int) -> int:
    """A duplicate of `fd` above the three standard descriptors."""
    try:
        import fcntl
    except ImportError:  # Windows
        return os.dup(fd)
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


##= docs/spec/host.md#malformed-messages
##% A message over the size limit MUST be refused without closing the connection.
class LineReader(asyncio.Protocol):
    """Splits input into lines. A line over the limit is dropped and reported as None."""

    def __init__(self, limit: int, on_line: Callable[[bytes | None], None], on_end: Callable[[], None]) -> None:
        self._limit = limit
        self._on_line = on_line
        self._on_end = on_end
        self._rest = bytearray()
        self._searched = 0
        self._skipping = False
        self._ended = False
        self._transport: asyncio.ReadTransport | None = None

    async def start(self, fd: int) -> None:
        """Start reading, without a thread if the event loop can wait for the descriptor."""
        loop = asyncio.get_running_loop()
        mode = os.fstat(fd).st_mode
        if sys.platform != "win32" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)):
            self._transport, _ = await loop.connect_read_pipe(lambda: self, os.fdopen(fd, "rb", buffering=0))
        else:
            threading.Thread(target=self._read_in_thread, args=(fd, loop), daemon=True).start()

    def _read_in_thread(self, fd: int, loop: asyncio.AbstractEventLoop) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            while chunk := os.read(fd, _CHUNK):
                loop.call_soon_threadsafe(self.data_received, chunk)
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._end)

    def pause(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None and not self._ended:
            self._transport.resume_reading()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._rest += data
        start = 0
        while (end := self._rest.find(b"\n", max(self._searched, start))) >= 0:
            line = bytes(self._rest[start:end])
            start = self._searched = end + 1
            if self._skipping or len(line) > self._limit:
                self._skipping = False
                self._on_line(None)
            else:
                self._on_line(line)
        del self._rest[:start]
        self._searched = len(self._rest)
        if len(self._rest) > self._limit:
            self._skipping = True
            self._rest.clear()
            self._searched = 0

    def eof_received(self) -> bool:
        self._end()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()

    def _end(self) -> None:
        if self._ended:
            return
        self._ended = True
        if self._skipping:
            self._on_line(None)
        elif self._rest:
            self._on_line(bytes(self._rest))
        self._on_end()


class LineWriter(asyncio.Protocol):
    """Writes lines in order; `write` waits while the peer does not read. A broken pipe is reported only once."""

    def __init__(self, on_broken: Callable[[], None]) -> None:
        self._on_broken = on_broken
        self._transport: asyncio.WriteTransport | None = None
        self._fd = -1
        self._can_write = asyncio.Event()
        self._can_write.set()
        self._closed = asyncio.Event()
        self._order = asyncio.Lock()

    async def start(self, fd: int) -> None:
        self._fd = fd
        mode = os.fstat(fd).st_mode
        shared_with_stderr = os.path.samestat(os.fstat(fd), os.fstat(2))
        # A transport makes the descriptor non-blocking. If standard error is the same file, that would break logging.
        if sys.platform != "win32" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)) and not shared_with_stderr:
            loop = asyncio.get_running_loop()
            self._transport, _ = await loop.connect_write_pipe(lambda: self, os.fdopen(fd, "wb", buffering=0))

    async def write(self, line: bytes) -> None:
        if self._closed.is_set():
            return
        if self._transport is not None:
            self._transport.write(line + b"\n")
            await self._can_write.wait()
            return
        async with self._order:
            await asyncio.to_thread(self._write_all, line + b"\n")

    def _write_all(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError:
            self._closed.set()

    async def close(self, timeout_seconds: float) -> None:
        """Flush written lines to the peer, waiting at most `timeout_seconds`."""
        if self._transport is None:
            return
        self._transport.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._closed.wait()
        if not self._closed.is_set():
            self._transport.abort()

    def pause_writing(self) -> None:
        self._can_write.clear()

    def resume_writing(self) -> None:
        self._can_write.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._can_write.set()
        self._closed.set()
        if exc is not None:
            self._on_broken()
