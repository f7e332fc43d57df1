"""Recording failures in a user's process.

A failure walks one line: `observation` makes a record of it, `placement` chooses its span, `writer`
writes it to the trace and the journal and remembers where it is. `recorder` drives that; `hops`
opens and closes hops around it.
"""
