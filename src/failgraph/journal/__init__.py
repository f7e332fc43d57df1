"""The local JSON-lines file of failures: what is in it outlives the process, whatever becomes of the traces."""
