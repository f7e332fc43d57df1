"""NOT NeMo Gym: a stand-in for its upcoming version, of which only the documentation is public.

Built from the documented names alone, in nemo_gym.core.failure_records, typed_exceptions and
failure_transport and in server_runtime.request_handling.exception_handling. What the documentation
does not say is made up, above all the encoding of the header.
"""
