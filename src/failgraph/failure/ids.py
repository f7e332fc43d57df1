"""Make event ids: UUIDv7 (RFC 9562, section 5.7), which sort by time and never collide."""

from __future__ import annotations

import os
import time
import uuid


def new_event_id() -> str:
    """Return a new id: 48 bits of Unix time in ms and 74 random bits.

    The random bits come from the operating system, so a forked process does not repeat any.
    """
    random = int.from_bytes(os.urandom(10), "big")
    value = (time.time_ns() // 1_000_000 & (1 << 48) - 1) << 80
    value |= 0x7 << 76 | (random >> 62 & 0xFFF) << 64
    value |= 0b10 << 62 | random & (1 << 62) - 1
    return str(uuid.UUID(int=value))
