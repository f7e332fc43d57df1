"""`failgraph demo`: a fleet of five processes on loopback, faults that really happen, and what their traces say.

The servers (`agent`, `model`, `environment`, `resources`) are written as if there were no failgraph: routes that raise,
handlers that answer, HTTP clients that call. `child` is what each process does to be traced and served, `fleet` starts
and ends them, `running` is the command. Needs `failgraph[demo]`. No collector, no keys, no Docker.
"""
