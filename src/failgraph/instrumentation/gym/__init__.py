"""NeMo Gym's servers and its collector: what they observe of failures, and say only in texts and statuses, as records.

`released` and `coming` name what is wrapped, one module a generation; `table` says what Gym's words mean. Importing
this package imports nothing.
"""
