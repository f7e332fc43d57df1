"""`failgraph demo`: five processes on loopback, real faults, and the failure trees of their traces.

The servers (`agent`, `model`, `environment`, `resources`) are written as if there were no
failgraph: routes that raise, handlers that answer, HTTP clients that call. `collector` runs the
rollouts. `server` is what every process does to be traced and served, `fleet` starts and stops
them, and `command` is the command. Needs `failgraph[demo]`, but no Collector, keys or Docker.
"""
