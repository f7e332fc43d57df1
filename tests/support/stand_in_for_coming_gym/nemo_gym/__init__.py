"""NOT NeMo Gym: a stand-in for its coming version, of which only the documentation is public.

Built from the documented names alone (reference: nemo_gym.core.failure_records, typed_exceptions, failure_transport,
server_runtime.request_handling.exception_handling); what they do not say, the header's encoding above all, is made up.
"""
