"""Traces of a running Jaeger or Tempo, over HTTP.

`address_of` says which backend a source names. `read_backends` searches it, fetches traces into
temporary files, and reads those as files are read.
"""

from failgraph.backends.address import Address, address_of
from failgraph.backends.reading import BackendReading, BackendRequest, read_backends

__all__ = ["Address", "BackendReading", "BackendRequest", "address_of", "read_backends"]
